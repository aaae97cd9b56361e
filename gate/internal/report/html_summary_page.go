package report

import (
	g "maragu.dev/gomponents"
)

func (a *anatomy) page() []g.Node {
	main := []g.Node{listed("warnings", "Warnings", "doubtful", a.Warnings), listed("patterns", "Patterns", "", a.Patterns), a.step()}
	if a.Flame != "" {
		main = append(main, chapter("ranges", "Ranges", intro("Kernel time by NVTX range: a box is as wide as its time, those below lie in it."), card(drawing(a.Flame))))
	}
	for _, p := range a.Panels {
		main = append(main, p.section())
	}
	main = append(main, chapter("measured", "How it was measured", card(factList(a.Facts))))
	return []g.Node{el("header", lines(kicker(a.Kicker), el("h1", escaped(a.Headline)))), el("main", lines(main...)), save()}
}

func (a *anatomy) step() g.Node {
	if len(a.Parts) == 0 {
		return nil
	}
	return chapter("where", "Step", intro("Who owns the time of a typical one."),
		card(el("table", classed("cards falls"), unseenCaption("Owners of the step"),
			heads(columnHead("Of"), drawnHead("Bar"), columnHead("Time", right), columnHead("Share", right)),
			el("tbody", each(a.Parts, func(x shareRow) g.Node {
				return el("tr", rowName(escaped(x.Name)), drawnCell(x.Bar), textCell(x.Time, right), textCell(x.Share, right))
			})))))
}

// section is the panel as a table; bars stand behind the first column.
func (p panelTable) section() g.Node {
	head := func(i int) g.Node {
		if p.Columns[i].title == "" {
			return columnHead("Name", p.side(i))
		}
		return columnHead(p.Columns[i].title, p.side(i))
	}
	columns := g.Group{head(0), g.If(p.Bars, drawnHead("Bar"))}
	for i := 1; i < len(p.Columns); i++ {
		columns = append(columns, head(i))
	}
	return el("section", el("h2", escaped(p.Title)), lines(g.If(p.About != "", intro(p.About)),
		card(el("table", classed("cards"), unseenCaption(p.Title), heads(columns...), el("tbody", each(p.Body, func(x panelLine) g.Node {
			cells := g.Group{rowName(escaped(Elide(x.Cells[0], maxName))), g.If(p.Bars, drawnCell(x.Bar))}
			for i, text := range x.Cells[1:] {
				cells = append(cells, textCell(text, p.side(i+1), g.If(text != "", labelled(p.Columns[i+1].title))))
			}
			return el("tr", cells)
		}))))))
}

// side is where the cells of a column are set to.
func (p panelTable) side(i int) g.Node { return g.If(p.Columns[i].right, right) }
