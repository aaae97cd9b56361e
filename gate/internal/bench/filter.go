package bench

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// axes match what follows the name of a benchmark of nvbench in its row, see [readNVBench].
var axes = regexp.MustCompile(` ([^ =]+=.*|GPU [0-9]+$)`)

// Filter puts the name of the benchmark of a row in place of {} in arguments that select it: without the axes of
// nvbench and the parameters of asv. Characters of regular expressions are quoted for the harnesses that take one.
func Filter(arguments []string, harness, row string) ([]string, error) {
	if len(arguments) == 0 {
		return nil, nil
	}
	name := row
	switch harness {
	case "nvbench":
		name = axes.ReplaceAllLiteralString(row, "")
	case "asv":
		name, _, _ = strings.Cut(row, "(")
		name = regexp.QuoteMeta(name)
	case "google-benchmark", "criterion":
		name = regexp.QuoteMeta(row)
	}
	if strings.HasPrefix(name, "-") || strings.ContainsFunc(name, unicode.IsControl) {
		return nil, model.Refuse(model.BadValue, "rename the benchmark, or leave filter out",
			"the name %s is no argument of a command", measure.Quote(name))
	}
	out := slices.Clone(arguments)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "{}", name)
	}
	return out, nil
}
