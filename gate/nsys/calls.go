package nsys

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
	"zombiezen.com/go/sqlite"
)

// call is where and when the CPU asked for something: the earliest of the runtime and driver calls that share an id.
type call struct {
	start int64 // never: no such call was recorded
	rng   int32
}

const never = math.MaxInt64

// calls are the CUDA calls of one process that put work on a GPU, and those that switch profiling.
type calls struct {
	ids   []int64 // correlation ids, sorted, each once
	made  []call  // the call of each id
	marks []mark
	at    int // where the last search ended: rows come nearly in the order of their ids
}

// newCalls makes room for the calls of some ids.
func newCalls(ids []int64) *calls {
	c := &calls{ids: ids, made: make([]call, len(ids))}
	for i := range c.made {
		c.made[i] = call{start: never, rng: -1}
	}
	return c
}

// find gives the position of an id, -1 where nothing on a GPU has it. 0 is no id: CUPTI gives it to work that no call
// asked for.
func (c *calls) find(id int64) int {
	if id == 0 {
		return -1
	}
	for i := c.at; i < len(c.ids) && i < c.at+4; i++ {
		if c.ids[i] == id {
			c.at = i
			return i
		}
	}
	i, ok := slices.BinarySearch(c.ids, id)
	if !ok {
		return -1
	}
	c.at = i
	return i
}

// merge takes over what another part of the table says of the same ids.
func (c *calls) merge(o *calls) {
	for i, x := range o.made {
		if x.start < c.made[i].start {
			c.made[i] = x
		}
	}
	c.marks = append(c.marks, o.marks...)
}

// of gives the call of an id.
func (c *calls) of(id int64) (call, bool) {
	i := c.find(id)
	if i < 0 || c.made[i].start == never {
		return call{}, false
	}
	return c.made[i], true
}

// mark is a call of cudaProfilerStart or cudaProfilerStop.
type mark struct {
	time  int64
	start bool
}

var profilerCall = regexp.MustCompile(`^cu(?:da)?Profiler(Start|Stop)(?:_v\d+)?$`)

// readCalls finds the CUDA call of each launch and copy with its range, and the calls that switch profiling. The
// table of calls is read only where there is something to find in it.
func (r *reader) readCalls() error {
	if r.db.columns[runtimeTable] == nil {
		for _, p := range r.processes {
			if len(p.ranges) > 0 {
				p.warnings = append(p.warnings, "no CUDA calls were recorded: no launch can be assigned to its NVTX range")
			}
		}
		return nil
	}
	profiler := make(map[int64]bool) // name → is a start
	err := r.db.query("SELECT id, value FROM StringIds WHERE value GLOB 'cu*ProfilerSt*'", func(s *sqlite.Stmt) {
		if m := profilerCall.FindStringSubmatch(text(s, 1)); m != nil {
			profiler[s.ColumnInt64(0)] = m[1] == "Start"
		}
	})
	if err != nil {
		return err
	}
	ranges := false
	for _, p := range r.processes {
		ranges = ranges || len(p.ranges) > 0
	}
	if !ranges && len(profiler) == 0 {
		return nil
	}
	if err := r.db.require(runtimeTable, "start", "globalTid", "correlationId", "nameId"); err != nil {
		return err
	}
	parts, err := r.db.parts(runtimeTable)
	if err != nil {
		return err
	}
	for _, p := range r.processes {
		ids := slices.Concat(p.ids, p.copyIDs)
		slices.Sort(ids)
		ids = slices.Compact(ids)
		for range parts {
			p.calls = append(p.calls, newCalls(ids))
		}
	}
	err = r.db.parallel(parts, func(db *database, part int) error {
		return r.readCallsOf(db, part, parts[part], profiler)
	})
	if err != nil {
		return err
	}
	for _, p := range r.processes {
		for _, c := range p.calls[1:] {
			p.calls[0].merge(c)
		}
		p.attach(p.calls[0])
		p.calls = nil
	}
	return nil
}

// readCallsOf reads one part of the table of calls.
func (r *reader) readCallsOf(db *database, part int, where string, profiler map[int64]bool) error {
	var at thread
	var found *calls
	var line cursor
	lines := make(map[thread]cursor)
	columns := []string{"globalTid", "correlationId", "start", "nameId"}
	if len(profiler) == 0 {
		columns = columns[:3]
	}
	return db.scan(runtimeTable, where, columns, func(row *row) {
		tid := row.intOr(0, 0)
		if at.process == nil || at.tid != tid {
			lines[at] = line
			at = thread{r.of(tid), tid}
			if at.process == nil {
				return
			}
			found = at.process.calls[part]
			var seen bool
			if line, seen = lines[at]; !seen {
				line = cursor{timeline: r.threads[at]}
			}
		}
		if len(profiler) > 0 {
			if start, ok := profiler[row.intOr(3, 0)]; ok {
				found.marks = append(found.marks, mark{row.int(2), start})
			}
		}
		if i := found.find(row.intOr(1, 0)); i >= 0 {
			if start := row.int(2); start < found.made[i].start {
				found.made[i] = call{start, line.at(start)}
			}
		}
	})
}

// attach gives each launch and copy the time and range of its call.
func (p *process) attach(c *calls) {
	missing := 0
	for i, id := range p.ids {
		x, ok := c.of(id)
		if !ok {
			missing++
			continue
		}
		p.launches[i].API, p.launches[i].Range = x.start, x.rng
	}
	for i, id := range p.copyIDs {
		if x, ok := c.of(id); ok {
			p.copies[i].API, p.copies[i].Range = x.start, x.rng
		}
	}
	p.marks = c.marks
	if missing > 0 && len(p.ranges) > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf(
			"%d of %d launches have no CUDA call in the recording: they belong to no NVTX range", missing, len(p.ids)))
	}
}

// captures pairs the calls of cudaProfilerStart with the stops that follow them. A start while profiling runs, such
// as the driver's call inside the runtime's, changes nothing.
func captures(marks []mark, end int64) []measure.Interval {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.time, b.time) })
	var found []measure.Interval
	running := false
	for _, m := range marks {
		switch {
		case m.start && !running:
			found = append(found, measure.Interval{Start: m.time, End: max(m.time, end)})
		case !m.start && running:
			found[len(found)-1].End = m.time
		}
		running = m.start
	}
	return found
}

// readStrings looks up the names that kernels and ranges refer to.
func (r *reader) readStrings() error {
	if err := r.db.require("StringIds", "id", "value"); err != nil {
		return err
	}
	r.strings = make(map[int64]string)
	for _, p := range r.processes {
		for _, v := range p.variants {
			r.strings[v.demangled], r.strings[v.mangled], r.strings[v.short] = "", "", ""
		}
	}
	for _, n := range r.rangeNames {
		if n.text == "" {
			r.strings[n.id] = ""
		}
	}
	for _, d := range r.domains {
		if d.text == "" {
			r.strings[d.id] = ""
		}
	}
	delete(r.strings, noName)
	return r.db.query("SELECT id, value FROM StringIds", func(s *sqlite.Stmt) {
		id := s.ColumnInt64(0)
		if _, needed := r.strings[id]; needed {
			r.strings[id] = strings.TrimSpace(text(s, 1))
		}
	})
}
