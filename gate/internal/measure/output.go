package measure

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// RunDir stands in the command of a workload, and in patterns of its results, for a directory of each run's own.
const RunDir = "$NSGATE_RUN_DIR"

// Output is a number that a workload prints about itself, such as its throughput. It is read in unprofiled runs only.
type Output struct {
	Name string // with its unit: "tokens/s"
	// Pattern is a regular expression with one group, around the number. It has to match one line of the output, once.
	Pattern string
	Better  Direction // Higher or Lower
	// Measures says what the number is a measure of, "" for what its name says.
	Measures OutputKind
}

// Kind is what the number is a measure of.
func (o Output) Kind() OutputKind { return cmp.Or(o.Measures, KindOfOutput(o.Name, o.Better)) }

// Subject is the subject of the output in a session.
func (o Output) Subject() Subject { return Subject{Scope: ScopeOutput, Name: o.Name} }

// Metric is [Rate] or [Cost].
func (o Output) Metric() Metric {
	if o.Better == Lower {
		return Cost
	}
	return Rate
}

// Compile reads the pattern.
func (o Output) Compile() (*regexp.Regexp, error) {
	re, err := regexp.Compile(o.Pattern)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a regular expression: %s", o.Pattern,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	case re.NumSubexp() == 0:
		return nil, fmt.Errorf("%q has no group; put parentheses around the number, as in 'throughput: ([0-9.]+)'",
			o.Pattern)
	case re.NumSubexp() > 1:
		return nil, fmt.Errorf("%q has %d groups; keep the one around the number and write (?:…) for the others",
			o.Pattern, re.NumSubexp())
	}
	return re, nil
}
