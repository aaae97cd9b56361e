package report

import (
	g "maragu.dev/gomponents"
)

func (s *noiseSheet) page() []g.Node {
	return []g.Node{
		el("header", lines(kicker(s.Kicker), el("h1", verdictOf(s.Mark, s.Word), escaped(" "+s.Reason)), numbersAtTop(s.Figures))),
		el("main", lines(
			listed("next", "What to do next", "", s.Next),
			listed("warnings", "Warnings", "doubtful", s.Warnings),
			s.found(),
			s.noiseTable(),
			chapter("measured", "How it was measured", card(factList(s.Facts), g.If(len(s.Host) > 0, plainList(s.Host)))),
		)),
		save(),
	}
}

// found is what slowdowns can be found with how many runs.
func (s *noiseSheet) found() g.Node {
	if len(s.MDE) == 0 {
		return nil
	}
	plan := el("table", el("caption", escaped("Plan: to find one and a half times the limit in 80"+nb+"% of cases")),
		heads(columnHead("Limit", right), columnHead("Runs a side", right), columnHead("Time", right), columnHead("Hardest")),
		el("tbody", each(s.Plan, func(cells []string) g.Node {
			return el("tr", el("th", attr("scope", "row"), right, escaped(cells[0])), textCell(cells[1], right), textCell(cells[2], right), textCell(cells[3]))
		})))
	numbers := el("table", unseenCaption("Smallest slowdown by runs"),
		heads(columnHead("Runs a side", right), columnHead("Workload", right), columnHead("Kernels", right), columnHead("With the limit", right)),
		el("tbody", each(s.MDE, func(cells []string) g.Node {
			return el("tr", el("th", attr("scope", "row"), right, escaped(cells[0])), g.Map(cells[1:], func(c string) g.Node { return textCell(c, right) }))
		})))
	return chapter("found", "What can be found",
		intro("The smallest slowdown that is found in 80"+nb+"% of cases, by how many runs a side has; base and head in one session."),
		el("div", classed("card two"), lines(s.curve(), plan)),
		intro(s.Gates),
		el("details", classed("more"), el("summary", escaped("The same as numbers")), numbers))
}

func (s *noiseSheet) curve() g.Node {
	if s.Curve == "" {
		return nil
	}
	return el("figure", classed("pic"), drawing(s.Curve), el("figcaption", escaped("runs a side")), el("ul", classed("legend"),
		meaning("run head", "workload"), meaning("run better", "kernels from 5"+nb+"% of GPU time on"), meaning("run worse", "all of these under the policy’s limits")))
}

func (s *noiseSheet) noiseTable() g.Node {
	if len(s.Noise) == 0 {
		return nil
	}
	return chapter("noise", "Noise between runs",
		intro("Each dot is a run, on a scale of its own around the typical value, in the order of the runs from top to bottom. "+
			"sd is the standard deviation between runs, within that of single launches of the median run."),
		card(el("table", classed("cards"), unseenCaption("Noise by kernel"),
			heads(sortedHead("Name", true), columnHead("GPU time", right), columnHead("Typical", right), columnHead("Runs"), sortedHead("sd", false, right),
				columnHead("Within", right), columnHead("MDE", right)),
			el("tbody", each(s.Noise, func(r noiseRow) g.Node {
				return el("tr", rowName(escaped(r.Subject), beside(r.In), beside(r.Levels)), textCell(r.Share, right, labelled("GPU time")), textCell(r.Typical, right),
					drawnCell(r.Runs), textCell(r.SD, right, labelled("sd"), sortBy(r.SortSD)), textCell(r.Within, right, g.If(r.Within != "", labelled("within"))),
					textCell(r.MDE, right, labelled("MDE")))
			}))), unshown(s.Untold, "more kernels move less.")))
}
