package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// text prints the blocks of a document for a terminal or a log. Only commands and paths may exceed Options.Width.
func text(d story.Document, o Options) (string, error) {
	p := newPage(o)
	p.print(d)
	return p.b.String(), nil
}

func (p *page) print(d story.Document) {
	for _, block := range d {
		switch b := block.(type) {
		case story.Top:
			p.top(b)
			if p.Quiet {
				return
			}
			p.line(2, 2, story.Plain.Of(b.Rest))
			p.dim(2, b.Sides)
		case story.Labelled:
			p.labelled(b)
		case story.Lines:
			p.lines(b)
		case story.Facts:
			p.facts(b)
		case story.Commands:
			p.commands(b)
		case *story.Table:
			p.titled(b)
		case story.Bars:
			p.bars(b)
		case story.InText:
			p.print(story.Document(b))
		case story.Fold:
			if p.Verbose {
				p.print(b.Blocks)
			}
		case story.Section:
			p.b.WriteByte('\n')
			p.line(0, 0, story.Minor.Of(story.Bind(Rule(b.Workload, p.Width))))
			p.print(b.Blocks)
		}
	}
}

// Round is a line of a watch: the time, the headline, a note, the largest change, the runs and what they detect.
func Round(r *result.Report, at time.Time, note string, o Options) string {
	v, p := story.Tell(r, o), newPage(o)
	p.line(0, 10, story.Minor.Of(at.Format(time.TimeOnly)+story.NB+story.NB), v.Tone.Of(story.Bind(v.Word)),
		story.Plain.Of(story.Join("; ", v.Stated, note, v.Largest(), v.Sides(),
			story.Wrapped("detects ", story.Detects(r.Detects), ""))))
	return p.b.String()
}

// Lead is the headline without verdict and workload: the largest effect, or the reason.
func Lead(r *result.Report, o Options) string { return story.Tell(r, o).Lead }

// Rule is the line above the report on one workload of several.
func Rule(workload string, width int) string {
	name := story.Elide(story.Clean(workload), width-8)
	return "── " + name + " " + strings.Repeat("─", max(width-story.Columns(name)-4, 2))
}

func (p *page) title(s string) {
	if s != "" {
		p.b.WriteByte('\n')
		p.line(0, 0, story.Plain.Of(s))
	}
}

// dim writes a text that matters less, no line for "".
func (p *page) dim(indent int, text string) { p.line(indent, indent, story.Minor.Of(text)) }

func (p *page) top(b story.Top) {
	hang := story.Columns(story.Unspaced(b.Word.Text)) + 2
	if b.Behind != "" && story.Columns(b.Word.Text+b.Text)+3+story.Columns(b.Behind) <= p.Width {
		p.line(0, hang, b.Word, story.Plain.Of(b.Text), story.Minor.Of(story.NB+story.NB+" "+b.Behind))
	} else {
		p.line(0, hang, b.Word, story.Plain.Of(b.Text))
		p.dim(2, strings.Replace(b.Behind, story.NB+story.NB, story.NB+" ", 1))
	}
	name, word := 0, 0
	for _, w := range b.Each {
		name, word = max(name, story.Columns(w.Workload.Text)), max(word, story.Columns(w.Word.Text))
	}
	name = min(name, p.Width/3)
	for _, w := range b.Each {
		p.line(2, name+word+6, story.Plain.Of(story.Pad(story.Bind(story.Elide(w.Workload.Text, name)),
			name)+story.NB+" "),
			w.Word.Tone.Of(story.Pad(story.Bind(w.Word.Text), word)+story.NB+" "), w.Effect)
	}
}

func (p *page) labelled(list story.Labelled) {
	for _, x := range list {
		if x.Apart && len(x.Lines) > 0 {
			p.b.WriteByte('\n')
		}
		in, head := 10, story.Pad(story.Bind(x.Label), 7)+" "
		if p.Width < 60 {
			in, head = 4, story.Bind(x.Label)+story.NB+" "
		}
		for _, t := range x.Lines {
			p.line(2, in, story.Minor.Of(head), x.Tone.Of(t))
			head = story.Pad("", in-3) + " "
		}
	}
}

func (p *page) lines(b story.Lines) {
	if !b.Implied {
		p.title(b.Title)
	}
	list := slices.DeleteFunc(slices.Clone(b.List), func(x story.Line) bool {
		return !slices.ContainsFunc(x.Spans, func(s span) bool { return s.Text != "" })
	})
	if b.Spaced && len(list) > 0 {
		p.b.WriteByte('\n')
	}
	for _, x := range list {
		first := 2 * x.Depth
		switch {
		case x.Label != "":
			label := story.Minor.Of(story.Bind(x.Label) + story.NB + " ")
			p.line(first, first+story.Columns(x.Label)+2, append([]span{label}, x.Spans...)...)
			continue
		case x.Mark.Text != "":
			p.line(first, first+2, append([]span{x.Mark.Tone.Of(x.Mark.Text + " ")}, x.Spans...)...)
			continue
		case !x.Whole:
			p.line(first, first+x.Hang, x.Spans...)
			continue
		}
		for line, rest := story.Split(x.Spans[0].Text, p.Width-first); line != ""; line,
			rest = story.Split(rest, p.Width-first) {
			p.line(first, first, x.Spans[0].Tone.Of(story.Bind(line)))
		}
	}
}

func (p *page) facts(b story.Facts) {
	if len(b.List) == 0 {
		return
	}
	p.title(b.Title)
	if b.Spaced {
		p.b.WriteByte('\n')
	}
	for _, f := range b.List {
		p.line(2, b.Width+4, story.Minor.Of(story.Pad(f.Label, b.Width)+story.NB+" "), story.Plain.Of(f.Text))
	}
}

// commands writes each command unbroken, so that it can be copied.
func (p *page) commands(b story.Commands) {
	if !b.Inline {
		for _, c := range b.List {
			p.title(c.Label)
			p.unbroken(c.Text)
		}
		return
	}
	if len(b.List) > 0 {
		p.b.WriteByte('\n')
	}
	width := measure.Sum(b.List, func(f story.Fact) int {
		return story.Columns(f.Label) + 2 + story.Columns(f.Text) + 6
	})
	var spans []span
	for i, f := range b.List {
		if width-4 > p.Width {
			p.unbroken(story.Pad(f.Label, 9) + "  " + f.Text)
			continue
		}
		if i > 0 {
			spans = append(spans, story.Plain.Of(strings.Repeat(story.NB, 5)+" "))
		}
		spans = append(spans, story.Minor.Of(story.Bind(f.Label)+story.NB+" "), story.Plain.Of(story.Bind(f.Text)))
	}
	p.line(2, 2, spans...)
}

// unbroken writes a text on one line, whatever its length.
func (p *page) unbroken(text string) { p.b.WriteString("  " + story.Clean(text) + "\n") }

// bars writes changes, aligned, with their parts.
func (p *page) bars(b story.Bars) {
	p.b.WriteByte('\n')
	p.line(2, 2, story.Plain.Of(b.Title))
	p.changes(4, story.Plain, b.Rows)
	if len(b.Rest) > 0 {
		p.dim(4, "Everything else is the sum of smaller changes, and of those not certain in themselves:")
		p.changes(6, story.Minor, b.Rest)
	}
}

func (p *page) changes(indent int, tone story.Tone, rows []story.FallRow) {
	width := measure.Most(rows, func(r story.FallRow) int { return story.Columns(r.Text) })
	for _, r := range rows {
		pad := strings.Repeat(story.NB, width-story.Columns(r.Text))
		p.line(indent, indent+width+3, tone.Of(pad+r.Text+story.NB+story.NB+" "), tone.Of(r.What))
	}
}

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
// space unless one of them has it. Bound numbers wider than a line are broken, another word loses its middle.
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
		var fields []string
		for word := range strings.FieldsFuncSeq(text, breaks) {
			fields = append(fields, strings.FieldsFunc(story.Loose(word, p.Width-rest), breaks)...)
		}
		for i, word := range fields {
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
			whole := measure.Sum(w, func(x span) string { return x.Text })
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
