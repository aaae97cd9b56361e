package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Of a summary are shown, unless all is: so many kernels and ranges, those from this part of the kernel time on, and the parts of
// a step from this part of it on. What is left out is one row.
const (
	summaryKernels = 15
	summaryRanges  = 20
	summaryLeast   = 0.005
)

// maxPattern is how many columns the sentence of a pattern has at most: it may hold names out of the recording.
const maxPattern = 400

// panel is a part of a summary: a table, with the most important rows first.
type panel struct {
	Title, About string
	Columns      []column
	Rows         [][]string
	// Wraps is true where the last column is text, which may take several lines.
	Wraps bool
	// Names is true where the first column holds names out of the recording.
	Names bool
}

// headline is a summary in a few words.
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
	if gpu := trimmed(s.Recorded.Environment.GPU); gpu != "" {
		what += " on " + gpu
	}
	return what
}

// per is what amounts are counted by.
func per(s *result.Summary) string {
	switch {
	case s.Recorded.Environment.Profiler().ByLaunch():
		return "launch"
	case s.Recorded.Step != "":
		return "step"
	}
	return "run"
}

// panels are the tables of a summary; inside puts a range into the ones around it.
func panels(s *result.Summary, all bool, inside func(path []string) string) []panel {
	list := []panel{
		partsPanel(s, all), kernelsPanel(s, all), countersPanel(s, all), collectivesPanel(s), rangesPanel(s, all, inside), copiesPanel(s), othersPanel(s),
	}
	var out []panel
	for _, p := range list {
		if len(p.Rows) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// cell is a number in a table, "" where it is not known.
func cell(n result.Number, unit string) string {
	if !n.Known() {
		return ""
	}
	return quantity(n, unit)
}

func shareCell(n result.Number) string {
	if !n.Known() {
		return ""
	}
	return share(n)
}

func partsPanel(s *result.Summary, all bool) panel {
	p := panel{Title: "Step", About: "who owns the time of a typical one", Wraps: true,
		Columns: []column{{title: "time", right: true}, {title: "share", right: true}, {title: "of"}}}
	rest, left := result.Number(0), 0
	for i, x := range s.Parts {
		// One that is left out alone may as well be shown.
		if !all && x.Share < summaryLeast && (left > 0 || i+1 < len(s.Parts)) {
			rest += x.Time
			left++
			continue
		}
		p.Rows = append(p.Rows, []string{quantity(x.Time, ns), share(x.Share), owner(x.Class, x.Where, x.Idle)})
	}
	if left > 0 && rest > 0 {
		p.Rows = append(p.Rows, []string{quantity(rest, ns), share(rest / s.Period), "everything else"})
	}
	return p
}

func kernelsPanel(s *result.Summary, all bool) panel {
	p := panel{Title: "Kernels", Names: true, Columns: []column{{least: 24}, {title: "share", right: true}, {title: "a launch", right: true},
		{title: "launches", right: true, rank: 2, optional: true}, {title: "total", right: true, rank: 1, optional: true}, {title: "of the step", right: true, rank: 4, optional: true},
		{title: "geometry", rank: 3, optional: true}, {title: "range", rank: 5, least: 12, optional: true}}}
	p.About = join(" · ", nonempty(amount(s.GPUTime, ns, "", per(s)), amount(s.Launches, "count", " launches", per(s)))...)
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
		geometry := ""
		if k.Grid != "" || k.Block != "" {
			geometry = Clean(k.Grid + "/" + k.Block)
		}
		name := subject(measure.ScopeKernel, k.Title())
		if all {
			name = subject(measure.ScopeKernel, k.Name)
		}
		p.Rows = append(p.Rows, []string{name, shareCell(k.Share), cell(k.Time, ns), cell(k.Launches, "count"), total(s, k.Total),
			cell(k.Owned, ns), Elide(geometry, 40), Elide(Clean(k.Role), 60)})
	}
	if left > 0 {
		p.Rows = append(p.Rows, []string{fmt.Sprintf("%d more", left), shareCell(rest.Share), "", cell(rest.Launches, "count"), total(s, rest.Total), "", "", ""})
	}
	return p
}

// countersPanel says what limits the kernels, as far as Nsight Compute counted it.
func countersPanel(s *result.Summary, all bool) panel {
	p := panel{Title: "Counters", About: "what limits a kernel; in percent of the peak", Names: true, Columns: []column{{least: 24},
		{title: "registers", right: true}, {title: "occupancy", right: true}, {title: "DRAM", right: true}, {title: "SM", right: true}, {title: "bound"}}}
	for i, k := range s.Kernels {
		c := k.Counters
		if c == nil || !all && i >= summaryKernels {
			continue
		}
		p.Rows = append(p.Rows, []string{subject(measure.ScopeKernel, k.Title()), cell(c.Registers, "count"), cell(c.Occupancy, "%"), cell(c.DRAM, "%"),
			cell(c.SM, "%"), Clean(c.Bound)})
	}
	return p
}

// collectivesPanel are the kernels that move data between GPUs.
func collectivesPanel(s *result.Summary) panel {
	p := panel{Title: "Collectives", About: "times of a launch, and their total, are without the waiting for ranks that come late", Names: true, Columns: []column{{least: 12}, {title: "share", right: true},
		{title: "a launch", right: true}, {title: "launches", right: true, rank: 3, optional: true}, {title: "total", right: true, rank: 2, optional: true},
		{title: "waits", right: true, rank: 1, optional: true}, {title: "exposed", right: true, rank: 4, optional: true}, {title: "bytes", right: true, rank: 5, optional: true},
		{title: "algorithm bandwidth", right: true, rank: 6, optional: true}, {title: "geometry", rank: 7, optional: true}, {title: "kernel", rank: 8, least: 16, optional: true}}}
	for _, k := range s.Kernels {
		c := k.Collective
		if c == nil {
			continue
		}
		geometry, name := "", ""
		if k.Grid != "" || k.Block != "" {
			geometry = Clean(k.Grid + "/" + k.Block)
		}
		if name = subject(measure.ScopeKernel, k.Kernel); c.Operation == k.Kernel {
			name = ""
		}
		p.Rows = append(p.Rows, []string{Elide(Clean(cmp.Or(c.Operation, k.Kernel)), 40), shareCell(k.Share), cell(k.Time, ns), cell(k.Launches, "count"), total(s, k.Total),
			cell(c.Wait, ns), cell(k.Owned, ns), cell(c.Bytes, "B"), cell(c.Rate, "B/s"), Elide(geometry, 40), Elide(name, 60)})
		if !c.Wait.Known() {
			p.About = ""
		}
	}
	return p
}

// total is what a kernel costs; of single launches that says nothing.
func total(s *result.Summary, n result.Number) string {
	if s.Recorded.Environment.Profiler().ByLaunch() {
		return ""
	}
	return cell(n, ns)
}

// amount is a number with what it is counted by, "" where it is not known.
func amount(n result.Number, unit, of, per string) string {
	if !n.Known() {
		return ""
	}
	return bind(quantity(n, unit) + of + " a " + per)
}

func rangesPanel(s *result.Summary, all bool, inside func([]string) string) panel {
	p := panel{Title: "Ranges", About: "kernel time by NVTX range", Names: true,
		Columns: []column{{least: 12}, {title: "share", right: true}, {title: "GPU time", right: true, rank: 1}}}
	left := 0
	var walk func(ranges []result.SummaryRange, path []string)
	walk = func(ranges []result.SummaryRange, path []string) {
		for _, r := range ranges {
			path := append(path[:len(path):len(path)], cmp.Or(trimmed(r.Name), "(outside of all)"))
			if !all && (len(p.Rows) >= summaryRanges || r.Share < summaryLeast) {
				left++
			} else {
				p.Rows = append(p.Rows, []string{inside(path), shareCell(r.Share), cell(r.Time, ns)})
			}
			walk(r.Ranges, path)
		}
	}
	walk(s.Ranges, nil)
	if left > 0 {
		p.Rows = append(p.Rows, []string{fmt.Sprintf("%d more", left), "", ""})
	}
	return p
}

func copiesPanel(s *result.Summary) panel {
	p := panel{Title: "Copies", About: "shares are of the time of all kernels and copies", Columns: []column{{least: 12}, {title: "share", right: true},
		{title: "rate", right: true}, {title: "time", right: true, rank: 1}, {title: "bytes", right: true, rank: 2}, {title: "count", right: true, rank: 4},
		{title: "of the step", right: true, rank: 5, optional: true}, {title: "memory", rank: 3, optional: true}}, Names: true}
	for _, c := range s.Copies {
		p.Rows = append(p.Rows, []string{Clean(c.Kind), shareCell(c.Share), cell(c.Rate, "B/s"), cell(c.Time, ns), cell(c.Bytes, "B"),
			cell(c.Count, "count"), cell(c.Owned, ns), Clean(c.Memory)})
	}
	return p
}

func othersPanel(s *result.Summary) panel {
	p := panel{Title: "Also measured", Names: true, Columns: []column{{least: 12}, {title: "of", least: 12, optional: true}, {title: "value", right: true}}}
	for _, x := range s.Others {
		of := trimmed(x.Name)
		if role := trimmed(x.Role); role != "" {
			of += " in " + role
		}
		p.Rows = append(p.Rows, []string{metric(x.Metric), of, quantity(x.Value, x.Unit)})
	}
	return p
}

// told are the patterns of a summary in words.
func told(s *result.Summary) []string {
	var out []string
	for _, p := range s.Patterns {
		out = append(out, Elide(Clean(cmp.Or(p.Sentence, p.Key)), maxPattern))
	}
	return nonempty(out...)
}

// recording is where, how and how often a summary was measured.
func recording(s *result.Summary) []fact {
	var out []fact
	for _, f := range []fact{{"GPU", machine(s.Recorded.Environment)}, {"runs", side(s.Recorded)}} {
		if f.Text = trimmed(f.Text); f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// summaryText writes the summary for a person at a terminal.
func summaryText(s *result.Summary, o Options) (string, error) {
	p := newPage(o)
	p.line(0, 2, span{headline(s), none})
	p.b.WriteByte('\n')
	for _, f := range recording(s) {
		p.line(2, 8, span{pad(f.Label, 4) + nb + " ", dim}, span{f.Text, none})
	}
	p.panels(s, o.Verbose)
	p.list("Patterns", "•", yellow, told(s))
	p.warnings(nonempty(s.Warnings...))
	return p.b.String(), nil
}

// panels writes the tables of a summary.
func (p *page) panels(s *result.Summary, all bool) {
	inside := func(path []string) string {
		return strings.Repeat(nb, 2*min(len(path)-1, 8)) + path[len(path)-1]
	}
	for _, x := range panels(s, all, inside) {
		p.b.WriteByte('\n')
		p.line(0, 2, span{x.Title, none}, span{nb + " " + x.About, dim})
		if x.Wraps {
			p.wrapped(x.Rows)
			continue
		}
		p.table(x.Columns, x.Rows, nil)
	}
	p.ranks(newRanks(s.Ranks), true)
}

// wrapped writes rows of which the last cell may take several lines; the others stand to the right of their columns.
func (p *page) wrapped(rows [][]string) {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	in := 2
	for i := range widths {
		for _, r := range rows {
			widths[i] = max(widths[i], columns(r[i]))
		}
		in += widths[i] + 2
	}
	for _, r := range rows {
		text := ""
		for i, n := range widths {
			text += strings.Repeat(nb, n-columns(r[i])) + bind(r[i]) + nb + nb
		}
		p.line(2, in, span{text, none}, span{r[last], none})
	}
}

// summaryMarkdown writes the summary for a page of GitHub or GitLab, never more than Options.MaxBytes.
func summaryMarkdown(s *result.Summary, o Options) (string, error) {
	limit := cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	text := "## nsgate: " + prose(headline(s)) + "\n\n| | |\n| --- | --- |\n"
	for _, f := range recording(s) {
		text += fmt.Sprintf("| %s | %s |\n", f.Label, prose(f.Text))
	}
	text += bullets("Patterns", proses(told(s)), limit/4) + bullets("Warnings", proses(nonempty(s.Warnings...)), limit/4)
	return panelsMarkdown(text, s, o.Verbose, limit), nil
}

// panelsMarkdown adds the tables of a summary to a text, to at most limit bytes in all.
func panelsMarkdown(text string, s *result.Summary, all bool, limit int) string {
	for _, x := range panels(s, all, func(path []string) string { return strings.Join(path, "/") }) {
		table := "\n**" + x.Title + "**"
		if x.About != "" {
			table += ": " + prose(x.About)
		}
		table += "\n\n" + x.head()
		for _, r := range x.Rows {
			line := x.row(r)
			if len(text)+len(table)+len(line) > limit-100 {
				return Cut(text+table, limit-100) + "\n\nThe rest is cut here; the JSON form holds all.\n"
			}
			table += line
		}
		text += table
	}
	return Cut(text+ranksMarkdown(newRanks(s.Ranks), limit-len(text)), limit)
}

// head is the head of a panel's table in Markdown.
func (x *panel) head() string {
	head, rule := "|", "|"
	for _, c := range x.Columns {
		head += " " + c.title + " |"
		if c.right {
			rule += " ---: |"
		} else {
			rule += " --- |"
		}
	}
	return head + "\n" + rule + "\n"
}

// row is a row of it.
func (x *panel) row(cells []string) string {
	line := "|"
	for i, c := range cells {
		if i == 0 && x.Names {
			line += " " + code(c) + " |"
		} else {
			line += " " + bind(prose(c)) + " |"
		}
	}
	return line + "\n"
}
