package nsys

import (
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// roles lists the calls that have a role.
var roles = []struct {
	pattern func() *regexp.Regexp
	role
}{
	{input.Pattern(`^cu(?:da)?Launch(?:Cooperative)?Kernel|^cuLaunchGrid|^cudaLaunch(?:_|$)`), launchCall},
	{input.Pattern(`^cu(?:da)?ProfilerStart(?:_v\d+)?$`), profilerStart},
	{input.Pattern(`^cu(?:da)?ProfilerStop(?:_v\d+)?$`), profilerStop},
	{input.Pattern(`^cu(?:da)?StreamBeginCapture`), graphBegin},
	{input.Pattern(`^cu(?:da)?StreamEndCapture`), graphEnd},
}

type names struct {
	ids      map[int64]callName     // by StringIds
	recent   [64]callName           // the last ones asked for, by StringIds modulo their number
	texts    model.Interned[string] // without the version
	profiles bool                   // one switches profiling on or off
}

// callName is the role of a call and its name without the version.
type callName struct {
	id   int64 // of StringIds
	role role
	text int32 // number among texts
}

// of gives the name of a call, without a role if StringIds lacks it.
func (n *names) of(id int64) callName {
	seat := &n.recent[uint64(id)%uint64(len(n.recent))]
	if seat.id != id {
		*seat = n.ids[id]
		seat.id = id
	}
	return *seat
}

func (r *reader) readNames() (*names, error) {
	n := &names{ids: make(map[int64]callName)}
	n.texts.Of("a CUDA call") // one without a name
	err := r.db.scan("StringIds", []string{"id", "value"}, func(row *row) {
		if !row.begins(1, "cu") {
			return
		}
		name := row.text(1)
		x := callName{id: row.int(0)}
		for _, known := range roles {
			if known.pattern().MatchString(name) {
				x.role = known.role
			}
		}
		n.profiles = n.profiles || x.role == profilerStart || x.role == profilerStop
		x.text, _ = n.texts.Of(model.Unversioned(name))
		n.ids[x.id] = x
	})
	n.recent[0] = n.ids[0]
	return n, err
}

// readCalls finds the CUDA call of each launch and copy with its range, the calls that switch profiling, and those
// whose kernel is missing.
func (r *reader) readCalls() error {
	if r.db.tables[runtimeTable] == nil {
		for _, p := range r.processes {
			if len(p.ranges) > 0 {
				p.warnings = append(p.warnings,
					"no CUDA calls were recorded: no launch can be assigned to its NVTX range")
			}
		}
		return nil
	}
	names, err := r.readNames()
	if err != nil {
		return err
	}
	if err := r.readEveryCall(names); err != nil {
		return err
	}
	lost := len(r.silent)
	for _, p := range r.processes {
		p.found.all.Settle(func(name int32) int32 {
			p.callNames = append(p.callNames, names.texts.List[name])
			return int32(len(p.callNames) - 1)
		})
		p.attach()
		lost += len(p.found.lost)
	}
	if lost == 0 {
		return nil
	}
	return r.dropFailed(names)
}

// dropFailed takes the launches that failed from those whose kernel is missing, and counts them.
func (r *reader) dropFailed(names *names) error {
	if !r.db.has(runtimeTable, "returnValue") {
		return nil
	}
	type call struct {
		process *process
		start   int64
	}
	failed := make(map[call]bool)
	err := r.db.scan(runtimeTable, []string{"globalTid", "start", "nameId", "returnValue"}, func(row *row) {
		result, ok := row.integer(3)
		if row.null(3) || ok && result == 0 || names.of(row.intOr(2, noName)).role != launchCall {
			return
		}
		tid := row.intOr(0, 0)
		if p := r.of(tid); p != nil {
			failed[call{p, row.int(1)}] = true
			p.failed.count(result)
		} else if r.silent[pid(tid)]--; r.silent[pid(tid)] <= 0 {
			delete(r.silent, pid(tid))
		}
	})
	for _, p := range r.processes {
		p.found.lost = slices.DeleteFunc(p.found.lost, func(start int64) bool { return failed[call{p, start}] })
	}
	return err
}

// caller is a thread that makes calls, with the range of its last call.
type caller struct {
	process *process // nil for one without kernels
	tid     int64
	number  int32 // of the thread in its process
	line    model.Cursor
}

// caller numbers a thread in its process, and finds its ranges.
func (r *reader) caller(tid int64) *caller {
	c := &caller{process: r.of(tid), tid: tid}
	if c.process != nil {
		c.process.found.seen = true
		c.number, _ = c.process.tids.Of(tid)
		c.line = model.Cursor{Timeline: c.process.lines[c.number]}
	}
	return c
}

// readEveryCall reads the table of calls. It counts the launches of processes without kernels in r.silent.
func (r *reader) readEveryCall(names *names) error {
	for _, p := range r.processes {
		p.found.launches, p.found.copies = newJoin(p.ids), newJoin(p.copyIDs)
	}
	r.silent = make(map[int64]int)
	callers := make(map[int64]*caller)
	var by *caller
	columns := []string{"start", "globalTid", "correlationId", "nameId", "end"}
	return r.db.scanNeeded(runtimeTable, 4, columns, func(row *row) {
		if tid := row.intOr(1, 0); by == nil || by.tid != tid {
			by = callers[tid]
			if by == nil {
				by = r.caller(tid)
				callers[tid] = by
			}
		}
		if by.process != nil {
			by.process.call(by, row, names)
		} else if names.of(row.intOr(3, 0)).role == launchCall {
			r.silent[pid(by.tid)]++
		}
	})
}

// call reads a call of the process from a row of start, thread, id, name and end.
func (p *process) call(by *caller, row *row, names *names) {
	found := &p.found
	id, start, name := row.intOr(2, 0), row.int(0), names.of(row.intOr(3, 0))
	if end := row.intOr(4, start); end >= start {
		found.all.Add(model.Call{Start: start, End: end, Name: name.text, Thread: by.number})
	}
	launch, copied := found.launches.find(id), found.copies.find(id)
	if launch >= 0 {
		if x := &p.launches[launch]; x.Thread < 0 || start < x.API {
			x.API, x.Range, x.Thread = start, by.line.At(start), by.number
		}
	}
	if copied >= 0 {
		if x := &p.copies[copied]; x.Thread < 0 || start < x.API {
			x.API, x.Range, x.Thread = start, by.line.At(start), by.number
		}
	}
	if launch >= 0 || copied >= 0 {
		return
	}
	switch role := name.role; role {
	case launchCall:
		found.lost = append(found.lost, start)
	case profilerStart, profilerStop:
		found.marks = append(found.marks, mark{start, role == profilerStart})
	case graphBegin, graphEnd:
		found.graphs = append(found.graphs, mark{start, role == graphBegin})
	}
}

// attach copies call, range and thread of the first launch or copy of a call to the others, as the nodes of a graph
// need it.
func (p *process) attach() {
	p.found.launches.shared(func(from, to int) {
		x := &p.launches[from]
		p.launches[to].API, p.launches[to].Range, p.launches[to].Thread = x.API, x.Range, x.Thread
	})
	p.found.copies.shared(func(from, to int) {
		x := &p.copies[from]
		p.copies[to].API, p.copies[to].Range, p.copies[to].Thread = x.API, x.Range, x.Thread
	})
	p.found.launches, p.found.copies, p.lines = join{}, join{}, nil
	// CUPTI converts the GPU's times to the CPU's clock, with an error of some µs. In sound recordings a launch
	// begins at least 4 µs after its call.
	const slack = 10_000
	for i := range p.launches {
		x := &p.launches[i]
		switch {
		case x.Thread < 0:
			p.unknown++
		case x.Start < x.API-slack:
			p.early++
		}
	}
}

// captures pairs the calls of cudaProfilerStart with the stops that follow them. A start while profiling runs, such
// as the driver's call inside the runtime's, changes nothing.
func captures(marks []mark, end int64) []model.Interval {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.time, b.time) })
	var found []model.Interval
	running := false
	for _, m := range marks {
		switch {
		case m.start && !running:
			found = append(found, model.Interval{Start: m.time, End: max(m.time, end)})
		case !m.start && running:
			found[len(found)-1].End = m.time
		}
		running = m.start
	}
	return found
}

// readStrings looks up the names that kernels and ranges refer to.
func (r *reader) readStrings() error {
	r.strings = make(map[int64]string)
	for _, p := range r.processes {
		for _, v := range p.variants.List {
			r.strings[v.demangled], r.strings[v.mangled], r.strings[v.short] = "", "", ""
		}
	}
	for _, n := range r.rangeNames.List {
		if n.text == "" {
			r.strings[n.id] = ""
		}
	}
	for _, n := range r.groups {
		if n.text == "" {
			r.strings[n.id] = ""
		}
	}
	delete(r.strings, noName)
	return r.db.scanNeeded("StringIds", 2, []string{"id", "value"}, func(row *row) {
		if id := row.int(0); id != noName {
			if _, needed := r.strings[id]; needed {
				r.strings[id] = strings.TrimSpace(row.text(1))
			}
		}
	})
}

// join finds launches or copies by their correlation ids, for calls that come nearly in the order of these: a sorted
// merge.
type join struct {
	ids   []int64 // of all
	order []int32 // their places by id, of equal ids in the order of the table; nil if they are sorted already
	at    int     // the place in that order where the last search ended
}

func newJoin(ids []int64) join {
	j := join{ids: ids}
	if !slices.IsSorted(ids) {
		j.order = make([]int32, len(ids))
		for i := range j.order {
			j.order[i] = int32(i)
		}
		slices.SortStableFunc(j.order, func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) })
	}
	return j
}

// place is the index of the i-th by id.
func (j *join) place(i int) int {
	if j.order != nil {
		return int(j.order[i])
	}
	return i
}

func (j *join) id(i int) int64 { return j.ids[j.place(i)] }

// find gives the index of the first with an id, -1 for none. CUPTI gives the id 0 to work without a call.
func (j *join) find(id int64) int {
	n := len(j.ids)
	if id == 0 || n == 0 {
		return -1
	}
	low, high := 0, n // the first whose id is not less lies here
	const near = 8
	if j.id(j.at) < id {
		low = j.at + 1
		for range near {
			if low == n || j.id(low) >= id {
				high = low
				break
			}
			low++
		}
	} else {
		high = j.at
		for range near {
			if high == 0 || j.id(high-1) < id {
				low = high
				break
			}
			high--
		}
	}
	low += sort.Search(high-low, func(i int) bool { return j.id(low+i) >= id })
	j.at = min(low, n-1)
	if low == n || j.id(low) != id {
		return -1
	}
	return j.place(low)
}

// shared calls f for all but the first with the same id, with the first.
func (j *join) shared(f func(first, other int)) {
	first := 0
	for i := 1; i < len(j.ids); i++ {
		if j.id(i) != j.id(first) {
			first = i
		} else if j.id(i) != 0 {
			f(j.place(first), j.place(i))
		}
	}
}
