package thresholds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// errorAt is an error at a line of the file, whose name [Parse] adds; line 0 is no place.
func errorAt(line int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if line == 0 {
		return err
	}
	return &measure.PlaceError{Line: line, Err: err}
}

// serverTable is the one table that a workload may have once.
const serverTable = "workload.server"

// tableNames are the tables that a file may have, any number of each but of the server.
var tableNames = []string{"ratio", "rule", "workload", "workload.output", "workload.results", serverTable}

// heading is how a file begins a table: "[[rule]]", or "[workload.server]", of which a workload has one.
func heading(table string) string {
	if table == serverTable {
		return "[" + table + "]"
	}
	return "[[" + table + "]]"
}

func unknown(line int, name string, known []string, what string) error {
	for _, table := range tableNames {
		if name == table || what == "key" && "workload."+name == table {
			return errorAt(line, "%s must be written as a table %s", name, heading(table))
		}
	}
	near, longest := suggestion(name, known), 80
	if !slices.Contains(known, "command") && slices.ContainsFunc(workloadKeys,
		func(k key[Workload]) bool { return k.name == name }) {
		near = "; it is a key of [[workload]]"
	}
	if r := []rune(name); len(r) > longest {
		name = string(r[:longest]) + "…"
	}
	return errorAt(line, "unknown %s %q%s", what, name, near)
}

// suggestion names the nearest of the known words; where none is near all of them, or the three nearest of many.
func suggestion(name string, known []string) string {
	const many = 30
	if near := measure.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) > many {
		return "; the nearest are " + strings.Join(measure.Nearby(name, known, 3), ", ") +
			" (nsgate help policy lists all)"
	}
	return "; known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}
