package report

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/nsgate/nsgate/gate"
)

func (s *sheet) findings() g.Node {
	if len(s.Articles) == 0 {
		return nil
	}
	return chapter(s.At+"findings", "Findings",
		h.P(h.Class("about"), g.Text("What fails the gate, is slower without failing it, or could not be decided. Every dot is a run, in the order of the runs from top to bottom, "+
			"those of a session together; the line through them is the typical value, the dashed one the limit."),
			h.Span(h.Class("paper"), g.Text(" On paper are the first eight, four of them with pictures."))),
		each(s.Articles, article.section),
		unshown(s.More, "more stand in the table above."))
}

func (a article) section() g.Node {
	values := a.Values
	if a.Allowed != "" {
		values += ", " + a.Allowed
	}
	return h.Article(classed("card", "finding", a.Class+"-of"), h.ID(a.Link),
		h.Header(h.H3(toPage(a.Link, a.Subject)), h.Span(classed("delta", a.Class), g.Text(a.Delta))), lines(
			h.P(h.Class("in"), g.Text(a.About)),
			h.P(g.Text(values+": "), h.Strong(classed(a.Class), g.Text(a.Result))),
			g.If(len(a.Said) > 0, h.Ul(g.Map(a.Said, func(s string) g.Node { return h.Li(g.Text(s)) }))),
			a.parts(),
			g.If(len(a.Pictures) > 0, h.Div(classed("two", a.Class), each(a.Pictures, picture.figure))),
			a.why(),
			g.If(a.Full != "", h.Details(h.Summary(g.Text("Full name")), h.Code(g.Text(a.Full)))),
		))
}

func (a article) parts() g.Node {
	if len(a.Parts) == 0 {
		return nil
	}
	return h.Table(h.Caption(g.Text("What took the place of what, a step each")), h.THead(h.Class("sr"), h.Tr(columnHead("Time"), columnHead("Kernel"), columnHead("State"))),
		h.TBody(each(a.Parts, func(p partRow) g.Node {
			return h.Tr(textCell(p.Time, right), rowName(g.Text(p.Subject)), textCell(p.Mark, classed(p.Class)))
		})))
}

func (p picture) figure() g.Node {
	return h.Figure(h.Class("pic"), h.H4(g.Text(p.Title)), drawing(p.SVG), h.FigCaption(g.Text(p.About)))
}

// why is the cause with the counters behind it, nil where that is not known.
func (a article) why() g.Node {
	if a.Cause == nil {
		return nil
	}
	said := h.Div(h.H4(g.Text("Why")), h.P(g.Text(a.Cause.Summary)),
		g.If(a.Cause.Before != "", h.P(h.Class("in"), g.Text("Base: "+a.Cause.Before+". Head: "+a.Cause.After+"."))),
		g.Map(a.Cause.Guides, func(x gate.Guide) g.Node {
			return h.P(h.Class("in"), h.A(h.Href(x.Link), h.Rel("noreferrer"), g.Text(x.Title)))
		}))
	roof := g.Iff(a.Roof != nil, func() g.Node { return a.Roof.figure() })
	counters := g.Iff(len(a.Counters) > 0, func() g.Node { return counterTable("Counters of Nsight Compute", a.Counters) })
	more := g.Iff(len(a.MoreCounters) > 0, func() g.Node {
		return h.Details(h.Class("more"), h.Summary(g.Textf("%d more counters", len(a.MoreCounters))), counterTable("More counters of Nsight Compute", a.MoreCounters))
	})
	return g.Group{h.Div(h.Class("two"), lines(said, roof)), lines(counters, more)}
}

func counterTable(caption string, counters []counterRow) g.Node {
	return h.Table(h.Class("cards counters"), unseenCaption(caption),
		heads(columnHead("Counter"), columnHead("Base", right), columnHead("Head", right), columnHead("Change", right)),
		h.TBody(each(counters, func(c counterRow) g.Node {
			return h.Tr(rowName(g.Text(c.Name)), textCell(c.Base, right, labelled("base")), textCell(c.Head, right, labelled("head")), textCell(c.Arrow+" "+c.By, right))
		})))
}
