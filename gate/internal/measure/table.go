package measure

import (
	"slices"
	"strings"
)

// subjects is a set of kinds of subjects, see [Subject.Kind].
type subjects uint16

const (
	kernels subjects = 1 << iota
	ranges
	devices
	workload
	copies
	outputs
	benchmarks
	sections
	idle
	calls
)

// ScopeCopy is the kind of the copies of a workload: in recordings their scope is [ScopeWorkload].
const ScopeCopy Scope = "copy"

// kinds are the kinds of subjects in the order of the manual.
var kinds = []struct {
	is   subjects
	kind Scope
}{{kernels, ScopeKernel}, {ranges, ScopeRange}, {devices, ScopeDevice}, {workload, ScopeWorkload}, {copies, ScopeCopy},
	{outputs, ScopeOutput}, {benchmarks, ScopeBenchmark}, {sections, ScopeSection}, {idle, ScopeIdle},
	{calls, ScopeCall}}

// Kind is the scope of a subject in rules: [ScopeCopy] for a kind of copies.
func (s Subject) Kind() Scope {
	return Either(s.Scope == ScopeWorkload && s.Name != "", ScopeCopy, s.Scope)
}

// Means is how a metric is measured.
type Means uint8

const (
	ByTimeline Means = iota // by every profiled run
	ByMemory                // with memory tracing
	BySampling              // with samples of the whole GPU
	ByCounters              // of single launches
	ByCode                  // not: it is read from device code
	ByWall                  // by unprofiled runs
	ByOutput                // by a program that prints it
	ByResults               // by a harness that writes it
)

// means are the means of measurement in words, and how to measure what needs them.
var means = [...]struct{ name, how string }{
	ByTimeline: {"always", "record a workload that has it, or remove the rule; nsgate show lists what was measured"},
	ByMemory:   {"memory tracing", "measure both sides with memory tracing"},
	BySampling: {"GPU metrics", "measure both sides with samples of the GPU's metrics"},
	ByCounters: {"counters", "judge it by a check of counters"},
	ByCode:     {"device code", "name the files with device code: code in [[workload]]"},
	ByWall:     {"unprofiled runs", "measure both sides with unprofiled runs"},
	ByOutput:   {"output", "name the output in [[workload.output]], and measure both sides"},
	ByResults:  {"results file", "name a metric that the rows have (nsgate show FILE), or files that hold it"},
}

// String is the name of the means in the manual: "memory tracing".
func (b Means) String() string { return means[b].name }

// Term is the row of a metric in the table of error terms, package terms.
type Term uint8

const (
	TermKernel      Term = iota + 1 // times of kernels
	TermSum                         // GPU time of ranges, devices, sections and the workload
	TermStep                        // the step
	TermMean                        // the mean step
	TermStall                       // mean over typical step
	TermWall                        // wall time outside of steps
	TermCopy                        // copies, by the kind of their memory
	TermOutput                      // numbers of unprofiled runs
	TermUtilisation                 // samples of the GPU
	TermCount                       // counts, which do not differ between hosts
)

// Means is how the metric is measured.
func (m Metric) Means() Means { return m.row().by }

// Term is the row of the metric's error term, 0 for a metric without a row.
func (m Metric) Term() Term { return m.row().term }

// Meaning is a sentence about the metric, "" for a metric without a row.
func (m Metric) Meaning() string { return m.row().meaning }

// Of reports whether subjects of a kind have the metric.
func (m Metric) Of(kind Scope) bool { return slices.Contains(m.Kinds(), kind) }

// Kinds lists the kinds of subjects that have the metric.
func (m Metric) Kinds() (out []Scope) {
	of := m.row().of
	for _, k := range kinds {
		if of&k.is != 0 {
			out = append(out, k.kind)
		}
	}
	return out
}

// MetricsOf lists the metrics of a kind of subjects; [RawPrefix] adds others to those of kernels.
func MetricsOf(kind Scope) []Metric {
	return slices.DeleteFunc(slices.Clone(Metrics), func(m Metric) bool { return !m.Of(kind) })
}

// Main lists the metrics that can stand for a subject of a kind as a whole, the first that it has.
func Main(kind Scope) []Metric {
	return slices.DeleteFunc(MetricsOf(kind), func(m Metric) bool { return m.row().is&main == 0 })
}

// Drifts reports whether changes of the metric are added up since the anchor of a baseline.
func (m Metric) Drifts(kind Scope) bool {
	return m.row().is&drifts != 0 && m.Of(kind) && (kind == ScopeKernel || kind == ScopeWorkload)
}

// Is reports whether a word is the name of the metric, or its title in reports.
func (m Metric) Is(word string) bool { return word == m.Name || strings.EqualFold(word, m.Title()) }

// HowTo is how to measure the metric.
func (m Metric) HowTo() string { return m.Means().HowTo() }

// HowTo is how to measure by these means.
func (b Means) HowTo() string { return means[b].how }

func measuredBy(by Means, unit string) []Metric {
	return slices.DeleteFunc(slices.Clone(Metrics), func(m Metric) bool {
		return m.row().by != by || unit != "" && m.Unit != unit
	})
}
