// Package nsysstats reads what `nsys stats --format csv` of Nsight Systems 2020 to 2026 prints: cuda_gpu_trace,
// cuda_gpu_kern_sum, cuda_gpu_mem_time_sum and cuda_gpu_mem_size_sum, under all their names. They say less than an
// export: a summary has no single launches, sizes are rounded to thousands of bytes, and processes, which no table
// tells, count as one run. What cannot be read for certain is refused.
package nsysstats

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// File is one file, or one stream, of output. The name stands in messages and says which report the file holds.
type File struct {
	Name string
	io.Reader
}

// Read reads the tables of one run: launch by launch from cuda_gpu_trace, with -1 for a value without a column and
// Launch.Start for Launch.API, or else a session of the run from summaries over its kernels and copies. There Time is
// the mean over all launches (Avg), the first ones included, and the bytes of copies that the table rounds by more than
// one in a hundred are missing. Tables that cannot be judged give a *model.Refusal. Reading stops when ctx ends.
func Read(ctx context.Context, files ...File) (*model.Trace, *model.Session, error) {
	c := collection{tables: map[kind]*table{}, sums: map[kind][]sum{}, said: make([]string, len(messages))}
	for _, f := range files {
		if err := c.read(f.Name, cells.Until(ctx, f.Reader)); err != nil {
			return nil, nil, err
		}
	}
	return c.finish()
}

type collection struct {
	files  []string
	tables map[kind]*table
	trace  *model.Trace
	sums   map[kind][]sum
	others []string // the reports that are there and not read
	said   []string // the reasons of those of messages that nsys printed
	blank  string   // the first file that holds nothing, as nsys leaves it where it skips a report
}

func (c *collection) read(file string, in io.Reader) error {
	c.files = append(c.files, file)
	s := newLines(file, in)
	announced := ""  // the report that nsys announces as the next one
	var after *table // the table before this line, as long as a row of it may follow
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
		if strings.TrimSpace(line) == "" || after == nil && !strings.ContainsAny(line, "([*") && !strings.Contains(line,
			"Total") && !strings.HasPrefix(line, "SKIPPED") && !strings.HasPrefix(line, "ERROR") {
			// nothing that nsys says or begins a table with: the rows of tables that are not read can be many
			continue
		}
		if h, ok := recognise(line); ok {
			if after, err = c.table(s, h, announced); err != nil {
				return err
			}
			announced = ""
			continue
		}
		if m := report().FindStringSubmatch(line); m != nil {
			announced = strings.Join(m[1:], "")
		}
		for i, m := range messages {
			if found := m.line().FindStringSubmatch(line); found != nil && c.said[i] == "" {
				c.said[i] = place(file, s.line) + ": " + m.reason + measure.NormalizeControl(found[1])
			}
		}
		count := strings.Count(line, ",") + 1
		switch {
		case after == nil:
		case report().MatchString(line), count >= 3 && !someNumber(line): // or an unknown header
			after = nil
		case count >= after.width:
			return model.Refuse(model.BadTable, fromReport,
				"%s:%d: a row of %s outside of the table: the file is cut or mixed with other output", file, s.line,
				after.kind)
		}
	}
}

// table reads the table that begins with this header and was announced as that report. It is nil unless it is of a kind
// that is read.
func (c *collection) table(s *lines, h *header, announced string) (*table, error) {
	if announced != "" && reports[announced] == other {
		h.kind = other // a report that is not read can look like one that is
	}
	// In printed tables nsys itself writes commas between thousands, whatever the locale.
	t := &table{header: h, lines: s, from: s.line, english: s.starts != nil}
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.kind == other {
		_, byName, _ := reportOf(filepath.Base(s.file))
		c.others = append(c.others, cmp.Or(announced, byName, other.String()))
		return nil, nil
	}
	var err error
	if t.kind == gpuTrace {
		c.trace, err = t.readTrace()
	} else {
		c.sums[t.kind], err = t.readSums()
	}
	if err != nil {
		return nil, err
	}
	if old := c.tables[t.kind]; old != nil && old.digest.Sum64() != t.digest.Sum64() {
		return nil, model.Refuse(model.SeveralTables, oneRun, "%s: %s is there twice, and differs from that at %s",
			t.place(), t.kind, old.place())
	}
	c.tables[t.kind] = t
	return t, nil
}

func (c *collection) finish() (*model.Trace, *model.Session, error) {
	if c.trace != nil {
		return c.trace, nil, nil
	}
	if t := c.tables[kernSum]; t != nil {
		summary, err := summarize(t, c.sums)
		return nil, summary, err
	}
	tables := c.others
	for k := range c.tables {
		tables = append(tables, k.String())
	}
	for i, m := range messages {
		if c.said[i] != "" && (len(tables) == 0 || m.kind == model.NoKernels) {
			return nil, nil, model.Refuse(m.kind, m.next, "%s", c.said[i])
		}
	}
	files := strings.Join(c.files, ", ")
	switch {
	case len(tables) > 0:
		slices.Sort(tables)
		return nil, nil, model.Refuse(model.OtherFormat, again, "%s: no table of kernels, only %s", files,
			strings.Join(slices.Compact(tables), ", "))
	case c.blank != "":
		return nil, nil, model.Refuse(model.EmptyFile, noKernel,
			"%s is empty: nsys stats leaves such a file where it skips a report", c.blank)
	}
	return nil, nil, model.Refuse(model.OtherFormat, again, "%s: no table of nsys stats", files)
}

// Sniff reports whether the first bytes of a file, 64 KiB of them or all, look like output of nsys stats, be it
// readable or not.
func Sniff(head []byte) bool {
	s := newLines("", bytes.NewReader(head))
	for {
		line, err := s.next()
		if err != nil || strings.ContainsRune(line, 0) {
			return false
		}
		if cells.JSON(line) {
			continue
		}
		if _, ok := recognise(line); ok || report().MatchString(line) || processing().MatchString(line) {
			return true
		}
		for _, m := range messages {
			if m.line().MatchString(line) {
				return true
			}
		}
	}
}
