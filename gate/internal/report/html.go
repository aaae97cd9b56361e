package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"

	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

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
