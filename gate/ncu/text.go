package ncu

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/nsgate/nsgate/gate/measure"
)

// table is one CSV table of the output.
type table struct {
	file string
	line int // of its header, from 1
	text string
	last bool // the output ends with it
}

// decode takes off a byte order mark, and turns UTF-16 (which PowerShell writes) into UTF-8.
func decode(data []byte) (string, error) {
	if text, ok := bytes.CutPrefix(data, []byte("\uFEFF")); ok {
		return string(text), nil
	}
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return string(data), nil
	}
	if len(data)%2 != 0 {
		return "", errors.New("UTF-16 text that ends in the middle of a character")
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units)), nil
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
	if !strings.Contains(line, "Kernel Name") { // as in most lines of a program, which are not taken apart
		if found := start.FindStringIndex(line); found != nil {
			return found[0], aRow
		}
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
	cells, err := cells(header)
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

func cells(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.TrimLeadingSpace = true
	return r.Read()
}

// split finds the tables, and refuses output that reports a failure instead.
func split(name, text string) ([]table, error) {
	var tables []table
	notes := notes{name: name}
	var current *strings.Builder
	var belongs *regexp.Regexp
	line, open := 0, false // open: inside a quoted cell that spans lines
	inside := false        // the last line of a table has a quote that does not end
	for l := range strings.Lines(text) {
		line++
		bare := strings.TrimRight(l, "\r\n")
		if current != nil {
			blank := strings.TrimSpace(bare) == ""
			if open || blank || belongs.MatchString(bare) {
				if open = open != (strings.Count(bare, `"`)%2 == 1); !blank {
					inside = open
				}
				if !open { // a cell that ends here must not be followed by blanks
					bare = strings.TrimRight(bare, " \t")
				}
				current.WriteString(bare + "\n")
				continue
			}
			if elided.MatchString(bare) {
				return nil, refuse(name, line, fmt.Sprintf("rows are left out here (%s)", quote(strings.TrimSpace(bare))), again)
			}
			if cutID.MatchString(bare) || !strings.HasSuffix(l, "\n") && digits(bare) {
				return nil, refuse(name, line, "the row is cut", again)
			}
			tables[len(tables)-1].text, current = current.String(), nil
		}
		if at, r := heading(bare); r != nil {
			tables = append(tables, table{file: name, line: line})
			current, belongs = &strings.Builder{}, r
			inside = strings.Count(bare[at:], `"`)%2 == 1
			current.WriteString(strings.TrimRight(bare[at:], " \t") + "\n")
			continue
		}
		if strayed.MatchString(bare) {
			return nil, refuse(name, line, "a row of a table outside of any table: the output is cut or mixed with the program's", again)
		}
		notes.see(line, bare)
	}
	if current != nil {
		last := &tables[len(tables)-1]
		last.text, last.last = current.String(), true
	}
	if err := notes.refusal(len(tables) > 0); err != nil {
		return nil, err
	}
	if current != nil && inside {
		return nil, refuse(name, line, "the output ends in the middle of a cell: it is cut", again)
	}
	return tables, nil
}

// notes are what ncu says of itself around the tables, and what else shows that they are not all.
type notes struct {
	name   string
	failed int // index into failures, from 1
	line   int // where it says so
	nvtx   bool
	other  int    // the line of another page, 0 for none
	page   string // and which
}

// failures are what ncu says where it measured nothing or not all, the one that explains most first: one failure
// draws others after it ("The application returned an error code").
var failures = []struct{ says, reason, next string }{
	{"ERR_NVGPUCTRPERM", "ncu may not read the GPU's performance counters (ERR_NVGPUCTRPERM)",
		"run it as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0; nsys needs neither"},
	{"lock file", "ncu could not take its lock in the temporary directory", "set TMPDIR to a directory of your own"},
	{"driver resource was unavailable", "another tool is using the GPU's performance counters",
		"stop it (DCGM: dcgmi profile --pause) and profile again"},
	{"Profiling is not supported on device", "this ncu cannot profile the GPU", "update ncu to a version that lists the chip: ncu --list-chips"},
	{"Cannot lock GPU clock frequencies", "ncu could not lock the GPU's clocks", "profile with --clock-control none"},
	{"driver is not compatible with Nsight Compute", "the GPU driver is older than ncu", "update the driver, or use the ncu of its CUDA release"},
	{"bad allocation", "ncu ran out of memory", "profile fewer launches, or with --replay-mode application"},
	{"No kernels were profiled", "ncu profiled no kernel",
		"compare the kernel filter (-k, --launch-skip, --launch-count) with the kernels that the workload launches"},
	{"did not match any section", "ncu has no section of the name that it was asked for", "see which ones there are: ncu --list-sections"},
	{"Failed to find metric", "ncu does not know a metric that it was asked for", "see which ones this GPU has: ncu --query-metrics"},
	{"Failed to profile", "ncu failed to profile a kernel", "read the lines before it"},
	{"The application returned an error code", "the program failed under ncu", "run it alone first"},
	{"==PROF== Received signal", "ncu was interrupted", "profile again, for longer or fewer launches"},
	{"==ERROR==", "ncu reports an error", "read what it says there"},
}

// said tells ncu's lines from the program's, as far as that goes. A long line of ncu's is folded by some terminals.
var said = regexp.MustCompile(`==(?:PROF|WARNING|ERROR)==|ERR_NVGPUCTRPERM|driver resource was unavailable`)

const lacksID = "the table lacks the column ID or Kernel Name in its place: ncu writes them first"

// elsewhere are pages of ncu that hold no launch with its metrics, by how they look. Where that is certain no other
// program's file looks so.
var elsewhere = []struct {
	looks   *regexp.Regexp
	certain bool
	page    string
}{
	{regexp.MustCompile(`"?Kernel Name"?,.*(?:Invocations|Metric Name).*Minimum`), true,
		"a summary (--print-summary) does not hold the single launches"},
	{regexp.MustCompile(`^"(?:#|Address)","(?:Address|Source)"`), true, "the source page holds instructions, not launches"},
	{regexp.MustCompile(`^"?(?:Launch|Session) Attribute"?,"?Value"?`), true, "the session page holds no launch"},
	{regexp.MustCompile(`^ {4}Metric Name +Metric Unit +(?:Metric Value|Minimum)`), true, "the page is text: ncu writes a table with --csv"},
	{regexp.MustCompile(`==(?:PROF|WARNING|ERROR)== .*"ID"+,"?Process ID"?,`), true,
		"the line ends of the output are lost: every row needs its line"},
	{regexp.MustCompile(`^\s*"?ID"?([;\t|])"?Process ID"?[;\t|]`), true,
		"the cells are not separated by commas, as ncu does: a spreadsheet wrote the file"},
	{regexp.MustCompile(`\b[a-z0-9]+__[\w.]+ \[[\w/%]+\]`), true,
		"the window of Nsight Compute exported the table, with the units in the names"},
	{regexp.MustCompile(`^(?:.*,)?"?Metric Name"?,"?Metric Unit"?,"?Metric Value"?(?:,|\s*$)`), true, lacksID},
	{regexp.MustCompile(`^(?:.*,)?"?Metric Name"?,(?:.*,)?"?Metric Value"?(?:,|\s*$)`), false, lacksID},
}

// see takes in one line. A program can print the same words, and then costs itself its verdict.
func (n *notes) see(line int, s string) {
	if n.other == 0 {
		for _, e := range elsewhere {
			if e.looks.MatchString(s) {
				n.other, n.page = line, e.page
				break
			}
		}
	}
	if !said.MatchString(s) {
		return
	}
	n.nvtx = n.nvtx || strings.Contains(s, "NVTX include expressions match only")
	for i, f := range failures {
		if strings.Contains(s, f.says) && (n.failed == 0 || i+1 < n.failed) {
			n.failed, n.line = i+1, line
		}
	}
}

func (n *notes) refusal(table bool) error {
	if n.failed > 0 {
		f := failures[n.failed-1]
		if f.says == "No kernels were profiled" && n.nvtx {
			return refuse(n.name, n.line, f.reason+", because no NVTX range matched",
				"write a push/pop range with a slash, as in --nvtx-include 'step/', and register its domain if it has one")
		}
		return refuse(n.name, n.line, f.reason, f.next)
	}
	switch {
	case table:
		return nil
	case n.other > 0:
		return refuse(n.name, n.other, n.page, again)
	}
	return measure.Refuse(fmt.Sprintf("%s holds no table of ncu", n.name), again)
}
