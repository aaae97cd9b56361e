package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// bencherValue is a metric of the Bencher Metric Format.
type bencherValue struct {
	Value result.Number `json:"value"`
	Lower result.Number `json:"lower_value"`
	Upper result.Number `json:"upper_value"`
}

// bencher writes a benchmark a subject and a measure a metric, with the smallest and largest run; none without a verdict.
func bencher(v *story.Story) (string, error) {
	out := make(map[string]map[string]bencherValue)
	for _, w := range v.Each {
		for _, r := range w.Rows {
			name := benchmark(w.Workload, r.F)
			slug := cmp.Or(strings.Trim(strings.ToLower(strings.ReplaceAll(story.Word(r.F.Metric), "_", "-")), "-"), "value")
			if _, seen := out[name][slug]; seen || !w.Judged() || !r.F.Head.Known() || r.F.SumsListed() {
				continue
			}
			if out[name] == nil {
				out[name] = make(map[string]bencherValue)
			}
			x := bencherValue{r.F.Head, r.F.Head, r.F.Head}
			if runs := story.Known(r.F.HeadRuns); len(runs) > 0 {
				x.Lower, x.Upper = slices.Min(runs), slices.Max(runs)
			}
			out[name][slug] = x
		}
	}
	return indented(out)
}

// benchmark names the subject of a finding, the same from run to run. It ends in a bracket, because Bencher obeys some suffixes.
func benchmark(workload string, f result.Finding) string {
	s := f.Subject()
	name := story.Clean(story.Trimmed(s.ID()))
	if s.Scope != measure.ScopeWorkload {
		name = story.Word(string(s.Scope)) + " " + name
	}
	if short := story.Elide(name, 200); short != name {
		sum := sha256.Sum256([]byte(name))
		name = short + " #" + hex.EncodeToString(sum[:4])
	}
	return name + " (" + workload + ")"
}
