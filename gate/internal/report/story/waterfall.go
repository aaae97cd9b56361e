package story

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Fall is the change of a step with the parts of it that are certain.
type Fall struct {
	Base, Head result.Number
	Rows       []FallRow // the largest first, then the rest of the change; they add up
	Rest       []FallRow // parts of the rest, where a report is verbose
	// Certain is true where the step itself changed for certain.
	Certain bool
	// Mean is true where the step is the mean one: only that changed beyond its limit.
	Mean  bool
	Title string
}

// FallRow is a part of the change: a kernel, a kind of copies, or a cause of idle time.
type FallRow struct {
	result.Own
	What    string
	Place   measure.Place   // of the host, in idle time
	Subject measure.Subject // of a kernel; none of all else
	name    string          // of the kernel or the kind of copies, "" for idle time
	Class   string          // of the waterfall's part, "" for the rest
	Text    string          // the change, in the unit of the largest
	zero    bool            // in the text
}

const (
	// fallRows is how many parts are named, fallStep how large one has to be of the step, fallPart of its change.
	fallRows, fallStep, fallPart = 8, 0.0005, 0.05
	// fallLeast is how large the largest part has to be of a step that did not change for certain.
	fallLeast = 0.005
	// wherePlace is how many columns the host's place in idle time has at most.
	wherePlace = 160
)

// newFall is the waterfall of a report's step, nil where the report has none. The step has the judged values, so that
// every format prints one number for it. A part whose interval holds zero goes into the rest.
func newFall(r *result.Report, verbose bool) *Fall {
	w := r.Waterfall
	if w == nil || !w.Change.Known() || !(w.Base > 0) || !(w.Head > 0) {
		return nil
	}
	ranked := r.Ranks != nil && len(r.Ranks.Ranks) > 1
	f := &Fall{Base: w.Base, Head: w.Head, Certain: certain(w.Own), Title: "Where the time went, per step" +
		measure.Either(ranked, ", mean of ranks", "")}
	f.judge(r.Findings)
	change := f.Head - f.Base
	known := w.Low.Known() // with one run a side nothing is certain, and all is shown
	all := slices.DeleteFunc(fallParts(w), func(x FallRow) bool { return !x.Change.Known() })
	measure.Sort(all, func(a, b FallRow) int {
		return cmp.Compare(math.Abs(float64(b.Change)), math.Abs(float64(a.Change)))
	})
	for _, x := range all {
		size := result.Number(math.Abs(float64(x.Change)))
		if len(f.Rows) == fallRows || size < fallStep*f.Base ||
			size < fallPart*result.Number(math.Abs(float64(change))) || known && !certain(x.Own) {
			f.Rest = append(f.Rest, x)
		} else {
			f.Rows = append(f.Rows, x)
		}
	}
	if len(f.Rows) == 0 || known && !f.Certain && math.Abs(float64(f.Rows[0].Change)) < fallLeast*float64(f.Base) {
		f.Rows, f.Rest = nil, nil
		return f
	}
	if !verbose {
		f.Rest = nil
	}
	rest := change
	for _, x := range f.Rows {
		rest -= x.Change
	}
	f.Rows = append(f.Rows, FallRow{Own: result.Own{Change: rest, Low: result.Unknown, High: result.Unknown},
		What: "everything else"})
	f.print()
	return f
}

// judge takes the step of the findings and whether it changed for certain: the typical one, or the mean one where only
// that changed.
func (f *Fall) judge(findings []result.Finding) {
	of := func(metric string) *result.Finding {
		return measure.First(findings, func(x *result.Finding) bool {
			return x.Scope == measure.ScopeWorkload && x.Metric == metric && x.Name == "" && x.Base.Known() &&
				x.Head.Known()
		})
	}
	changed := func(x *result.Finding) bool {
		return x != nil && (x.Outcome == result.Slower || x.Outcome == result.Faster)
	}
	step, mean := of(measure.StepTime.Name), of(measure.MeanStep.Name)
	f.Mean = changed(mean) && !changed(step)
	if f.Mean {
		step = mean
	}
	if step != nil {
		f.Base, f.Head, f.Certain = step.Base, step.Head, f.Certain || changed(step)
	}
}

// fallParts are the kernels of each part of a waterfall, and the parts that no kernel is named for.
func fallParts(w *result.Waterfall) []FallRow {
	var rows []FallRow
	for _, p := range w.Parts {
		for _, o := range p.Owners {
			class := measure.Either(p.Class != "compute", Clean(p.Class)+": ", "")
			what := class + Subject(measure.ScopeKernel, o.Title())
			rows = append(rows, FallRow{Own: o.Own, What: what, Subject: o.Subject(), name: o.Name, Class: p.Class})
		}
		if len(p.Owners) == 0 {
			at := measure.ParsePlace(p.Where)
			rows = append(rows, FallRow{Own: p.Own, What: Owner(p.Class, at, p.Idle), Place: at, Class: p.Class})
		}
	}
	return rows
}

// certain reports whether the interval of a change lies on one side of zero.
func certain(o result.Own) bool {
	return o.Low.Known() && o.High.Known() && (o.Low > 0 || o.High < 0)
}

// print gives all changes the unit and the decimals of the largest, so that a reader can add them up. The last row is
// the rest of the change as printed, and its parts add up to it.
func (f *Fall) print() {
	largest := 0.0
	for _, x := range f.Rows {
		largest = math.Max(largest, math.Abs(float64(x.Change)))
	}
	scale := measure.Scale(largest, NS)
	if !(scale.Value > 0) {
		scale.Value, largest = 1, 1
	}
	decimals := min(scale.Decimals(), 2)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	digits := scale.Value / largest * math.Pow10(decimals) // of a nanosecond, in the last place
	round := func(x result.Number) result.Number { return result.Number(math.Round(float64(x) * digits)) }
	left := round(f.Head - f.Base)
	for _, x := range f.Rows[:len(f.Rows)-1] {
		left -= round(x.Change)
	}
	f.Rows[len(f.Rows)-1].Change = left / result.Number(digits)
	for _, x := range f.Rest {
		left -= round(x.Change)
	}
	if len(f.Rest) > 0 {
		f.Rest = append(f.Rest, FallRow{What: "not attributed", Own: result.Own{Change: left / result.Number(digits),
			Low: result.Unknown, High: result.Unknown}})
	}
	for _, list := range [][]FallRow{f.Rows, f.Rest} {
		for i, x := range list {
			size := number(math.Abs(float64(round(x.Change))) / math.Pow10(decimals))
			x.zero = size == number(0)
			x.Text = measure.Either(x.Change < 0 && !x.zero, "-", "+") + size + NB + scale.Unit
			list[i] = x
		}
	}
	f.Rest = slices.DeleteFunc(f.Rest, func(x FallRow) bool { return x.zero })
}

func (f *Fall) About() string {
	return measure.Either(f.Mean, "mean step", "step") + NB + pair(f.Base, f.Head, NS, 4) + NB + "(" +
		Changed(f.Head/f.Base-1) + ")"
}

// Lines prints the change of the step, then its parts, a line each.
func (f *Fall) Lines() []string {
	if f == nil || len(f.Rows) == 0 {
		return nil
	}
	return append([]string{f.About()}, measure.Map(f.Rows, func(r FallRow) string { return r.Text + " " + r.What })...)
}

// longer names the parts that got longer; none where all of them together are less than half of the change.
func (f *Fall) longer() (parts []string) {
	if f == nil {
		return nil
	}
	sum := result.Number(0)
	for _, x := range f.Rows {
		if x.Class != "" && x.Change > 0 {
			parts, sum = append(parts, x.What+" "+x.Text), sum+x.Change
		}
	}
	return measure.Either(2*sum < f.Head-f.Base, nil, parts)
}

// largest is the part that is at least half of a longer step, the zero value for none.
func (f *Fall) largest() FallRow {
	if f == nil || len(f.Rows) == 0 || 2*f.Rows[0].Change < f.Head-f.Base {
		return FallRow{}
	}
	return f.Rows[0]
}

// Table lists the parts.
func (b Bars) Table() *Table {
	t := &Table{Title: b.Title, Columns: []Column{{Title: "change", Right: true},
		{Title: "part", Least: 12, Wrap: true}}}
	for _, r := range b.Rows {
		t.Add(r.Text, r.What)
	}
	for _, r := range b.Rest {
		t.Add(r.Text, "of it: "+r.What)
	}
	return t
}

// Owner names a part of a step: "GPU idle: waiting for the CPU, in range step after cudaDeviceSynchronize".
func Owner(class string, at measure.Place, isIdle bool) string {
	what := cmp.Or(result.IdleCauses[class], map[string]string{"compute": "kernels",
		"profiler": "the profiler's own work"}[class], Clean(class))
	return Join(", ", measure.Either(isIdle, "GPU idle: ", "")+what, placed(at))
}

// placed prints the host's place in idle time: "in range step after cudaFree", "cudaMalloc in range step".
func placed(at measure.Place) string {
	call := measure.Either(at.Call == measure.HostCode, "", Clean(at.Call))
	return Elide(Join(" ", call, Wrapped("in range ", Clean(at.Range), ""), Wrapped("after ", at.After, "")),
		wherePlace)
}

func (x FallRow) Interval() string {
	return measure.Either(x.Low.Known() && x.High.Known(), Signed(x.Low)+" … "+Signed(x.High), "")
}
