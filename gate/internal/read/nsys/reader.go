package nsys

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

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
