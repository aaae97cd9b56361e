package report

import (
	"cmp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

func init() {
	register("bencher", ".bencher.json", "Bencher (its adapter json): the head's numbers",
		map[Kind]form{Report: viewed(bencher)})
}

// bencherValue is a metric of the Bencher Metric Format.
type bencherValue struct {
	Value result.Number `json:"value"`
	Lower result.Number `json:"lower_value"`
	Upper result.Number `json:"upper_value"`
}

// bencher writes a benchmark a subject and a measure a metric, by the slug of its name, with the smallest and largest run.
func bencher(v *view, _ Options) (string, error) {
	out := make(map[string]map[string]bencherValue)
	for _, t := range v.trends() {
		if out[t.name] == nil {
			out[t.name] = make(map[string]bencherValue)
		}
		slug := strings.Trim(strings.ToLower(strings.ReplaceAll(word(t.F.Metric), "_", "-")), "-")
		out[t.name][cmp.Or(slug, "value")] = bencherValue{t.F.Head, t.lowest, t.most}
	}
	return indented(out)
}
