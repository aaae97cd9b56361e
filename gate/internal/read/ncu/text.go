package ncu

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

var (
	// A header may be glued to a last line of the program's that had no end. One that is cut cannot be taken apart into
	// cells and is known by its beginning.
	start = input.Pattern(`"ID" *, *"(Process ID|Kernel Name)"`)
	// A row begins with an ID, or with the empty one of the units. pandas writes IDs as 0.0, and puts a row number
	// first.
	aRow     = input.Pattern(`^\s*(?:"[0-9]*"|[0-9]*(?:\.0)?) *,`)
	numbered = input.Pattern(`^\s*"?[0-9]+"? *,"?(?:[0-9]*(?:\.0)?)"? *,`)
	strayed  = input.Pattern(`^\s*"[0-9]+" *,"[0-9]+",`)
	elided   = input.Pattern(`^\s*(?:\[?\.{2,}\]?|\[?…\]?|\(\.\.\.\))\s*$`)
	// cutID is a row that is cut within its ID.
	cutID = input.Pattern(`^\s*"[0-9]*"?$`)
)

// heading is the place in a line of the header of a table of launches, and the form of a row of the table. The result
// is nil if there is none.
func heading(line string) (at int, row *regexp.Regexp) {
	if !strings.Contains(line, "ID") {
		return 0, nil
	}
	for _, at := range []int{0, strings.Index(line, `"ID"`)} {
		if at < 0 {
			continue
		}
		if row := launches(line[at:]); row != nil {
			return at, row
		}
	}
	if found := start().FindStringIndex(line); found != nil {
		return found[0], aRow()
	}
	return 0, nil
}

// launches gives the form of the rows under this header, nil if it is not that of a table of launches.
func launches(header string) *regexp.Regexp {
	if !strings.Contains(header, "Kernel Name") { // as in most lines of a program, which need no parsing
		return nil
	}
	r := csv.NewReader(strings.NewReader(header))
	r.TrimLeadingSpace = true
	cells, err := r.Read()
	if err != nil || !slices.Contains(cells, "Kernel Name") {
		return nil
	}
	metrics := slices.Contains(cells, "Metric Name") && slices.Contains(cells, "Metric Value") ||
		slices.Contains(cells, "Process ID") || slices.ContainsFunc(cells,
		func(c string) bool { return strings.Contains(c, "__") })
	switch {
	case !metrics:
		return nil
	case cells[0] == "ID":
		return aRow()
	case len(cells) > 1 && cells[1] == "ID" && isNumbering(cells[0]):
		return numbered()
	}
	return nil
}

// isNumbering reports whether a column holds the row numbers that pandas adds.
func isNumbering(column string) bool { return column == "" || strings.HasPrefix(column, "Unnamed: ") }

// notes are the messages of ncu around the tables, and other signs that tables are missing.
type notes struct {
	name    string
	failure int // index into failures, their number for none
	line    int // where it says so
	nvtx    bool
	page    error // the refusal of another page
}

// failures lists the messages of an ncu that measured nothing or not all, with their refusals. The message that
// explains most stands first, because one failure causes others ("The application returned an error code").
var failures = []struct {
	says       string
	kind       model.Kind
	next, what string
}{
	{"ERR_NVGPUCTRPERM", model.CountersDenied, "run it as root or with CAP_SYS_ADMIN, or load the driver with " +
		"NVreg_RestrictProfilingToAdminUsers=0; nsys needs neither",
		"ncu may not read the GPU's performance counters (ERR_NVGPUCTRPERM)"},
	{"lock file", model.CounterFailed, "set TMPDIR to a directory of your own",
		"ncu could not take its lock in the temporary directory"},
	{"driver resource was unavailable", model.CountersInUse, "stop it (DCGM: dcgmi profile --pause) and profile again",
		"another tool is using the GPU's performance counters"},
	{"Profiling is not supported on device", model.OldNcu,
		"update ncu to a version that lists the chip: ncu --list-chips", "this ncu cannot profile the GPU"},
	{"Cannot lock GPU clock frequencies", model.CounterFailed, "profile with --clock-control none",
		"ncu could not lock the GPU's clocks"},
	{"driver is not compatible with Nsight Compute", model.OldNcu,
		"update the driver, or use the ncu of its CUDA release", "the GPU driver is older than ncu"},
	{"bad allocation", model.CounterFailed, "profile fewer launches, or with --replay-mode application",
		"ncu ran out of memory"},
	{"No kernels were profiled", model.NoKernels,
		"compare the kernel filter (-k, --launch-skip, --launch-count) with the kernels that the workload launches",
		"ncu profiled no kernel"},
	{"did not match any section", model.UnknownMetric, "see which ones there are: ncu --list-sections",
		"ncu has no section of the name that it was asked for"},
	{"Failed to find metric", model.UnknownMetric, "see which ones this GPU has: ncu --query-metrics",
		"ncu does not know a metric that it was asked for"},
	{"Failed to profile", model.CounterFailed, "read the lines before it", "ncu failed to profile a kernel"},
	{"The application returned an error code", model.CounterFailed, "run it alone first",
		"the program failed under ncu"},
	{"==PROF== Received signal", model.CounterFailed, "profile again, for longer or fewer launches",
		"ncu was interrupted"},
	{"==ERROR==", model.CounterFailed, "read what it says there", "ncu reports an error"},
}

// said matches lines of ncu, which some terminals fold if they are long.
var said = input.Pattern(`==(?:PROF|WARNING|ERROR)==|ERR_NVGPUCTRPERM|driver resource was unavailable`)

const noID = "the table lacks the column ID or Kernel Name in its place: ncu writes them first"

// elsewhere are pages of ncu that hold no launch with its metrics, by how they look. Where that is certain no other
// program's file looks so.
var elsewhere = []struct {
	looks   func() *regexp.Regexp
	certain bool
	kind    model.Kind
	what    string
}{
	{input.Pattern(`"?Kernel Name"?,.*(?:Invocations|Metric Name).*Minimum`), true, model.OtherFormat,
		"a summary (--print-summary) does not hold the single launches"},
	{input.Pattern(`^"(?:#|Address)","(?:Address|Source)"`), true, model.OtherFormat,
		"the source page holds instructions, not launches"},
	{input.Pattern(`^"?(?:Launch|Session) Attribute"?,"?Value"?`), true, model.OtherFormat,
		"the session page holds no launch"},
	{input.Pattern(`^ {4}Metric Name +Metric Unit +(?:Metric Value|Minimum)`), true, model.OtherFormat,
		"the page is text: ncu writes a table with --csv"},
	{input.Pattern(`==(?:PROF|WARNING|ERROR)== .*"ID"+,"?Process ID"?,`), true, model.BadTable,
		"the line ends of the output are lost: every row needs its line"},
	{input.Pattern(`^\s*"?ID"?([;\t|])"?Process ID"?[;\t|]`), true, model.BadTable,
		"the cells are not separated by commas, as ncu does: a spreadsheet wrote the file"},
	{input.Pattern(`\b[a-z0-9]+__[\w.]+ \[[\w/%]+\]`), true, model.OtherFormat,
		"the window of Nsight Compute exported the table, with the units in the names"},
	{input.Pattern(`^(?:.*,)?"?Metric Name"?,"?Metric Unit"?,"?Metric Value"?(?:,|\s*$)`), true, model.BadTable, noID},
	{input.Pattern(`^(?:.*,)?"?Metric Name"?,(?:.*,)?"?Metric Value"?(?:,|\s*$)`), false, model.BadTable, noID},
}

// see reads one line. A program that prints the same words is refused as well.
func (n *notes) see(line int, s string) {
	for _, e := range elsewhere {
		if n.page == nil && e.looks().MatchString(s) {
			n.page = model.Refuse(e.kind, again, "%s:%d: %s", n.name, line, e.what)
		}
	}
	if !said().MatchString(s) {
		return
	}
	n.nvtx = n.nvtx || strings.Contains(s, "NVTX include expressions match only")
	for i, f := range failures[:n.failure] {
		if strings.Contains(s, f.says) {
			n.failure, n.line = i, line
			break
		}
	}
}

func (n *notes) refusal(table bool) error {
	switch {
	case n.failure < len(failures) && failures[n.failure].kind == model.NoKernels && n.nvtx:
		return model.Refuse(model.NoKernels,
			"write a push/pop range with a slash, as in --nvtx-include 'step/', and register its domain if it has one",
			"%s:%d: ncu profiled no kernel, because no NVTX range matched", n.name, n.line)
	case n.failure < len(failures):
		f := failures[n.failure]
		return model.Refuse(f.kind, f.next, "%s:%d: %s", n.name, n.line, f.what)
	case !table && n.page == nil:
		return model.Refuse(model.OtherFormat, again, "%s holds no table of ncu", n.name)
	case !table:
		return n.page
	}
	return nil
}
