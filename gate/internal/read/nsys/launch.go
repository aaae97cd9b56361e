package nsys

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/sqlitepage"
)

func (r *reader) readKernels() error {
	needed := []string{"start", "end", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"}
	if !r.db.has(kernelTable, "demangledName") && !r.db.has(kernelTable, "mangledName") {
		needed = append(needed, "shortName")
	}
	if err := r.db.require(kernelTable, needed...); err != nil {
		return err
	}
	expected, err := r.db.count(kernelTable)
	if err != nil {
		return err
	}
	if err := r.readLaunches(); err != nil {
		return err
	}
	for _, p := range r.processes {
		r.launches += len(p.launches)
	}
	if int64(r.launches) != expected {
		return model.Refuse(model.RowsMissing, exportAgain,
			"%s is incomplete: table %s has %d rows, numbered up to %d", r.db.name, kernelTable, r.launches, expected)
	}
	if err := r.readGraphs(); err != nil {
		return err
	}
	_, anonymous := r.processes[0]
	r.oneProcess = anonymous && len(r.processes) == 1
	return nil
}

func (r *reader) readLaunches() error {
	expected := r.db.room(kernelTable)
	columns := []string{
		"start", "end", "correlationId", "globalPid", "deviceId", "streamId", "graphNodeId",
		"demangledName", "mangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
		"registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread",
	}
	r.processes = make(map[int64]*process)
	var p *process
	type seen struct {
		process *process
		cells   [13]int64
		kinds   [13]sqlitepage.Kind
		kernel  int32
	}
	var recent [512]seen // variants, to find most without a map
	return r.db.scan(kernelTable, columns, func(row *row) {
		start, end := row.span(0, 1)
		if id := row.intOr(3, 0) & processMask; p == nil || p.id != id {
			p = r.launching(id, expected)
		}
		cells := (*[13]int64)(row.values[7:])
		seat := &recent[uint64(cells[0]*31^cells[3]*37^cells[4]*41^cells[6]*43^cells[9]*59)%uint64(len(recent))]
		if kinds := (*[13]sqlitepage.Kind)(row.kinds[7:]); seat.process != p || seat.cells != *cells ||
			seat.kinds != *kinds {
			kernel, _ := p.variants.Of(variant{
				demangled: row.intOr(7, noName), mangled: row.intOr(8, noName), short: row.intOr(9, noName),
				grid:      measure.Dim3{X: row.extent(10), Y: row.extent(11), Z: row.extent(12)},
				block:     measure.Dim3{X: row.extent(13), Y: row.extent(14), Z: row.extent(15)},
				registers: row.intOr(16, -1), staticShared: row.intOr(17, -1), dynamicShared: row.intOr(18, -1),
				localPerThread: row.intOr(19, -1),
			})
			*seat = seen{p, *cells, *kinds, kernel}
		}
		p.launches = append(p.launches, model.Launch{
			Start: start, End: end, API: start, Kernel: seat.kernel, Range: -1,
			Device: int32(row.intOr(4, 0)), Stream: int32(row.intOr(5, 0)), Node: !row.null(6), Thread: -1,
		})
		p.ids = append(p.ids, row.intOr(2, 0))
	})
}

// readGraphs reads the graphs that were recorded as a whole: each is a launch of the kernel "(CUDA graph)", without a
// geometry, numbered by the launched graph.
func (r *reader) readGraphs() error {
	graph := variant{demangled: wholeGraph, mangled: noName, short: noName, registers: -1, staticShared: -1,
		dynamicShared: -1, localPerThread: -1}
	columns := []string{"start", "end", "correlationId", "globalPid", "deviceId", "streamId", "graphExecId", "graphId"}
	return r.db.scanNeeded(graphTable, 2, columns, func(row *row) {
		start, end := row.span(0, 1)
		p := r.launching(row.intOr(3, 0)&processMask, 0)
		number, _ := p.graphIDs.Of([2]int64{row.intOr(6, 0), row.intOr(7, 0)})
		graph.graph = min(number, mostGraphs) + 1
		kernel, _ := p.variants.Of(graph)
		p.launches = append(p.launches, model.Launch{
			Start: start, End: end, API: start, Kernel: kernel, Range: -1,
			Device: int32(row.intOr(4, 0)), Stream: int32(row.intOr(5, 0)), Node: true, Thread: -1,
		})
		p.ids = append(p.ids, row.intOr(2, 0))
		p.graphs++
		p.graphTime += end - start
		r.launches++
	})
}

// launching gives the process of a globalPid, with room for launches if it is the first.
func (r *reader) launching(id int64, room int) *process {
	p := r.processes[id]
	if p == nil {
		p = &process{id: id, memory: -1, messages: make(map[[2]int64]model.Message)}
		if len(r.processes) == 0 {
			p.launches, p.ids = make([]model.Launch, 0, room), make([]int64, 0, room)
		}
		r.processes[id] = p
	}
	return p
}

func (r *reader) kernels(p *process) []model.KernelInfo {
	r.strings[wholeGraph] = "(CUDA graph)"
	out := make([]model.KernelInfo, len(p.variants.List))
	for i, v := range p.variants.List {
		out[i] = model.KernelInfo{
			Subject:   measure.Subject{Grid: v.grid, Block: v.block},
			Raw:       cmp.Or(r.strings[v.demangled], r.strings[v.mangled], r.strings[v.short]),
			Registers: v.registers, StaticShared: v.staticShared, DynamicShared: v.dynamicShared,
			LocalMemory: v.localPerThread,
			Graph:       v.graph,
		}
	}
	return out
}

func (r *reader) readCopies() error {
	expected := r.db.room(copyTable)
	for _, p := range r.processes {
		if len(r.processes) == 1 {
			p.copies, p.copyIDs = make([]model.Copy, 0, expected), make([]int64, 0, expected)
		}
	}
	columns := []string{"start", "end", "bytes", "copyKind", "correlationId", "globalPid", "deviceId", "streamId",
		"srcKind", "dstKind"}
	return r.db.scanNeeded(copyTable, 4, columns, func(row *row) {
		kind := row.int(3)
		if kind < 0 || kind >= int64(model.Memset) {
			kind = 0
		}
		r.addCopy(row, model.CopyKind(kind), memoryKind(row.intOr(8, -1)), memoryKind(row.intOr(9, -1)))
	})
}

func (r *reader) readMemsets() error {
	columns := []string{"start", "end", "bytes", "memKind", "correlationId", "globalPid", "deviceId", "streamId"}
	return r.db.scanNeeded(setTable, 3, columns, func(row *row) {
		r.addCopy(row, model.Memset, model.MemoryUnknown, memoryKind(row.intOr(3, -1)))
	})
}

func (r *reader) addCopy(row *row, kind model.CopyKind, source, target model.MemoryKind) {
	start, end := row.span(0, 1)
	bytes := row.int(2)
	if bytes < 0 {
		row.wrong("%d bytes", bytes)
	}
	p := r.of(row.intOr(5, 0))
	if p == nil {
		return
	}
	p.copies = append(p.copies, model.Copy{
		Start: start, End: end, API: start, Bytes: bytes, Range: -1, Kind: kind, Source: source, Target: target,
		Device: int32(row.intOr(6, 0)), Stream: int32(row.intOr(7, 0)), Thread: -1,
	})
	p.copyIDs = append(p.copyIDs, row.intOr(4, 0))
}

func memoryKind(v int64) model.MemoryKind {
	if v < 0 || v > int64(model.MemoryUnknown) {
		return model.MemoryUnknown
	}
	return model.MemoryKind(v)
}

// readOverhead finds the times that the profiler delayed a process by flushing buffers or instrumenting code. Its work
// before the process starts, and on its own threads, delays nothing and is left out.
func (r *reader) readOverhead() error {
	// The names carry "CUPTI: " or "CUPTI ", and end in "overhead" or in when they were, by release.
	holds := []string{"flush", "Instrumentation", "Resource Management", "stop overhead", "CUDA profiling overhead"}
	names := make(map[int64]bool)
	err := r.db.scan("StringIds", []string{"id", "value"}, func(row *row) {
		if !row.begins(1, "CU") {
			return
		}
		if name := row.text(1); slices.ContainsFunc(holds, func(s string) bool { return strings.Contains(name, s) }) {
			names[row.int(0)] = true
		}
	})
	if err != nil || len(names) == 0 {
		return err
	}
	err = r.db.scanNeeded(overheadTable, 4, []string{"start", "end", "globalTid", "nameId"}, func(row *row) {
		if name, ok := row.integer(3); !ok || !names[name] {
			return
		}
		if p, start, end := r.of(row.intOr(2, 0)), row.int(0), row.int(1); p != nil && end > start {
			p.overhead = append(p.overhead, model.Interval{Start: start, End: end})
		}
	})
	for _, p := range r.processes {
		p.overhead = model.Union(p.overhead)
	}
	return err
}

// readMemory finds the high-water mark of each process's allocations on its devices. It leaves out frees of memory from
// before the recording; an address allocated again, as a pool reports it, counts once.
func (r *reader) readMemory() error {
	if n, err := r.db.count(memoryTable); n == 0 || err != nil {
		return err
	}
	type event struct {
		start, address, bytes int64
		free                  bool
	}
	events := make(map[*process][]event)
	const device = 2 // of CUpti_ActivityMemoryKind
	columns := []string{"start", "address", "bytes", "memKind", "memoryOperationType", "globalPid"}
	err := r.db.scanNeeded(memoryTable, 5, columns, func(row *row) {
		if p := r.of(row.intOr(5, 0)); p != nil && row.intOr(3, 0) == device {
			e := event{row.int(0), row.int(1), row.int(2), row.int(4) == 1}
			if e.bytes < 0 {
				row.wrong("%d bytes", e.bytes)
			}
			events[p] = append(events[p], e)
		}
	})
	// replay gives what is live after some events, the peak and the number of events up to it.
	replay := func(events []event) (live map[int64]event, peak int64, until int) {
		live = make(map[int64]event)
		now := int64(0)
		for i, e := range events {
			now -= live[e.address].bytes
			delete(live, e.address)
			if !e.free {
				live[e.address] = e
				now += e.bytes
				if now > peak {
					peak, until = now, i+1
				}
			}
		}
		return live, peak, until
	}
	for _, p := range r.processes {
		slices.SortStableFunc(events[p], func(a, b event) int { return cmp.Compare(a.start, b.start) })
		_, peak, until := replay(events[p])
		live, _, _ := replay(events[p][:until])
		p.memory = peak
		for _, e := range live {
			p.requests = append(p.requests, model.Request{Time: e.start, Bytes: e.bytes})
		}
		slices.SortFunc(p.requests, func(a, b model.Request) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Bytes, b.Bytes))
		})
	}
	return err
}
