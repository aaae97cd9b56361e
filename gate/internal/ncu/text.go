package ncu

import (
	"bytes"
	"encoding/csv"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
)

// decode turns the first bytes of a file in UTF-16, which PowerShell writes, into UTF-8.
func decode(data []byte) string {
	text, _ := io.ReadAll(cells.UTF8(bytes.NewReader(data))) // memory does not fail
	return string(text)
}

var (
	// A header may be glued to a last line of the program's that had no end. One that is cut cannot be taken apart into
	// cells and is known by its beginning.
	start = regexp.MustCompile(`"ID" *, *"(Process ID|Kernel Name)"`)
	// A row begins with an ID, or with the empty one of the units. pandas writes IDs as 0.0, and puts a row number first.
	aRow     = regexp.MustCompile(`^\s*(?:"[0-9]*"|[0-9]*(?:\.0)?) *,`)
	numbered = regexp.MustCompile(`^\s*"?[0-9]+"? *,"?(?:[0-9]*(?:\.0)?)"? *,`)
	strayed  = regexp.MustCompile(`^\s*"[0-9]+" *,"[0-9]+",`)
	elided   = regexp.MustCompile(`^\s*(?:\[?\.{2,}\]?|\[?…\]?|\(\.\.\.\))\s*$`)
	// cutID is a row that is cut within its ID.
	cutID = regexp.MustCompile(`^\s*"[0-9]*"?$`)
)

// heading is where in a line the header of a table of launches begins, and what a row of the table looks like.
// There is none where the result is nil.
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
	if found := start.FindStringIndex(line); found != nil {
		return found[0], aRow
	}
	return 0, nil
}

// launches is what rows look like under this header, nil where it is not that of a table of launches.
func launches(header string) *regexp.Regexp {
	if !strings.Contains(header, "Kernel Name") { // as in most lines of a program, which are not taken apart
		return nil
	}
	r := csv.NewReader(strings.NewReader(header))
	r.TrimLeadingSpace = true
	cells, err := r.Read()
	if err != nil || !slices.Contains(cells, "Kernel Name") {
		return nil
	}
	metrics := slices.Contains(cells, "Metric Name") && slices.Contains(cells, "Metric Value") ||
		slices.Contains(cells, "Process ID") || slices.ContainsFunc(cells, func(c string) bool { return strings.Contains(c, "__") })
	switch {
	case !metrics:
		return nil
	case cells[0] == "ID":
		return aRow
	case len(cells) > 1 && cells[1] == "ID" && isNumbering(cells[0]):
		return numbered
	}
	return nil
}

// isNumbering reports whether a column holds the row numbers that pandas adds.
func isNumbering(column string) bool { return column == "" || strings.HasPrefix(column, "Unnamed: ") }

// notes are what ncu says of itself around the tables, and what else shows that they are not all.
type notes struct {
	name    string
	failure int // index into failures, their number for none
	line    int // where it says so
	nvtx    bool
	page    error // the refusal of another page
}

// failures are what ncu says where it measured nothing or not all, the one that explains most first: one failure
// draws others after it ("The application returned an error code").
var failures = []struct{ says, key string }{
	{"ERR_NVGPUCTRPERM", "no-permission"},
	{"lock file", "lock"},
	{"driver resource was unavailable", "counters-in-use"},
	{"Profiling is not supported on device", "unsupported-gpu"},
	{"Cannot lock GPU clock frequencies", "clocks"},
	{"driver is not compatible with Nsight Compute", "old-driver"},
	{"bad allocation", "out-of-memory"},
	{"No kernels were profiled", "no-kernel"},
	{"did not match any section", "unknown-section"},
	{"Failed to find metric", "unknown-metric"},
	{"Failed to profile", "failed-kernel"},
	{"The application returned an error code", "program-failed"},
	{"==PROF== Received signal", "interrupted"},
	{"==ERROR==", "ncu-error"},
}

// said tells ncu's lines from the program's, as far as that goes. A long line of ncu's is folded by some terminals.
var said = regexp.MustCompile(`==(?:PROF|WARNING|ERROR)==|ERR_NVGPUCTRPERM|driver resource was unavailable`)

// elsewhere are pages of ncu that hold no launch with its metrics, by how they look. Where that is certain no other
// program's file looks so.
var elsewhere = []struct {
	looks   *regexp.Regexp
	certain bool
	key     string // of Reasons
}{
	{regexp.MustCompile(`"?Kernel Name"?,.*(?:Invocations|Metric Name).*Minimum`), true, "summary-page"},
	{regexp.MustCompile(`^"(?:#|Address)","(?:Address|Source)"`), true, "source-page"},
	{regexp.MustCompile(`^"?(?:Launch|Session) Attribute"?,"?Value"?`), true, "session-page"},
	{regexp.MustCompile(`^ {4}Metric Name +Metric Unit +(?:Metric Value|Minimum)`), true, "text-page"},
	{regexp.MustCompile(`==(?:PROF|WARNING|ERROR)== .*"ID"+,"?Process ID"?,`), true, "no-line-ends"},
	{regexp.MustCompile(`^\s*"?ID"?([;\t|])"?Process ID"?[;\t|]`), true, "no-commas"},
	{regexp.MustCompile(`\b[a-z0-9]+__[\w.]+ \[[\w/%]+\]`), true, "window-export"},
	{regexp.MustCompile(`^(?:.*,)?"?Metric Name"?,"?Metric Unit"?,"?Metric Value"?(?:,|\s*$)`), true, "no-id"},
	{regexp.MustCompile(`^(?:.*,)?"?Metric Name"?,(?:.*,)?"?Metric Value"?(?:,|\s*$)`), false, "no-id"},
}

// see takes in one line. A program can print the same words, and then costs itself its verdict.
func (n *notes) see(line int, s string) {
	for _, e := range elsewhere {
		if n.page == nil && e.looks.MatchString(s) {
			n.page = refuse(e.key, n.name, line)
		}
	}
	if !said.MatchString(s) {
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
	case n.failure < len(failures) && failures[n.failure].key == "no-kernel" && n.nvtx:
		return refuse("no-range", n.name, n.line)
	case n.failure < len(failures):
		return refuse(failures[n.failure].key, n.name, n.line)
	case !table && n.page == nil:
		return Reasons.Refuse("no-table", n.name)
	case !table:
		return n.page
	}
	return nil
}
