package report

import (
	"fmt"

	g "maragu.dev/gomponents"

	"github.com/nsgate/nsgate/gate/internal/result"
)

func (s *sheet) findings() g.Node {
	if len(s.Articles) == 0 {
		return nil
	}
	return chapter(s.At+"findings", "Findings",
		el("p", classed("about"), escaped("What fails the gate, is slower without failing it, or could not be decided. Every dot is a run, in the order of the runs from top to bottom, "+
			"those of a session together; the line through them is the typical value, the dashed one the limit."),
			el("span", classed("paper"), escaped(" On paper are the first eight, four of them with pictures."))),
		each(s.Articles, article.section),
		unshown(s.More, "more stand in the table above."))
}

func (a article) section() g.Node {
	values := a.Values
	if a.Allowed != "" {
		values += ", " + a.Allowed
	}
	return el("article", classed("card", "finding", a.Class+"-of"), attr("id", a.Link),
		el("header", el("h3", toPage(a.Link, a.Subject)), el("span", classed("delta", a.Class), escaped(a.Delta))), lines(
			el("p", classed("in"), escaped(a.About)),
			el("p", escaped(values+": "), el("strong", classed(a.Class), escaped(a.Result))),
			g.If(len(a.Said) > 0, el("ul", g.Map(a.Said, func(s string) g.Node { return el("li", escaped(s)) }))),
			a.parts(),
			g.If(len(a.Pictures) > 0, el("div", classed("two", a.Class), each(a.Pictures, picture.figure))),
			a.why(),
			g.If(a.Full != "", el("details", el("summary", escaped("Full name")), el("code", escaped(a.Full)))),
		))
}

func (a article) parts() g.Node {
	if len(a.Parts) == 0 {
		return nil
	}
	return el("table", el("caption", escaped("What took the place of what, a step each")), el("thead", classed("sr"), el("tr", columnHead("Time"), columnHead("Kernel"), columnHead("State"))),
		el("tbody", each(a.Parts, func(p partRow) g.Node {
			return el("tr", textCell(p.Time, right), rowName(escaped(p.Subject)), textCell(p.Mark, classed(p.Class)))
		})))
}

func (p picture) figure() g.Node {
	return el("figure", classed("pic"), el("h4", escaped(p.Title)), drawing(p.SVG), el("figcaption", escaped(p.About)))
}

// why is the cause with the counters behind it, nil where that is not known.
func (a article) why() g.Node {
	if a.Cause == nil {
		return nil
	}
	said := el("div", el("h4", escaped("Why")), el("p", escaped(a.Cause.Summary)),
		g.If(a.Cause.Before != "", el("p", classed("in"), escaped("Base: "+a.Cause.Before+". Head: "+a.Cause.After+"."))),
		g.Map(a.Cause.Guides, func(x result.Guide) g.Node {
			return el("p", classed("in"), el("a", attr("href", x.Link), attr("rel", "noreferrer"), escaped(x.Title)))
		}))
	roof := g.Iff(a.Roof != nil, func() g.Node { return a.Roof.figure() })
	counters := g.Iff(len(a.Counters) > 0, func() g.Node { return counterTable("Counters of Nsight Compute", a.Counters) })
	more := g.Iff(len(a.MoreCounters) > 0, func() g.Node {
		return el("details", classed("more"), el("summary", escaped(fmt.Sprintf("%d more counters", len(a.MoreCounters)))), counterTable("More counters of Nsight Compute", a.MoreCounters))
	})
	return g.Group{el("div", classed("two"), lines(said, roof)), lines(counters, more)}
}

func counterTable(caption string, counters []counterRow) g.Node {
	return el("table", classed("cards counters"), unseenCaption(caption),
		heads(columnHead("Counter"), columnHead("Base", right), columnHead("Head", right), columnHead("Change", right)),
		el("tbody", each(counters, func(c counterRow) g.Node {
			return el("tr", rowName(escaped(c.Name)), textCell(c.Base, right, labelled("base")), textCell(c.Head, right, labelled("head")), textCell(c.Arrow+" "+c.By, right))
		})))
}
