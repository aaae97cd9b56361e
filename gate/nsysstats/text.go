package nsysstats

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"regexp"
	"unicode/utf16"
	"unicode/utf8"
)

// longestLine is the longest line, and the longest row, that is read.
const longestLine = 1 << 20

// scanner gives the lines of a file without their ends.
type scanner struct {
	file string
	in   *bufio.Reader
	line int  // number of the current line
	last bool // the current line is the last one and has no end
	held bool // the current line is to be given once more
	text []byte
	long []byte // of a line that does not fit into the reader's buffer
}

func newScanner(ctx context.Context, f File) *scanner {
	const size = 64 << 10
	return &scanner{file: f.Name, in: bufio.NewReaderSize(utf8Reader(bufio.NewReaderSize(stopper{ctx, f.Reader}, size)), size)}
}

var errLong = errors.New("the line is longer than any row of nsys")

// next reads a line; it is valid until the line after it is read. At the end of the file the error is io.EOF. What a line
// longer than longestLine holds beyond that is dropped, with errLong.
func (s *scanner) next() ([]byte, error) {
	if s.held {
		s.held = false
		return s.text, nil
	}
	text, err := s.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		s.long = append(s.long[:0], text...)
		for err == bufio.ErrBufferFull {
			text, err = s.in.ReadSlice('\n')
			s.long = append(s.long, text[:min(len(text), longestLine-min(len(s.long), longestLine))]...)
		}
		text = s.long
	}
	if err == io.EOF && len(text) == 0 || err != nil && err != io.EOF {
		return nil, err
	}
	s.line++
	s.last = err == io.EOF
	s.text = bytes.TrimRight(text, "\r\n")
	if len(text) >= longestLine {
		return s.text, errLong
	}
	return s.text, nil
}

// again makes the next call of next give the current line.
func (s *scanner) again() { s.held = true }

// stopper stops reading when ctx ends.
type stopper struct {
	ctx context.Context
	io.Reader
}

func (s stopper) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

// utf8Reader takes off a byte order mark and turns UTF-16, which PowerShell writes, into UTF-8.
func utf8Reader(in *bufio.Reader) io.Reader {
	head, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(head, []byte("\uFEFF")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		_, _ = in.Discard(2)
		return &utf16Reader{in: in, order: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		_, _ = in.Discard(2)
		return &utf16Reader{in: in, order: binary.BigEndian}
	}
	return in
}

type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
	out   []byte // decoded and not yet read
}

func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		one, err := r.unit()
		if err != nil {
			return 0, err
		}
		if utf16.IsSurrogate(one) {
			two, err := r.unit()
			if err == nil {
				one = utf16.DecodeRune(one, two)
			} else if err != io.EOF {
				return 0, err
			}
		}
		r.out = utf8.AppendRune(r.out[:0], one)
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// unit reads 16 bits; a byte left over at the end of the file is dropped, the row that it was part of is cut anyway.
func (r *utf16Reader) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(r.in, b[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			err = io.EOF
		}
		return 0, err
	}
	return rune(r.order.Uint16(b[:])), nil
}

var (
	// report is a line that names the report whose table comes next, or the file that it went to.
	report = regexp.MustCompile(`^(?:Processing \[.*\] with|Running) \[(?:[^\]]*[/\\])?(\w+)\.py\b|` +
		`^ ?\*\* .*\((\w+)(?::[^)]*)?\):$|^\[[0-9]+/[0-9]+\] Executing '(\w+)'`)
	processing = regexp.MustCompile(`^Processing \[.*\] with \[`)
	unknown    = regexp.MustCompile(`^ERROR: Report '.*' could not be found`)
	written    = regexp.MustCompile(`^Processing \[.*\](?:\([^)]*\))? with \[.*\](?:\([^)]*\))? to \[(.*)\]\.\.\. PROCESSED`)
	skipped    = regexp.MustCompile(`^SKIPPED: .*?((?:file )?does not contain .*|could not .*)$`)
	// around are other lines that nsys prints before, between and after its tables.
	around = regexp.MustCompile(`^(?:Processing \[|Running \[|Using |SKIPPED|NOTICE|WARNING|ERROR|Generat|Export|Collecting |` +
		`\[[0-9]+/[0-9]+\] | ?\*\* )`)
	// begins is where a header may begin behind a line that did not end.
	begins = regexp.MustCompile(`Time ?\(%\),|Start ?\(\w+\),|Total ?\(\w+\),|NVTX Range,|Name,Projected Start`)
	// drawn are the titles of a table that is no CSV: columns, a table with lines, tabs, JSON, HTML.
	drawn = regexp.MustCompile(`Time ?\(%\)[\s|;]+Total Time|Start ?\(\w+\)[\s|;]+Duration|Total ?\([KMG]?i?B\)[\s|;]+Count|` +
		`NVTX Range[\s|;]+Style|"(?:Time \(%\)|Start \(\w+\)|Total \(MB\))":|<th>(?:Time \(%\)|Start \(\w+\)|Total \(MB\))</th>`)
	// nothing is what nsys says of a recording without kernels.
	nothing = regexp.MustCompile(`^SKIPPED: .*does not contain (?:CUDA kernel|GPU trace|GPU kernel/memory operations) data`)
)

// named is the report that a line announces.
func named(line []byte) (string, bool) {
	m := report.FindSubmatch(line)
	if m == nil {
		return "", false
	}
	return string(bytes.Join(m[1:], nil)), true
}

// find looks for a header in a line, at its start or behind text that had no end.
func find(line []byte) (*header, bool) {
	if h, ok := recognise(line); ok {
		return h, true
	}
	if at := begins.FindIndex(line); at != nil && at[0] > 0 {
		return recognise(line[at[0]:])
	}
	return nil, false
}

// Sniff reports whether the first bytes of a file, 64 KiB of them or all, look like output of nsys stats, be it readable
// or not.
func Sniff(head []byte) bool {
	s := scanner{in: bufio.NewReaderSize(utf8Reader(bufio.NewReader(bytes.NewReader(head))), 64<<10)}
	for {
		line, err := s.next()
		if err != nil && err != errLong {
			return false
		}
		if bytes.IndexByte(line, 0) >= 0 {
			return false
		}
		if _, ok := find(line); ok {
			return true
		}
		for _, said := range []*regexp.Regexp{report, processing, skipped, unknown, drawn} {
			if said.Match(line) {
				return true
			}
		}
	}
}
