package manual

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Render is the topic for a terminal that is so many columns wide, at least 40.
func (t Topic) Render(width int, color bool) string {
	parser := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()
	p := &page{source: t.Text, width: max(width, 40), color: color}
	p.blocks(parser.Parse(text.NewReader(t.Text)), "", "")
	return strings.TrimLeft(p.out.String(), "\n")
}

// page is a text under way. Lines are never longer than width, but for code, which is there to be copied.
type page struct {
	source []byte
	width  int
	color  bool
	out    strings.Builder
}

// blocks writes the children of a block. first is what stands before the first line, rest what stands before the others.
func (p *page) blocks(parent ast.Node, first, rest string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		p.block(n, first, rest)
		first = rest
	}
}

func (p *page) block(n ast.Node, first, rest string) {
	gap := "\n"
	if l, ok := n.Parent().(*ast.ListItem); ok && l.Parent().(*ast.List).IsTight {
		gap = ""
	}
	switch n := n.(type) {
	case *ast.Heading:
		p.out.WriteString("\n")
		p.heading(wrap(p.inline(n, bold), p.width), n.Level)
	case *ast.Paragraph, *ast.TextBlock:
		p.out.WriteString(gap)
		p.lines(wrap(p.inline(n, 0), p.width-len([]rune(rest))), first, rest)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		p.out.WriteString(gap)
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			p.out.WriteString(strings.TrimRight(rest+"    "+string(line.Value(p.source)), " \n") + "\n")
		}
	case *ast.List:
		p.out.WriteString(gap)
		number := n.Start
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			mark := "• "
			if n.IsOrdered() {
				mark = fmt.Sprintf("%d. ", number)
				number++
			}
			p.blocks(item, rest+mark, rest+strings.Repeat(" ", len([]rune(mark))))
		}
	case *ast.Blockquote:
		p.blocks(n, rest+"│ ", rest+"│ ")
	case *tables.Table:
		p.out.WriteString("\n")
		p.table(n)
	}
}

// heading writes a heading, with a rule below it where no colour tells it from other text.
func (p *page) heading(lines [][]word, level int) {
	p.lines(lines, "", "")
	if rules := map[int]string{1: "═", 2: "─"}; !p.color && rules[level] != "" {
		widest := 0
		for _, line := range lines {
			widest = max(widest, length(line))
		}
		p.out.WriteString(strings.Repeat(rules[level], widest) + "\n")
	}
}

// lines writes lines of words behind their margins.
func (p *page) lines(lines [][]word, first, rest string) {
	for i, line := range lines {
		margin := rest
		if i == 0 {
			margin = first
		}
		p.out.WriteString(strings.TrimRight(margin+p.paint(line), " ") + "\n")
	}
}
