package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

//go:embed html
var files embed.FS

// templates parses the templates, once for all pages.
var templates = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{"svg": drawing, "soft": soft, "brief": story.Brief, "signed": story.Signed, "bound": story.Bound, "side": sideOf}
	return template.Must(template.New("page").Funcs(functions).ParseFS(files, "html/*.tmpl"))
})

// drawing is a picture as markup; package plot escapes every text in it.
func drawing(p plot.SVG) template.HTML { return template.HTML(p) }

// soft is a name of bounded length that may be broken behind its punctuation marks.
func soft(name string) template.HTML {
	return template.HTML(breakable(story.Elide(name, story.MaxName), template.HTMLEscapeString))
}

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
	Falls            []fallBar
	Ranks            []rankBars
	Changes          *changes
	Search           bool // the changes can be searched
	Findings         []finding
	More             string // note on findings that are left out
	Commands         []story.Fact
}

// meaning says what a CSS class of a picture stands for.
type meaning struct{ Class, Text string }

func (p *part) empty() bool {
	return len(p.Said)+len(p.Facts)+len(p.Pictures)+len(p.Falls)+len(p.Ranks)+len(p.Findings)+len(p.Commands) == 0 &&
		p.Changes == nil && p.Table == nil
}

// rankBars is the compute time of a rank in a step, drawn on the scale of all ranks.
type rankBars struct {
	Name, Base, Head, Wait, Colour string
	Picture                        plot.SVG
}

// fallBar is a part of a waterfall, drawn around zero.
type fallBar struct {
	story.FallRow
	Link, Colour string
	Picture      plot.SVG
}

type picture struct {
	Title, About string
	SVG          plot.SVG
	Zoom         bool // readers can zoom in
}

// sourceLink is a commit or a line of the source, with its address on the CI host or "".
type sourceLink struct{ Text, Link string }

// Nav are the parts that the top of the page links to.
func (s *sheet) Nav() []part {
	return slices.DeleteFunc(slices.Clone(s.Parts), func(p part) bool { return p.Nav == "" })
}

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

// html writes a sheet as a page with the JSON form inside. The page loads nothing; its policy allows its own script and style only.
func (s *sheet) html(form string) (string, error) {
	style, _ := files.ReadFile("html/style.css")
	script, _ := files.ReadFile("html/page.js")
	var b strings.Builder
	err := templates().ExecuteTemplate(&b, "page.html.tmpl", struct {
		Page   *sheet
		Policy string
		Style  template.CSS
		Script template.JS
		Packed template.HTML
	}{s, fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script)),
		template.CSS(style), template.JS(script), template.HTML(saved.Pack(form))})
	return b.String(), err
}

// digest is the hash of a script or style for the content security policy.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// sideOf are the CSS classes of a cell of the column.
func sideOf(c story.Column, x story.Cell) string {
	side := ""
	switch {
	case c.Pic:
		side = "pic"
	case c.Right:
		side = "n"
	}
	return story.Join(" ", side, c.Class, x.Class)
}
