package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// bencher writes, in the Bencher Metric Format, a benchmark a subject and a measure a metric, with the smallest and
// largest run; none without a verdict.
func bencher(v *story.Story) (string, error) {
	out := make(map[string]map[string]object)
	for name, r := range numbers(v) {
		slug := cmp.Or(strings.Trim(strings.ToLower(strings.ReplaceAll(story.Word(r.F.Metric), "_", "-")), "-"),
			"value")
		if _, seen := out[name][slug]; seen {
			continue
		}
		if out[name] == nil {
			out[name] = make(map[string]object)
		}
		runs := story.Known(r.F.HeadRuns)
		runs = measure.Either(len(runs) > 0, runs, []result.Number{r.F.Head})
		out[name][slug] = object{"value", r.F.Head, "lower_value", slices.Min(runs), "upper_value", slices.Max(runs)}
	}
	return indented(out)
}

// numbers are the head's numbers of the workloads that have a verdict, each with its [benchmark].
func numbers(v *story.Story) iter.Seq2[string, *story.Row] {
	return func(yield func(string, *story.Row) bool) {
		for _, w := range v.Each {
			for i := range w.Rows {
				f := w.Rows[i].F
				if w.Judged() && f.Head.Known() && !f.SumsListed() && !yield(benchmark(w.Workload, f), &w.Rows[i]) {
					return
				}
			}
		}
	}
}

// The tools of github-action-benchmark; each takes the numbers that are better in one direction.
const smallerFormat, biggerFormat = "customSmallerIsBetter", "customBiggerIsBetter"

// half is the benchmarks of the head that a format takes, and the names of those that it leaves out.
func half(format string, v *story.Story) (in []object, left []string) {
	in, seen := []object{}, map[string]bool{}
	for name, r := range numbers(v) {
		name = cellOf.Replace(label(name + " " + story.Metric(r.F.Metric)))
		m, known := measure.MetricByName(r.F.Metric)
		switch {
		case seen[name]:
		case !known || (m.Better == measure.Higher) != (format == biggerFormat):
			left = append(left, name)
		default:
			x := object{"name", name, "unit", cmp.Or(cellOf.Replace(label(r.F.Unit)), "number"), "value", r.F.Head}
			if runs := story.Known(r.F.HeadRuns); len(runs) > 1 {
				x = append(x, "range", fmt.Sprintf("%v … %v", slices.Min(runs), slices.Max(runs)))
			}
			in = append(in, x)
		}
		seen[name] = true
	}
	return in, left
}

func actionBenchmark(format string) form {
	return viewed(func(v *story.Story) (string, error) {
		in, _ := half(format, v)
		return indented(in)
	})
}

// LeftOut says which numbers a format leaves out, "" for none.
func LeftOut(format string, r *result.Report) string {
	other := map[string]string{smallerFormat: biggerFormat, biggerFormat: smallerFormat}[format]
	if other == "" {
		return ""
	}
	_, left := half(format, story.Tell(r, Options{}))
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("%s leaves out %s (%s): %s has those of the other direction", format,
		measure.Count(len(left), "number"), story.Elide(strings.Join(left, ", "), 200), other)
}

// cellOf replaces the end mark of a cell: github-action-benchmark shows names in a table.
var cellOf = strings.NewReplacer("|", "¦")

// benchmark names the subject of a finding, the same from run to run. It ends in a bracket, because Bencher obeys some
// suffixes.
func benchmark(workload string, f result.Finding) string {
	s := f.Subject()
	name := measure.Either(s.Scope != measure.ScopeWorkload, story.Word(string(s.Scope))+" ", "") +
		story.Clean(story.Trimmed(s.ID()))
	if short := story.Elide(name, 200); short != name {
		sum := sha256.Sum256([]byte(name))
		name = short + " #" + hex.EncodeToString(sum[:4])
	}
	return name + " (" + workload + ")"
}
