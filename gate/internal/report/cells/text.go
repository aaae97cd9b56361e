// Package cells reads the text of profilers' tables: the encodings of PowerShell, columns of fixed width, and numbers
// in the language of the machine.
package cells

import (
	"bufio"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// UTF8 takes off a byte order mark, and turns UTF-16 that has one, as PowerShell writes it, into UTF-8. Other text,
// whatever its encoding, comes out as it is.
func UTF8(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.BOMOverride(transform.Nop))
}

// Latin turns Windows-1252, which has the characters of ISO 8859-1, into UTF-8. Any text is one of that encoding.
// Package charmap of golang.org/x/text does the same, but keeps the tables of 40 encodings in the binary, 94 kB.
func Latin(r io.Reader) io.Reader { return latin{r} }

// windows1252 are the characters of the bytes from 0x80 to 0x9f.
var windows1252 = []rune("€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ")

type latin struct{ io.Reader }

func (l latin) Read(p []byte) (int, error) {
	if len(p) < utf8.UTFMax {
		return 0, io.ErrShortBuffer
	}
	n, err := l.Reader.Read(p[:len(p)/utf8.UTFMax])
	var text []byte
	for _, c := range p[:n] {
		r := rune(c)
		if c >= 0x80 && c < 0xa0 {
			r = windows1252[c-0x80]
		}
		text = utf8.AppendRune(text, r)
	}
	return copy(p, text), err
}

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

// JSON reports whether a line is certainly one of JSON: brackets, a member, or an object that begins with one. No line
// of a table or message of a profiler is.
func JSON(line string) bool {
	line = strings.TrimSpace(line)
	if line = strings.TrimLeft(line, "{}[], \t"); line == "" {
		return true
	}
	if line[0] != '"' {
		return false
	}
	end := strings.IndexByte(line[1:], '"')
	return end >= 0 && strings.HasPrefix(strings.TrimLeft(line[end+2:], " "), ":")
}
