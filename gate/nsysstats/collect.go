package nsysstats

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// table is one table that was read.
type table struct {
	kind   kind
	file   string
	line   int // of its header
	digest string
	rows   int
	open   bool    // its last row has no line end
	traced *traced // of gpuTrace and execTrace
	sums   []sum   // of the summaries
	spans  []span  // of projTrace
	units  precision
}

// precision is what the numbers of a table are rounded to, in ns and bytes.
type precision struct {
	start, duration float64 // of a trace
	total           float64 // of a summary: the totals
	size            float64 // of bytes, 0 where all are exact
}

func (t *table) place() string { return fmt.Sprintf("%s:%d", t.file, t.line) }

func (t *table) refuse(line int, reason, next string) error {
	return refuse(t.file, line, reason, next)
}

// collection is the tables of one run.
type collection struct {
	files  []string
	tables map[kind]*table
	// others are the reports that are there and not read.
	others []string
	// What nsys says of each kind first, with its place, or "": a table in another format, a table that went to a file, a
	// recording without kernels, a report that it does not know, a report that it skips.
	drawn, written, empty, unknown, skipped string
	// blank is the first file that holds nothing, as nsys leaves it where it skips a report.
	blank string
}

func newCollection() *collection { return &collection{tables: map[kind]*table{}} }

// read reads the tables of one file.
func (c *collection) read(ctx context.Context, f File) error {
	c.files = append(c.files, f.Name)
	s := newScanner(ctx, f)
	announced := "" // the report that nsys says comes next
	var after *rows // the table before this line, as long as a row may have strayed from it
	for {
		line, err := s.next()
		if err == io.EOF {
			if s.line == 0 && c.blank == "" {
				c.blank = f.Name
			}
			return nil
		}
		if err != nil && err != errLong {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if len(bytes.TrimSpace(line)) == 0 || after == nil && ordinary(line) {
			continue
		}
		if h, ok := find(line); ok {
			if after, err = c.table(s, h, announced); err != nil {
				return err
			}
			announced = ""
			continue
		}
		if name, ok := named(line); ok {
			announced = name
		}
		c.note(s, line)
		if around.Match(line) || looksLikeHeader(line) {
			after = nil
		}
		if after != nil && after.strayed(line) {
			return refuse(f.Name, s.line, fmt.Sprintf("a row of %s outside of the table: the file is cut or mixed with other "+
				"output", after.kind), fromReport)
		}
	}
}

// ordinary reports whether a line cannot be anything that nsys says or begins a table with, at little cost: the rows of
// tables that are not read can be many.
func ordinary(line []byte) bool {
	return !bytes.ContainsAny(line, "([*") && !bytes.Contains(line, []byte("Total")) &&
		!bytes.Contains(line, []byte("Registers Per Thread")) &&
		!bytes.HasPrefix(line, []byte("SKIPPED")) && !bytes.HasPrefix(line, []byte("ERROR"))
}

// looksLikeHeader reports whether a line may be the header of a table that is not known.
func looksLikeHeader(line []byte) bool {
	cells, open := loose(line)
	return !open && len(cells) >= 3 && !someNumber(line)
}

// strayed reports whether a line may be a row of the table that ended before it.
func (r *rows) strayed(line []byte) bool {
	cells, open := loose(line)
	return !open && len(cells) == len(r.columns) && !looksLikeHeader(line)
}

// note keeps what nsys says around its tables.
func (c *collection) note(s *scanner, line []byte) {
	first := func(to *string, what string) {
		if *to == "" {
			*to = what
		}
	}
	place := fmt.Sprintf("%s:%d", s.file, s.line)
	if m := written.FindSubmatch(line); m != nil && !bytes.Contains(line, []byte("EMPTY")) {
		first(&c.written, fmt.Sprintf("%s: the table went to the file %s", place, quote(path.Base(string(m[1])))))
	}
	if m := skipped.FindSubmatch(line); m != nil {
		why := strings.TrimSuffix(measure.NormalizeControl(string(m[1])), ".")
		first(&c.skipped, fmt.Sprintf("%s: nsys skipped a report: the recording %s", place, why))
	}
	switch {
	case nothing.Match(line):
		first(&c.empty, place)
	case unknown.Match(line):
		first(&c.unknown, fmt.Sprintf("%s: nsys says %s", place, quote(string(line))))
	case drawn.Match(line):
		first(&c.drawn, place)
	}
}

// table reads the table that begins with this header, announced as that report. It gives the rows if they were read.
func (c *collection) table(s *scanner, h *header, announced string) (*rows, error) {
	if k, ok := reports[announced]; ok && k == other {
		h.kind = other // a report that is not read can look like one that is
	}
	if err := h.check(s.file, s.line); err != nil {
		return nil, err
	}
	if h.kind == other {
		_, byName, _ := reportOf(filepath.Base(s.file))
		c.others = append(c.others, cmp.Or(announced, byName, h.describe()))
		return nil, nil
	}
	r := newRows(s, h)
	t := &table{kind: h.kind, file: s.file, line: s.line}
	var err error
	switch h.kind {
	case gpuTrace:
		err = r.readTrace(t)
	case execTrace:
		err = r.readExec(t)
	case projTrace:
		err = r.readSpans(t)
	default:
		err = r.readSums(t)
	}
	if err != nil {
		return nil, err
	}
	t.rows, t.open, t.digest = r.count, r.open, string(r.digest.Sum(nil))
	if old := c.tables[t.kind]; old != nil {
		if old.digest != t.digest {
			return nil, t.refuse(t.line, fmt.Sprintf("%s is there twice, and differs from that at %s", t.kind, old.place()), oneRun)
		}
		return r, nil
	}
	switch t.kind {
	case gpuTrace, execTrace, kernSum, gbSum, gpuSum:
		if t.rows == 0 {
			return nil, t.refuse(t.line, t.kind.String()+" has a header and no rows: nsys printed none of the kernels",
				fromReport)
		}
	}
	c.tables[t.kind] = t
	return r, nil
}

// finish makes a run of the tables.
func (c *collection) finish() (Run, error) {
	if err := c.usable(); err != nil {
		return Run{}, err
	}
	if err := c.agree(); err != nil {
		return Run{}, err
	}
	if t := c.trace(); t != nil {
		trace, err := c.finishTrace(t)
		return Run{Trace: trace}, err
	}
	summary, err := c.finishSummary()
	return Run{Summary: summary}, err
}

// trace is the table of single launches.
func (c *collection) trace() *table {
	if t := c.tables[gpuTrace]; t != nil {
		return t
	}
	return c.tables[execTrace]
}

// kernels is the summary that says most of the kernels.
func (c *collection) kernels() *table {
	for _, k := range []kind{gbSum, kernSum, gpuSum, apiSum, nvtxSum} {
		if t := c.tables[k]; t != nil && t.rows > 0 {
			return t
		}
	}
	return nil
}

// usable refuses files without any table of kernels.
func (c *collection) usable() error {
	found := cmp.Or(c.trace(), c.kernels())
	listed := found != nil && found.kernelAccount().count > 0
	names := strings.Join(c.files, ", ")
	switch {
	case len(c.files) == 0:
		return measure.Refuse("there is no file to read", again)
	case found != nil && c.empty == "":
		return nil
	case listed:
		return measure.Refuse(c.empty+": nsys says that there are no CUDA kernels, and another table lists some",
			oneRun)
	case c.empty != "":
		return measure.Refuse(c.empty+": nsys found no CUDA kernels in the recording", noKernel)
	case c.drawn != "" && len(c.tables) == 0 && len(c.others) == 0:
		return measure.Refuse(c.drawn+": the table is not printed as CSV", again)
	case c.unknown != "":
		return measure.Refuse(c.unknown,
			"releases until 2022 call the reports gputrace and gpukernsum, later ones cuda_gpu_trace and cuda_gpu_kern_sum")
	case c.skipped != "" && len(c.tables) == 0 && len(c.others) == 0:
		return measure.Refuse(c.skipped, fromReport)
	case c.written != "":
		return measure.Refuse(c.written, "give nsgate that file")
	case len(c.tables) > 0 || len(c.others) > 0:
		var list []string
		for k := range c.tables {
			list = append(list, k.String())
		}
		slices.Sort(list)
		slices.Sort(c.others)
		list = append(list, slices.Compact(c.others)...)
		return measure.Refuse(fmt.Sprintf("%s: no table of kernels, only %s", names, strings.Join(list, ", ")), again)
	case c.blank != "":
		return measure.Refuse(c.blank+" is empty: nsys stats leaves such a file where it skips a report", noKernel)
	}
	return measure.Refuse(names+": no table of nsys stats", again)
}
