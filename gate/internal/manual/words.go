package manual

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// style is how a piece of text looks in colour.
type style uint8

const (
	bold style = 1 << iota
	code
)

// piece is text of one style, word is what no line break divides.
type (
	piece struct {
		text  string
		style style
	}
	word []piece
)

func (w word) width() (n int) {
	for _, p := range w {
		n += utf8.RuneCountInString(p.text)
	}
	return n
}

// length is how many columns a line of words takes.
func length(line []word) int {
	n := max(len(line)-1, 0)
	for _, w := range line {
		n += w.width()
	}
	return n
}

// inline is the text within a block as words. Without colour, code keeps its backticks.
func (p *page) inline(n ast.Node, as style) []word {
	c := &collector{page: p}
	c.children(n, as)
	c.end()
	return c.words
}

// collector puts words together.
type collector struct {
	*page
	words []word
	word  word
}

func (c *collector) end() {
	if len(c.word) > 0 {
		c.words, c.word = append(c.words, c.word), nil
	}
}

// unit begins what belongs to the number before it.
var unit = regexp.MustCompile(`^(%|[nµm]s\b|s\b|[kMG]?(B|Hz)\b)`)

// add takes a text, whose spaces divide words, but for the one between a number and its unit.
func (c *collector) add(s string, as style) {
	for i, part := range strings.Split(strings.ReplaceAll(s, "\n", " "), " ") {
		if i > 0 && len(c.word) > 0 {
			last := c.word[len(c.word)-1].text
			if digit := last[len(last)-1]; digit >= '0' && digit <= '9' && unit.MatchString(part) {
				part = "\u00a0" + part
			} else {
				c.end()
			}
		}
		if part != "" {
			c.word = append(c.word, piece{part, as})
		}
	}
}

func (c *collector) children(n ast.Node, as style) {
	for x := n.FirstChild(); x != nil; x = x.NextSibling() {
		switch x := x.(type) {
		case *ast.Text:
			c.add(string(x.Value(c.source)), as)
			if x.SoftLineBreak() || x.HardLineBreak() {
				c.end()
			}
		case *ast.String:
			c.add(string(x.Value), as)
		case *ast.CodeSpan:
			c.quote()
			c.children(x, as|code)
			c.quote()
		case *ast.Emphasis:
			if x.Level == 2 {
				as |= bold
			}
			c.children(x, as)
		case *ast.AutoLink:
			c.add(string(x.URL(c.source)), as)
		case *ast.Link:
			c.link(x, as)
		default: // what else there is, raw HTML is not shown
			if _, raw := x.(*ast.RawHTML); !raw {
				c.children(x, as)
			}
		}
	}
}

// quote is a backtick where no colour says that it is code.
func (c *collector) quote() {
	if !c.color {
		c.word = append(c.word, piece{"`", 0})
	}
}

// link is the text of a link and where it leads: to another topic, or to an address. A link between parentheses that only names
// the topic becomes the command that shows it.
func (c *collector) link(x *ast.Link, as style) {
	to := string(x.Destination)
	file, _, _ := strings.Cut(to, "#")
	name, page := strings.CutSuffix(file, ".md")
	topic := page && !strings.Contains(name, "/")
	label, ok := x.FirstChild().(*ast.Text)
	bare := ok && x.ChildCount() == 1 && string(label.Value(c.source)) == name
	if n := len(c.word); topic && bare && n > 0 && strings.HasSuffix(c.word[n-1].text, "(") {
		c.topic(name)
		return
	}
	c.children(x, as)
	switch {
	case strings.Contains(to, "://"):
		c.add(" <"+to+">", 0)
	case topic:
		c.add(" (", 0)
		c.topic(name)
		c.add(")", 0)
	}
}

// topic is the command that shows one, which no line break divides.
func (c *collector) topic(name string) {
	c.quote()
	c.add("nsgate\u00a0help\u00a0"+name, code)
	c.quote()
}

// wrap fills lines of at most so many columns. A longer word is cut.
func wrap(words []word, width int) (lines [][]word) {
	var line []word
	used := 0
	for _, w := range words {
		for n := w.width(); n > width; n = w.width() {
			if used > 0 {
				lines, line, used = append(lines, line), nil, 0
			}
			var head word
			head, w = w.cut(width)
			lines = append(lines, []word{head})
		}
		if n := w.width(); used > 0 && used+1+n > width {
			lines, line, used = append(lines, line), nil, 0
		}
		if used > 0 {
			used++
		}
		line, used = append(line, w), used+w.width()
	}
	if len(line) > 0 {
		lines = append(lines, line)
	}
	return lines
}

// cut divides a word after so many columns.
func (w word) cut(n int) (head, rest word) {
	for i, p := range w {
		r := []rune(p.text)
		if len(r) > n {
			head, rest = append(head, piece{string(r[:n]), p.style}), append(word{{string(r[n:]), p.style}}, w[i+1:]...)
			return head, rest
		}
		head, n = append(head, p), n-len(r)
	}
	return head, nil
}

// paint is a line of words as it is written.
func (p *page) paint(line []word) string {
	var b strings.Builder
	for i, w := range line {
		if i > 0 {
			b.WriteByte(' ')
		}
		for _, x := range w {
			text := strings.ReplaceAll(x.text, "\u00a0", " ")
			sgr := ""
			if x.style&bold != 0 {
				sgr += "\x1b[1m"
			}
			if x.style&code != 0 {
				sgr += "\x1b[36m"
			}
			if sgr != "" && p.color {
				text = sgr + text + "\x1b[0m"
			}
			b.WriteString(text)
		}
	}
	return b.String()
}
