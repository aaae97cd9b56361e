package nsys

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
)

// nsys exits with success even where its importer dropped events. What it says of that stands in DIAGNOSTIC_EVENT
// (2024.2 and later).
const diagnosticTable = "DIAGNOSTIC_EVENT"

// lost are the messages of an nsys that lost events and the keys of their refusals, the most telling first.
var lost = []struct{ text, key string }{
	{"Cannot find string for an exterior index", "importer-string"},
	{"Wrong event order", "event-order"},
	{"Unknown driver API function index", "old-nsys"},
	{"TargetProfilingFailed", "profiling-failed"},
	{"Import failed", "importer-failed"},
	{"Error when processing events", "importer-failed"},
	{"ProcessEventsError", "importer-failed"},
	{"Errors occurred while processing the raw events", "importer-failed"},
}

// No message about full buffers is known from public recordings: whatever nsys says of CUDA in these words counts.
var (
	ofCUDA  = regexp.MustCompile(`(?i)\b(CUDA|CUPTI)\b`)
	dropped = regexp.MustCompile(`(?i)\b(dropped|lost|discarded|overflow\w*)\b`)
)

// doubtful are messages that go with a usable recording, as warnings.
var doubtful = []struct{ text, warning string }{
	{"annotations were discarded", "nsys discarded NVTX annotations with invalid strings: some ranges are missing"},
	{unsupportedDriver, "nsys is older than the CUDA driver and traced it as an older one: what is new in the driver may be " +
		"missing; update nsys"},
}

const unsupportedDriver = "is not supported by this build of Nsight Systems"

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
	noEvents  bool // no process made CUDA calls
	oldNsys   bool // for the CUDA driver
	collected int  // CUDA events that must be in the export at least
	warnings  []string
}

func (d *diagnosis) warn(text string) {
	if !slices.Contains(d.warnings, text) {
		d.warnings = append(d.warnings, text)
	}
}

// diagnose refuses a recording that lost events.
func (db *database) diagnose() (diagnosis, error) {
	const info, failure = 1, 3
	var d diagnosis
	found := len(lost)
	failures := 0
	overflow := false
	type count struct{ all, most int }
	collected, produced := make(map[int64]count), make(map[int64]int)
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
					d.warn(x.warning)
				}
			}
			overflow = overflow || ofCUDA.MatchString(text) && dropped.MatchString(text)
			d.oldNsys = d.oldNsys || strings.Contains(text, unsupportedDriver)
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
			c := collected[process]
			collected[process] = count{c.all + n, max(c.most, n)}
		}
		if m := producedEvents.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			produced[process] = max(produced[process], n)
		}
	})
	if err != nil {
		return d, err
	}
	switch {
	case found < len(lost):
		return d, db.refuse(lost[found].key)
	case overflow:
		return d, db.refuse("buffers-dropped")
	}
	for _, process := range slices.Sorted(maps.Keys(produced)) {
		n := produced[process]
		kept, ok := collected[process]
		if ok && float64(kept.all) < fewestKept*float64(n) && n-kept.all > leastMissed {
			return d, db.refuse("events-lost", kept.all, n)
		}
	}
	for _, n := range collected {
		d.collected += n.most
	}
	if failures > 0 {
		d.warn(fmt.Sprintf("nsys reported %d errors while recording; `nsys export --type text` shows them", failures))
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
	switch {
	case some(graphTable, ""):
		return db.refuse("whole-graphs")
	case db.has(runtimeTable, "nameId") && db.has("StringIds", "value") && some(runtimeTable, launch):
		return db.refuse("kernels-lost")
	case some(runtimeTable, ""):
		return db.refuse("nothing-launched")
	case db.untraced():
		return db.refuse("kernels-not-traced")
	case d.noEvents:
		return db.refuse("no-cuda")
	}
	return db.refuse("no-kernels")
}

// untraced reports whether the options of the recording, where they were exported, say that CUDA was not traced. The
// same table holds the environment variables of the workload: nothing else is read.
func (db *database) untraced() bool {
	const table = "META_DATA_CAPTURE"
	if !db.has(table, "name") || !db.has(table, "value") {
		return false
	}
	events, cuda, off := false, false, false
	err := db.scan(table, "name IN ('CAPTURE_EVENT_TYPE', 'COLLECT_CUDA_TRACE')", []string{"name", "value"}, func(row *row) {
		switch value := strings.ToLower(row.text(1)); row.text(0) {
		case "CAPTURE_EVENT_TYPE":
			events, cuda = true, cuda || value == "cuda"
		case "COLLECT_CUDA_TRACE":
			off = value == "false" || value == "0"
		}
	})
	return err == nil && (off || events && !cuda)
}
