package app

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// axes match what follows the name of a benchmark of nvbench in its row; axis is one that its option -a selects: one
// whose name may have had a space, or whose value looks like a list, is left out, and more rows are executed.
var (
	axes = input.Pattern(` (?:[^ =]+=.*|GPU [0-9]+$)`)
	axis = input.Pattern(` ([^ =_]+=[\w.+^-]+)`)
)

// longestFilter bounds the names in arguments in bytes: Linux takes arguments of up to 128 KiB.
const longestFilter = 64 << 10

// filterOf puts the names of the benchmarks of rows in place of {} in arguments that select them: without the
// parameters of asv. Harnesses that take a regular expression get one that matches every name, with characters quoted;
// others get the arguments once for each name. ["-b", "{}"] of nvbench gets the axes of each row too
// (docs/cli_help.md, --axis).
func filterOf(arguments []string, harness string, rows ...string) (out []string, err error) {
	if len(arguments) == 0 {
		return nil, nil
	}
	var names []string
	size, expression := 0, slices.Contains([]string{"asv", "criterion", "google-benchmark"}, harness)
	nvbench := harness == "nvbench"
	withAxes := nvbench && slices.Contains([]string{"-b {}", "--benchmark {}"}, strings.Join(arguments, " "))
	for _, row := range rows {
		name, rest := row, ""
		if at := axes().FindStringIndex(row); nvbench && at != nil {
			name, rest = row[:at[0]], row[at[0]:]
		} else if harness == "asv" {
			name, _, _ = strings.Cut(row, "(")
		}
		if expression {
			name = regexp.QuoteMeta(name)
		}
		size += len(name)
		if strings.HasPrefix(name, "-") || strings.ContainsFunc(row, unicode.IsControl) {
			return nil, model.Refuse(model.BadValue, "rename the benchmark, or leave filter out",
				"the name %s is no argument of a command", measure.Quote(name))
		} else if size > longestFilter {
			return nil, model.Refuse(model.TooLarge, "leave filter out", "the names of %s are too long for a command",
				measure.Count(len(rows), "row"))
		}
		for _, a := range axis().FindAllStringSubmatch(rest, -1) {
			if withAxes {
				name += "\x00-a\x00" + a[1]
				size += len(a[1])
			}
		}
		names = measure.Once(names, name)
	}
	if expression && len(names) > 1 {
		names = []string{"(" + strings.Join(names, "|") + ")"}
	}
	for _, name := range names {
		words := strings.Split(name, "\x00")
		for _, a := range arguments {
			out = append(out, strings.ReplaceAll(a, "{}", words[0]))
		}
		out = append(out, words[1:]...)
	}
	return out, nil
}
