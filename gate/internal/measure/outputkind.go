package measure

import (
	"slices"
	"strings"
	"unicode"
)

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
