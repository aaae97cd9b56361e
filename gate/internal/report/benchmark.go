package report

import (
	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/measure"
)

func init() {
	register(Format{Name: "benchmark", Suffix: ".benchmark.json", About: "github-action-benchmark (customSmallerIsBetter): what is better when less",
		render: func(v *view, _ Options) (string, error) { return benchmarks(v, measure.Lower) }})
	register(Format{Name: "benchmark-bigger", Suffix: ".benchmark-bigger.json", About: "github-action-benchmark (customBiggerIsBetter): what is better when more",
		render: func(v *view, _ Options) (string, error) { return benchmarks(v, measure.Higher) }})
}

// benchmarkEntry is a result of github-action-benchmark.
type benchmarkEntry struct {
	Name  string        `json:"name"`
	Unit  string        `json:"unit"`
	Value decide.Number `json:"value"`
	Range string        `json:"range"`
	Extra string        `json:"extra"`
}

// benchmarks writes an entry a number that gets better in one direction. The action refuses a list without any.
func benchmarks(v *view, better measure.Direction) (string, error) {
	out := []benchmarkEntry{}
	for _, t := range v.trends() {
		if m, ok := measure.MetricByName(t.F.Metric); ok && m.Better == better {
			unit := Line(t.F.Unit)
			out = append(out, benchmarkEntry{t.name + " " + t.Metric, unit, t.F.Head,
				unbind(quantity(t.lowest, unit) + " … " + quantity(t.most, unit)), Line(string(t.F.Outcome) + ": " + t.describe())})
		}
	}
	return indented(out)
}
