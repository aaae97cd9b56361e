package nsysstats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// tracer collects the rows of a table of single launches.
type tracer struct {
	table *table
	model.Trace
	number  map[model.KernelInfo]int32 // of the kernels, by all that a row says of them
	recent  [256]int32                 // kernels, to find most without the map
	devices map[string]gpu             // by the text of the cell
	used    []gpu                      // GPUs that launched kernels
	ignored int                        // rows that are neither a kernel nor a copy
	calls   []numberedCall             // of launches and copies

	start, duration, name, call, device, stream, registers, static, dynamic, bytes, source, target *column
	grid, block                                                                                    [3]*column
}

// numberedCall is the number that CUDA gave to the call of an operation, and when that operation began.
type numberedCall struct{ number, start int64 }

type gpu struct {
	model  string
	number int32
}

// numbered is the form of "NVIDIA H200 (0)". A recording that does not know the GPU gives " (0)".
var numbered = input.Pattern(`^(.*?)\s*\(([0-9]{1,6})\)$`)

func (x *tracer) gpu(cell string) gpu {
	d, ok := x.devices[cell]
	if !ok {
		d = gpu{model: cell, number: -1}
		if m := numbered().FindStringSubmatch(cell); m != nil {
			n, _ := strconv.Atoi(m[2])
			d = gpu{model: m[1], number: int32(n)}
		}
		d.model = measure.NormalizeLine(d.model)
		x.devices[strings.Clone(cell)] = d
	}
	return d
}

// Copies stand among the kernels by labels: [CUDA memcpy HtoD] until 2023, [CUDA memcpy Host-to-Device] since, with
// [CUDA Unified Memory memcpy HtoD] and [CUDA memcpy Unified Host-to-Device] for what the driver migrates.
var direction = input.Pattern(`\b(Host|Device|Array|Peer|[HDAP])(?:-to-|to)(Host|Device|Array|Peer|[HDAP])\b`)

// labelled reports whether a name is the label of an operation other than a kernel.
func labelled(name string) bool {
	return strings.HasPrefix(name, "[CUDA ") && strings.IndexByte(name, ']') == len(name)-1
}

// operation is the kind of a copy or memset, by its label.
func operation(name string) (kind model.CopyKind, ok bool) {
	switch {
	case !labelled(name):
		return 0, false
	case strings.Contains(name, "memset"):
		return model.Memset, true
	case !strings.Contains(name, "memcpy"):
		return 0, false
	}
	m := direction().FindStringSubmatch(name)
	if m == nil {
		return 0, true
	}
	way := "memcpy " + m[1][:1] + "to" + m[2][:1]
	if strings.Contains(name, "Unified") {
		way = "unified " + way
	}
	return model.CopyKindNamed(way), true
}

func (t *table) readTrace() (*model.Trace, error) {
	x := &tracer{table: t, Trace: model.Trace{Source: t.file, MemoryPeak: -1}, number: map[model.KernelInfo]int32{},
		devices: map[string]gpu{},
		start:   t.find("start"), duration: t.find("duration"), name: t.find("name"), call: t.find("corrid"),
		device: t.find("device"), stream: t.find("strm"), registers: t.find("reg/trd"), static: t.find("stcsmem"),
		dynamic: t.find("dymsmem"), bytes: t.find("bytes"), source: t.find("srcmemkd"), target: t.find("dstmemkd"),
		grid:  [3]*column{t.find("grdx"), t.find("grdy"), t.find("grdz")},
		block: [3]*column{t.find("blkx"), t.find("blky"), t.find("blkz")}}
	if err := t.each(x.row); err != nil {
		return nil, err
	}
	return x.finish()
}

func (x *tracer) row() error {
	t, name := x.table, x.table.text(x.name)
	start := t.value(x.start, latest)
	end := start + t.value(x.duration, longest)
	t.step = max(t.step, t.number(x.duration).Step(x.duration.factor))
	if err := t.checkName(name); err != nil {
		return err
	}
	if t.number(x.call).text != "" { // 0 where no call asked for it
		if n := t.value(x.call, latest); n > 0 {
			x.calls = append(x.calls, numberedCall{n, start})
		}
	}
	kind, copied := operation(name)
	switch {
	case copied && x.bytes.at == 0:
		return model.Refuse(model.BadTable, again, "%s: %s has no column %s", t.place(), t.kind, measure.Quote("bytes"))
	case copied:
		c := model.Copy{Start: start, End: end, API: start, Bytes: t.value(x.bytes, largest), Range: -1,
			Thread: -1, Kind: kind, Source: model.MemoryKindNamed(t.text(x.source)),
			Target: model.MemoryKindNamed(t.text(x.target))}
		if kind == model.Memset { // the one kind of memory of a memset stands in the first column
			c.Source, c.Target = model.MemoryUnknown, c.Source
		}
		x.Copies = append(x.Copies, c)
		return nil
	case labelled(name):
		x.ignored++
		return nil
	}
	k := model.KernelInfo{Raw: name, LocalMemory: -1, Registers: t.value(x.registers, 1<<16),
		StaticShared: t.value(x.static, largest), DynamicShared: t.value(x.dynamic, largest)}
	if x.grid[0].at > 0 {
		extent := func(c *column) uint32 { return uint32(t.value(c, math.MaxUint32)) }
		k.Subject.Grid = measure.Dim3{X: extent(x.grid[0]), Y: extent(x.grid[1]), Z: extent(x.grid[2])}
		k.Subject.Block = measure.Dim3{X: extent(x.block[0]), Y: extent(x.block[1]), Z: extent(x.block[2])}
	}
	d := x.gpu(t.text(x.device))
	if n := len(x.Launches); n == cap(x.Launches) {
		x.Launches = slices.Grow(x.Launches, n+1) // twice as many: less is copied than where append grows it
	}
	x.Launches = append(x.Launches, model.Launch{Start: start, End: end, API: start, Range: -1, Thread: -1,
		Kernel: x.intern(k), Device: d.number, Stream: int32(t.value(x.stream, math.MaxInt32))})
	x.used = measure.Once(x.used, d)
	return nil
}

func (x *tracer) intern(k model.KernelInfo) int32 {
	s := &k.Subject
	hash := uint32(len(k.Raw))*31 ^ uint32(k.Raw[len(k.Raw)/2])*37 ^ s.Grid.X*41 ^ s.Grid.Y*43 ^ s.Block.X*59
	seat := &x.recent[hash%uint32(len(x.recent))]
	if int(*seat) < len(x.Kernels) && x.Kernels[*seat] == k {
		return *seat
	}
	i, ok := x.number[k]
	if !ok {
		k.Raw = strings.Clone(k.Raw) // the cell is part of a whole row
		i = int32(len(x.Kernels))
		x.number[k] = i
		x.Kernels = append(x.Kernels, k)
	}
	*seat = i
	return i
}

// silent are the numbers between those of calls. CUDA numbers all calls of a process, also those that ask the GPU for
// nothing.
func silent(calls []numberedCall) (out []model.Silent) {
	slices.SortFunc(calls, func(a, b numberedCall) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.start, b.start))
	})
	for i := 1; i < len(calls); i++ {
		if missing := calls[i].number - calls[i-1].number - 1; missing > 0 {
			out = append(out, model.Silent{Time: calls[i].start, Calls: missing})
		}
	}
	return out
}

func (x *tracer) finish() (*model.Trace, error) {
	t, out := x.table, &x.Trace
	switch {
	case len(x.Launches) == 0:
		return nil, model.Refuse(model.NoKernels, noKernel, "%s: %s lists %s and no kernel", t.place(), t.kind,
			measure.Count(len(x.Copies), "copy"))
	case !slices.ContainsFunc(x.Launches, func(l model.Launch) bool { return l.End > l.Start }):
		return nil, model.Refuse(model.ZeroLength, nanosecond, "%s: all %d launches took no time", t.place(),
			len(x.Launches))
	}
	slices.SortStableFunc(x.Copies, func(a, b model.Copy) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortStableFunc(x.Launches, func(a, b model.Launch) int { return cmp.Compare(a.Start, b.Start) })
	if err := out.NameKernels(t.file, &t.kernels); err != nil {
		return nil, err
	}
	out.Silent = silent(x.calls)
	models := measure.Map(x.used, func(d gpu) string { return d.model })
	out.Environment = model.Environment{Tool: string(model.Statistics), GPU: model.Models(models), GPUs: len(x.used),
		Tick: max(model.Tick(x.Launches, 1), model.ShortestTick, t.step)}
	if t.open {
		out.Warnings = append(out.Warnings,
			t.place()+": the last row has no line end; if the file was cut there, launches are missing")
	}
	if x.ignored > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s of neither kernels nor copies, not judged", t.place(),
			measure.Count(x.ignored, "row")))
	}
	return out, nil
}
