package nsysstats

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// traceRow is a row of a kernel or a copy.
type traceRow struct {
	Start    number `csv:"start"`
	Duration number `csv:"duration"`
	GridX    number `csv:"grdx"`
	GridY    number `csv:"grdy"`
	GridZ    number `csv:"grdz"`
	BlockX   number `csv:"blkx"`
	BlockY   number `csv:"blky"`
	BlockZ   number `csv:"blkz"`
	Register number `csv:"reg/trd"`
	Static   number `csv:"stcsmem"`
	Dynamic  number `csv:"dymsmem"`
	Bytes    number `csv:"bytes"`
	Source   string `csv:"srcmemkd"`
	Target   string `csv:"dstmemkd"`
	Device   string `csv:"device"`
	Stream   number `csv:"strm"`
	Name     name   `csv:"name"`
}

// traced is what a table of single launches holds.
type traced struct {
	launches []model.Launch
	copies   []model.Copy
	kernels  []model.KernelInfo
	number   map[model.KernelInfo]int32 // of the kernels, by all that a row says of them
	count    []int                      // launches of each kernel
	devices  map[string]gpu             // by the text of the cell
	used     []gpu                      // those that launched kernels
	ignored  map[string]int             // rows that are neither a kernel nor a copy, by name
}

type gpu struct {
	model  string
	number int32
}

// numbered is the form of "NVIDIA H200 (0)". A recording that does not know the GPU gives " (0)".
var numbered = regexp.MustCompile(`^(.*?)\s*\(([0-9]{1,6})\)$`)

func (t *traced) device(cell string) gpu {
	d, ok := t.devices[cell]
	if !ok {
		d = gpu{model: cell, number: -1}
		if m := numbered.FindStringSubmatch(cell); m != nil {
			n, _ := strconv.Atoi(m[2])
			d = gpu{model: m[1], number: int32(n)}
		}
		d.model = measure.NormalizeLine(d.model)
		t.devices[strings.Clone(cell)] = d
	}
	return d
}

func (t *table) readTrace() error {
	x := &traced{number: map[model.KernelInfo]int32{}, devices: map[string]gpu{}, ignored: map[string]int{}}
	t.traced = x
	err := t.each(new(traceRow), func(row any, line int) (err error) {
		r := row.(*traceRow)
		keep := func(v int64, e error) int64 { err = cmp.Or(err, e); return v }
		start := keep(t.take(line, "start", r.Start, latest))
		end := start + keep(t.take(line, "duration", r.Duration, longest))
		t.step = max(t.step, r.Duration.Step(t.factor["duration"]))
		kind, copied := operation(string(r.Name))
		switch {
		case r.Name == "":
			return model.Refuse(model.BadValue, fromReport, "%s: the row has no name", place(t.file, line))
		case copied && !t.has("bytes"):
			return model.Refuse(model.BadTable, again, "%s: %s has no column %s", t.place(), t.kind, measure.Quote("bytes"))
		case copied:
			c := model.Copy{Start: start, End: end, API: start, Bytes: keep(t.take(line, "bytes", r.Bytes, largest)), Range: -1, Thread: -1,
				Kind: kind, Source: model.MemoryKindNamed(r.Source), Target: model.MemoryKindNamed(r.Target)}
			if kind == model.Memset { // the one kind of memory of a memset stands in the first column
				c.Source, c.Target = model.MemoryUnknown, c.Source
			}
			x.copies = append(x.copies, c)
			return err
		case labelled(string(r.Name)):
			x.ignored[measure.Quote(string(r.Name))]++
			return err
		}
		k := model.KernelInfo{Raw: string(r.Name), LocalMemory: -1, Registers: keep(t.count(line, "reg/trd", r.Register, 1<<16)),
			StaticShared: keep(t.take(line, "stcsmem", r.Static, largest)), DynamicShared: keep(t.take(line, "dymsmem", r.Dynamic, largest))}
		if t.has("grdx") {
			extent := func(column string, n number) uint32 { return uint32(keep(t.count(line, column, n, math.MaxUint32))) }
			k.Subject.Grid = measure.Dim3{X: extent("grdx", r.GridX), Y: extent("grdy", r.GridY), Z: extent("grdz", r.GridZ)}
			k.Subject.Block = measure.Dim3{X: extent("blkx", r.BlockX), Y: extent("blky", r.BlockY), Z: extent("blkz", r.BlockZ)}
		}
		d := x.device(r.Device)
		x.launches = append(x.launches, model.Launch{Start: start, End: end, API: start, Range: -1, Thread: -1, Kernel: x.intern(k), Device: d.number,
			Stream: int32(keep(t.count(line, "strm", r.Stream, math.MaxInt32)))})
		if !slices.Contains(x.used, d) {
			x.used = append(x.used, d)
		}
		return err
	})
	if err != nil {
		return err
	}
	return t.fine("durations")
}

// intern numbers the kernels and counts their launches.
func (t *traced) intern(k model.KernelInfo) int32 {
	i, ok := t.number[k]
	if !ok {
		k.Raw = strings.Clone(k.Raw) // the cell is part of a whole row
		i = int32(len(t.kernels))
		t.number[k] = i
		t.kernels = append(t.kernels, k)
		t.count = append(t.count, 0)
	}
	t.count[i]++
	return i
}

// finishTrace makes a trace of a table.
func (t *table) finishTrace() (*model.Trace, error) {
	x := t.traced
	switch {
	case len(x.launches) == 0:
		return nil, model.Refuse(model.NoKernels, noKernel, "%s: %s lists %d copies and no kernel", t.place(), t.kind, len(x.copies))
	case !slices.ContainsFunc(x.launches, func(l model.Launch) bool { return l.End > l.Start }):
		return nil, model.Refuse(model.ZeroLength, noTime, "%s: all %d launches took no time", t.place(), len(x.launches))
	}
	slices.SortStableFunc(x.copies, func(a, b model.Copy) int { return cmp.Compare(a.Start, b.Start) })
	if started := func(a, b model.Launch) int { return cmp.Compare(a.Start, b.Start) }; !slices.IsSortedFunc(x.launches, started) {
		slices.SortStableFunc(x.launches, started)
	}
	trace := &model.Trace{Source: t.file, Launches: x.launches, Copies: x.copies, MemoryPeak: -1}
	for i := range x.kernels {
		k := &x.kernels[i]
		if err := t.budget.Add(t.file, k.Raw); err != nil {
			return nil, err
		}
		k.Subject = model.KernelSubject(k.Raw, k.Subject.Grid, k.Subject.Block)
	}
	var models []string
	for _, d := range x.used {
		models = append(models, d.model)
	}
	merged, to := model.MergeKernels(x.kernels, x.count)
	trace.Kernels = merged
	for i := range x.launches {
		x.launches[i].Kernel = to[x.launches[i].Kernel]
	}
	trace.Environment = model.Environment{Tool: Tool, GPU: model.Models(models), GPUs: len(x.used),
		Tick: tick(len(x.launches), func(i int) int64 { return x.launches[i].End - x.launches[i].Start }, t.step)}
	if t.open {
		t.warn(trace, "the last row has no line end; if the file was cut there, launches are missing")
	}
	if names := slices.Sorted(maps.Keys(x.ignored)); len(names) > 0 {
		t.warn(trace, "%d rows of %s are neither kernels nor copies and are not judged", x.ignored[names[0]], names[0])
		if len(names) > 1 {
			t.warn(trace, "and so are rows of %d other names", len(names)-1)
		}
	}
	return trace, nil
}

// warn adds a doubt about a table.
func (t *table) warn(trace *model.Trace, format string, args ...any) {
	trace.Warnings = append(trace.Warnings, t.place()+": "+fmt.Sprintf(format, args...))
}

// tick is the resolution of the times: that of the GPU's timer, or what the table rounds them to where that is more.
func tick(n int, duration func(i int) int64, step float64) float64 {
	return max(model.Tick(n, duration, 1), model.ShortestTick, step)
}
