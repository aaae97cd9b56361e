package nsys

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// The rows of these tables are the CUDA events that nsys says it collected: all of them, in every recording that was
// seen. The figure was checked with exports from schema 3.20 (2025.3) to 3.24 (2026.1).
var collectedTables = []string{kernelTable, copyTable, setTable, runtimeTable}

const firstCounted = 20 // minor number of schema 3

// checkRows refuses an export with fewer rows than nsys collected events.
func (db *database) checkRows(d diagnosis) error {
	o := &db.origin
	if o.newer() || o.part || number(o.schema, 0) != newestSchema || number(o.schema, 1) < firstCounted {
		return nil
	}
	var rows int64
	for _, table := range collectedTables {
		if db.tables[table] == nil && !o.asked(table) {
			return nil
		}
		n, err := db.count(table)
		if err != nil {
			return err
		}
		rows += n
	}
	if rows < int64(d.collected) {
		return model.Refuse(model.RowsMissing, exportAgain,
			"%s is incomplete: it holds %d of the %d CUDA events that were collected", db.name, rows, d.collected)
	}
	return nil
}

const (
	// Sound recordings have a kernel for every launch. One that ends while the GPU is busy misses those in flight.
	mostLost = 0.01 // of the launches
	fewLost  = 32   // so many may be missing, unless they are most
	// Some launches are shorter than a tick of the GPU's timer. More than this share is worth a word.
	mostZero = 0.01
)

// check refuses an export by the first process that cannot be judged.
func (r *reader) check() error {
	for _, id := range slices.Sorted(maps.Keys(r.processes)) {
		if err := r.processes[id].check(r.db); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a process whose launches cannot be what the GPU did, and notes what is doubtful about them.
func (p *process) check(db *database) error {
	all := len(p.launches)
	zero := measure.HowMany(p.launches, func(l model.Launch) bool { return l.End == l.Start })
	lost := measure.Either(len(p.found.lost) > 0, len(p.outsideGraphs()), 0)
	timed := len(p.ranges) > 0 || len(p.found.marks) > 0
	if 2*p.early > all && !timed {
		p.warn(true, "%d of %d launches begin before the call that made them: the clocks of CPU and GPU do not agree, "+
			"and idle time has no known cause", p.early, all)
		p.forgetCalls()
	}
	switch {
	case 2*zero > all:
		return model.Refuse(model.ZeroLength, "give the kernels more work, or record the workload again",
			"%s: %d of %d launches took no time: the GPU's timer is too coarse for them or failed", db.name, zero, all)
	case 2*p.early > all:
		return model.Refuse(model.ClockBackwards, clockAgain,
			"%s: the clock goes backwards: %d of %d launches begin before the call that made them", db.name, p.early,
			all)
	case lost > all, lost > fewLost && float64(lost) > mostLost*float64(lost+all):
		return model.Refuse(model.KernelsLost, moreOften,
			"%s: %d of %d kernel launches of process %d left no trace of their kernel", db.name, lost, lost+all,
			pid(p.id))
	case p.failed.launches > all, p.failed.launches > fewLost &&
		float64(p.failed.launches) > mostLost*float64(p.failed.launches+all):
		return model.Refuse(model.LaunchesFailed, checkLaunches, "%s: %s, of process %d", db.name,
			p.failed.of(p.failed.launches+all), pid(p.id))
	case len(p.ranges) > 0 && p.found.seen && 2*p.unknown > all:
		return model.Refuse(model.CorrelationMissing, "record with `nsys profile --trace=cuda,nvtx` from the start",
			"%s: %d of %d launches have no CUDA call in the recording: they cannot be assigned to their NVTX ranges",
			db.name, p.unknown, all)
	}
	p.warn(float64(zero) > mostZero*float64(all),
		"%d of %d launches took no time: they are shorter than a tick of the GPU's timer", zero, all)
	p.warn(p.early > 0,
		"%d of %d launches begin before the call that made them: the clocks of CPU and GPU do not agree", p.early, all)
	p.warn(lost > 0, "%d of %d kernel launches left no trace of their kernel", lost, lost+all)
	p.warn(p.failed.launches > 0, "%s", p.failed.of(p.failed.launches+all))
	p.warn(p.unknown > 0 && timed,
		"%d of %d launches have no CUDA call in the recording: they belong to no NVTX range", p.unknown, all)
	p.warn(p.backward > 0, "%d NVTX ranges end before they begin and were left out", p.backward)
	return nil
}

// forgetCalls leaves the launches and copies as in a recording without calls.
func (p *process) forgetCalls() {
	for i := range p.launches {
		x := &p.launches[i]
		x.API, x.Thread = x.Start, -1
	}
	for i := range p.copies {
		x := &p.copies[i]
		x.API, x.Thread = x.Start, -1
	}
	p.found.all, p.callNames, p.early = model.Calls{}, nil, 0
}

func (p *process) warn(doubtful bool, format string, args ...any) {
	if doubtful {
		p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
	}
}

// outsideGraphs are the calls without a kernel that were no part of a graph: while a stream is captured, a launch adds
// a node to the graph instead of running.
func (p *process) outsideGraphs() (outside []int64) {
	slices.SortStableFunc(p.found.graphs, func(a, b mark) int { return cmp.Compare(a.time, b.time) })
	var graphs []model.Interval
	depth := 0
	for _, m := range p.found.graphs {
		if m.start {
			if depth++; depth == 1 {
				graphs = append(graphs, model.Interval{Start: m.time, End: unended})
			}
		} else if depth > 0 {
			if depth--; depth == 0 {
				graphs[len(graphs)-1].End = m.time
			}
		}
	}
	for _, start := range p.found.lost {
		i, _ := slices.BinarySearchFunc(graphs, start,
			func(g model.Interval, t int64) int { return cmp.Compare(g.End, t) })
		if i == len(graphs) || graphs[i].Start > start {
			outside = append(outside, start)
		}
	}
	return outside
}

// silence warns of processes with launched kernels and none in the recording.
func (r *reader) silence() (warnings []string) {
	for pid, n := range r.silent {
		warnings = append(warnings, fmt.Sprintf("process %d launched %d kernels, but none of them is in the recording",
			pid, n))
	}
	slices.Sort(warnings)
	return warnings
}

// checkKept refuses a recording with few kept events of a process, unless every launch has its kernel and every kernel
// its launch: programs with OpenACC and OpenMP produce many other events.
func (r *reader) checkKept() error {
	for _, few := range r.diagnosis.few {
		p := r.of(few.process)
		if p == nil || !p.found.seen || p.unknown > 0 || len(p.found.lost) > 0 && len(p.outsideGraphs()) > 0 {
			return model.Refuse(model.RecordsLost, recordAgain+", without NVTX (--trace=cuda) if it happens again",
				"%s: only %d of the %d CUDA events that the workload produced were kept", r.db.name, few.kept, few.made)
		}
	}
	return nil
}

// checkLaunches is the next step where CUDA refused launches.
const checkLaunches = "have the program check cudaGetLastError() after its launches, mend what it reports, and " +
	"record again"

// failures counts launches that CUDA refused: their call returned an error, and no kernel ran.
type failures struct {
	launches int
	first    int64 // the error of the first one
}

func (f *failures) count(result int64) {
	if f.launches++; f.launches == 1 {
		f.first = result
	}
}

// launchErrors are the names of the errors that launches return, from enum cudaError of CUDA's driver_types.h.
var launchErrors = map[int64]string{
	1: "cudaErrorInvalidValue", 2: "cudaErrorMemoryAllocation", 9: "cudaErrorInvalidConfiguration",
	98: "cudaErrorInvalidDeviceFunction", 209: "cudaErrorNoKernelImageForDevice", 400: "cudaErrorInvalidResourceHandle",
	700: "cudaErrorIllegalAddress", 701: "cudaErrorLaunchOutOfResources", 719: "cudaErrorLaunchFailure",
	720: "cudaErrorCooperativeLaunchTooLarge",
}

// of says how many of all launches failed: "3 of 10 kernel launches failed, the first with CUDA error 701".
func (f failures) of(all int) string {
	text := fmt.Sprintf("%d of %d kernel launches failed, the first with CUDA error %d", f.launches, all, f.first)
	if name := launchErrors[f.first]; name != "" {
		text += " (" + name + ")"
	}
	return text
}

const (
	// fewRepeats is the smallest number of occurrences of a range that may be a step.
	fewRepeats = 3
	// mostOfTail is the largest share of the launches that is left out to end with a whole step.
	mostOfTail = 0.2
)

// cutTail leaves out the end of a recording that stopped while launches were queued, as --duration and cudaProfilerStop
// without a synchronisation stop it: these launches have no kernel. Launches count as queued if all of them were made
// after the last launch that has a kernel, and before the GPU had finished its work or could have begun the next
// kernel. Their step is left out as a whole.
func (p *process) cutTail() {
	if len(p.found.lost) == 0 || len(p.outsideGraphs()) != len(p.found.lost) {
		return
	}
	var lastCall, lastEnd, longest int64
	for _, l := range p.launches {
		if l.Thread >= 0 {
			lastCall = max(lastCall, l.API)
		}
		lastEnd, longest = max(lastEnd, l.End), max(longest, l.End-l.Start)
	}
	first, last := slices.Min(p.found.lost), slices.Max(p.found.lost)
	if lastCall == 0 || first < lastCall || last > lastEnd+longest || len(p.found.lost) >= len(p.launches) {
		return
	}
	from := p.wholeStep(first)
	p.warn(true, "the recording ended while %d launches were queued, which have no kernel: what was launched after "+
		"%d ns is left out", len(p.found.lost), from)
	p.found.lost = nil
	queued := func(api int64) bool { return api >= from }
	kept := 0
	for i, l := range p.launches {
		if !queued(l.API) {
			p.launches[kept], p.ids[kept] = l, p.ids[i]
			kept++
		}
	}
	p.launches, p.ids = p.launches[:kept], p.ids[:kept]
	p.copies = slices.DeleteFunc(p.copies, func(c model.Copy) bool { return queued(c.API) })
	var calls model.Calls // without those of the tail, which would place the host after the last step
	for c := range p.found.all.All() {
		if !queued(c.Start) {
			calls.Add(c)
		}
	}
	calls.Settle(nil)
	p.found.all = calls
	// Ranges are sorted by start, so that the remaining ones keep their index.
	if i := slices.IndexFunc(p.ranges, func(x model.Range) bool { return queued(x.Start) }); i >= 0 {
		p.ranges = p.ranges[:i]
	}
}

// wholeStep is the start of the outermost range around a time that occurs often and holds few of the launches, or else
// that time.
func (p *process) wholeStep(at int64) int64 {
	count := map[int32]int{}
	for _, x := range p.ranges {
		count[x.Name]++
	}
	for _, x := range p.ranges {
		if x.Start > at {
			break
		}
		if x.End < at || count[x.Name] < fewRepeats {
			continue
		}
		left := measure.HowMany(p.launches, func(l model.Launch) bool { return l.API >= x.Start })
		if float64(left) <= mostOfTail*float64(len(p.launches)) {
			return x.Start
		}
	}
	return at
}
