package nsysstats

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// lines gives the lines of a file without their ends.
type lines struct {
	file string
	in   *bufio.Reader
	line int    // number of the current line
	text string // of it
	last bool   // it is the last one and has no end
	held bool   // it is to be given once more
	cols drawnColumns
}

func newLines(file string, in io.Reader) *lines {
	return &lines{file: file, in: bufio.NewReaderSize(cells.UTF8(in), 64<<10)}
}

// next reads a line; at the end of the file the error is io.EOF.
func (s *lines) next() (string, error) {
	if s.held {
		s.held = false
		return s.text, nil
	}
	text, read, err := s.cols.next(s.in)
	if err != nil && (err != io.EOF || text == "") {
		return "", err
	}
	s.line += read
	s.last = err == io.EOF
	s.text = strings.TrimRight(text, "\r\n")
	return s.text, nil
}

// again makes the next call of next give the current line.
func (s *lines) again() { s.held = true }

var (
	// report is a line that names the report whose table comes next, or the file that it went to.
	report = regexp.MustCompile(`^(?:Processing \[.*\] with|Running) \[(?:[^\]]*[/\\])?(\w+)\.py\b|` +
		`^ ?\*\* .*\((\w+)(?::[^)]*)?\):$|^\[[0-9]+/[0-9]+\] Executing '(\w+)'`)
	processing = regexp.MustCompile(`^Processing \[.*\] with \[`)
	// around are other lines that nsys prints before, between and after its tables.
	around = regexp.MustCompile(`^(?:Processing \[|Running \[|Using |SKIPPED|NOTICE|WARNING|ERROR|Generat|Export|Collecting |` +
		`\[[0-9]+/[0-9]+\] | ?\*\* )`)
	// begins is where a header may begin behind a line that did not end.
	begins = regexp.MustCompile(`Time ?\(%\),|Start ?\(\w+\),|Total ?\(\w+\),`)
	// drawn are the titles of a table that is no CSV: columns, a table with lines, tabs, JSON, HTML.
	drawn = regexp.MustCompile(`Time ?\(%\)[\s|;]+Total Time|Start ?\(\w+\)[\s|;]+Duration|Total ?\([KMG]?i?B\)[\s|;]+Count|` +
		`"(?:Time \(%\)|Start \(\w+\)|Total \(MB\))":|<th>(?:Time \(%\)|Start \(\w+\)|Total \(MB\))</th>`)
)

// saidNone is the place in remarks of the message that there are no kernels.
const saidNone = 0

// remarks are what nsys says around its tables of why there is no table of kernels, the most telling first. Those that are
// alone count only where there is no table at all.
var remarks = []struct {
	kind   model.Kind
	next   string
	format string // of the place, and of the detail where there is one
	looks  *regexp.Regexp
	detail func(m []string) any
	alone  bool
}{
	{kind: model.NoKernels, next: noKernel, format: "%s: nsys found no CUDA kernels in the recording", looks: regexp.MustCompile(
		`^SKIPPED: .*does not contain (?:CUDA kernel|GPU trace|GPU kernel/memory operations) data`)},
	{kind: model.OtherFormat, next: again, format: "%s: the table is not printed as CSV", looks: drawn, alone: true},
	{kind: model.ReportSkipped, format: "%s: nsys says %s",
		next:   "releases until 2022 call the reports gputrace and gpukernsum, later ones cuda_gpu_trace and cuda_gpu_kern_sum",
		looks:  regexp.MustCompile(`^ERROR: Report '.*' could not be found.*`),
		detail: func(m []string) any { return measure.Quote(m[0]) }},
	{kind: model.ReportSkipped, next: fromReport, format: "%s: nsys skipped a report: the recording %s",
		looks: regexp.MustCompile(`^SKIPPED: .*?((?:file )?does not contain .*|could not .*)$`), alone: true,
		detail: func(m []string) any { return strings.TrimSuffix(measure.NormalizeControl(m[1]), ".") }},
	{kind: model.ReportSkipped, next: "give nsgate that file", format: "%s: the table went to the file %s", looks: regexp.MustCompile(
		`^Processing \[.*\](?:\([^)]*\))? with \[.*\](?:\([^)]*\))? to \[(.*)\]\.\.\. PROCESSED[^E]*$`),
		detail: func(m []string) any { return measure.Quote(path.Base(m[1])) }},
}

// ordinary reports whether a line cannot be anything that nsys says or begins a table with, at little cost: the rows of
// tables that are not read can be many.
func ordinary(line string) bool {
	return !strings.ContainsAny(line, "([*") && !strings.Contains(line, "Total") && !strings.Contains(line, "Registers Per Thread") &&
		!strings.HasPrefix(line, "SKIPPED") && !strings.HasPrefix(line, "ERROR")
}

// named is the report that a line announces.
func named(line string) (string, bool) {
	m := report.FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	return strings.Join(m[1:], ""), true
}

// find looks for a header in a line, at its start or behind text that had no end.
func find(line string) (*header, bool) {
	if h, ok := recognise(line); ok {
		return h, true
	}
	if at := begins.FindStringIndex(line); at != nil && at[0] > 0 {
		return recognise(line[at[0]:])
	}
	return nil, false
}

// Sniff reports whether the first bytes of a file, 64 KiB of them or all, look like output of nsys stats, be it readable
// or not.
func Sniff(head []byte) bool {
	s := newLines("", bytes.NewReader(head))
	for {
		line, err := s.next()
		if err != nil || strings.ContainsRune(line, 0) {
			return false
		}
		if _, ok := find(line); ok || report.MatchString(line) || processing.MatchString(line) {
			return true
		}
		for _, r := range remarks {
			if r.looks.MatchString(line) {
				return true
			}
		}
	}
}
