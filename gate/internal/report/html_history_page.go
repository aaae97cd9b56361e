package report

import (
	"strings"

	g "maragu.dev/gomponents"
)

func (c *chronicle) page() []g.Node {
	return []g.Node{
		el("header", lines(kicker(c.Kicker), el("h1", escaped(c.Headline)))),
		el("main", lines(
			chapter("levels", "Changes of level", g.If(c.None != "", intro(c.None)), c.levelTable()),
			chapter("trends", "Trends", intro(c.aboutTrends()), c.trendTable()),
			listed("measured", "Measured with something else from", "", c.Elsewhere),
		)),
		save(),
	}
}

func (c *chronicle) levelTable() g.Node {
	if len(c.Levels) == 0 {
		return nil
	}
	return card(el("table", classed("cards"), unseenCaption("When the level of a number changed"),
		heads(columnHead("Name"), columnHead("Before → after"), columnHead("Change", right), columnHead("When"), columnHead("Where")),
		el("tbody", each(c.Levels, func(l levelRow) g.Node {
			return el("tr", rowName(escaped(l.Subject), beside(l.Metric)), textCell(l.Values, classed("wide")), textCell(l.Change, classed("n", l.Class)),
				textCell(l.When), textCell(l.Where, classed("wide")))
		}))))
}

func (c *chronicle) aboutTrends() string {
	var b strings.Builder
	b.WriteString("Each dot is a session, the oldest to the left, on a scale of its own; a dashed line is where the level changed")
	if len(c.Elsewhere) > 0 {
		b.WriteString(", a dotted one where something else changed than the code")
	}
	if c.Hosts {
		b.WriteString(", a tick at the foot where the host changed")
	}
	if c.Anchor != "" {
		b.WriteString(", the bright line " + c.Anchor + ", the anchor")
	}
	return b.String() + "."
}

func (c *chronicle) trendTable() g.Node {
	anchored := c.Anchor != ""
	return card(el("table", classed("cards"), unseenCaption("Numbers over time"),
		heads(sortedHead("Name", true), columnHead("Over time"), columnHead("First", right), columnHead("Last", right), sortedHead("Change", false, right),
			g.If(anchored, columnHead("Since "+c.Anchor, right))),
		el("tbody", each(c.Trends, func(t trendRow) g.Node {
			return el("tr", rowName(escaped(t.Subject), beside(t.Metric)), el("td", classed("pic line"), drawing(t.Line)),
				textCell(t.First, right, labelled("first")), textCell(t.Last, right, labelled("last")), textCell(t.Change, right, labelled("change"), sortBy(t.By)),
				g.If(anchored, textCell(t.Since, right, labelled("since the anchor"))))
		}))), unshown(c.Untold, "more changed less."))
}
