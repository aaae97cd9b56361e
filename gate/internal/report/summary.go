package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// The most kernels and ranges that a summary shows, and the least share of a row. One row sums up the others.
const (
	summaryKernels = 15
	summaryRanges  = 20
	summaryLeast   = 0.005
)

func headline(s *result.Summary) string {
	var what string
	switch {
	case s.Recorded.Step != "" && s.Period.Known():
		what = quantity(s.Period, ns) + " a step"
	case s.GPUTime.Known():
		what = quantity(s.GPUTime, ns) + " of kernels a " + per(s)
	default:
		what = count(len(s.Kernels), "kernel")
	}
	return what + wrapped(" on ", trimmed(s.Recorded.Environment.GPU), "")
}

// per is the unit that amounts are given for.
func per(s *result.Summary) string {
	if s.Recorded.Environment.Profiler().ByLaunch() {
		return "launch"
	}
	return unitOf(s.Recorded)
}

// panels are the tables of a summary, with whole names of kernels where full is set; inside puts a range into the ones around it.
func panels(s *result.Summary, all, full bool, inside func(path []string) string) []*table {
	list := []*table{stepTable(s, all), runTable(s), kernelTable(s, all, full), boundTable(s, all), collectiveTable(s), rangeTable(s, all, inside), copyTable(s), otherTable(s)}
	return slices.DeleteFunc(list, func(t *table) bool { return len(t.Rows) == 0 })
}

// partTable is a table of the parts of a whole, to which part adds one.
func partTable(title, about string) *table {
	return &table{Title: title, About: about, Columns: []column{{Title: "time", Right: true, Label: "time"}, {Title: "Bar", Pic: true},
		{Title: "share", Right: true, Label: "share"}, {Title: "part", wrap: true}}}
}

func (t *table) part(time, part result.Number, bar plot.SVG, what string) {
	t.Rows = append(t.Rows, tableRow{Cells: []cell{{Text: quantity(time, ns)}, {SVG: bar}, {Text: share(part)}, {Text: what}}})
}

func stepTable(s *result.Summary, all bool) *table {
	t := partTable("Step", "what a typical one is made of")
	rest, left := result.Number(0), 0
	for i, x := range s.Parts {
		// A row for a single part would save nothing.
		if !all && x.Share < summaryLeast && (left > 0 || i+1 < len(s.Parts)) {
			rest += x.Time
			left++
			continue
		}
		t.part(x.Time, x.Share, barOf(x.Share, x.Class, x.Idle), owner(x.Class, x.Where, x.Idle))
	}
	if left > 0 && rest > 0 {
		t.part(rest, rest/s.Period, "", "everything else")
	}
	return t
}

func runTable(s *result.Summary) *table {
	t := partTable("Run", "where its time goes")
	for _, x := range s.Run {
		t.part(x.Time, x.Share, barOf(x.Share, "", false), Clean(x.Part))
	}
	return t
}

func kernelTable(s *result.Summary, all, full bool) *table {
	t := &table{Title: "Kernels", Columns: []column{{Title: "", least: 24, Name: true}, {Title: "Bar", Pic: true}, {Title: "share", Right: true, Label: "share"}, {Title: "a launch", Right: true, Label: "a launch"},
		{Title: "launches", Right: true, rank: 2, optional: true, Label: "launches"}, {Title: "total", Right: true, rank: 1, optional: true, Label: "total"}, {Title: "of the step", Right: true, rank: 4, optional: true, Label: "of the step"},
		{Title: "geometry", rank: 3, optional: true}, {Title: "range", rank: 5, least: 12, optional: true}}}
	launches := map[bool]string{true: " launch", false: " launches"}[s.Launches == 1]
	t.About = join(" · ", nonempty(amount(s.GPUTime, ns, "", per(s)), amount(s.Launches, "count", launches, per(s)))...)
	var rest result.SummaryKernel
	left := 0
	kernels := slices.DeleteFunc(slices.Clone(s.Kernels), func(k result.SummaryKernel) bool { return k.Collective != nil })
	for i, k := range kernels {
		last := left == 0 && i+1 == len(kernels)
		if !all && !last && (i >= summaryKernels || k.Share < summaryLeast) {
			rest.Share, rest.Launches, rest.Total = rest.Share+k.Share, rest.Launches+k.Launches, rest.Total+k.Total
			left++
			continue
		}
		name := cell{Text: subject(measure.ScopeKernel, k.Title())}
		switch {
		case full:
			name.Text = subject(measure.ScopeKernel, k.Name)
		case k.Name != k.Kernel:
			name.Full = Clean(k.Name)
		}
		t.Rows = append(t.Rows, tableRow{Cells: append([]cell{name, {SVG: barOf(k.Share, "", false)}}, cells(shareOf(k.Share), cellOf(k.Time, ns), cellOf(k.Launches, "count"), total(s, k.Total),
			cellOf(k.Owned, ns), Elide(geometry(k.Grid, k.Block), 40), Elide(Clean(k.Role), 60))...)})
	}
	if left > 0 {
		t.add(fmt.Sprintf("%d more", left), "", shareOf(rest.Share), "", cellOf(rest.Launches, "count"), total(s, rest.Total), "", "", "")
	}
	return t
}

// boundTable lists the counters of Nsight Compute, and the limit of each kernel.
func boundTable(s *result.Summary, all bool) *table {
	t := &table{Title: "Counters", About: "what limits a kernel; in percent of the peak", Columns: []column{{least: 24, Name: true}, {Title: "registers", Right: true, Label: "registers"},
		{Title: "occupancy", Right: true, Label: "occupancy"}, {Title: "DRAM", Right: true, Label: "DRAM"}, {Title: "SM", Right: true, Label: "SM"}, {Title: "bound"}}}
	for i, k := range s.Kernels {
		if c := k.Counters; c != nil && (all || i < summaryKernels) {
			t.add(subject(measure.ScopeKernel, k.Title()), cellOf(c.Registers, "count"), cellOf(c.Occupancy, "%"), cellOf(c.DRAM, "%"), cellOf(c.SM, "%"), Clean(c.Bound))
		}
	}
	return t
}

// collectiveTable lists the kernels that move data between GPUs.
func collectiveTable(s *result.Summary) *table {
	t := &table{Title: "Collectives", About: "times of a launch, and their total, are without the waiting for late ranks", Columns: []column{{Title: "", least: 12, Name: true}, {Title: "share", Right: true, Label: "share"},
		{Title: "a launch", Right: true, Label: "a launch"}, {Title: "launches", Right: true, rank: 3, optional: true, Label: "launches"}, {Title: "total", Right: true, rank: 2, optional: true, Label: "total"},
		{Title: "waits", Right: true, rank: 1, optional: true, Label: "waits"}, {Title: "exposed", Right: true, rank: 4, optional: true, Label: "exposed"}, {Title: "bytes", Right: true, rank: 5, optional: true},
		{Title: "algorithm bandwidth", Right: true, rank: 6, optional: true}, {Title: "geometry", rank: 7, optional: true}, {Title: "kernel", rank: 8, least: 16, optional: true}}}
	for _, k := range s.Kernels {
		c := k.Collective
		if c == nil {
			continue
		}
		name := subject(measure.ScopeKernel, k.Kernel)
		if c.Operation == k.Kernel {
			name = ""
		}
		t.add(Elide(Clean(cmp.Or(c.Operation, k.Kernel)), 40), shareOf(k.Share), cellOf(k.Time, ns), cellOf(k.Launches, "count"), total(s, k.Total),
			cellOf(c.Wait, ns), cellOf(k.Owned, ns), cellOf(c.Bytes, "B"), cellOf(c.Rate, "B/s"), Elide(geometry(k.Grid, k.Block), 40), Elide(name, 60))
		if !c.Wait.Known() {
			t.About = ""
		}
	}
	return t
}

// total prints the total time of a kernel, "" for counters of single launches.
func total(s *result.Summary, n result.Number) string {
	if s.Recorded.Environment.Profiler().ByLaunch() {
		return ""
	}
	return cellOf(n, ns)
}

// amount is a number with its unit of counting, "" where it is unknown.
func amount(n result.Number, unit, of, per string) string {
	if !n.Known() {
		return ""
	}
	return bind(quantity(n, unit) + of + " a " + per)
}

func rangeTable(s *result.Summary, all bool, inside func([]string) string) *table {
	t := &table{Title: "Ranges", About: "kernel time by NVTX range", Columns: []column{{least: 12, Name: true}, {Title: "share", Right: true}, {Title: "GPU time", Right: true, rank: 1}}}
	left := 0
	var walk func(ranges []result.SummaryRange, path []string)
	walk = func(ranges []result.SummaryRange, path []string) {
		for _, r := range ranges {
			path := append(path[:len(path):len(path)], cmp.Or(trimmed(r.Name), "(outside of all)"))
			if !all && (len(t.Rows) >= summaryRanges || r.Share < summaryLeast) {
				left++
			} else {
				t.add(inside(path), shareOf(r.Share), cellOf(r.Time, ns))
			}
			walk(r.Ranges, path)
		}
	}
	walk(s.Ranges, nil)
	if left > 0 {
		t.add(fmt.Sprintf("%d more", left), "", "")
	}
	return t
}

func copyTable(s *result.Summary) *table {
	t := &table{Title: "Copies", About: "shares are of the time of all kernels and copies", Columns: []column{{least: 12, Name: true}, {Title: "share", Right: true, Label: "share"},
		{Title: "rate", Right: true, Label: "rate"}, {Title: "time", Right: true, rank: 1, Label: "time"}, {Title: "bytes", Right: true, rank: 2}, {Title: "count", Right: true, rank: 4, Label: "count"},
		{Title: "of the step", Right: true, rank: 5, optional: true, Label: "of the step"}, {Title: "memory", rank: 3, optional: true}}}
	for _, c := range s.Copies {
		t.add(Clean(c.Kind), shareOf(c.Share), cellOf(c.Rate, "B/s"), cellOf(c.Time, ns), cellOf(c.Bytes, "B"),
			cellOf(c.Count, "count"), cellOf(c.Owned, ns), Clean(c.Memory))
	}
	return t
}

func otherTable(s *result.Summary) *table {
	t := &table{Title: "Also measured", Columns: []column{{least: 12, Name: true}, {Title: "of", least: 12, optional: true}, {Title: "value", Right: true, Label: "value"}}}
	for _, x := range s.Others {
		t.add(metric(x.Metric), trimmed(x.Name)+wrapped(" in ", trimmed(x.Role), ""), quantity(x.Value, x.Unit))
	}
	return t
}

// sentences are those of patterns or about ranks.
func sentences(remarks []result.Remark) []string {
	var out []string
	for _, p := range remarks {
		out = append(out, Elide(Clean(cmp.Or(p.Sentence, p.Key)), maxPattern))
	}
	return nonempty(out...)
}

func recording(s *result.Summary) []fact {
	return factsOf(fact{"GPU", machine(s.Recorded.Environment)}, fact{"runs", side(s.Recorded)})
}

func barOf(share result.Number, class string, idle bool) plot.SVG {
	colour := "calm"
	switch {
	case idle:
		colour = "idle"
	case strings.Contains(class, "comm"):
		colour = "move"
	case strings.Contains(class, "cop"), strings.Contains(class, "memset"):
		colour = "copy"
	}
	return plot.Part(float64(share), colour)
}
