package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// Fingerprint says how the kernels of a workload on this host compare with those in the sessions of a baseline, class of
// hardware by class: what another board does looks like this, and so may another program. It informs and decides nothing: no
// judgement knows of it.
func Fingerprint(host model.Session, baseline []model.Session, impact float64) []Remark {
	fits := slices.DeleteFunc(slices.Clone(baseline), func(s model.Session) bool {
		return s.GPU != host.GPU || s.Profiler() != host.Profiler() || model.SameSession(s.Environment, host.Environment)
	})
	if len(fits) == 0 {
		return []Remark{remark("host-alone", Args{"gpu": host.GPU})}
	}
	var out []Remark
	here := newSide([]model.Session{host}, measure.Total)
	judged := kernels(here.subjects())
	for _, class := range classes(fits) {
		of := slices.DeleteFunc(slices.Clone(fits), func(s model.Session) bool { return s.Class() != class })
		there := newSide(of, measure.Total)
		type move struct {
			kernel string
			change float64
		}
		var moved []move
		both := 0
		for _, s := range judged {
			was, is := there.typical(s, measure.Time.Name), here.typical(s, measure.Time.Name)
			if change := is/was - 1; here.share(s) >= impact && was > 0 && is > 0 {
				if both++; math.Abs(change) >= commonSize {
					moved = append(moved, move{s.Short(), change})
				}
			}
		}
		n := Number(len(of))
		switch {
		case both == 0:
			out = append(out, remark("host-foreign", Args{"sessions": n, "board": class}))
		case len(moved) == 0:
			out = append(out, remark("host-alike", Args{"sessions": n, "board": class, "kernels": Number(both), "least": Number(commonSize)}))
		default:
			most := slices.MaxFunc(moved, func(a, b move) int { return cmp.Compare(math.Abs(a.change), math.Abs(b.change)) })
			out = append(out, remark("host-apart", Args{"sessions": n, "board": class, "kernel": most.kernel, "change": Number(most.change),
				"moved": Number(len(moved)), "kernels": Number(both), "least": Number(commonSize)}))
		}
	}
	return out
}
