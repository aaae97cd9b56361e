package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// styles are the SGR colours of tones, "" for none.
var styles = [...]string{story.Plain: "", story.Good: "32", story.Doubtful: "33", story.Bad: "31", story.Minor: "2"}

type span = story.Span

// page collects lines of at most width columns. All text passes through [page.line], which cleans it.
type page struct {
	b strings.Builder
	story.Options
}

func newPage(o story.Options) *page {
	o.Width = o.Columns()
	return &page{Options: o}
}

// line writes spans as one paragraph: its first line indented by first, the following by rest. Spans join without a
// space unless one of them has it. A word wider than a line loses its middle.
func (p *page) line(first, rest int, spans ...span) {
	rest = min(rest, p.Width/2)
	var words [][]span
	breaks := func(r rune) bool { return string(r) != story.NB && unicode.IsSpace(r) }
	open := false // the next span continues the last word
	for _, s := range spans {
		text := story.Bound(s.Text)
		if p.ASCII {
			text = terminal.ASCII(text)
		}
		open = open && strings.IndexFunc(text, breaks) != 0
		for i, word := range strings.FieldsFunc(text, breaks) {
			if i > 0 || !open {
				words = append(words, nil)
			}
			last := len(words) - 1
			words[last] = append(words[last], s.Tone.Of(story.Clean(word)))
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
		p.b.WriteString(story.Unspaced(strings.Repeat(" ", indent)+text) + "\n")
		line, indent, used = nil, rest, rest
	}
	for _, w := range words {
		n := measure.Sum(w, func(x span) int { return story.Columns(x.Text) })
		long := n > p.Width-rest && p.Width-used > 20 // shortened on any line, so it stays on this one
		if len(line) > 0 && used+1+n > p.Width && !long {
			flush()
		}
		if len(line) > 0 {
			line = append(line, line[len(line)-1].Tone.Of(" "))
			used++
		}
		if room := p.Width - used; n > room {
			whole := ""
			for _, x := range w {
				whole += x.Text
			}
			w = []span{w[0].Tone.Of(story.Elide(whole, room))}
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
		style := styles[s.Tone]
		painted := p.Color && style != ""
		if painted && (i == 0 || styles[line[i-1].Tone] != style) {
			fmt.Fprintf(&b, "\x1b[%sm", style)
		}
		b.WriteString(s.Text)
		if painted && (i == len(line)-1 || styles[line[i+1].Tone] != style) {
			b.WriteString("\x1b[0m")
		}
	}
	return b.String()
}
