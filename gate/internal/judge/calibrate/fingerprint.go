package calibrate

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Fingerprint says how the kernels of a workload on this host compare with those in the sessions of a baseline, board
// by board: another board differs like this, and so may another program. No verdict depends on it.
func Fingerprint(host model.Session, baseline []model.Session, share float64) []result.Remark {
	fits := slices.DeleteFunc(slices.Clone(baseline), func(s model.Session) bool {
		return s.GPU != host.GPU || s.Profiler() != host.Profiler() ||
			model.SameSession(s.Environment, host.Environment)
	})
	if len(fits) == 0 {
		return []result.Remark{result.Say(HostAlone{host.GPU})}
	}
	var out []result.Remark
	here := recorded.New([]model.Session{host}, measure.Total)
	judged := recorded.Kernels(here.Subjects())
	for _, board := range recorded.Boards(fits) {
		of := slices.DeleteFunc(slices.Clone(fits), func(s model.Session) bool { return s.Board != board })
		there := recorded.New(of, measure.Total)
		both, moved, most, kernel := 0, 0, 0.0, ""
		for _, s := range judged {
			was, is := there.Typical(s, measure.Time.Name), here.Typical(s, measure.Time.Name)
			change := is/was - 1
			if here.Share(s) >= share && was > 0 && is > 0 {
				both++
				if math.Abs(change) >= stats.LevelStep {
					moved++
				}
				if math.Abs(change) > math.Abs(most) {
					most, kernel = change, s.Short()
				}
			}
		}
		n := len(of)
		switch {
		case both == 0:
			out = append(out, result.Say(HostForeign{n, board}))
		case moved == 0:
			out = append(out, result.Say(HostAlike{Sessions: n, Kernels: both, Board: board, Least: stats.LevelStep}))
		default:
			out = append(out, result.Say(HostApart{Sessions: n, Moved: moved, Kernels: both, Board: board,
				Kernel: kernel, Change: result.Number(most), Least: stats.LevelStep}))
		}
	}
	return out
}
