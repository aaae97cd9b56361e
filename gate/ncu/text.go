package ncu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/nsgate/nsgate/gate/measure"
)

// table is one CSV table of the output.
type table struct {
	file string
	line int // of its header, from 1
	text string
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
	// The header may be glued to a last line of the program's that had no end. Other tools write it without quotes.
	header = regexp.MustCompile(`"ID","Process ID",.*|^ID,Process ID,.*`)
	// A row of a table begins with an ID, or with the empty one of the units.
	row     = regexp.MustCompile(`^"[0-9]*",|^[0-9]*,`)
	strayed = regexp.MustCompile(`^"[0-9]+","[0-9]+",`)
	summary = regexp.MustCompile(`^"?(ID|Process ID)"?,.*"Invocations"`)
)

// split finds the tables, and refuses output that reports a failure instead.
func split(name, text string) ([]table, error) {
	var tables []table
	var notes failure
	var current *strings.Builder
	line, open := 0, false // open: inside a quoted cell that spans lines
	for l := range strings.Lines(text) {
		line++
		bare := strings.TrimRight(l, "\r\n")
		if current != nil && (open || row.MatchString(bare)) {
			current.WriteString(l)
			open = open != (strings.Count(bare, `"`)%2 == 1)
			continue
		}
		if current != nil {
			tables[len(tables)-1].text, current = current.String(), nil
		}
		switch at := header.FindStringIndex(bare); {
		case summary.MatchString(bare):
			return nil, refuse(name, line, "a summary (--print-summary) does not hold the single launches", again)
		case at != nil:
			tables = append(tables, table{file: name, line: line})
			current = &strings.Builder{}
			current.WriteString(l[at[0]:])
		case strayed.MatchString(bare):
			return nil, refuse(name, line, "a row of a table outside of any table: the output is cut or mixed with the program's", again)
		default:
			notes.see(line, bare)
		}
	}
	if current != nil {
		tables[len(tables)-1].text = current.String()
	}
	if err := notes.refusal(name, len(tables) > 0); err != nil {
		return nil, err
	}
	return tables, nil
}

// failure is what ncu says of itself around the tables, each the line where it says so.
type failure struct{ permission, none, nvtx, metric, program, other int }

// see takes in one line. A program can print the same words, and then costs itself its verdict.
func (f *failure) see(line int, s string) {
	has := func(part string) bool { return strings.Contains(s, part) }
	switch ours := has("==ERROR==") || has("==WARNING=="); {
	case has("ERR_NVGPUCTRPERM"):
		f.permission = line
	case ours && has("No kernels were profiled"):
		f.none = line
	case ours && has("NVTX include expressions match only"):
		f.nvtx = line
	case has("==ERROR==") && has("Failed to find metric"):
		f.metric = line
	case has("==ERROR==") && has("The application returned an error code"):
		f.program = line
	case has("==ERROR==") && f.other == 0:
		f.other = line
	}
}

func (f *failure) refusal(name string, table bool) error {
	switch {
	case f.permission > 0:
		return refuse(name, f.permission, "ncu may not read the GPU's performance counters (ERR_NVGPUCTRPERM)",
			"run it as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0; nsys needs neither")
	case f.none > 0 && f.nvtx > 0:
		return refuse(name, f.none, "ncu profiled no kernel, because no NVTX range matched",
			"write a push/pop range with a slash, as in --nvtx-include 'step/', and register its domain if it has one")
	case f.none > 0:
		return refuse(name, f.none, "ncu profiled no kernel",
			"compare the kernel filter (-k, --launch-skip, --launch-count) with the kernels that the workload launches")
	case f.metric > 0:
		return refuse(name, f.metric, "ncu does not know a metric that it was asked for",
			"see which ones this GPU has: ncu --query-metrics")
	case f.program > 0:
		return refuse(name, f.program, "the program failed under ncu", "run it alone first")
	case f.other > 0:
		return refuse(name, f.other, "ncu reports an error", "read what it says there")
	case !table:
		return measure.Refuse(fmt.Sprintf("%s holds no table of ncu", name), again)
	}
	return nil
}
