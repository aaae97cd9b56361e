package report

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// A trend is one number of the head, for services that keep a history of numbers and know nothing else.
type trend struct {
	row
	name         string        // of the subject, with the workload: the same from run to run
	lowest, most result.Number // of the head's runs
}

// trends are the numbers of the head, each once. There are none of a workload without a verdict: what cannot be judged is no part
// of a history.
func (v *view) trends() []trend {
	var out []trend
	seen := make(map[[2]string]bool)
	for _, w := range v.each {
		for _, r := range w.Rows {
			name := w.subject(r.F)
			key := [2]string{name, r.F.Metric}
			if !w.judged() || !r.F.Head.Known() || seen[key] {
				continue
			}
			seen[key] = true
			out = append(out, newTrend(r, name))
		}
	}
	return out
}

func newTrend(r row, name string) trend {
	t := trend{row: r, name: name, lowest: r.F.Head, most: r.F.Head}
	if runs := slices.DeleteFunc(slices.Clone(r.F.HeadRuns), func(n result.Number) bool { return !n.Known() }); len(runs) > 0 {
		t.lowest, t.most = slices.Min(runs), slices.Max(runs)
	}
	return t
}

// subject names what a finding is about for a history. The end is never that of a name from outside: Bencher obeys suffixes.
func (v *view) subject(f result.Finding) string {
	s := f.Subject()
	name := Line(trimmed(s.ID()))
	if s.Scope != measure.ScopeWorkload {
		name = word(string(s.Scope)) + " " + name
	}
	if short := Elide(name, 200); short != name {
		sum := sha256.Sum256([]byte(name))
		name = short + " #" + hex.EncodeToString(sum[:4])
	}
	return name + " (" + v.Workload + ")"
}
