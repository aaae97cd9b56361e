package report

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

func (s *noiseSheet) page() []g.Node {
	return []g.Node{
		h.Header(lines(kicker(s.Kicker), h.H1(verdictOf(s.Mark, s.Word), g.Text(" "+s.Reason)), numbersAtTop(s.Figures))),
		h.Main(lines(
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
	plan := h.Table(h.Caption(g.Text("Plan: to find one and a half times the limit in 80"+nb+"% of cases")),
		heads(columnHead("Limit", right), columnHead("Runs a side", right), columnHead("Time", right), columnHead("Hardest")),
		h.TBody(each(s.Plan, func(cells []string) g.Node {
			return h.Tr(h.Th(h.Scope("row"), right, g.Text(cells[0])), textCell(cells[1], right), textCell(cells[2], right), textCell(cells[3]))
		})))
	numbers := h.Table(unseenCaption("Smallest slowdown by runs"),
		heads(columnHead("Runs a side", right), columnHead("Workload", right), columnHead("Kernels", right), columnHead("With the limit", right)),
		h.TBody(each(s.MDE, func(cells []string) g.Node {
			return h.Tr(h.Th(h.Scope("row"), right, g.Text(cells[0])), g.Map(cells[1:], func(c string) g.Node { return textCell(c, right) }))
		})))
	return chapter("found", "What can be found",
		intro("The smallest slowdown that is found in 80"+nb+"% of cases, by how many runs a side has; base and head in one session."),
		h.Div(h.Class("card two"), lines(s.curve(), plan)),
		intro(s.Gates),
		h.Details(h.Class("more"), h.Summary(g.Text("The same as numbers")), numbers))
}

func (s *noiseSheet) curve() g.Node {
	if s.Curve == "" {
		return nil
	}
	return h.Figure(h.Class("pic"), drawing(s.Curve), h.FigCaption(g.Text("runs a side")), h.Ul(h.Class("legend"),
		meaning("run head", "workload"), meaning("run better", "kernels from 5"+nb+"% of GPU time on"), meaning("run worse", "all of these under the policy’s limits")))
}

func (s *noiseSheet) noiseTable() g.Node {
	if len(s.Noise) == 0 {
		return nil
	}
	return chapter("noise", "Noise between runs",
		intro("Each dot is a run, on a scale of its own around the typical value, in the order of the runs from top to bottom. "+
			"sd is the standard deviation between runs, within that of single launches of the median run."),
		card(h.Table(h.Class("cards"), unseenCaption("Noise by kernel"),
			heads(sortedHead("Name", true), columnHead("GPU time", right), columnHead("Typical", right), columnHead("Runs"), sortedHead("sd", false, right),
				columnHead("Within", right), columnHead("MDE", right)),
			h.TBody(each(s.Noise, func(r noiseRow) g.Node {
				return h.Tr(rowName(g.Text(r.Subject), beside(r.In), beside(r.Levels)), textCell(r.Share, right, labelled("GPU time")), textCell(r.Typical, right),
					drawnCell(r.Runs), textCell(r.SD, right, labelled("sd"), sortBy(r.SortSD)), textCell(r.Within, right, g.If(r.Within != "", labelled("within"))),
					textCell(r.MDE, right, labelled("MDE")))
			}))), unshown(s.Untold, "more kernels move less.")))
}
