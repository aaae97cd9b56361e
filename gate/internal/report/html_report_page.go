package report

import (
	g "maragu.dev/gomponents"
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
	headline := el("h1", verdictOf(s.Mark, s.Word), escaped(" "+s.Reason))
	around := func(parts g.Group) g.Node { return el("main", parts) }
	if s.At != "" {
		headline = el("h2", classed("h1"), attr("id", s.At), verdictOf(s.Mark, s.Word), escaped(" "+s.Workload+": "+s.Reason))
		around = func(parts g.Group) g.Node { return el("div", classed("main"), parts) }
	}
	return []g.Node{
		el("header", lines(kicker(s.Kicker), headline, numbersAtTop(s.Figures), s.contents())),
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
	return el("nav", attr("aria-label", "On this page"),
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
		card(el("table", classed("cards falls"), unseenCaption("Who owns the change of the step"),
			heads(columnHead("Of"), drawnHead("Bar"), columnHead("Change", right), columnHead("Interval")),
			el("tbody", each(s.Falls, func(f fallLine) g.Node {
				what := escaped(f.What)
				if f.Link != "" {
					what = toPage(f.Link, Elide(f.What, maxName))
				}
				change := classed("n", f.Class)
				if f.Class == "sum" {
					change = right
				}
				return el("tr", classed(f.Class), rowName(what, beside(f.In)), drawnCell(f.Bar), textCell(f.Change, change), textCell(f.Interval, classed("in")))
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
			return el("figure", classed("card"), el("h3", escaped(x.Side), beside(x.About)), drawing(x.SVG))
		}),
		el("ul", classed("legend"), meaning("calm", "kernels"), meaning("worse", "slower or new"), meaning("better", "faster"), meaning("gone", "gone in the head"),
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
			el("table", classed("cards rows"), unseenCaption("Every comparison, by what it adds to a step"),
				heads(sortedHead("Name", true), columnHead("Base → head"), sortedHead("Change", false, right), el("th", attr("scope", "col"), drawing(s.Axis)),
					sortedHead("A step", false, right), sortedHead("GPU time", false, right), sortedHead("Outcome", true)),
				el("tbody", each(s.Changes, change.row))),
			el("p", classed("about paper"), escaped("On paper are the first 24 rows, without those that are unchanged.")),
			unshown(s.Untold, "more rows, which changed a step least, are not drawn; the report inside has them."))))
}

func searchTools() g.Node {
	chip := func(kind, text string) g.Node {
		pressed := "false"
		if kind == "all" {
			pressed = "true"
		}
		return button(attr("data-f", kind), attr("aria-pressed", pressed), escaped(text))
	}
	const what = "Search kernels and ranges"
	return el("div", classed("tools"), el("label", classed("sr"), attr("for", "search"), escaped(what)),
		el("input", attr("id", "search"), attr("type", "search"), attr("placeholder", what), attr("autocomplete", "off")), newline,
		chip("all", "All"), chip("changed", "Not unchanged"), chip("worse", "Slower"), chip("doubt", "Undecided"), chip("better", "Faster"),
		el("span", attr("id", "told"), classed("in"), attr("role", "status")))
}

func (c change) row() g.Node {
	name := escaped(c.Subject)
	switch {
	case c.Article:
		name = toPage(c.Link, c.Subject)
	case c.Full != "":
		name = el("details", el("summary", escaped(c.Subject)), el("code", escaped(c.Full)))
	}
	marked := g.If(c.Class != "same", classed(c.Class))
	return el("tr", g.If(!c.Article && c.Link != "", attr("id", c.Link)), g.If(c.Class == "same", classed("same")), attr("data-o", c.Class),
		rowName(name, beside(c.In)),
		el("td", escaped(c.Values), beside(c.Metric)),
		textCell(c.Change, marked, sortBy(c.By)),
		el("td", classed("pic"), unseen("interval "+c.Interval), drawing(c.Forest)),
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
		card(el("table", classed("cards"), unseenCaption("Compute time by rank"),
			heads(columnHead("Rank"), drawnHead("Bars"), columnHead("Base", right), columnHead("Head", right), columnHead("Waits", right)),
			el("tbody", each(s.Ranks, func(r rankRow) g.Node {
				return el("tr", rowName(escaped(r.Name)), drawnCell(r.Heat), textCell(r.Base, right, g.If(r.Base != "", labelled("base"))),
					textCell(r.Head, classed("n", r.Class), labelled("head")), textCell(r.Wait, right, g.If(r.Wait != "", labelled("waits"))))
			})))))
}

func (s *sheet) measured() g.Node {
	if len(s.Facts)+len(s.Sights)+len(s.Commands) == 0 {
		return nil
	}
	return chapter(s.At+"measured", "How it was measured",
		g.If(len(s.Facts)+len(s.Sights) > 0, card(lines(factList(s.Facts), s.sightTable()))),
		each(s.Commands, func(c fact) g.Node { return g.Group{el("h4", escaped(c.Label)), el("pre", escaped(c.Text))} }))
}

func (s *sheet) sightTable() g.Node {
	if len(s.Sights) == 0 {
		return nil
	}
	return el("details", classed("more"), el("summary", escaped("What each comparison could show, and what was not judged")),
		el("table", classed("cards"), el("caption", escaped("MDE: the smallest change that this data would show in 80"+nb+"% of cases")),
			heads(columnHead("Name"), columnHead("Metric"), columnHead("Runs", right), columnHead("MDE", right), columnHead("Limit", right), columnHead("Outcome")),
			el("tbody", each(s.Sights, func(x sight) g.Node {
				return el("tr", rowName(escaped(x.Subject)), textCell(x.Metric, classed("wide")), textCell(x.Runs, right, labelled("runs")), textCell(x.MDE, right, labelled("MDE")),
					textCell(x.Limit, right, labelled("limit")), el("td", classed("wide"), escaped(x.Result), beside(x.Reason)))
			}))))
}
