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

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// traced is what a table of single launches holds.
type traced struct {
	launches                          []model.Launch
	copies                            []model.Copy
	kernels                           []model.KernelInfo
	number                            map[model.KernelInfo]int32 // of the kernels, by all that a row says of them
	count                             []int                      // launches of each kernel
	devices                           map[string]gpu             // by the text of the cell
	used                              []gpu                      // those that launched kernels
	operations                        map[string]copied          // by their labels
	ignored                           map[string]int             // what is neither a kernel nor a copy, by its name
	bytes, throughput, source, target *column                    // of copies
	// rounded are the copies whose bytes are not exact, sizes the exact ones of others.
	rounded []int
	sizes   sizes
	rate    float64 // of the column of throughputs, in bytes a second
	rated   bool    // that is known
}

type gpu struct {
	model  string
	number int32
}

// copied is whether a label is that of a copy, and of which kind.
type copied struct {
	kind model.CopyKind
	copy bool
}

func (t *traced) operation(label string) copied {
	is, ok := t.operations[label]
	if !ok {
		is.kind, is.copy = operation(label)
		t.operations[strings.Clone(label)] = is
	}
	return is
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
	extents := []string{"grdx", "grdy", "grdz", "blkx", "blky", "blkz"}
	if !t.hasAny(extents...) {
		extents = nil
	}
	if err := cmp.Or(t.need(append([]string{"start", "duration", "name"}, extents...)...),
		t.units("ns", "start", "duration"), t.units("B", "stcsmem", "dymsmem", "bytes")); err != nil {
		return err
	}
	var geometry []*column
	for _, name := range extents {
		geometry = append(geometry, t.column(name))
	}
	start, duration, label, device, stream := t.column("start"), t.column("duration"), t.column("name"), t.column("device"), t.column("strm")
	registers, static, dynamic := t.column("reg/trd"), t.column("stcsmem"), t.column("dymsmem")
	x := &traced{number: map[model.KernelInfo]int32{}, operations: map[string]copied{}, devices: map[string]gpu{}, ignored: map[string]int{}, sizes: sizes{},
		bytes: t.column("bytes"), throughput: t.column("throughput"), source: t.column("srcmemkd"), target: t.column("dstmemkd")}
	if x.throughput != nil {
		x.rate, x.rated = rate(x.throughput.unit)
	}
	t.traced = x
	err := t.each(func(r *row) {
		at, name := r.span(start, duration), r.cell(label)
		switch {
		case name == "":
			r.refuse(model.BadValue, fromReport, "the row has no name")
			return
		case labelled(name):
			if is := x.operation(name); is.copy {
				r.copy(is.kind, at)
			} else {
				x.ignored[measure.Quote(name)]++
			}
			return
		}
		k := model.KernelInfo{Raw: name, Registers: -1, StaticShared: -1, DynamicShared: -1, LocalMemory: -1}
		if geometry != nil {
			g, b := &k.Subject.Grid, &k.Subject.Block
			for i, to := range [...]*uint32{&g.X, &g.Y, &g.Z, &b.X, &b.Y, &b.Z} {
				*to = uint32(r.whole(geometry[i], math.MaxUint32))
			}
		}
		if registers != nil {
			k.Registers = r.whole(registers, 1<<16)
		}
		if static != nil {
			k.StaticShared, _ = r.quantity(static, largest)
		}
		if dynamic != nil {
			k.DynamicShared, _ = r.quantity(dynamic, largest)
		}
		d := x.device(r.cell(device))
		l := model.Launch{Start: at.Start, End: at.End, API: at.Start, Range: -1, Stream: -1, Thread: -1, Kernel: x.intern(k), Device: d.number}
		if stream != nil {
			l.Stream = int32(r.whole(stream, math.MaxInt32))
		}
		if n := len(x.launches); n == cap(x.launches) {
			x.launches = slices.Grow(x.launches, n+1) // append copies long lists more often
		}
		x.launches = append(x.launches, l)
		if !slices.Contains(x.used, d) {
			x.used = append(x.used, d)
		}
	})
	if err != nil {
		return err
	}
	t.traced.resize()
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

func (r *row) copy(kind model.CopyKind, at model.Interval) {
	if err := r.need("bytes"); err != nil {
		r.err = err
		return
	}
	x := r.traced
	bytes, step := r.quantity(x.bytes, largest)
	if step > 1 {
		factor, known := x.rate, x.rated
		printed, form := cells.Parse(r.cell(x.throughput))
		known = known && (form == cells.Whole || form == cells.Point || form == cells.ThreeAfterPoint) && r.step <= 1
		if b, ok := exact(float64(bytes), step, at.End-at.Start, printed.Float(factor), printed.Step(factor)); known && ok {
			x.sizes.learn(bytes, b)
			bytes = b
		} else {
			x.rounded = append(x.rounded, len(x.copies))
		}
	}
	c := model.Copy{Start: at.Start, End: at.End, API: at.Start, Bytes: bytes, Range: -1, Thread: -1, Kind: kind,
		Source: model.MemoryKindNamed(r.cell(x.source)), Target: model.MemoryKindNamed(r.cell(x.target))}
	if kind == model.Memset { // the one kind of memory of a memset stands in the first column
		c.Source, c.Target = model.MemoryUnknown, c.Source
	}
	x.copies = append(x.copies, c)
}

// finishTrace makes a trace of a table, and of the ranges if they are there.
func (c *collection) finishTrace(t *table) (*model.Trace, error) {
	x := t.traced
	switch {
	case len(x.launches) == 0:
		return nil, model.Refuse(model.NoKernels, noKernel, "%s: %s lists %s and no kernel", t.place(), t.kind, fmt.Sprintf("%d copies", len(x.copies)))
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
	if p := c.tables[projTrace]; p != nil {
		p.ranges(trace)
	}
	if t.open {
		t.warn(trace, "the last row has no line end; if the file was cut there, launches are missing")
	}
	const listed = 5
	for i, name := range slices.Sorted(maps.Keys(x.ignored)) {
		if i == listed {
			t.warn(trace, "and so are rows of %d other names", len(x.ignored)-listed)
			break
		}
		t.warn(trace, "%d rows of %s are neither kernels nor copies and are not judged", x.ignored[name], name)
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
