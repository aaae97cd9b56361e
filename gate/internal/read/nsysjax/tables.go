package nsysjax

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// projected is the table of NVTX ranges with the times of their work on the GPU, which the recipe nvtx_gpu_proj_trace
// writes.
const projected = "nvtx_gpu_proj_trace/trace.parquet"

// Tables reads the tables of an archive without reports ([Reports]), one trace a process. A thunk of XLA, an operation
// of the program and most often one kernel, stands as a kernel. Tables that are damaged, or lack a needed column or
// cell, give a *model.Refusal.
func Tables(ctx context.Context, archive string) (out []model.Trace, err error) {
	a, members, from, err := open(archive)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	a.most = limits{reports: 1024, size: mostBytes}
	reports, tables, err := a.choose(members)
	if err != nil || len(reports) > 0 {
		return nil, err
	}
	recordings := measure.Where(tables, func(m member) bool { return m.recording() != "" })
	if err := a.checkEach(recordings); err != nil {
		return nil, err
	}
	r := reader{source: a, ctx: ctx, tables: tables}
	for i, m := range recordings {
		r.of, r.rank = m, i
		traces, err := r.read()
		if err != nil {
			return nil, err
		}
		for i := range traces {
			traces[i].Source = a.name
			if len(recordings) > 1 {
				traces[i].Job, traces[i].Rank = a.name, r.rank
			}
		}
		out = append(out, traces...)
	}
	return out, nil
}

// recording is the path of a table of projected ranges, below which a combined archive has one for each rank; "" for
// others.
func (m member) recording() string {
	for _, p := range []string{m.path, path.Dir(m.path)} {
		if strings.HasSuffix(p, "/"+projected) {
			return p
		}
	}
	return ""
}

// reader reads the tables of one recording after another.
type reader struct {
	source
	ctx    context.Context
	tables []member
	of     member // the table of projected ranges
	rank   int    // of the process, as XLA numbers them
	total  int    // rows of the tables of ranges so far
	rows   int    // of the table that is read
	at     string // that table
	cell   string // the column of it
}

func (r *reader) damaged(format string, args ...any) error {
	return model.Refuse(model.Damaged, copyAgain, "%s in %s: %s", r.at, r.name, fmt.Sprintf(format, args...))
}

// textual are the columns of texts; the others have numbers.
var textual = []string{"Name", "Text", "Domain", "name", "value", "('TARGET_INFO_GPU', 'name')",
	"('TARGET_INFO_GPU', 'uuid')"}

// load reads columns of a table; the first ones are needed, and a title may have an alternative. It gives nil if the
// archive lacks the table.
func (r *reader) load(name string, needed int, titles ...string) ([]*column, error) {
	root := strings.TrimSuffix(r.of.recording(), projected)
	rank := strings.TrimPrefix(r.of.path, root+projected)
	at := slices.IndexFunc(r.tables, func(m member) bool { return m.path == root+name+rank })
	if at < 0 { // a table that all ranks share
		at = slices.IndexFunc(r.tables, func(m member) bool { return m.path == root+name })
	}
	r.rows = 0
	if at < 0 {
		return nil, nil
	}
	m := r.tables[at]
	r.at = show(strings.TrimPrefix(m.path, root))
	if m.UncompressedSize64 > mostBytes {
		return nil, model.Refuse(model.TooLarge, keepReports, "%s in %s is larger than %d MB", r.at, r.name,
			mostBytes>>20)
	}
	var data bytes.Buffer
	if err := r.copy(r.ctx, &data, m); err != nil {
		return nil, err
	}
	t, err := openTable(data.Bytes())
	if err != nil {
		return nil, r.damaged("%v", err)
	}
	r.rows = t.rows
	out := make([]*column, len(titles))
	for i, title := range titles {
		for r.cell = range strings.SplitSeq(title, "|") {
			if out[i], err = t.column(r.cell, slices.Contains(textual, r.cell)); err != nil {
				return nil, r.damaged("column %s: %v", r.cell, err)
			}
			if out[i] != nil {
				break
			}
		}
		if out[i] == nil && i < needed {
			held := measure.Map(t.meta.Schema[1:], func(e format.SchemaElement) string { return e.Name })
			return nil, model.Refuse(model.BadTable, keepReports, "%s in %s has no column %s: its %d rows have %s",
				r.at, r.name, either(title), t.rows, show(strings.Join(held, ", ")))
		}
	}
	return out, r.ctx.Err()
}

func either(title string) string { return strings.ReplaceAll(title, "|", " or ") }

// span is a range with the time of its work on the GPU. Times are in ns.
type span struct {
	*label
	start, end   int64 // on the GPU
	begun, ended int64 // on the host, or on the GPU where the table does not say
	id, parent   int64 // parent is -1 for none
	thread
	inner   bool  // has thunks in it
	several bool  // operations on the GPU
	at      int32 // place among the ranges of the trace
}

type thread struct{ pid, tid int64 }

// leaf reports whether it stands as a kernel.
func (s *span) leaf() bool { return s.thunk && !s.inner }

type label struct {
	text     string // without the number of a program, which counts those that were compiled before
	thunk    bool
	op       string // of a thunk
	module   string // of the execution of a program, "" for other ranges
	numbered bool   // of a program; those that XLA runs only to time them have no number
}

var (
	programID = input.Pattern(`,program_id=\d+\b`)
	operation = input.Pattern(`^(?:TSL:)?Thunk:#(?:.*\bhlo_op=)?([^#,]+)`)
	program   = input.Pattern(`^(?:TSL:)?XlaModule:#(?:.*,)?hlo_module=([^#,]+)`)
	launcher  = input.Pattern(`^XlaLauncher:#global=\d+,local=(\d{1,4}),process=(\d{1,6}),`)
	version   = input.Pattern(`^\d+(\.\d+)*$`)
)

func newLabel(raw string) *label {
	text := strings.TrimPrefix(measure.NormalizeRange(raw), ":")
	l := &label{text: programID().ReplaceAllString(text, "")}
	l.numbered = l.text != text
	if m := operation().FindStringSubmatch(text); m != nil {
		l.thunk, l.op = true, m[1]
	}
	if m := program().FindStringSubmatch(text); m != nil {
		l.module = m[1]
	}
	return l
}

func (r *reader) read() (out []model.Trace, err error) {
	defer func() {
		if p := recover(); p != nil { // the library's fault
			out, err = nil, r.damaged("column %s: %v", r.cell, p)
		}
	}()
	e, devices, err := r.environment()
	if err != nil {
		return nil, err
	}
	spans, err := r.spans()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.begun, b.begun), -cmp.Compare(a.ended, b.ended),
			cmp.Compare(a.id, b.id))
	})
	for n := 1; len(spans) > 0; n++ {
		if n < len(spans) && spans[n].pid == spans[0].pid {
			continue
		}
		t := model.Trace{Environment: e, Process: int(spans[0].pid), MemoryPeak: -1}
		if err := r.fill(&t, spans[:n], devices); err != nil {
			return nil, err
		}
		if len(t.Launches) > 0 {
			out = append(out, t)
		}
		spans, n = spans[n:], 0
	}
	if len(out) == 0 {
		return nil, model.Refuse(model.NoKernels, "record a program of JAX, with NVTX (--trace=cuda,nvtx)",
			"%s in %s has no thunk of XLA with work on the GPU", projected, r.name)
	}
	return out, nil
}

// titles are the columns of the table of ranges since nsys 2024.5, and before it. The first seven are needed.
var titles = []string{"Text|Name", "Start|Projected Start", "End|Projected Duration", "PID", "TID", "Range ID|RangeId",
	"Parent ID|ParentId", "Orig Start", "Orig Duration", "NumGPUOps", "Domain", "End"}

// spans reads the ranges. A row without an id sums up what ran outside of all ranges, and is left out.
func (r *reader) spans() ([]span, error) {
	c, err := r.load(projected, 7, titles...)
	if err != nil {
		return nil, err
	}
	r.total += r.rows
	if r.total > mostRows {
		return nil, model.Refuse(model.TooLarge, keepReports, "the tables in %s have more than %d rows", r.name,
			mostRows)
	}
	out, labels := make([]span, 0, r.rows), map[string]*label{}
	for row := range r.rows {
		if !c[5].has(row) {
			continue
		}
		for i, title := range titles[:5] {
			if !c[i].has(row) {
				return nil, r.damaged("row %d has no %s", row+1, either(title))
			}
		}
		x := span{start: c[1].number(row, 0), end: c[2].number(row, 0),
			thread: thread{c[3].number(row, 0), c[4].number(row, 0)},
			id:     c[5].number(row, 0), parent: c[6].number(row, -1), several: c[9].number(row, 1) > 1}
		if c[11] == nil { // a duration
			x.end += x.start
		}
		const longest = 1 << 60
		if x.start < 0 || x.start > longest || x.end < x.start || x.end > longest || x.id < 0 {
			return nil, r.damaged("row %d of range %d cannot be from %d to %d ns", row+1, x.id, x.start, x.end)
		}
		x.begun, x.ended = x.start, x.end
		if c[7].has(row) && c[8].has(row) {
			x.begun = min(max(c[7].number(row, 0), 0), x.start)
			x.ended = x.begun + min(max(c[8].number(row, 0), 0), longest)
		}
		raw := c[0].text(row)
		if d := c[10].text(row); d != "" {
			raw = d + ":" + raw
		}
		if labels[raw] == nil {
			labels[raw] = newLabel(raw)
		}
		x.label = labels[raw]
		out = append(out, x)
	}
	return out, nil
}

// fill fills a trace with the ranges of a process, which are sorted.
func (r *reader) fill(t *model.Trace, spans []span, devices func(thread) int32) error {
	index := make(map[int64]int, len(spans))
	for i := range spans {
		index[spans[i].id] = i
		if len(index) <= i {
			return r.damaged("two ranges have the number %d", spans[i].id)
		}
	}
	parent := func(i int) int {
		if p, ok := index[spans[i].parent]; ok {
			return p
		}
		return -1
	}
	numbered := false
	for i := range spans {
		numbered = numbered || spans[i].module != "" && spans[i].numbered
		for p := parent(i); spans[i].thunk && p >= 0 && !spans[p].inner; p = parent(p) {
			spans[p].inner = true
		}
	}
	around := func(i int) int { // the range around it
		p := parent(i)
		if p >= 0 && spans[p].leaf() {
			p = parent(p)
		}
		return p
	}
	programs, names := []*label{}, model.Interned[string]{} // programs by range
	for i := range spans {
		s := &spans[i]
		if s.leaf() {
			continue
		}
		s.at = int32(len(t.Ranges))
		x, program := model.Range{Start: s.begun, End: s.ended, Parent: -1, Thread: int32(s.tid)}, s.label
		if p := around(i); p >= 0 && p < i {
			x.Parent = spans[p].at
			if program.module == "" {
				program = programs[x.Parent]
			}
		}
		x.Name, _ = names.Of(s.text)
		t.Ranges, programs = append(t.Ranges, x), append(programs, program)
	}
	t.RangeNames = names.List
	kernels, tuned, several := model.Interned[string]{}, 0, 0
	for i := range spans {
		s := &spans[i]
		if !s.leaf() {
			continue
		}
		x := model.Launch{Start: s.start, End: s.end, API: s.begun, Range: -1, Device: devices(s.thread), Stream: -1,
			Thread: int32(s.tid)}
		raw := s.op
		if p := around(i); p >= 0 {
			x.Range = spans[p].at
			if program := programs[x.Range]; program.module != "" {
				if numbered && !program.numbered {
					tuned++
					continue
				}
				raw = program.module + "::" + raw
			}
		}
		var isNew bool
		x.Kernel, isNew = kernels.Of(raw)
		if isNew {
			t.Kernels = append(t.Kernels, model.KernelInfo{Raw: raw, Registers: -1, StaticShared: -1, DynamicShared: -1,
				LocalMemory: -1})
		}
		if s.several {
			several++
		}
		t.Launches = append(t.Launches, x)
	}
	if err := t.NameKernels(r.name, new(model.KernelNames)); err != nil {
		return err
	}
	slices.SortStableFunc(t.Launches, func(a, b model.Launch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	t.GPUs = len(model.Devices(t.Launches))
	t.Tick = cmp.Or(model.Tick(t.Launches, 1), model.ShortestTick)
	if tuned > 0 {
		t.Warnings = append(t.Warnings,
			fmt.Sprintf("%d thunks are left out: XLA ran them while it compiled, to choose among kernels", tuned))
	}
	if several > 0 {
		t.Warnings = append(t.Warnings,
			fmt.Sprintf("%d of %d thunks are several operations on the GPU: each lasts from the start of its first to "+
				"the end of its last", several, len(t.Launches)))
	}
	return nil
}
