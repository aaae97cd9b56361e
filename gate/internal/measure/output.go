package measure

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
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
	return Either(o.Better == Lower, Cost, Rate)
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

// OutputKind says what a number that the program prints is a measure of.
type OutputKind string

const (
	OfSteps OutputKind = "steps" // time or rate of the steps: it contains them
	OfRun   OutputKind = "run"   // time or rate of the whole run: start, steps and end
	OfOther OutputKind = "other" // no speed: a loss, a size, a score
)

// Words of names of outputs. A rate or a time is one of the steps unless a word of the run stands beside it.
var (
	rateWords = strings.Fields("throughput bandwidth fps hz khz mhz ghz flops gflops tflops mfu speed qps rps tps")
	timeWords = strings.Fields("time latency duration elapsed runtime walltime wall ttft tpot itl ns us µs μs ms s " +
		"sec secs second seconds min mins minute minutes h hour hours")
	runWords = strings.Fields("total run runtime elapsed wall walltime whole overall e2e end job train training")
	perWords = strings.Fields("s sec secs second seconds min minute h hour")
	loopWord = strings.Fields("step steps it iter iteration batch epoch token frame sample kernel launch")
)

// KindOfOutput is the kind of an output by its name, which ends in its unit: "tokens/s", "ms/step", "training time
// (s)". A speed has the direction of one: a rate gets better upwards, a time downwards.
func KindOfOutput(name string, better Direction) OutputKind {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '/'
	})
	all, rate := []string{}, false
	for i, w := range words {
		parts := strings.Split(w, "/")
		rate = rate || len(parts) > 1 && slices.Contains(perWords, parts[len(parts)-1]) ||
			w == "per" && i+1 < len(words) && slices.Contains(perWords, words[i+1])
		all = append(all, parts...)
	}
	has := func(of []string) bool {
		return slices.ContainsFunc(all, func(w string) bool { return slices.Contains(of, w) })
	}
	rate = rate || has(rateWords)
	switch {
	case rate != (better == Higher), !rate && !has(timeWords):
		return OfOther
	case !rate && has(runWords) && !has(loopWord):
		return OfRun
	}
	return OfSteps
}
