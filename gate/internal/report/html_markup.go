package report

import (
	"fmt"

	g "maragu.dev/gomponents"

	"github.com/nsgate/nsgate/gate/internal/plot"
)

// What pages are made of. Text and attributes are escaped by gomponents. Addresses are names on the same page, or those that
// [documentation] allows; what is put in raw is this package's own script and style, the packed report and pictures.

// el, attr and escaped are an element, an attribute and a text. They and lines are not inlined, for each of some hundred calls would get a
// copy of what writes it.
//
//go:noinline
func el(name string, children ...g.Node) g.Node { return g.El(name, children...) }

//go:noinline
func attr(name, value string) g.Node { return g.Attr(name, value) }

//go:noinline
func escaped(text string) g.Node { return g.Text(text) }

// newline is for who reads the source of a page.
var newline = g.Raw("\n")

// lines puts each node on lines of its own.
//
//go:noinline
func lines(nodes ...g.Node) g.Group {
	out := g.Group{newline}
	for _, n := range nodes {
		if n != nil {
			out = append(out, n, newline)
		}
	}
	return out
}

// each makes a node of every item, on lines of their own.
func each[T any](items []T, node func(T) g.Node) g.Group { return lines(g.Map(items, node)...) }

// classed is the attribute class, nil for none.
func classed(names ...string) g.Node {
	if name := join(" ", names...); name != "" {
		return attr("class", name)
	}
	return nil
}

// Cells: those of numbers are set to the right, and on a narrow screen a label goes before what they say.
var right = classed("n")

func labelled(name string) g.Node { return attr("data-l", name) }

// sortBy is what a column is sorted by, where that is not what its cell says.
func sortBy(value string) g.Node { return attr("data-v", value) }

// toPage leads to a name on the same page.
func toPage(name string, text string) g.Node { return el("a", attr("href", "#"+name), escaped(text)) }

func chapter(name, title string, children ...g.Node) g.Node {
	return el("section", attr("id", name), el("h2", escaped(title)), lines(children...))
}

// intro says in a paragraph what is to be seen below.
func intro(text string) g.Node { return el("p", classed("about"), escaped(text)) }

func card(children ...g.Node) g.Node { return el("div", classed("card"), g.Group(children)) }

// beside is what stands in small letters behind a name, nil where that is nothing.
func beside(text string) g.Node {
	if text == "" {
		return nil
	}
	return g.Group{escaped(" "), el("span", classed("in"), escaped(text))}
}

// unseen is read out only.
func unseen(text string) g.Node { return el("span", classed("sr"), escaped(text)) }

func unseenCaption(text string) g.Node { return el("caption", classed("sr"), escaped(text)) }

func heads(columns ...g.Node) g.Node { return el("thead", el("tr", columns...)) }

func columnHead(title string, about ...g.Node) g.Node {
	return el("th", attr("scope", "col"), g.Group(about), escaped(title))
}

// drawnHead is a column of pictures.
func drawnHead(title string) g.Node { return el("th", attr("scope", "col"), unseen(title)) }

// sortedHead sorts its table, at first from the smallest on where up is set.
func sortedHead(title string, up bool, about ...g.Node) g.Node {
	return el("th", attr("scope", "col"), g.Group(about), button(g.If(up, g.Attr("data-up")), escaped(title)))
}

func rowName(children ...g.Node) g.Node { return el("th", attr("scope", "row"), g.Group(children)) }

func textCell(text string, about ...g.Node) g.Node { return el("td", g.Group(about), escaped(text)) }

func drawnCell(p plot.SVG) g.Node { return el("td", classed("pic"), drawing(p)) }

func drawing(p plot.SVG) g.Node { return g.Raw(string(p)) }

func button(children ...g.Node) g.Node {
	return el("button", attr("type", "button"), g.Group(children))
}

func plainList(items []string) g.Node {
	return el("ul", classed("plain"), each(items, func(s string) g.Node { return el("li", escaped(s)) }))
}

// listed is a section of sentences, nil where there are none.
func listed(name, title string, kind string, items []string) g.Node {
	if len(items) == 0 {
		return nil
	}
	return el("section", attr("id", name), el("h2", classed(kind), escaped(title)), lines(plainList(items)))
}

// meaning is an entry of a legend: a colour, and what it stands for.
func meaning(colour, text string) g.Node {
	return el("li", el("svg", attr("width", "12"), attr("height", "12"), attr("aria-hidden", "true"),
		el("rect", classed(colour), attr("width", "12"), attr("height", "12"), attr("rx", "2"))), escaped(text))
}

// verdictOf is what a page says first.
func verdictOf(mark, word string) g.Node { return el("span", classed("verdict "+mark), escaped(word)) }

func kicker(text string) g.Node { return el("p", classed("kicker"), escaped(text)) }

// numbersAtTop are the figures of a page, nil for none.
func numbersAtTop(figures []figure) g.Node {
	if len(figures) == 0 {
		return nil
	}
	return el("dl", classed("figures"), each(figures, func(f figure) g.Node {
		return el("div", g.If(f.Wide, classed("wide")), el("dt", escaped(f.Label)), el("dd", classed(f.Class), escaped(f.Value), g.If(f.Note != "", el("small", escaped(f.Note)))))
	}))
}

func factList(facts []fact) g.Node {
	return el("dl", classed("facts"), each(facts, func(f fact) g.Node { return g.Group{el("dt", escaped(f.Label)), el("dd", escaped(f.Text))} }))
}

// unshown says how many rows are left out, nil where none are.
func unshown(n int, text string) g.Node {
	if n == 0 {
		return nil
	}
	return el("p", classed("in"), escaped(fmt.Sprint(n, " ", text)))
}

// save is the foot of every page.
func save() g.Node {
	return el("footer", button(classed("save"), escaped("Save the report inside as JSON")))
}
