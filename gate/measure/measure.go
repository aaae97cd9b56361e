// Package measure is the vocabulary of a policy: subjects, metrics and amounts, as package thresholds takes them.
package measure

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

type (
	// Subject is the object of a metric: its Scope, its Name, and the Grid and Block of a kernel.
	Subject = measure.Subject
	// Scope is the kind of a subject.
	Scope = measure.Scope
	// Dim3 is the extent of a grid or block in X, Y and Z; the zero value means "not a kernel".
	Dim3 = measure.Dim3
	// Metric is a Name with a Unit. Better says which way it improves, Exact that it has no noise.
	Metric = measure.Metric
	// Means is how a metric is measured.
	Means = measure.Means
	// Direction says which way a metric gets better: [Lower], [Higher] or [Neither].
	Direction = measure.Direction
	// Amount is a Value in a base Unit: "ns", "B", "B/s", "Hz", "%", or "" for counts.
	Amount = measure.Amount
	// Output is a number that a workload prints: its Name, and the Pattern of the line that holds it.
	Output = measure.Output
	// OutputKind says what such a number is a measure of: [OfSteps], [OfRun] or [OfOther].
	OutputKind = measure.OutputKind
	// PlaceError is an error in a File, at a Line.
	PlaceError = measure.PlaceError
)

// The scopes of rules in a policy.
const (
	ScopeKernel   = measure.ScopeKernel
	ScopeRange    = measure.ScopeRange
	ScopeDevice   = measure.ScopeDevice
	ScopeWorkload = measure.ScopeWorkload
	ScopeOutput   = measure.ScopeOutput
	ScopeSection  = measure.ScopeSection

	ScopeBenchmark = measure.ScopeBenchmark
	// ScopeCopy is the kind of the copies of a workload in rules, see [Subject.Kind].
	ScopeCopy = measure.ScopeCopy
)

// The directions of metrics: time has Lower, throughput Higher, and explaining metrics Neither.
const (
	Lower   = measure.Lower
	Neither = measure.Neither
	Higher  = measure.Higher
)

// Kinds of outputs: a time or rate of the steps or of the run, or no speed.
const (
	OfSteps = measure.OfSteps
	OfRun   = measure.OfRun
	OfOther = measure.OfOther
)

// The metrics that have limits of their own; [MetricByName] finds the others.
var (
	Time     = measure.Time     // of one launch of a kernel
	Total    = measure.Total    // of all launches of a kernel
	Launches = measure.Launches // of a kernel
	GPUTime  = measure.GPUTime  // of a range, a device or the whole workload
	CopyTime = measure.CopyTime // of one kind of copy
	StepTime = measure.StepTime // period of a step
	RunTime  = measure.RunTime  // of a run without steps
)

// The means by which some metrics are measured that runs lack by default, see [Metric.Means].
const (
	ByMemory   = measure.ByMemory
	BySampling = measure.BySampling
	ByWall     = measure.ByWall
)

// Attributes are the metrics of the launch itself, which every profiler of kernels tells.
var Attributes = measure.Attributes

// RunDir stands in the command of a workload for a directory of each run's own.
const RunDir = measure.RunDir

// The whole workload, and the sections of a run that have limits of their own.
var (
	Workload = measure.Workload
	Warmup   = measure.Warmup
	Steps    = measure.Steps
	Between  = measure.Between
)

// Metrics lists every metric that nsgate knows.
func Metrics() []Metric { return slices.Clone(measure.Metrics) }

// MetricsOf lists the metrics of a kind of subjects, see [Subject.Kind].
func MetricsOf(kind Scope) []Metric { return measure.MetricsOf(kind) }

// MetricByName finds a metric of [Metrics], or makes that of a raw name of Nsight Compute, see [Metric.Raw].
func MetricByName(name string) (Metric, bool) { return measure.MetricByName(name) }

// ParseAmount reads "1us", "64 KiB", "70%", "2.5 TB/s" or, for counts, "3" into the base unit.
func ParseAmount(s string) (Amount, error) { return measure.ParseAmount(s) }

// ParsePercent reads "1%" or "0.5 %" as a fraction. It refuses a bare number, negative values and those from 1000 % up.
func ParsePercent(s string) (float64, error) { return measure.ParsePercent(s) }

// Percent prints a fraction: "3 %", "0.5 %"; from a hundredfold on as a factor.
func Percent(v float64) string { return measure.Percent(v) }

// Nearest is the one of the known words that a misspelt word was meant for, "" where none is near.
func Nearest(word string, known []string) string { return measure.Nearest(word, known) }

// Nearby are the n known words that are nearest to a word, the nearest first.
func Nearby(word string, known []string, n int) []string { return measure.Nearby(word, known, n) }
