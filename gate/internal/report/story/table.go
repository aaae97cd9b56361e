package story

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Table is rows under titles, for every format. Only pages have links, notes and pictures.
type Table struct {
	Title, About string
	Class        string // of a page's table
	Columns      []Column
	Rows         []TableRow
	// More says which rows text and a page leave out, "" for none.
	More  string
	Limit int // rows in Markdown, 0 for all
}

// Column is a column of a table. On a narrow terminal, columns of the highest rank are left out first, and cells of
// columns with a least width lose their middle.
type Column struct {
	Title string
	Right bool
	Rank  int
	Least int // shortest width of a cell on a terminal; 0 where cells are never shortened
	// Optional columns are left out if every cell is empty.
	Optional bool
	// Wrap lets the cells of a last column take several lines.
	Wrap bool
	// Name is true for cells that hold names of the recording.
	Name bool
	// Sorted lets a page sort by the column, Up with the smallest value first.
	Sorted, Up bool
	// Label precedes the cell on a narrow page; Class is the CSS class of the cells.
	Label, Class string
	// Pic columns are on pages only, text columns everywhere else. Head is a picture in place of the title.
	Pic, text bool
	Head      plot.SVG
	// Markup is true for cells that are Markdown already.
	Markup bool
}

type TableRow struct {
	Cells     []Cell
	Tone      Tone
	ID, Class string   // of a page's row
	Path      []string // of the first cell, which text indents; nil for none
}

// Cell is a cell. Only pages use the fields other than Text.
type Cell struct {
	Text  string
	Note  string // in small type behind the text
	Link  string // address, or # and an ID of the page
	Full  string // whole name, shown on a click
	Sort  string // sort key, "" for the text
	Class string
	SVG   plot.SVG
}

func cells(texts ...string) []Cell {
	return measure.Map(texts, func(t string) Cell { return Cell{Text: t} })
}

func (t *Table) Add(texts ...string) { t.Rows = append(t.Rows, TableRow{Cells: cells(texts...)}) }

// Shown are the indices of the columns that are not empty; with pics those of a page.
func (t *Table) Shown(pics bool) []int {
	var out []int
	for i, c := range t.Columns {
		empty := c.Optional && !slices.ContainsFunc(t.Rows, func(r TableRow) bool { return r.Cells[i].Text != "" })
		if !empty && (pics && !c.text || !pics && !c.Pic) {
			out = append(out, i)
		}
	}
	return out
}

// Hint names the flag that shows the rows that are left out.
func (t *Table) Hint(o Options) {
	if t.More != "" {
		t.More = Join("; ", t.More, Wrapped("", o.ShowAll, " shows all"))
	}
}

// Most cuts the table to n rows; more says how many are left out.
func (t *Table) Most(n int, more func(left int) string) {
	if left := len(t.Rows) - n; n < math.MaxInt && left > 0 {
		t.Rows, t.More = t.Rows[:n], more(left)
	}
}

// Guides are the links of a cause. A saved report may hold other links, which are not shown.
func Guides(c *result.Cause) []result.Guide {
	var out []result.Guide
	for _, g := range c.Guides {
		if isDocumentation(g.Link) && len(out) < 3 {
			out = append(out, result.Guide{Title: Elide(Clean(g.Title), 120), Link: g.Link})
		}
	}
	return out
}

func Because(c *result.Cause) string {
	return Join(" ", Trimmed(c.Summary), Wrapped("(", Trimmed(c.Note), ")"))
}

// Bounds says what limits a kernel on both sides, "" where it is unknown.
func Bounds(c *result.Cause) string {
	base, head := Trimmed(c.Base), Trimmed(c.Head)
	return result.Given(base+head, "Baseline: ", cmp.Or(base, measure.Unknown), ". Head: ",
		cmp.Or(head, measure.Unknown), ".")
}

func CounterTable(c *result.Cause) *Table {
	t := &Table{Title: "Counters of Nsight Compute", Class: "counters",
		Columns: []Column{{Title: "Counter"}, {Title: "Baseline", Right: true, Label: "baseline"},
			{Title: "Head", Right: true, Label: "head"}, {Title: "Change", Right: true}}}
	for _, m := range c.Metrics {
		changed := m.Base > 0 && m.Head.Known() && m.Head != m.Base
		t.Add(Elide(Metric(m.Name), 40), Quantity(m.Base, m.Unit), Quantity(m.Head, m.Unit),
			measure.Either(changed, Changed(m.Head/m.Base-1), ""))
	}
	return t
}
