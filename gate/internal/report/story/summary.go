package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// The most kernels and ranges that a summary shows, and the least share of a row. One row sums up the others.
const (
	summaryKernels = 15
	summaryRanges  = 20
	summaryLeast   = 0.005
)

func Headline(s *result.Summary) string {
	var what string
	switch {
	case s.Recorded.Step != "" && s.Period.Known():
		what = Quantity(measure.Either(s.StepTime > 0, s.StepTime, s.Period), NS) + " a step"
	case s.GPUTime.Known():
		what = Quantity(s.GPUTime, NS) + " of kernels a " + per(s)
	case s.Recorded.Runs == 0 && s.Recorded.Unprofiled > 0:
		rows, outputs := map[string]bool{}, 0
		for _, x := range s.Others {
			switch x.Scope {
			case measure.ScopeBenchmark:
				rows[x.Name] = true
			case measure.ScopeOutput:
				outputs++
			}
		}
		what = measure.Either(len(rows) > 0, Count(len(rows), "benchmark"), Count(outputs, "output"))
	default:
		what = Count(len(s.Kernels), "kernel")
	}
	return what + Wrapped(" on ", Trimmed(s.Recorded.Environment.GPU), "")
}

// brief is what was measured without a baseline, a line each: the parts of the step, and the kernels.
func (v *Story) brief(s *result.Summary) (lines []Line) {
	parts := measure.Map(s.Parts, func(x result.SummaryPart) string {
		return Owner(x.Class, measure.ParsePlace(x.Where), x.Idle) + " " + Share(x.Share)
	})
	kernels := measure.Map(s.Kernels, func(k result.SummaryKernel) string {
		return Elide(Subject(measure.ScopeKernel, k.Title()), 40) + " " + shareOf(k.Share)
	})
	for _, x := range []struct {
		label string
		list  []string
	}{{"step", parts}, {"kernels", kernels}} {
		if len(x.list) > 0 {
			lines = append(lines, Named(1, x.label, strings.Join(v.some(x.list), ", ")))
		}
	}
	return lines
}

// per is the unit that amounts are given for.
func per(s *result.Summary) string {
	return measure.Either(s.Recorded.Environment.Counted(), "launch", UnitOf(s.Recorded))
}

// Panels are the tables of a summary, with whole names of kernels where full is set.
func Panels(s *result.Summary, all, full bool) []*Table {
	list := []*Table{stepTable(s, all), runTable(s), kernelTable(s, all, full), boundTable(s, all), collectiveTable(s),
		rangeTable(s, all), copyTable(s), otherTable(s)}
	return slices.DeleteFunc(list, func(t *Table) bool { return len(t.Rows) == 0 })
}

// partTable is an empty table of the parts of a whole; part adds a row.
func partTable(title, about string) *Table {
	return &Table{Title: title, About: about, Columns: []Column{{Title: "time", Right: true, Label: "time"},
		{Title: "Bar", Pic: true}, {Title: "share", Right: true, Label: "share"}, {Title: "part", Wrap: true}}}
}

func (t *Table) part(time, part result.Number, bar plot.SVG, what string) {
	t.Rows = append(t.Rows, TableRow{Cells: []Cell{{Text: Quantity(time, NS)}, {SVG: bar}, {Text: Share(part)},
		{Text: what}}})
}

func stepTable(s *result.Summary, all bool) *Table {
	t := partTable("Step", "what a mean one is made of")
	rest, left := result.Number(0), 0
	for i, x := range s.Parts {
		// A row for a single part would save nothing.
		if !all && x.Share < summaryLeast && (left > 0 || i+1 < len(s.Parts)) {
			rest += x.Time
			left++
			continue
		}
		t.part(x.Time, x.Share, barOf(x.Share, x.Class, x.Idle), Owner(x.Class, measure.ParsePlace(x.Where), x.Idle))
	}
	if left > 0 && rest > 0 {
		t.part(rest, rest/s.Period, "", "everything else")
	}
	return t
}

func runTable(s *result.Summary) *Table {
	t := partTable("Run", "where its time goes")
	for _, x := range s.Run {
		t.part(x.Time, x.Share, barOf(x.Share, "", false), Clean(x.Part))
	}
	return t
}

func kernelTable(s *result.Summary, all, full bool) *Table {
	t := &Table{Title: "Kernels", Columns: []Column{{Title: "", Least: 24, Name: true}, {Title: "Bar", Pic: true},
		{Title: "share", Right: true, Label: "share"}, {Title: "a launch", Right: true, Label: "a launch"},
		{Title: "launches", Right: true, Rank: 2, Optional: true, Label: "launches"},
		{Title: "total", Right: true, Rank: 1, Optional: true, Label: "total"},
		{Title: "of the step", Right: true, Rank: 4, Optional: true, Label: "of the step"},
		{Title: "geometry", Rank: 3, Optional: true}, {Title: "range", Rank: 5, Least: 12, Optional: true}}}
	launches := measure.Either(s.Launches == 1, " launch", " launches")
	t.About = Join(" · ", Nonempty(amount(s.GPUTime, NS, "", per(s)), amount(s.Launches, "count", launches, per(s)))...)
	var rest result.SummaryKernel
	left := 0
	kernels := slices.DeleteFunc(slices.Clone(s.Kernels),
		func(k result.SummaryKernel) bool { return k.Collective != nil })
	for i, k := range kernels {
		last := left == 0 && i+1 == len(kernels)
		if !all && !last && (i >= summaryKernels || k.Share < summaryLeast) {
			rest.Share, rest.Launches, rest.Total = rest.Share+k.Share, rest.Launches+k.Launches, rest.Total+k.Total
			left++
			continue
		}
		name := Cell{Text: Subject(measure.ScopeKernel, k.Title())}
		switch {
		case full:
			name.Text = Subject(measure.ScopeKernel, k.Name)
		case k.Name != k.Kernel:
			name.Full = Clean(k.Name)
		}
		t.Rows = append(t.Rows, TableRow{Cells: append([]Cell{name, {SVG: barOf(k.Share, "", false)}},
			cells(shareOf(k.Share), CellOf(k.Time, NS), CellOf(k.Launches, "count"), total(s, k.Total),
				CellOf(k.Owned, NS), Elide(geometry(k.Grid, k.Block), 40), Elide(Clean(k.Role), 60))...)})
	}
	if left > 0 {
		t.Add(fmt.Sprintf("%d more", left), "", shareOf(rest.Share), "", CellOf(rest.Launches, "count"),
			total(s, rest.Total), "", "", "")
	}
	return t
}

// boundTable lists the counters, and the limit of each kernel.
func boundTable(s *result.Summary, all bool) *Table {
	t := &Table{Title: "Counters", About: "what limits a kernel; in percent of the peak",
		Columns: []Column{{Least: 24, Name: true}, {Title: "registers", Right: true, Label: "registers"},
			{Title: "occupancy", Right: true, Label: "occupancy"}, {Title: "DRAM", Right: true, Label: "DRAM"},
			{Title: "SM", Right: true, Label: "SM"}, {Title: "bound"}}}
	for i, k := range s.Kernels {
		if c := k.Counters; c != nil && (all || i < summaryKernels) {
			t.Add(Subject(measure.ScopeKernel, k.Title()), CellOf(c.Registers, "count"), CellOf(c.Occupancy, "%"),
				CellOf(c.DRAM, "%"), CellOf(c.SM, "%"), Clean(c.Bound))
		}
	}
	return t
}

// collectiveTable lists the kernels that move data between GPUs.
func collectiveTable(s *result.Summary) *Table {
	t := &Table{Title: "Collectives",
		About: "times of a launch, and their total, are without the waiting for late ranks",
		Columns: []Column{{Title: "", Least: 12, Name: true}, {Title: "share", Right: true, Label: "share"},
			{Title: "a launch", Right: true, Label: "a launch"},
			{Title: "launches", Right: true, Rank: 3, Optional: true, Label: "launches"},
			{Title: "total", Right: true, Rank: 2, Optional: true, Label: "total"},
			{Title: "waits", Right: true, Rank: 1, Optional: true, Label: "waits"},
			{Title: "exposed", Right: true, Rank: 4, Optional: true, Label: "exposed"},
			{Title: "bytes", Right: true, Rank: 5, Optional: true},
			{Title: "algorithm bandwidth", Right: true, Rank: 6, Optional: true},
			{Title: "geometry", Rank: 7, Optional: true}, {Title: "kernel", Rank: 8, Least: 16, Optional: true}}}
	for _, k := range s.Kernels {
		c := k.Collective
		if c == nil {
			continue
		}
		name := measure.Either(c.Operation == k.Kernel, "", Subject(measure.ScopeKernel, k.Kernel))
		t.Add(Elide(Clean(cmp.Or(c.Operation, k.Kernel)), 40), shareOf(k.Share), CellOf(k.Time, NS),
			CellOf(k.Launches, "count"), total(s, k.Total), CellOf(c.Wait, NS), CellOf(k.Owned, NS),
			CellOf(c.Bytes, "B"), CellOf(c.Rate, "B/s"), Elide(geometry(k.Grid, k.Block), 40), Elide(name, 60))
		if !c.Wait.Known() {
			t.About = ""
		}
	}
	return t
}

// total prints the total time of a kernel, "" for counters of single launches.
func total(s *result.Summary, n result.Number) string {
	return measure.Either(s.Recorded.Environment.Counted(), "", CellOf(n, NS))
}

// amount is a number with its unit of counting, "" where it is unknown.
func amount(n result.Number, unit, of, per string) string {
	return n.Given(Bind(Quantity(n, unit) + of + " a " + per))
}

func rangeTable(s *result.Summary, all bool) *Table {
	t := &Table{Title: "Ranges", About: "kernel time by NVTX range",
		Columns: []Column{{Least: 12, Name: true}, {Title: "share", Right: true},
			{Title: "GPU time", Right: true, Rank: 1}}}
	left := 0
	var walk func(ranges []result.SummaryRange, path []string)
	walk = func(ranges []result.SummaryRange, path []string) {
		for _, r := range ranges {
			path := append(path[:len(path):len(path)], cmp.Or(Trimmed(r.Name), "(outside of all)"))
			if !all && (len(t.Rows) >= summaryRanges || r.Share < summaryLeast) {
				left++
			} else {
				t.Add(strings.Join(path, "/"), shareOf(r.Share), CellOf(r.Time, NS))
				t.Rows[len(t.Rows)-1].Path = path
			}
			walk(r.Ranges, path)
		}
	}
	walk(s.Ranges, nil)
	if left > 0 {
		t.Add(fmt.Sprintf("%d more", left), "", "")
	}
	return t
}

func copyTable(s *result.Summary) *Table {
	t := &Table{Title: "Copies", About: "shares are of the time of all kernels and copies",
		Columns: []Column{{Least: 12, Name: true}, {Title: "share", Right: true, Label: "share"},
			{Title: "rate", Right: true, Label: "rate"}, {Title: "time", Right: true, Rank: 1, Label: "time"},
			{Title: "bytes", Right: true, Rank: 2}, {Title: "count", Right: true, Rank: 4, Label: "count"},
			{Title: "of the step", Right: true, Rank: 5, Optional: true, Label: "of the step"},
			{Title: "memory", Rank: 3, Optional: true}}}
	for _, c := range s.Copies {
		t.Add(Clean(c.Kind), shareOf(c.Share), CellOf(c.Rate, "B/s"), CellOf(c.Time, NS), CellOf(c.Bytes, "B"),
			CellOf(c.Count, "count"), CellOf(c.Owned, NS), Clean(c.Memory))
	}
	return t
}

func otherTable(s *result.Summary) *Table {
	t := &Table{Title: "Also measured", Columns: []Column{{Least: 12, Name: true},
		{Title: "of", Least: 12, Optional: true}, {Title: "value", Right: true, Label: "value"}}}
	for _, x := range s.Others {
		t.Add(Metric(x.Metric), Trimmed(x.Name)+Wrapped(" in ", Trimmed(x.Role), ""), Quantity(x.Value, x.Unit))
	}
	return t
}

// Sentences are those of patterns or about ranks.
func Sentences(remarks []result.Remark) []string {
	return Nonempty(measure.Map(result.Narrowest(remarks), func(p result.Remark) string {
		return Elide(Clean(cmp.Or(p.Sentence, p.Key)), maxPattern)
	})...)
}

func Recording(s *result.Summary) []Fact {
	return factsOf(Fact{hardware(s.Recorded.Environment), machine(s.Recorded.Environment)},
		Fact{"runs", side(s.Recorded)})
}

func barOf(share result.Number, class string, idle bool) plot.SVG {
	colour := map[string]string{attribution.Communication.String(): "move", attribution.Copy.String(): "copy",
		attribution.Memset.String(): "copy"}[class]
	return plot.Part(float64(share), measure.Either(idle, "idle", cmp.Or(colour, "calm")))
}
