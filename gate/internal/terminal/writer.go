// Package terminal writes text that neither a terminal nor a CI runner obeys, and knows how wide a terminal is.
package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// Syntax says how a text stands for a character that must not be written as it is.
type Syntax int

const (
	Text   Syntax = iota // by one that looks alike; in ASCII where [Form].ASCII says so
	Data                 // by one that looks alike; of all languages
	JSON                 // by its escape, so that the decoded value stays
	Markup               // by a character reference of HTML and XML
)

// Form is how text is written.
type Form struct {
	Syntax Syntax
	ASCII  bool // Text: other characters as ASCII ones that look alike, or "?"
	Colour bool // Text: the colours of a report pass
}

// Writer is the last step of all that is printed. It replaces control and format characters (escape sequences, C0 but
// the line feed and the tab, C1, directions of writing), invalid UTF-8, and the beginnings of commands that the runners
// of GitHub, Azure and TeamCity read from a log: "::" at the start of a line, "##[" and "##name[" anywhere.
type Writer struct {
	s    *stream
	form Form
}

// stream is the target of text, with the state of its current line.
type stream struct {
	mutex  sync.Mutex
	to     io.Writer
	rest   []byte // incomplete character of the last write
	start  bool   // only space on this line so far
	colon  bool   // then a colon
	hashes int    // 1 behind "#", 2 behind "##" and a name
}

// New is a writer in front of any other; in front of a [Writer] it continues the same line.
func New(to io.Writer, form Form) *Writer {
	if w, ok := to.(*Writer); ok {
		return &Writer{w.s, form}
	}
	return &Writer{&stream{to: to, start: true}, form}
}

// As continues the same line in another syntax.
func (w *Writer) As(s Syntax) *Writer { return &Writer{w.s, Form{Syntax: s, ASCII: w.form.ASCII}} }

// Raw is the stream without this step, for text that is meant as a command to a CI runner or a terminal. It must hold
// no foreign text, or escape it by its syntax, and stand on lines of its own.
func (w *Writer) Raw() io.Writer { return raw{w.s} }

type raw struct{ *stream }

func (r raw) Write(p []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.newLine()
	return r.to.Write(p)
}

func (s *stream) newLine() { s.start, s.colon, s.hashes = true, false, 0 }

// Columns is the width of the terminal that is written to: 0 where it is none, 100 where it does not know.
func (w *Writer) Columns() int {
	if file, ok := w.s.to.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return cmp.Or(max(width, 0), 100)
		}
	}
	return 0
}

func (w *Writer) Write(p []byte) (int, error) {
	w.s.mutex.Lock()
	defer w.s.mutex.Unlock()
	text := p
	if len(w.s.rest) > 0 {
		text = append(w.s.rest, p...)
	}
	w.s.rest = nil
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		if n := cmp.Or(w.harmless(text), w.colour(text)); n > 0 {
			b.Write(text[:n])
			text = text[n:]
			continue
		}
		if !utf8.FullRune(text) {
			w.s.rest = append([]byte(nil), text...)
			break
		}
		r, size := utf8.DecodeRune(text)
		for _, r := range w.form.character(r) {
			b.WriteString(w.guard(r))
		}
		text = text[size:]
	}
	if _, err := io.WriteString(w.s.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// harmless is the length of the beginning that is written as it is: printable ASCII within a line, up to a "#".
func (w *Writer) harmless(text []byte) (n int) {
	if w.s.start || w.s.colon || w.s.hashes > 0 {
		return 0
	}
	for n < len(text) && text[n] >= ' ' && text[n] < 0x7f && text[n] != '#' {
		n++
	}
	return n
}

// Colours are the sequences that [Form].Colour lets pass: the end of a colour, dim, red, green and yellow.
var Colours = []string{"\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

// colour is the length of a colour at the beginning, 0 for none.
func (w *Writer) colour(text []byte) int {
	for _, c := range Colours {
		if w.form.Colour && strings.HasPrefix(string(text[:min(len(text), len(c))]), c) {
			return len(c)
		}
	}
	return 0
}

// character is the printed form of a character outside of any command.
func (f Form) character(r rune) string {
	switch {
	case r == '\n' || r == '\t' || unicode.IsPrint(r):
	case f.Syntax == JSON && r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	case f.Syntax == JSON:
		return fmt.Sprintf(`\u%04x`, r)
	case r == noBreak && !(f.ASCII && f.Syntax == Text):
	case unicode.IsSpace(r):
		return " "
	default:
		r = utf8.RuneError
	}
	if f.ASCII && f.Syntax == Text {
		return toASCII(r)
	}
	return string(r)
}

const noBreak = '\u00a0'

// guard is the printed form of the next character: unchanged unless it completes the beginning of a command.
func (w *Writer) guard(r rune) string {
	s, form := w.s, w.form
	switch {
	case s.colon && r == ':':
		s.colon = false
		return map[Syntax]string{JSON: `\u003a`, Markup: "&#58;"}[form.Syntax] + form.alike(':')
	case s.hashes == 2 && r == '[':
		s.hashes = 0
		return map[Syntax]string{JSON: `\u005b`, Markup: "&#91;"}[form.Syntax] + form.alike('[')
	}
	if r == '\n' {
		s.newLine()
		return "\n"
	}
	s.colon = s.start && r == ':'
	s.start = s.start && unicode.IsSpace(r)
	word := r == '#' || unicode.IsLetter(r) || unicode.IsDigit(r)
	switch {
	case r == '#':
		s.hashes = min(s.hashes+1, 2)
	case s.hashes < 2 || !word:
		s.hashes = 0
	}
	return string(r)
}

// alike is a character that looks like the colon or the bracket of a command, "" where the syntax has escapes.
func (f Form) alike(r rune) string {
	switch {
	case f.Syntax == JSON || f.Syntax == Markup:
		return ""
	case f.ASCII && f.Syntax == Text:
		return map[rune]string{':': ".", '[': "("}[r]
	}
	return map[rune]string{':': "∶", '[': "⟦"}[r]
}

// Line is a line as a [Writer] of [Data] writes it, for the parts of a command that goes past the writer.
func Line(s string) string {
	var b strings.Builder
	New(&b, Form{Syntax: Data}).Write([]byte(s)) // a strings.Builder takes everything
	return b.String()
}

var signs = map[rune]string{'…': "...", '→': "->", 'µ': "u", '×': "x", '–': "-", '−': "-", '─': "-", '·': "|", '•': "*",
	'≥': ">=", '≤': "<=", '↑': "+", '↓': "-", '▁': "_", '▂': ".", '▃': ",", '▄': "-", '▅': "=", '▆': "+", '▇': "*",
	'█': "#", '±': "+-", '✓': "ok", '✗': "XX", '═': "=", '│': "|", '“': `"`, '”': `"`, '♯': "+", '∶': ".", noBreak: " "}

// toASCII is a character for a terminal whose locale is C.
func toASCII(r rune) string {
	sign, ok := signs[r]
	switch {
	case ok:
		return sign
	case r > unicode.MaxASCII:
		return "?"
	}
	return string(r)
}

// ASCII is a text as the [Writer] writes it where the locale is C, but for no-break spaces and "…", one column wide.
func ASCII(s string) string {
	var b strings.Builder
	for _, r := range ellipses.Replace(s) {
		if r == noBreak {
			b.WriteRune(r)
		} else {
			b.WriteString(toASCII(r))
		}
	}
	return b.String()
}

var ellipses = strings.NewReplacer("\u00a0…\u00a0", "\u00a0..\u00a0", " … ", " .. ", "…", "~")
