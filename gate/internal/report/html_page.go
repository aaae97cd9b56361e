package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// html writes a sheet as a page with the JSON form inside. The page loads nothing; its policy allows its own script and
// style only.
func (s *sheet) html(form string) (string, error) {
	style, script := asset("style.css"), asset("page.js")
	policy := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(style), digest(script))
	var b strings.Builder
	err := h.Doctype(lines(nil, h.HTML(h.Lang("en"), h.Class("no-script"), lines(
		h.Head(lines(h.Meta(h.Charset("utf-8")),
			h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy)),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text(s.Title)), h.StyleEl(g.Raw(style)))),
		h.Body(s.node(), g.Map(s.Sheets, (*sheet).node), lines(
			h.Footer(h.Button(h.Type("button"), h.Class("save"), g.Text("Save the report inside as JSON"))),
			g.Raw(saved.Pack(form)), h.Script(g.Raw(script)))))))).Render(&b)
	return b.String(), err
}

// lines puts each node on a line of its own.
func lines(nodes ...g.Node) g.Node {
	all := g.Group{g.Raw("\n")}
	for _, n := range nodes {
		if n != nil {
			all = append(all, n, g.Raw("\n"))
		}
	}
	return all
}

// each puts the markup of each value on a line of its own, nil for no values.
func each[T any](values []T, node func(T) g.Node) g.Node {
	return g.If(len(values) > 0, lines(g.Map(values, node)...))
}

// drawing is a picture as markup; package plot escapes every text in it.
func drawing(p plot.SVG) g.Node { return g.Raw(string(p)) }

// soft is a name of bounded length that may be broken behind its punctuation marks.
func soft(name string) g.Node {
	return g.Raw(breakable(story.Elide(name, story.MaxName), html.EscapeString))
}

// href is the address of a link: http, https or an ID of the page. An element with another one has no address.
func href(link string) g.Node {
	u, err := url.Parse(link)
	if err != nil || (u.Fragment == "" || u.Scheme+u.Host+u.Path+u.RawQuery != "") &&
		(u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return nil
	}
	return h.Href(u.String())
}

// class is the attribute of these CSS classes, nil for none.
func class(names ...string) g.Node { return attribute("class", story.Join(" ", names...)) }

// attribute is nil without a value.
func attribute(name, value string) g.Node { return g.If(value != "", g.Attr(name, value)) }

// paragraph is a text of this class, nil for none.
func paragraph(class, text string) g.Node {
	return g.If(text != "", h.P(h.Class(class), g.Text(text)))
}

// in is a note in small type behind a text, nil for none.
func in(text string) g.Node {
	return g.If(text != "", g.Group{g.Text(" "), h.Span(h.Class("in"), g.Text(text))})
}

// item is a list item.
func item(text string) g.Node { return h.Li(g.Text(story.Bound(text))) }

func (s *sheet) node() g.Node {
	headline := g.Group{g.Text(story.Bound(s.Headline))}
	if s.Word != "" {
		headline = g.Group{h.Span(class("verdict", s.Mark), g.Text(s.Word)), g.Text(" "), headline}
	}
	title, parts := h.H1(headline), lines(g.Map(s.Parts, part.node)...)
	main := h.Main(parts)
	if s.At != "" {
		title, main = h.H2(h.Class("h1"), h.ID(s.At), headline), h.Div(h.Class("main"), parts)
	}
	var links g.Group
	entry := func(id, text string) { links = append(links, h.A(href("#"+id), g.Text(text)), g.Text(" ")) }
	for _, p := range s.Parts {
		if p.Nav != "" {
			entry(p.ID, p.Nav)
		}
	}
	return lines(h.Header(lines(h.P(h.Class("kicker"), g.Text(s.Kicker), g.Map(s.Source, sourceLink.node)), title),
		each(s.Notes, func(note string) g.Node { return paragraph("about", story.Bound(note)) }),
		g.If(len(s.Figures) > 0, h.Dl(h.Class("figures"), each(s.Figures, figure.node))),
		g.If(len(links) > 0, h.Nav(h.Aria("label", "On this page"), links))), main)
}

func (f figure) node() g.Node {
	return h.Div(g.If(f.Wide, h.Class("wide")), h.Dt(g.Text(f.Label)),
		h.Dd(class(f.Class), g.Text(f.Value), g.If(f.Note != "", h.Small(g.Text(f.Note)))))
}

func (s sourceLink) node() g.Node {
	link := h.A(href(s.Link), h.Rel("noreferrer"), g.Text(s.Text))
	return g.Group{g.Text(" · "), measure.Either(s.Link == "", h.Span(g.Text(s.Text)), link)}
}

func (p part) node() g.Node {
	var card g.Group
	if len(p.Facts) > 0 {
		card = append(card, h.Dl(h.Class("facts"), each(p.Facts, func(f story.Fact) g.Node {
			return g.Group{h.Dt(g.Text(f.Label)), h.Dd(g.Text(f.Text))}
		})))
	}
	if p.Table != nil {
		card = append(card, g.If(p.Search, g.Raw(asset("search.html"))), table(p.Table), g.If(p.Search,
			paragraph("about paper", "On paper are the first 24 rows, without those that are unchanged.")))
	}
	return h.Section(h.ID(p.ID), h.H2(class(p.Mark), g.Text(p.Title)), lines(paragraph("about", p.About),
		g.If(len(p.Said) > 0, h.Ul(h.Class("plain"), each(p.Said, item))), each(p.Pictures, picture.node),
		g.If(len(p.Legend) > 0, h.Ul(h.Class("legend"), each(p.Legend, meaning.node))),
		g.If(len(card) > 0, h.Div(h.Class("card"), lines(card...))),
		each(p.Findings, finding.node), paragraph("in", p.More),
		each(p.Commands, func(c story.Fact) g.Node { return g.Group{h.H4(g.Text(c.Label)), h.Pre(g.Text(c.Text))} })))
}

func (p picture) node() g.Node {
	svg := drawing(p.SVG)
	if p.Zoom {
		svg = h.Div(h.Class("zoom"), h.TabIndex("0"), h.Role("group"), h.Aria("label", p.Title), svg)
	}
	return h.Figure(h.Class("card"), h.H3(g.Text(p.Title), in(p.About)), svg)
}

func (m meaning) node() g.Node {
	size := g.Group{h.Width("12"), h.Height("12")}
	square := g.El("rect", h.Class(m.Class), size, g.Attr("rx", "2"))
	return h.Li(h.SVG(size, h.Aria("hidden", "true"), square), g.Text(m.Text))
}

func table(t *story.Table) g.Node {
	at := t.Shown(true)
	head := func(i int) g.Node {
		c := t.Columns[i]
		title := g.Text(c.Title)
		switch {
		case c.Head != "":
			title = drawing(c.Head)
		case c.Sorted:
			title = h.Button(h.Type("button"), g.If(c.Up, g.Attr("data-up")), title)
		case c.Pic:
			title = h.Span(h.Class("sr"), title)
		}
		return h.Th(h.Scope("col"), class(side(c), c.Class), title)
	}
	row := func(r story.TableRow) g.Node {
		cells := g.Group{attribute("id", r.ID), class(r.Class)}
		for n, i := range at {
			cells = append(cells, cell(t.Columns[i], r.Cells[i], n == 0))
		}
		return h.Tr(cells)
	}
	caption := measure.Either(t.About != "", h.Caption(g.Text(t.About)), h.Caption(h.Class("sr"), g.Text(t.Title)))
	return g.Group{h.Table(class("cards", t.Class), caption, h.THead(h.Tr(g.Map(at, head))),
		h.TBody(each(t.Rows, row))), paragraph("in", t.More)}
}

// cell is a cell of the column; the first one names its row.
func cell(c story.Column, x story.Cell, first bool) g.Node {
	text := soft(x.Text)
	switch {
	case c.Wrap:
		text = g.Text(x.Text)
	case x.SVG != "":
		text = g.Group{g.If(x.Text != "", h.Span(h.Class("sr"), g.Text(x.Text))), drawing(x.SVG)}
	case x.Link != "":
		text = h.A(href(x.Link), text)
	case x.Full != "":
		text = h.Details(h.Summary(text), h.Code(g.Text(x.Full)))
	}
	if first {
		return h.Th(h.Scope("row"), class(side(c)), text, in(x.Note))
	}
	return h.Td(class(side(c), c.Class, x.Class), g.If(x.Text != "", attribute("data-l", c.Label)),
		g.If(c.Sorted && c.Right, h.Data("v", x.Sort)), text, in(x.Note))
}

// side is the CSS class of a column of pictures or numbers.
func side(c story.Column) string {
	return measure.Either(c.Pic, "pic", measure.Either(c.Right, "n", ""))
}

func (f finding) node() g.Node {
	about := g.Group{h.Class("in"), g.Text(f.About())}
	if f.Source != nil {
		about = append(about, f.Source.node())
	}
	numbers := f.Metric + " " + f.Values + story.Wrapped(", ", f.Allowed, "") + ": "
	pictures := func(p picture) g.Node {
		return h.Figure(h.Class("pic"), h.H4(g.Text(p.Title)), drawing(p.SVG), h.FigCaption(g.Text(p.About)))
	}
	return h.Article(class("card finding", f.Colour+"-of"), h.ID(f.ID), lines(
		h.Header(h.H3(h.A(href("#"+f.ID), soft(f.Subject))), h.Span(class("delta", f.Colour), g.Text(f.Change))),
		h.P(about), h.P(g.Text(numbers), h.Strong(class(f.Colour), g.Text(f.Result()))),
		g.If(len(f.Said) > 0, h.Ul(each(f.Said, item))), replaced(f.Parts),
		g.If(len(f.Pictures) > 0, h.Div(class("two", f.Colour), each(f.Pictures, pictures))), f.Cause.node(),
		g.If(f.FullName != "", h.Details(h.Summary(g.Text("Full name")), h.Code(g.Text(f.FullName))))))
}

// replaced is the table of the kernels of a replacement.
func replaced(parts []story.Row) g.Node {
	t := &story.Table{About: "What took the place of what, per step",
		Columns: []story.Column{{Title: "Kernel"}, {Title: "Time", Right: true}, {Title: "State"}}}
	for _, p := range parts {
		state := measure.Either(p.Gone(), story.Cell{Text: "gone", Class: "better"},
			story.Cell{Text: "new", Class: "worse"})
		t.Rows = append(t.Rows, story.TableRow{Cells: []story.Cell{{Text: p.Subject}, {Text: p.Time()}, state}})
	}
	return g.If(len(parts) > 0, table(t))
}

func (c *counters) node() g.Node {
	if c == nil {
		return nil
	}
	why := g.Group{h.Class("cause"), h.H4(g.Text("Why")), h.P(g.Text(story.Bound(c.Summary))),
		paragraph("in", c.Limits), g.Map(c.Guides, func(x result.Guide) g.Node {
			return h.P(h.Class("in"), h.A(href(x.Link), h.Rel("noreferrer"), g.Text(x.Title)))
		})}
	if c.Table == nil {
		return h.Div(why)
	}
	count := h.Summary(g.Textf("%d counters", len(c.Table.Rows)))
	return lines(h.Div(why), h.Details(h.Class("more"), count, table(c.Table)))
}

//go:embed html
var files embed.FS

// sheet is a page, or the part of a page on one of several workloads.
type sheet struct {
	At       string // before each name that is linked to: "" or, of one of several workloads, its own
	Title    string
	Kicker   string
	Source   []sourceLink // commits
	Word     string       // the verdict, "" for none
	Mark     string       // class of the verdict
	Headline string
	Notes    []string // below the headline
	Figures  []figure
	Parts    []part
	Sheets   []*sheet // of several workloads, each
}

// figure is a number in a box at the top of a page.
type figure struct {
	Label, Value, Note, Class string
	Wide                      bool // a value of two sides
}

// part is a section of a page. Empty fields are left out.
type part struct {
	ID, Title, About string
	Nav              string // title in the list of parts, "" for none
	Mark             string // class of the title
	Said             []string
	Facts            []story.Fact
	Pictures         []picture
	Legend           []meaning
	Table            *story.Table
	Search           bool // rows of the table can be searched
	Findings         []finding
	More             string // note on findings that are left out
	Commands         []story.Fact
}

// meaning says what a CSS class of a picture stands for.
type meaning struct{ Class, Text string }

func (p *part) empty() bool {
	return len(p.Said)+len(p.Facts)+len(p.Pictures)+len(p.Findings)+len(p.Commands) == 0 && p.Table == nil
}

type picture struct {
	Title, About string
	SVG          plot.SVG
	Zoom         bool // readers can zoom in
}

// sourceLink is a commit or a line of the source, with its address on the CI host or "".
type sourceLink struct{ Text, Link string }

// add adds a part unless it is empty, and completes its ID.
func (s *sheet) add(p part) {
	if p.Table != nil && len(p.Table.Rows) == 0 {
		p.Table = nil
	}
	if !p.empty() {
		p.ID = s.At + p.ID
		s.Parts = append(s.Parts, p)
	}
}

func (s *sheet) warnings(texts []string) {
	s.add(part{ID: "warnings", Title: "Warnings", Mark: "doubtful", Said: texts})
}

// asset is a file of the directory html.
func asset(name string) string {
	text, _ := files.ReadFile("html/" + name)
	return string(text)
}

// digest is the hash of a script or style for the content security policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
