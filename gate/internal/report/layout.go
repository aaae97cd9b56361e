package report

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// style is an SGR colour, "" for none.
type style string

const (
	none   style = ""
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	dim    style = "2"
)

var styles = [...]style{story.Plain: none, story.Good: green, story.Doubtful: yellow, story.Bad: red, story.Minor: dim}

// span is text in one style. A line may end at any space but a bound one (nb).
type span struct {
	text  string
	style style
}

// page collects lines of at most width columns. All text passes through [page.line], which cleans it.
type page struct {
	b strings.Builder
	story.Options
}

func newPage(o story.Options) *page {
	o.Width = max(cmp.Or(o.Width, 100), 40)
	return &page{Options: o}
}

func (p *page) verdict(word string, s style, reason string) {
	p.line(0, story.Columns(word)+2, span{story.Bind(word) + story.NB + " ", s}, span{reason, none})
}

func (p *page) title(s string) {
	p.b.WriteByte('\n')
	p.line(0, 0, span{s, none})
}

// dim writes a text that matters less, no line for "".
func (p *page) dim(indent int, text string) { p.line(indent, indent, span{text, dim}) }

func (p *page) list(title, mark string, s style, texts []string) {
	if len(texts) > 0 {
		p.title(title)
	}
	for _, t := range texts {
		p.line(2, 4, span{mark + " ", s}, span{t, none})
	}
}

func (p *page) facts(list []story.Fact, width int) {
	for _, f := range list {
		p.line(2, width+4, span{story.Pad(f.Label, width) + story.NB + " ", dim}, span{f.Text, none})
	}
}

func (p *page) warnings(texts []string) { p.list("Warnings", "!", yellow, texts) }
func (p *page) next(texts []string)     { p.list("Next", "-", none, texts) }

// line writes spans as one paragraph: its first line indented by first, the following by rest. Spans join without a
// space unless one of them has it. A word wider than a line loses its middle.
func (p *page) line(first, rest int, spans ...span) {
	rest = min(rest, p.Width/2)
	var words [][]span
	breaks := func(r rune) bool { return string(r) != story.NB && unicode.IsSpace(r) }
	open := false // the next span continues the last word
	for _, s := range spans {
		text := story.Bound(s.text)
		if p.ASCII {
			text = terminal.ASCII(text)
		}
		open = open && strings.IndexFunc(text, breaks) != 0
		for i, word := range strings.FieldsFunc(text, breaks) {
			if i > 0 || !open {
				words = append(words, nil)
			}
			last := len(words) - 1
			words[last] = append(words[last], span{story.Clean(word), s.style})
		}
		if end, _ := utf8.DecodeLastRuneInString(text); text != "" {
			open = !breaks(end)
		}
	}
	var line []span
	indent, used := first, first
	flush := func() {
		text := p.paint(line)
		if p.ASCII {
			text = strings.ReplaceAll(text, "…", "~") // one column, as in the width that was counted
		}
		p.b.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+text, " ") + "\n")
		line, indent, used = nil, rest, rest
	}
	for _, w := range words {
		n := measure.Sum(w, func(x span) int { return story.Columns(x.text) })
		long := n > p.Width-rest && p.Width-used > 20 // shortened on any line, so it stays on this one
		if len(line) > 0 && used+1+n > p.Width && !long {
			flush()
		}
		if len(line) > 0 {
			line = append(line, span{" ", line[len(line)-1].style})
			used++
		}
		if room := p.Width - used; n > room {
			whole := ""
			for _, x := range w {
				whole += x.text
			}
			w = []span{{story.Elide(whole, room), w[0].style}}
			n = room
		}
		line = append(line, w...)
		used += n
	}
	if len(line) > 0 {
		flush()
	}
}

func (p *page) paint(line []span) string {
	var b strings.Builder
	for i, s := range line {
		painted := p.Color && s.style != none
		if painted && (i == 0 || line[i-1].style != s.style) {
			fmt.Fprintf(&b, "\x1b[%sm", s.style)
		}
		b.WriteString(s.text)
		if painted && (i == len(line)-1 || line[i+1].style != s.style) {
			b.WriteString("\x1b[0m")
		}
	}
	return b.String()
}

// unbroken writes a text on one line, whatever its length, so that it can be copied.
func (p *page) unbroken(text string) {
	p.b.WriteString("  " + story.Clean(text) + "\n")
}
