// Package nsys reads what NVIDIA Nsight Systems recorded: SQLite exports of 2020 to 2026, and reports through `nsys
// export`. Releases add and drop tables and columns (NVIDIA's "SQLite Schema Reference"): a column is looked for before
// it is read, and an absent table counts as an empty one.
package nsys

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Next steps of the refusals of this package.
const (
	exportAgain  = "export the report again with `nsys export --type sqlite`"
	recordAgain  = "record the workload again"
	clockAgain   = recordAgain + "; if it happens again, update the driver and nsys"
	untilWritten = "wait until the export has ended, close the program that has the file open, or export the report " +
		"again"
	updateNsgate = "update nsgate, or export the report with nsys of 2026 or older"
	updateNsys   = "update nsys to a release at least as new as the CUDA driver and record again"
	moreOften    = "let the workload synchronise before it ends, record a shorter part, or let the buffers be " +
		"emptied more often with --cuda-flush-interval=1000"
	launchSome = "see that the workload launched kernels while it was recorded: that it did not fail, that the " +
		"capture range covers them, and that nsys followed the process that launches them"
)

// Read reads a SQLite export: one trace for each process that launched kernels, in the order of their first launches.
// The file is opened read-only and immutable. A file that is not an nsys export, is damaged or being written, holds no
// kernels or is known to have lost events gives a *model.Refusal. Attributes of kernels that the export does not have
// are -1.
func Read(ctx context.Context, file string) ([]model.Trace, error) {
	return ReadAs(ctx, file, filepath.Base(file))
}

// ReadAs is [Read] of a file that messages call by another name.
func ReadAs(ctx context.Context, file, name string) ([]model.Trace, error) {
	db, err := open(ctx, file, name)
	if err != nil {
		return nil, err
	}
	defer db.close()
	r := reader{db: db}
	traces, err := r.read(file)
	if ctx.Err() == nil && changed(file, db.state) {
		return nil, model.Refuse(model.BeingWritten, untilWritten,
			"%s is being written: it changed while it was read", db.name)
	}
	return traces, err
}

func (r *reader) read(file string) ([]model.Trace, error) {
	var err error
	if r.diagnosis, err = r.db.diagnose(); err != nil {
		return nil, err
	}
	if err := r.readKernels(); err != nil {
		return nil, err
	}
	if r.launches == 0 {
		return nil, cmp.Or(r.checkKept(), r.db.refuseNoKernels(r.diagnosis))
	}
	if err := r.db.checkRows(r.diagnosis); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		r.readCopies, r.readMemsets, r.readMemory, r.readRanges, r.readOverhead, r.readStrings, r.nameRanges,
		r.readCalls, r.readCallers,
		func() error {
			for _, p := range r.processes {
				p.cutTail()
				p.copyIDs = nil
				if len(p.traced) == 0 { // for which callers wants the others
					p.ids = nil
				}
			}
			return r.checkKept()
		},
		r.check, r.readGPUs, r.readDriver, r.readZero, r.readGPUMetrics,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	var traces []model.Trace
	for _, p := range r.processes {
		t, err := r.finish(p)
		if err != nil {
			return nil, err
		}
		t.Sampling = r.sampling(&t)
		t.Source = file
		t.Zero = measure.Either(r.db.origin.utc, time.Unix(0, 0).UTC(), r.facts.zero)
		t.Environment = r.environment(&t, p.graphs > 0)
		t.Warnings = slices.Concat(r.db.origin.warnings(), r.diagnosis.warnings, r.silence(), t.Warnings)
		traces = append(traces, t)
	}
	measure.Sort(traces, func(a, b model.Trace) int {
		return cmp.Or(cmp.Compare(a.Launches[0].Start, b.Launches[0].Start), cmp.Compare(a.Process, b.Process))
	})
	return traces, nil
}

func (r *reader) finish(p *process) (model.Trace, error) {
	t := model.Trace{
		Process: int(pid(p.id)), Launches: p.launches, Copies: p.copies, RangeNames: p.names.List, MemoryPeak: p.memory,
		Calls: p.found.all, CallNames: p.callNames, Overhead: p.overhead,
		Requests: p.requests, Kernels: r.kernels(p), Lost: p.outsideGraphs(),
	}
	if slices.ContainsFunc(p.categories, func(c string) bool { return c != "" }) {
		t.RangeCategories = p.categories
	}
	if err := t.NameKernels(r.db.name, &r.names); err != nil {
		return t, err
	}
	t.Callers = r.callers(p)
	slices.SortFunc(t.Launches, func(a, b model.Launch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	slices.SortFunc(t.Copies, func(a, b model.Copy) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	end := t.End()
	for i := range p.ranges {
		if x := &p.ranges[i]; x.End == unended {
			x.End = max(x.Start, end)
		}
	}
	t.Ranges = p.ranges
	t.Messages = p.messagesOf()
	t.Captures = captures(p.found.marks, end)
	if p.graphs > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%d launches of whole CUDA graphs, %s, are judged graph by graph; "+
			"record with --cuda-graph-trace=node to see the kernels in them", p.graphs,
			measure.Quantity(float64(p.graphTime), "ns")))
	}
	t.Warnings = p.warnings
	return t, nil
}

// A globalPid is hardware, virtual machine and pid in 8, 8 and 24 bits above 24 zero bits; a globalTid has the thread
// in these.
const processMask = ^int64(0xFFFFFF)

func pid(global int64) int64 { return global >> 24 & 0xFFFFFF }

// reader collects what one export says of each process.
type reader struct {
	db        *database
	diagnosis diagnosis
	processes map[int64]*process // by globalPid
	// oneProcess is true if no launch names its process: the export counts as one process.
	oneProcess bool
	launches   int
	names      model.KernelNames
	rangeNames model.Interned[rangeName]
	groups     map[group]rangeName
	strings    map[int64]string // the StringIds that are needed
	chains     map[int64][]nativeFrame
	facts      facts
	samples    map[int64][]gpuSample // by GPU
	// silent counts the launches of processes without a kernel in the recording, by pid.
	silent map[int64]int
}

type process struct {
	id       int64 // globalPid
	launches []model.Launch
	copies   []model.Copy
	ids      []int64 // correlation id of every launch
	copyIDs  []int64 // correlation id of every copy
	variants model.Interned[variant]
	tids     model.Interned[int64] // globalTid of its threads
	ranges   []model.Range
	lines    map[int32]*model.Timeline  // the ranges of each thread, until the calls are read
	messages map[[2]int64]model.Message // by thread and start of their range
	found    calls
	unknown  int                    // launches whose call was not recorded
	early    int                    // launches that began before their call
	failed   failures               // launches that CUDA refused
	backward int                    // ranges that end before they begin
	names    model.Interned[string] // of ranges
	// categories are those of names.
	categories []string
	// callNames are the names of found.all; overhead is when the profiler delayed the process.
	callNames []string
	overhead  []model.Interval
	memory    int64
	requests  []model.Request // that made it
	traced    []*backtraced
	graphs    int64 // launches of whole graphs
	graphIDs  model.Interned[[2]int64]
	graphTime int64 // of them, ns
	warnings  []string
}

// of gives the process of a globalPid or globalTid, nil for a process without launches.
func (r *reader) of(global int64) *process {
	if r.oneProcess {
		global = 0
	}
	return r.processes[global&processMask]
}

type calls struct {
	launches, copies join
	marks            []mark      // calls of cudaProfilerStart and cudaProfilerStop
	graphs           []mark      // calls that begin and end the capture of a stream as a graph
	lost             []int64     // starts of the calls whose kernel is not in the recording
	all              model.Calls // every call; its names are those of [names]
	seen             bool        // any call of the process was recorded
}

// mark is a call that begins or ends something.
type mark struct {
	time  int64
	start bool
}

// role is the meaning of a call for the reader, by its name.
type role uint8

const (
	launchCall role = 1 + iota
	profilerStart
	profilerStop
	graphBegin
	graphEnd
)

type backtraced struct {
	start, end, tid, id int64
	name, chain         int64
	python              string // the stack as JSON, "" for none
}

// nativeFrame is a frame of machine code, by StringIds, and its depth.
type nativeFrame struct{ depth, symbol, module int64 }

// unended is the end of a range that was still open when the recording ended.
const unended = math.MaxInt64

// rangeName is the name of a range before its strings are looked up.
type rangeName struct {
	process *process
	domain  int64
	id      int64  // of StringIds, where text is ""
	text    string // given in the row itself
	mark    bool

	category int64
}

// group is a category of a domain of ranges, or the whole domain.
type group struct {
	process          *process
	domain, category int64
}

const whole = -1 // in place of a category

// variant is a row of the kernel table; names are numbers of StringIds.
type variant struct {
	demangled, mangled, short                              int64
	grid, block                                            measure.Dim3
	registers, staticShared, dynamicShared, localPerThread int64
	graph                                                  int32 // of the process, from 1; 0 of a kernel
}

const (
	noName     = math.MinInt64 // in place of a StringIds number
	wholeGraph = noName + 1    // the name of a graph that was recorded as a whole
	mostGraphs = 1000          // told apart in a process at most: it may instantiate one for each launch
)
