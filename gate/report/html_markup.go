package report

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/nsgate/nsgate/gate/internal/plot"
)

// What pages are made of. Text and attributes are escaped by gomponents. Addresses are names on the same page, or those that
// [documentation] allows; what is put in raw is this package's own script and style, the packed report and pictures.

// lines puts each node on lines of its own, for who reads the source of a page.
func lines(nodes ...g.Node) g.Group {
	out := g.Group{g.Text("\n")}
	for _, n := range nodes {
		if n != nil {
			out = append(out, n, g.Text("\n"))
		}
	}
	return out
}

// each makes a node of every item, on lines of their own.
func each[T any](items []T, node func(T) g.Node) g.Group { return lines(g.Map(items, node)...) }

// classed is the attribute class, nil for none.
func classed(names ...string) g.Node {
	if name := join(" ", names...); name != "" {
		return h.Class(name)
	}
	return nil
}

// Cells: those of numbers are set to the right, and on a narrow screen a label goes before what they say.
var right = h.Class("n")

func labelled(name string) g.Node { return h.Data("l", name) }

// sortBy is what a column is sorted by, where that is not what its cell says.
func sortBy(value string) g.Node { return h.Data("v", value) }

// toPage leads to a name on the same page.
func toPage(name string, text string) g.Node { return h.A(h.Href("#"+name), g.Text(text)) }

func chapter(name, title string, children ...g.Node) g.Node {
	return h.Section(h.ID(name), h.H2(g.Text(title)), lines(children...))
}

// intro says in a paragraph what is to be seen below.
func intro(text string) g.Node { return h.P(h.Class("about"), g.Text(text)) }

func card(children ...g.Node) g.Node { return h.Div(h.Class("card"), g.Group(children)) }

// beside is what stands in small letters behind a name, nil where that is nothing.
func beside(text string) g.Node {
	if text == "" {
		return nil
	}
	return g.Group{g.Text(" "), h.Span(h.Class("in"), g.Text(text))}
}

// unseen is read out only.
func unseen(text string) g.Node { return h.Span(h.Class("sr"), g.Text(text)) }

func unseenCaption(text string) g.Node { return h.Caption(h.Class("sr"), g.Text(text)) }

func heads(columns ...g.Node) g.Node { return h.THead(h.Tr(columns...)) }

func columnHead(title string, about ...g.Node) g.Node {
	return h.Th(h.Scope("col"), g.Group(about), g.Text(title))
}

// drawnHead is a column of pictures.
func drawnHead(title string) g.Node { return h.Th(h.Scope("col"), unseen(title)) }

// sortedHead sorts its table, at first from the smallest on where up is set.
func sortedHead(title string, up bool, about ...g.Node) g.Node {
	return h.Th(h.Scope("col"), g.Group(about), button(g.If(up, g.Attr("data-up")), g.Text(title)))
}

func rowName(children ...g.Node) g.Node { return h.Th(h.Scope("row"), g.Group(children)) }

func textCell(text string, about ...g.Node) g.Node { return h.Td(g.Group(about), g.Text(text)) }

func drawnCell(p plot.SVG) g.Node { return h.Td(h.Class("pic"), drawing(p)) }

func drawing(p plot.SVG) g.Node { return g.Raw(string(p)) }

func button(children ...g.Node) g.Node { return h.Button(h.Type("button"), g.Group(children)) }

func plainList(items []string) g.Node {
	return h.Ul(h.Class("plain"), each(items, func(s string) g.Node { return h.Li(g.Text(s)) }))
}

// listed is a section of sentences, nil where there are none.
func listed(name, title string, kind string, items []string) g.Node {
	if len(items) == 0 {
		return nil
	}
	return h.Section(h.ID(name), h.H2(classed(kind), g.Text(title)), lines(plainList(items)))
}

// meaning is an entry of a legend: a colour, and what it stands for.
func meaning(colour, text string) g.Node {
	return h.Li(h.SVG(h.Width("12"), h.Height("12"), h.Aria("hidden", "true"),
		g.El("rect", h.Class(colour), h.Width("12"), h.Height("12"), g.Attr("rx", "2"))), g.Text(text))
}

// verdictOf is what a page says first.
func verdictOf(mark, word string) g.Node { return h.Span(h.Class("verdict "+mark), g.Text(word)) }

func kicker(text string) g.Node { return h.P(h.Class("kicker"), g.Text(text)) }

// numbersAtTop are the figures of a page, nil for none.
func numbersAtTop(figures []figure) g.Node {
	if len(figures) == 0 {
		return nil
	}
	return h.Dl(h.Class("figures"), each(figures, func(f figure) g.Node {
		return h.Div(g.If(f.Wide, h.Class("wide")), h.Dt(g.Text(f.Label)), h.Dd(classed(f.Class), g.Text(f.Value), g.If(f.Note != "", h.Small(g.Text(f.Note)))))
	}))
}

func factList(facts []fact) g.Node {
	return h.Dl(h.Class("facts"), each(facts, func(f fact) g.Node { return g.Group{h.Dt(g.Text(f.Label)), h.Dd(g.Text(f.Text))} }))
}

// unshown says how many rows are left out, nil where none are.
func unshown(n int, text string) g.Node {
	if n == 0 {
		return nil
	}
	return h.P(h.Class("in"), g.Textf("%d %s", n, text))
}

// save is the foot of every page.
func save() g.Node {
	return h.Footer(button(h.Class("save"), g.Text("Save the report inside as JSON")))
}
