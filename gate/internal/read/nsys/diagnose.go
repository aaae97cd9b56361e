package nsys

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// lost lists the messages of an nsys that lost events, with their refusals, the most telling first.
var lost = []struct {
	text       func() *regexp.Regexp
	kind       model.Kind
	next, what string
}{
	{input.Pattern("Cannot find string for an exterior index"), model.ImporterString,
		"record with --nvtx-domain-exclude=TSL (JAX and TensorFlow), or without NVTX (--trace=cuda)",
		"the importer of nsys failed on an NVTX string and lost events"},
	{input.Pattern("Wrong event order"), model.ImporterFailed, updateNsys,
		"the importer of nsys met events in the wrong order and lost some"},
	{input.Pattern("Unknown driver API function index"), model.OldNsys, updateNsys,
		"nsys is older than the CUDA driver and lost events"},
	{input.Pattern("TargetProfilingFailed"), model.ProfilingFailed, recordAgain,
		"nsys could not record the workload to its end"},
	{input.Pattern("Import failed|Error when processing events|ProcessEventsError|Errors occurred while processing " +
		"the raw events"),
		model.ImporterFailed, updateNsys, "the importer of nsys failed on some events and lost them"},
}

// missing lists nsys's messages that report a loss as information, with the next step and the sentence of their
// refusals, which has groups of the expression in it.
var missing = []struct {
	text       func() *regexp.Regexp
	next, what string
}{
	{input.Pattern(`^Number of CUPTI events produced:\s*\d+, CUPTI buffers:\s*(\d+) of (\d+)\.\s*Some CUPTI events might be missing\b`),
		moreOften, "nsys says that some CUDA events might be missing (CUPTI buffers: $1 of $2)"},
	{input.Pattern(`^Number of incomplete CUPTI events dropped:\s*([1-9]\d*)\b`), "let the workload synchronise and " +
		"end by itself before the recording does, or record with --trace=cuda-sw, which traces by software",
		"nsys dropped $1 records of the GPU because they were incomplete"},
}

// A warning or error that names CUDA and one of these words is a loss.
var (
	ofCUDA  = input.Pattern(`(?i)\b(CUDA|CUPTI)\b`)
	dropped = input.Pattern(`(?i)\b(dropped|lost|discarded|overflow\w*)\b`)
	none    = input.Pattern(`dropped:\s*0\b`)
)

// doubtful are messages that go with a usable recording, as warnings.
var doubtful = []struct{ text, warning string }{
	{"annotations were discarded", "nsys discarded NVTX annotations with invalid strings: some ranges are missing"},
	{unsupportedDriver,
		"nsys is older than the CUDA driver and traced it as an older one: what is new in the driver may be " +
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
	collectedEvents = input.Pattern(`^Number of CUDA events collected:\s*(\d+)`)
	producedEvents  = input.Pattern(`^Number of CUPTI events produced:\s*(\d+)`)
)

type diagnosis struct {
	noEvents  bool // no process made CUDA calls
	notAll    bool // nsys doubts that it collected all CUDA events
	traced    bool // CUDA was traced
	collected int  // CUDA events that must be in the export at least
	few       []fewKept
	warnings  []string

	missing string // the first sentence in the order of the list of missing, with its details
	place   int    // of it in that list
}

type fewKept struct {
	process    int64
	kept, made int
}

func (d *diagnosis) hear(text string) {
	for i, x := range missing {
		if said := x.text().FindString(text); said != "" && (d.missing == "" || i < d.place) {
			d.missing, d.place = x.text().ReplaceAllString(said, x.what), i
		}
	}
	d.noEvents = d.noEvents || strings.HasPrefix(text, "No CUDA events collected")
	d.notAll = d.notAll || strings.HasPrefix(text, "Not all CUDA events might have been collected")
	d.traced = d.traced || strings.HasPrefix(text, "CUDA injection initialized") || collectedEvents().MatchString(text)
}

func (d *diagnosis) warn(text string) {
	if !slices.Contains(d.warnings, text) {
		d.warnings = append(d.warnings, text)
	}
}

// diagnose refuses a recording that says that it lost events.
func (db *database) diagnose() (diagnosis, error) {
	const info, failure = 1, 3
	var d diagnosis
	found := len(lost)
	failures := 0
	overflow := false
	type count struct{ all, most int }
	collected, produced := make(map[int64]count), make(map[int64]int)
	columns := []string{"severity", "text", "globalPid"}
	err := db.scan(diagnosticTable, columns, func(row *row) {
		severity, text, process := row.intOr(0, 0), row.text(1), row.intOr(2, 0)
		if severity != info {
			for i, x := range lost[:found] {
				if x.text().MatchString(text) {
					found = i
					break
				}
			}
			for _, x := range doubtful {
				if strings.Contains(text, x.text) {
					d.warn(x.warning)
				}
			}
			overflow = overflow || ofCUDA().MatchString(text) && dropped().MatchString(text) &&
				!none().MatchString(text)
		}
		if severity == failure {
			failures++
		}
		d.hear(text)
		// A process that is profiled several times reports the events collected each time and those produced so far.
		if m := collectedEvents().FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			c := collected[process]
			collected[process] = count{c.all + n, max(c.most, n)}
		}
		if m := producedEvents().FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			produced[process] = max(produced[process], n)
		}
	})
	if err == nil {
		err = db.hearStrings(&d)
	}
	if err != nil {
		return d, err
	}
	switch {
	case found < len(lost):
		x := lost[found]
		return d, model.Refuse(x.kind, x.next, "%s: %s", db.name, x.what)
	case d.missing != "":
		return d, model.Refuse(model.RecordsLost, missing[d.place].next, "%s: %s", db.name, d.missing)
	case overflow:
		return d, model.Refuse(model.RecordsLost,
			"record a shorter part, or let the buffers be emptied more often with --cuda-flush-interval=1000",
			"%s: nsys says that records of the GPU were dropped", db.name)
	}
	for _, process := range slices.Sorted(maps.Keys(produced)) {
		n := produced[process]
		kept, ok := collected[process]
		if ok && float64(kept.all) < fewestKept*float64(n) && n-kept.all > leastMissed {
			d.few = append(d.few, fewKept{process & processMask, kept.all, n})
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

// hearStrings reads the messages in StringIds, which holds the names of the workload as well: only a whole sentence
// counts, and only if no kernel, range or call has it as its name.
func (db *database) hearStrings(d *diagnosis) error {
	said := make(map[int64]string)
	err := db.scanNeeded("StringIds", 2, []string{"id", "value"}, func(row *row) {
		if !row.begins(1, "N") {
			return
		}
		text := row.text(1)
		if _, after, _ := strings.Cut(text, " CU"); strings.Contains(after, " events ") {
			said[row.intOr(0, noName)] = text
		}
	})
	if err != nil || len(said) == 0 {
		return err
	}
	for _, x := range []struct {
		table   string
		columns []string
	}{
		{kernelTable, []string{"demangledName", "mangledName", "shortName"}}, {runtimeTable, []string{"nameId"}},
		{rangeTable, []string{"textId", "jsonTextId"}},
	} {
		err := db.scan(x.table, x.columns, func(row *row) {
			for i := range x.columns {
				if id, ok := row.integer(i); ok {
					delete(said, id)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(said)) {
		d.hear(said[id])
	}
	return nil
}

// calls reports whether the workload called CUDA, how many of the calls launch kernels, and how many of these failed.
func (db *database) calls() (some bool, launches int, failed failures, err error) {
	launch := make(map[int64]bool) // by id of StringIds
	err = db.scan("StringIds", []string{"id", "value"}, func(row *row) {
		if id, ok := row.integer(0); ok && row.begins(1, "cu") && strings.Contains(row.text(1)[2:], "Launch") {
			launch[id] = true
		}
	})
	if err == nil {
		err = db.scan(runtimeTable, []string{"nameId", "returnValue"}, func(row *row) {
			some = true
			if id, ok := row.integer(0); !ok || !launch[id] {
				return
			}
			launches++
			if result, ok := row.integer(1); ok && result != 0 {
				failed.count(result)
			}
		})
	}
	return some, launches, failed, err
}

// refuseNoKernels refuses an export without kernels, with the most precise reason that the export gives.
func (db *database) refuseNoKernels(d diagnosis) error {
	calls, launches, failed, err := db.calls()
	if err != nil {
		return err
	}
	on, off := db.traced()
	switch {
	case launches > 0 && failed.launches == launches:
		return model.Refuse(model.LaunchesFailed, checkLaunches, "%s holds no kernels: %s", db.name,
			failed.of(launches))
	case launches > 0:
		return model.Refuse(model.KernelsLost, "see that the workload ends by itself instead of being killed and that "+
			"nsys is no older than the CUDA driver, and record again",
			"%s holds no kernels: the workload launched some, but what the GPU recorded of them was lost", db.name)
	case d.notAll && (!d.noEvents || calls): // a helper without CUDA calls is told both
		return model.Refuse(model.KernelsLost,
			"let the workload synchronise before the recording or its capture range ends, see that the capture "+
				"range covers its kernels and that nsys is no older than the CUDA driver, and record again",
			"%s holds no kernels: nsys says that not all CUDA events might have been collected", db.name)
	case calls:
		return model.Refuse(model.NoKernels, "see that it did not fail, and that the capture range covers its kernels",
			"%s holds no kernels: the workload called CUDA but launched nothing while it was recorded", db.name)
	case off:
		return model.Refuse(model.NotTraced,
			"record with `nsys profile --trace=cuda,nvtx` and see that the workload uses the GPU",
			"%s holds no kernels: CUDA was not among what was traced", db.name)
	case d.noEvents:
		return model.Refuse(model.NoKernels, "see that it did not fail and that it uses the GPU",
			"%s holds no kernels: the workload made no CUDA calls while it was recorded", db.name)
	case on || d.traced:
		return model.Refuse(model.NoKernels, launchSome,
			"%s holds no kernels: CUDA was traced, but no activity of it was recorded", db.name)
	}
	return model.Refuse(model.NoKernels,
		launchSome+"; where CUDA was not among what is traced, record with `nsys profile --trace=cuda,nvtx`",
		"%s holds no kernels: no CUDA activity was recorded", db.name)
}

// traced reports whether the exported options of the recording turn CUDA tracing on, or off. The same table holds the
// environment variables of the workload: nothing else is read.
func (db *database) traced() (on, off bool) {
	events := false
	err := db.values("META_DATA_CAPTURE", func(name string, value func() string) {
		switch name {
		case "CAPTURE_EVENT_TYPE":
			events, on = true, on || strings.EqualFold(value(), "cuda")
		case "COLLECT_CUDA_TRACE":
			off = slices.Contains([]string{"false", "0"}, strings.ToLower(value()))
		}
	})
	off = err == nil && (off || events && !on)
	return err == nil && on && !off, off
}
