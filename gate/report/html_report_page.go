package report

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// page is the sheet, and below it those of several workloads.
func (s *sheet) page() []g.Node {
	out := s.body()
	for _, w := range s.Workloads {
		out = append(out, w.body()...)
	}
	return append(out, save())
}

func (s *sheet) body() []g.Node {
	headline := h.H1(verdictOf(s.Mark, s.Word), g.Text(" "+s.Reason))
	around := h.Main
	if s.At != "" {
		headline = h.H2(h.Class("h1"), h.ID(s.At), verdictOf(s.Mark, s.Word), g.Text(" "+s.Workload+": "+s.Reason))
		around = func(children ...g.Node) g.Node { return h.Div(h.Class("main"), g.Group(children)) }
	}
	return []g.Node{
		h.Header(lines(kicker(s.Kicker), headline, numbersAtTop(s.Figures), s.contents())),
		around(lines(
			listed(s.At+"next", "What to do next", "", s.Next),
			listed(s.At+"warnings", "Warnings", "doubtful", s.Warnings),
			s.waterfall(),
			s.oneStep(),
			s.changeTable(),
			s.findings(),
			s.rangeBoxes(),
			s.rankTable(),
			s.measured(),
		)),
	}
}

// contents leads to the parts of a page.
func (s *sheet) contents() g.Node {
	to := func(there bool, name, text string) g.Node { return g.If(there, toPage(s.At+name, text)) }
	return h.Nav(h.Aria("label", "On this page"),
		to(len(s.Falls) > 0, "where", "Where the time went"), to(len(s.Steps) > 0, "step", "One step"), to(len(s.Changes) > 0, "changes", "Changes"),
		g.Map(s.Workloads, func(w *sheet) g.Node { return toPage(w.At, w.Workload+": "+w.Word) }),
		to(len(s.Articles) > 0, "findings", "Findings"), to(s.Flame != "", "ranges", "Ranges"), to(len(s.Ranks) > 0, "ranks", "Ranks"),
		to(len(s.Facts)+len(s.Sights)+len(s.Commands) > 0, "measured", "How it was measured"))
}

func (s *sheet) waterfall() g.Node {
	if len(s.Falls) == 0 {
		return nil
	}
	return chapter(s.At+"where", "Where the time went", intro(s.FallAbout),
		card(h.Table(h.Class("cards falls"), unseenCaption("Who owns the change of the step"),
			heads(columnHead("Of"), drawnHead("Bar"), columnHead("Change", right), columnHead("Interval")),
			h.TBody(each(s.Falls, func(f fallLine) g.Node {
				what := g.Text(f.What)
				if f.Link != "" {
					what = toPage(f.Link, Elide(f.What, maxName))
				}
				change := classed("n", f.Class)
				if f.Class == "sum" {
					change = right
				}
				return h.Tr(classed(f.Class), rowName(what, beside(f.In)), drawnCell(f.Bar), textCell(f.Change, change), textCell(f.Interval, h.Class("in")))
			})))))
}

func (s *sheet) oneStep() g.Node {
	if len(s.Steps) == 0 {
		return nil
	}
	said := "The step nearest the median of its side, as it lay on the GPU"
	if len(s.Steps) > 1 {
		said += "; both are on one time scale"
	}
	return chapter(s.At+"step", "One step", intro(said+". Kernels that got slower, or are new in place of others, are marked."),
		each(s.Steps, func(x stepPicture) g.Node {
			return h.Figure(h.Class("card"), h.H3(g.Text(x.Side), beside(x.About)), drawing(x.SVG))
		}),
		h.Ul(h.Class("legend"), meaning("calm", "kernels"), meaning("worse", "slower or new"), meaning("better", "faster"), meaning("gone", "gone in the head"),
			meaning("move", "communication"), meaning("copy", "copies"), meaning("idle", "idle")))
}

// changeTable is the table of changes; that of the whole page can be searched.
func (s *sheet) changeTable() g.Node {
	if len(s.Changes) == 0 {
		return nil
	}
	return chapter(s.At+"changes", "Changes",
		intro("Each row is a kernel, range or number of the workload, those that changed a step most first: its change as a dot with the interval, "+
			"in the shaded band what its limit allows. The scale is linear up to "+s.Bend+", logarithmic beyond."),
		card(lines(
			g.Iff(s.At == "", searchTools),
			h.Table(h.Class("cards rows"), unseenCaption("Every comparison, by what it adds to a step"),
				heads(sortedHead("Name", true), columnHead("Base → head"), sortedHead("Change", false, right), h.Th(h.Scope("col"), drawing(s.Axis)),
					sortedHead("A step", false, right), sortedHead("GPU time", false, right), sortedHead("Outcome", true)),
				h.TBody(each(s.Changes, change.row))),
			h.P(h.Class("about paper"), g.Text("On paper are the first 24 rows, without those that are unchanged.")),
			unshown(s.Untold, "more rows, which changed a step least, are not drawn; the report inside has them."))))
}

func searchTools() g.Node {
	chip := func(kind, text string) g.Node {
		pressed := "false"
		if kind == "all" {
			pressed = "true"
		}
		return button(h.Data("f", kind), h.Aria("pressed", pressed), g.Text(text))
	}
	const what = "Search kernels and ranges"
	return h.Div(h.Class("tools"), h.Label(h.Class("sr"), h.For("search"), g.Text(what)),
		h.Input(h.ID("search"), h.Type("search"), h.Placeholder(what), h.AutoComplete("off")), g.Text("\n"),
		chip("all", "All"), chip("changed", "Not unchanged"), chip("worse", "Slower"), chip("doubt", "Undecided"), chip("better", "Faster"),
		h.Span(h.ID("told"), h.Class("in"), h.Role("status")))
}

func (c change) row() g.Node {
	name := g.Text(c.Subject)
	switch {
	case c.Article:
		name = toPage(c.Link, c.Subject)
	case c.Full != "":
		name = h.Details(h.Summary(g.Text(c.Subject)), h.Code(g.Text(c.Full)))
	}
	marked := g.If(c.Class != "same", classed(c.Class))
	return h.Tr(g.If(!c.Article && c.Link != "", h.ID(c.Link)), g.If(c.Class == "same", h.Class("same")), h.Data("o", c.Class),
		rowName(name, beside(c.In)),
		h.Td(g.Text(c.Values), beside(c.Metric)),
		textCell(c.Change, marked, sortBy(c.By)),
		h.Td(h.Class("pic"), unseen("interval "+c.Interval), drawing(c.Forest)),
		textCell(c.Step, labelled("a step"), sortBy(c.Adds)),
		textCell(c.Share, labelled("GPU time"), sortBy(c.Part)),
		textCell(c.Result, marked))
}

// rangeBoxes is the time by NVTX range.
func (s *sheet) rangeBoxes() g.Node {
	if s.Flame == "" {
		return nil
	}
	return chapter(s.At+"ranges", "Ranges",
		intro("Kernel time by NVTX range. A box is as wide as its time in the head, those below lie in it; orange got slower, blue faster, the deeper the more."),
		card(drawing(s.Flame)))
}

func (s *sheet) rankTable() g.Node {
	if len(s.Ranks) == 0 {
		return nil
	}
	return chapter(s.At+"ranks", "Ranks",
		intro("What each rank or device computes in a step: the base above, the head below, on one scale. A rank waits in collectives for the others."),
		g.If(len(s.RanksTold) > 0, plainList(s.RanksTold)),
		card(h.Table(h.Class("cards"), unseenCaption("Compute time by rank"),
			heads(columnHead("Rank"), drawnHead("Bars"), columnHead("Base", right), columnHead("Head", right), columnHead("Waits", right)),
			h.TBody(each(s.Ranks, func(r rankRow) g.Node {
				return h.Tr(rowName(g.Text(r.Name)), drawnCell(r.Heat), textCell(r.Base, right, g.If(r.Base != "", labelled("base"))),
					textCell(r.Head, classed("n", r.Class), labelled("head")), textCell(r.Wait, right, g.If(r.Wait != "", labelled("waits"))))
			})))))
}

func (s *sheet) measured() g.Node {
	if len(s.Facts)+len(s.Sights)+len(s.Commands) == 0 {
		return nil
	}
	return chapter(s.At+"measured", "How it was measured",
		g.If(len(s.Facts)+len(s.Sights) > 0, card(lines(factList(s.Facts), s.sightTable()))),
		each(s.Commands, func(c fact) g.Node { return g.Group{h.H4(g.Text(c.Label)), h.Pre(g.Text(c.Text))} }))
}

func (s *sheet) sightTable() g.Node {
	if len(s.Sights) == 0 {
		return nil
	}
	return h.Details(h.Class("more"), h.Summary(g.Text("What each comparison could show, and what was not judged")),
		h.Table(h.Class("cards"), h.Caption(g.Text("MDE: the smallest change that this data would show in 80"+nb+"% of cases")),
			heads(columnHead("Name"), columnHead("Metric"), columnHead("Runs", right), columnHead("MDE", right), columnHead("Limit", right), columnHead("Outcome")),
			h.TBody(each(s.Sights, func(x sight) g.Node {
				return h.Tr(rowName(g.Text(x.Subject)), textCell(x.Metric, h.Class("wide")), textCell(x.Runs, right, labelled("runs")), textCell(x.MDE, right, labelled("MDE")),
					textCell(x.Limit, right, labelled("limit")), h.Td(h.Class("wide"), g.Text(x.Result), beside(x.Reason)))
			}))))
}
