package nsys

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
	"zombiezen.com/go/sqlite"
)

// nsys exits with success even where its importer dropped events. What it says of that stands in DIAGNOSTIC_EVENT
// (2024.2 and later). This file holds the rules by which a recording is refused before anything in it is judged.

const (
	diagnosticTable = "DIAGNOSTIC_EVENT"
	recordAgain     = "record the workload again"
	updateNsys      = "update nsys to a release at least as new as the CUDA driver and record again"
)

// lost are the messages of an importer that lost events, the most telling first.
var lost = []struct{ text, reason, next string }{
	{
		"Cannot find string for an exterior index",
		"the importer of nsys failed on an NVTX string and lost events",
		"record with --nvtx-domain-exclude=TSL (JAX and TensorFlow), or without NVTX (--trace=cuda)",
	},
	{"Wrong event order", "the importer of nsys met events in the wrong order and lost some", updateNsys},
	{"Unknown driver API function index", "nsys is older than the CUDA driver and lost events", updateNsys},
	{"TargetProfilingFailed", "nsys could not record the workload", recordAgain},
	{"Import failed", "the importer of nsys failed", updateNsys},
	{"Error when processing events", "the importer of nsys failed on some events and lost them", updateNsys},
	{"ProcessEventsError", "the importer of nsys failed on some events and lost them", updateNsys},
	{"Errors occurred while processing the raw events", "the importer of nsys failed on some events and lost them",
		updateNsys},
}

// doubtful are messages that go with a usable recording, as warnings.
var doubtful = []struct{ text, warning string }{
	{"annotations were discarded", "nsys discarded NVTX annotations with invalid strings: some ranges are missing"},
}

// Not all events of CUPTI become rows: with healthy recordings nsys keeps 64 % (a program of 227 events) to 99 %. The
// one known loss kept 2 %.
const (
	fewestKept  = 0.5 // of the events produced
	leastMissed = 200 // so many must be missing as well
)

var (
	collectedEvents = regexp.MustCompile(`^Number of CUDA events collected:\s*(\d+)`)
	producedEvents  = regexp.MustCompile(`^Number of CUPTI events produced:\s*(\d+)`)
)

// diagnosis is what the diagnostics of a usable recording say.
type diagnosis struct {
	noEvents bool // no process made CUDA calls
	warnings []string
}

// diagnose refuses a recording that lost events.
func (db *database) diagnose() (diagnosis, error) {
	const info, failure = 1, 3
	var d diagnosis
	found := len(lost)
	failures := 0
	warn := func(text string) {
		if !slices.Contains(d.warnings, text) {
			d.warnings = append(d.warnings, text)
		}
	}
	collected, produced := make(map[int64]int), make(map[int64]int)
	columns := []string{"severity", "text", "globalPid"}
	err := db.scan(diagnosticTable, "", columns, func(row *row) {
		severity, text, process := row.intOr(0, 0), row.text(1), row.intOr(2, 0)
		if severity != info {
			for i, x := range lost[:found] {
				if strings.Contains(text, x.text) {
					found = i
					break
				}
			}
			for _, x := range doubtful {
				if strings.Contains(text, x.text) {
					warn(x.warning)
				}
			}
		}
		if severity == failure {
			failures++
		}
		if strings.HasPrefix(text, "No CUDA events collected") {
			d.noEvents = true
		}
		// A process that is profiled several times reports the events collected each time and those produced so far.
		if m := collectedEvents.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			collected[process] += n
		}
		if m := producedEvents.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			produced[process] = max(produced[process], n)
		}
	})
	if err != nil {
		return d, err
	}
	if found < len(lost) {
		return d, measure.Refuse(db.name+": "+lost[found].reason, lost[found].next)
	}
	for process, n := range produced {
		kept, ok := collected[process]
		if ok && float64(kept) < fewestKept*float64(n) && n-kept > leastMissed {
			return d, measure.Refuse(fmt.Sprintf("%s: only %d of the %d CUDA events that the workload produced were kept",
				db.name, kept, n), recordAgain+", without NVTX (--trace=cuda) if it happens again")
		}
	}
	if failures > 0 {
		warn(fmt.Sprintf("nsys reported %d errors while recording; `nsys export --type text` shows them", failures))
	}
	return d, nil
}

// refuseNoKernels says as well as the export allows why it holds no kernel.
func (db *database) refuseNoKernels(d diagnosis) error {
	some := func(table, where string) bool {
		yes := false
		if db.columns[table] != nil {
			err := db.query("SELECT 1 FROM "+table+" "+where+" LIMIT 1", func(*sqlite.Stmt) { yes = true })
			yes = yes && err == nil
		}
		return yes
	}
	const launch = "JOIN StringIds ON nameId = id WHERE value GLOB 'cu*Launch*'"
	none := db.name + " holds no kernels: "
	switch {
	case some(graphTable, ""):
		return measure.Refuse(none+"whole CUDA graphs were traced", "record with --cuda-graph-trace=node")
	case db.has(runtimeTable, "nameId") && db.has("StringIds", "value") && some(runtimeTable, launch):
		return measure.Refuse(none+"the workload launched some, but what the GPU recorded of them was lost",
			"see that the workload ends by itself instead of being killed, and record again")
	case some(runtimeTable, ""):
		return measure.Refuse(none+"the workload called CUDA but launched nothing while it was recorded",
			"see that it did not fail, and that the capture range covers its kernels")
	case d.noEvents:
		return measure.Refuse(none+"the workload made no CUDA calls while it was recorded",
			"see that it did not fail and that it uses the GPU")
	}
	return measure.Refuse(none+"no CUDA activity was recorded",
		"record with `nsys profile --trace=cuda,nvtx` and see that the workload uses the GPU")
}
