package bench

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// axes match what follows the name of a benchmark of nvbench in its row, see [readNVBench].
var axes = input.Pattern(` ([^ =]+=.*|GPU [0-9]+$)`)

// longestFilter bounds the names in arguments in bytes: Linux takes arguments of up to 128 KiB.
const longestFilter = 64 << 10

// axis matches an axis of nvbench in a row that its option -a selects: one whose name may have had a space, or whose
// value looks like a list, is left out, and more rows are executed.
var axis = input.Pattern(` ([^ =_]+=[\w.+^-]+)`)

// Filter puts the names of the benchmarks of rows in place of {} in arguments that select them: without the parameters
// of asv. Harnesses that take a regular expression get one that matches every name, with characters quoted; others get
// the arguments once for each name. ["-b", "{}"] of nvbench gets the axes of each row too (docs/cli_help.md, --axis).
func Filter(arguments []string, harness string, rows ...string) ([]string, error) {
	if len(arguments) == 0 {
		return nil, nil
	}
	var names []string
	size, expression := 0, false
	nvbench := harness == "nvbench" && slices.Contains([]string{"-b {}", "--benchmark {}"},
		strings.Join(arguments, " "))
	for _, row := range rows {
		name := row
		switch harness {
		case "nvbench":
			name = axes().ReplaceAllLiteralString(row, "")
		case "asv":
			name, _, _ = strings.Cut(row, "(")
			name, expression = regexp.QuoteMeta(name), true
		case "google-benchmark", "criterion":
			name, expression = regexp.QuoteMeta(row), true
		}
		size += len(name)
		if strings.HasPrefix(name, "-") || strings.ContainsFunc(name, unicode.IsControl) {
			return nil, model.Refuse(model.BadValue, "rename the benchmark, or leave filter out",
				"the name %s is no argument of a command", measure.Quote(name))
		} else if size > longestFilter {
			return nil, model.Refuse(model.TooLarge, "leave filter out", "the names of %s are too long for a command",
				measure.Count(len(rows), "row"))
		}
		if nvbench {
			for _, a := range axis().FindAllStringSubmatch(row[len(name):], -1) {
				name += "\x00-a\x00" + a[1]
			}
			size += len(name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if expression && len(names) > 1 {
		names = []string{"(" + strings.Join(names, "|") + ")"}
	}
	var out []string
	for _, name := range names {
		name, axes, some := strings.Cut(name, "\x00")
		for _, a := range arguments {
			out = append(out, strings.ReplaceAll(a, "{}", name))
		}
		if some {
			out = append(out, strings.Split(axes, "\x00")...)
		}
	}
	return out, nil
}
