// Package cells reads the text of profilers' tables: the encodings of PowerShell, columns of fixed width, and numbers
// in the language of the machine.
package cells

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// UTF8 takes off a byte order mark and the fronts of the lines of a log, and turns UTF-16 that has a mark, as
// PowerShell writes it, into UTF-8. Other text, whatever its encoding, comes out as it is.
func UTF8(r io.Reader) io.Reader {
	in := bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(transform.Nop)), 4<<10)
	head, _ := in.Peek(in.Size())
	all, with, of := 0, 0, ""
	for line := range bytes.Lines(head) {
		all++
		if at, label := front(line); at > 0 && (with == 0 || label == of || of == "") {
			with++
			if with == 1 {
				of = label
			}
		}
	}
	if with < 2 || 2*with < all {
		return in
	}
	return &log{in: in, of: of}
}

// Text is what [UTF8] makes of a text.
func Text(text []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(text) + bytes.MinRead)
	out.ReadFrom(UTF8(bytes.NewReader(text))) // memory does not fail
	return out.Bytes()
}

// clock matches the time of day of a CI job in front of a line, with GitLab's stream; rank the label of a process
// there, of mpirun --tag-output, srun --label, torchrun, kubectl logs --prefix or docker compose.
var (
	clock = input.Pattern(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:?\d\d)? (?:\d\d[OE][ +])?`)
	rank  = input.Pattern(`^(?:\[\d+,\d+\](?:<std(?:out|err)>)?: ?| *\d+: |\[[a-z_]*\d+\](?:: ?| )|` +
		`\[pod/[^\]]+\] |[\w.-]+[-_]\d+ +\| )`)
)

// front is how long the part in front of a line is, and the label of the process in it.
func front(line []byte) (length int, label string) {
	if text := bytes.TrimLeft(line, " "); len(text) == 0 || bytes.IndexByte([]byte("\"{}],#<"), text[0]) >= 0 {
		return 0, "" // as most lines of JSON, without a pattern
	}
	at := len(clock().Find(line))
	of := rank().Find(line[at:])
	return at + len(of), string(bytes.TrimSpace(of))
}

// log is a log without what stands in front of the lines of its first process. Lines of others are as they were: they
// belong to no table of the first.
type log struct {
	in     *bufio.Reader
	of     string // label of the process
	line   []byte // its part that is not given yet
	inside bool   // the next part is not the first of its line
}

func (l *log) Read(p []byte) (n int, err error) {
	for len(l.line) == 0 && err == nil {
		l.line, err = l.in.ReadSlice('\n')
		at, label := front(l.line)
		switch {
		case l.inside:
		case l.of == "":
			l.line = l.line[len(clock().Find(l.line)):]
		case label == l.of:
			l.line = l.line[at:]
		}
		if l.inside = err == bufio.ErrBufferFull; l.inside {
			err = nil
		}
	}
	n = copy(p, l.line)
	l.line = l.line[n:]
	if n > 0 {
		err = nil // at its end the input says so again
	}
	return n, err
}

// Latin turns Windows-1252, which has the characters of ISO 8859-1, into UTF-8. Any text is one of that encoding.
// Package charmap of golang.org/x/text does the same, but keeps the tables of 40 encodings in the binary, 94 kB.
func Latin(text []byte) (out []byte) {
	for _, c := range text {
		r := rune(c)
		if c >= 0x80 && c < 0xa0 {
			r = windows1252[c-0x80]
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// windows1252 are the characters of the bytes from 0x80 to 0x9f.
var windows1252 = []rune("€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ")

// LongestLine is how many bytes of a line [Line] gives.
const LongestLine = 1 << 20

// Line reads a line with its end; of one that is longer than [LongestLine] the rest is dropped. At the end of the input
// the error is io.EOF, with the last line if that has no end.
func Line(in *bufio.Reader) (string, error) {
	part, err := in.ReadSlice('\n')
	line := string(part)
	for err == bufio.ErrBufferFull {
		part, err = in.ReadSlice('\n')
		line += string(part[:min(len(part), LongestLine-len(line))])
	}
	return line, err
}

// Until gives a reader that fails with the error of ctx as soon as that ends.
func Until(ctx context.Context, r io.Reader) io.Reader { return until{ctx, r} }

type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}

// Rule gives where columns of fixed width begin, in characters, from the line of dashes under their titles. It is nil
// for another line.
func Rule(line string) (starts []int) {
	line = strings.TrimRight(line, " \t\r\n")
	if !strings.Contains(line, "---") || strings.Trim(line, "- ") != "" {
		return nil
	}
	for i := range line {
		if line[i] == '-' && (i == 0 || line[i-1] == ' ') {
			starts = append(starts, i)
		}
	}
	return starts
}

// Cut gives the cells of a line whose columns begin at these characters, without blanks around them.
func Cut(line string, starts []int) []string {
	text := []rune(line)
	row := make([]string, len(starts))
	for i, from := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = min(starts[i+1], end)
		}
		row[i] = strings.TrimSpace(string(text[min(from, end):end]))
	}
	return row
}

// CSV is a row of CSV without its end, with quotes around the cells that need them. It changes row.
func CSV(row ...string) string {
	for i, cell := range row {
		if strings.ContainsAny(cell, `",`) {
			row[i] = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
	}
	return strings.Join(row, ",")
}

// JSON reports whether a line is certainly one of JSON: brackets, numbers, a member, or an object that begins with one.
// No header of a table and no message of a profiler is.
func JSON(line string) bool {
	for line != "" && strings.IndexByte(" 0123456789,.{}[]\t\r\n+-eE", line[0]) >= 0 {
		line = line[1:]
	}
	if line == "" || line[0] != '"' {
		return line == ""
	}
	end := strings.IndexByte(line[1:], '"')
	return end >= 0 && strings.HasPrefix(strings.TrimLeft(line[end+2:], " "), ":")
}
