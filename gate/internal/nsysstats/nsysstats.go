// Package nsysstats reads what `nsys stats --format csv` of Nsight Systems prints: the tables of the versions 2020 to
// 2026, one or several in a stream or a file each, with whatever stands before and between them.
//
// It reads the traces of kernels and copies (cuda_gpu_trace), and the summaries of kernels (cuda_gpu_kern_sum) and of copies
// (cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum), under all their names.
//
// The tables are second to an SQLite export, which gate/nsys reads. A summary has no single launches, so that its warm-up
// cannot be left out. Sizes are rounded to thousands of bytes. No table says whether CUDA graphs were traced as a whole, so
// that their kernels are missing, nor which process launched a kernel, so that several count as one run. What cannot be
// read for certain is refused.
package nsysstats

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Tool is the profiler of everything that this package gives, see model.Environment.
const Tool = "nsys-stats"

// File is one file, or one stream, of output. The name stands in messages and says which report the file holds.
type File struct {
	Name string
	io.Reader
}

// Run is what the tables of one run say. Exactly one of the fields is set.
type Run struct {
	// Trace is the run launch by launch, from cuda_gpu_trace. What the table has no column for is -1; sizes are rounded as
	// the table prints them. It does not say when a kernel was launched: Launch.API is Launch.Start.
	Trace *model.Trace
	// Summary is a session of this one run, from summaries over its kernels and copies. Time is the mean over all launches
	// of the run (Avg), the first ones included, whose warm-up no summary lets one leave out. The bytes of copies that the
	// table rounds by more than one in a hundred are missing.
	Summary *model.Session
}

// Read reads the tables of one run. The error is a *model.Refusal where they cannot be judged: no kernels in them, a
// table that is cut or broken, numbers in another language. Reading stops when ctx ends.
func Read(ctx context.Context, files ...File) (Run, error) {
	c := collection{tables: map[kind]*table{}, said: make([][]any, len(remarks))}
	for _, f := range files {
		if err := c.read(f.Name, cells.Until(ctx, f.Reader)); err != nil {
			return Run{}, err
		}
	}
	return c.finish()
}

// collection is the tables of one run.
type collection struct {
	files  []string
	tables map[kind]*table
	others []string // the reports that are there and not read
	said   [][]any  // the details of each of remarks that nsys printed
	blank  string   // the first file that holds nothing, as nsys leaves it where it skips a report
}

// read reads the tables of one file.
func (c *collection) read(file string, in io.Reader) error {
	c.files = append(c.files, file)
	s := newLines(file, in)
	announced := ""  // the report that nsys says comes next
	var after *table // the table before this line, as long as a row may have strayed from it
	for {
		line, err := s.next()
		if err == io.EOF {
			if s.line == 0 {
				c.blank = cmp.Or(c.blank, file)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if strings.TrimSpace(line) == "" || after == nil && ordinary(line) {
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
		for i, r := range remarks {
			if m := r.looks.FindStringSubmatch(line); m != nil && c.said[i] == nil {
				c.said[i] = []any{place(file, s.line)}
				if r.detail != nil {
					c.said[i] = append(c.said[i], r.detail(m))
				}
			}
		}
		switch cells := strings.Count(line, ",") + 1; {
		case after == nil:
		case around.MatchString(line), cells >= 3 && !someNumber(line): // or an unknown header
			after = nil
		case cells >= len(after.columns):
			return model.Refuse(model.BadTable, fromReport,
				"%s:%d: a row of %s outside of the table: the file is cut or mixed with other output", file, s.line, after.kind)
		}
	}
}

// table reads the table that begins with this header, announced as that report. It gives the table if it was read.
func (c *collection) table(s *lines, h *header, announced string) (*table, error) {
	if announced != "" && reports[announced] == other {
		h.kind = other // a report that is not read can look like one that is
	}
	// nsys itself writes commas between the thousands of printed tables, whatever the locale.
	t := &table{header: h, lines: s, from: s.line, english: s.cols.from != nil}
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.kind == other {
		_, byName, _ := reportOf(filepath.Base(s.file))
		c.others = append(c.others, cmp.Or(announced, byName, other.String()))
		return nil, nil
	}
	read := t.readSums
	if t.kind == gpuTrace {
		read = t.readTrace
	}
	if err := read(); err != nil {
		return nil, err
	}
	if old := c.tables[t.kind]; old != nil {
		if old.digest.Sum64() != t.digest.Sum64() {
			return nil, model.Refuse(model.SeveralTables, oneRun,
				"%s: %s is there twice, and differs from that at %s", t.place(), t.kind, old.place())
		}
		return t, nil
	}
	if t.rows == 0 && t.kind <= kernSum {
		return nil, model.Refuse(model.RowsMissing, fromReport,
			"%s: %s has a header and no rows: nsys printed none of the kernels", t.place(), t.kind)
	}
	c.tables[t.kind] = t
	return t, nil
}

// finish makes a run of the tables.
func (c *collection) finish() (Run, error) {
	t := cmp.Or(c.tables[gpuTrace], c.tables[kernSum])
	files := strings.Join(c.files, ", ")
	if t != nil && c.said[saidNone] == nil {
		if t.kind == gpuTrace {
			trace, err := t.finishTrace()
			return Run{Trace: trace}, err
		}
		summary, err := c.finishSummary(t)
		return Run{Summary: summary}, err
	}
	if len(c.files) == 0 {
		return Run{}, model.Refuse(model.NoFile, again, "there is no file to read")
	}
	if said := c.said[saidNone]; t != nil && (t.kind == kernSum || len(t.traced.launches) > 0) {
		return Run{}, model.Refuse(model.SeveralTables, oneRun,
			"%s: nsys says that there are no CUDA kernels, and another table lists some", said[0])
	}
	tables := c.others
	for k := range maps.Keys(c.tables) {
		tables = append(tables, k.String())
	}
	for i, r := range remarks { // the most telling first
		if said := c.said[i]; said != nil && (len(tables) == 0 || !r.alone) {
			return Run{}, model.Refuse(r.kind, r.next, r.format, said...)
		}
	}
	switch {
	case len(tables) > 0:
		slices.Sort(tables)
		return Run{}, model.Refuse(model.OtherFormat, again, "%s: no table of kernels, only %s", files, strings.Join(slices.Compact(tables), ", "))
	case c.blank != "":
		return Run{}, model.Refuse(model.EmptyFile, noKernel,
			"%s is empty: nsys stats leaves such a file where it skips a report", c.blank)
	}
	return Run{}, model.Refuse(model.OtherFormat, again, "%s: no table of nsys stats", files)
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }
