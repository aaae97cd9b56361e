// Package terms is the table of error terms: the standard deviation between sessions, by subject, metric and relation.
package terms

import (
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Relation is how far apart the runs of the two sides were measured, the nearest first.
type Relation int

const (
	Interleaved Relation = iota // runs of both sides alternate in one session
	BackToBack                  // one session, all runs of a side after the other's
	OtherTime                   // sessions of one GPU at different times
	SameBoard                   // hosts whose GPUs have one board part number
	OtherBoard                  // hosts of one GPU model, with other or unknown boards
	relations
)

// errorTerm is the standard deviation of a session about the mean of all sessions, relative: the GPU's part, and the
// CPU's part of a program that always waits for its CPU.
type errorTerm struct{ gpu, cpu float64 }

// Row is a row of the table of error terms.
type Row int

// SD is the standard deviation of a session, for a program whose step has this sensitivity to the speed of the host.
func (of Row) SD(between Relation, sensitivity float64) float64 {
	x := errorTerms[of][between]
	return math.Hypot(x.gpu, sensitivity*x.cpu)
}

const (
	KernelRow      = Row(measure.TermKernel)
	SumRow         = Row(measure.TermSum)
	stepRow        = Row(measure.TermStep)
	meanRow        = Row(measure.TermMean)
	stallRow       = Row(measure.TermStall)
	wallRow        = Row(measure.TermWall)
	copyRow        = Row(measure.TermCopy) // but for those of pageable memory
	outputRow      = Row(measure.TermOutput)
	utilisationRow = Row(measure.TermUtilisation)
	countRow       = Row(measure.TermCount)
	pageableRow    = countRow + 1
	memsetRow      = countRow + 2
	JobRow         = countRow + 3 // wall time of the sections of a job of several processes
	jobStepRow     = countRow + 4 // the steps of such a job
	jobMeanRow     = countRow + 5 // its mean step
	rows           = countRow + 6
)

// NeighbourSD is the standard deviation of a session in the time of a kernel of a job, as a part of what GPU time does
// not explain of a change of its step: 15 kernels of ten sessions of the job of jobStepRow had 0.055 to 0.12 of it for
// the difference of two sessions, and 0.36 at most.
const NeighbourSD = 0.07

// errorTerms are the deviations between sessions, per kind and relation. Values are measured on 14 H200 and 6 H100
// hosts unless they are marked assumed; no nearer relation has a larger one.
//
//   - KernelRow: 37 batches 0.01 to 0.03 %, 2.5 times that for GPUs that are less idle; another day assumed; hosts of
//     one board 0.03 to 0.12 %; of a model 0.5 %, which session_sd sets.
//   - SumRow: as kernels; between hosts also by the overhead of small kernels, 4 to 20 % of theirs.
//   - stepRow: 0.00 to 0.27 % in batches; GPU-bound steps 0.3 to 0.5 % between hosts, host code 13 %. Another
//     day assumed.
//   - meanRow adds stallRow, which was 1.00 to 1.02 in 53 PyTorch runs on H200 and up to 1.20 on H100 hosts.
//   - wallRow: start-up varies by tens of per cent between hosts. Batches and days assumed.
//   - JobRow: two sessions of torchrun on one host differed by 18 and 65 % after the steps, 11 % before them.
//   - jobStepRow, jobMeanRow: the steps of ten sessions of three runs of an unchanged torchrun job, two ranks on one
//     host whose cores changed their speed by a factor of two from second to second, differed by 11 %, from 2.09 to
//     2.92 ms.
//   - copies: up to 1.8 % in sessions of one GPU, 3 to 19 % between hosts, pageable ones most; memsets 4 and 10 %.
//   - output, utilisationRow: as the step; of an output the GPU's part is 0.5 % and 1 %.
//   - countRow: counts do not differ between hosts.
var errorTerms = [rows][relations]errorTerm{
	KernelRow:      {{}, {gpu: 0.0007}, {gpu: 0.001}, {gpu: 0.0015}, {gpu: 0.005}},
	SumRow:         {{}, {gpu: 0.0007}, {gpu: 0.001}, {gpu: 0.004}, {gpu: 0.005}},
	stepRow:        {{}, {0.0015, 0.01}, {0.003, 0.015}, {0.005, 0.13}, {0.005, 0.13}},
	meanRow:        {{}, {0.005, 0.015}, {0.006, 0.02}, {0.011, 0.24}, {0.011, 0.24}},
	stallRow:       {{}, {0.005, 0.01}, {0.005, 0.015}, {0.01, 0.2}, {0.01, 0.2}},
	wallRow:        {{}, {gpu: 0.03}, {gpu: 0.1}, {gpu: 0.25}, {gpu: 0.25}},
	copyRow:        {{}, {gpu: 0.012}, {gpu: 0.02}, {gpu: 0.06}, {gpu: 0.06}},
	pageableRow:    {{}, {gpu: 0.03}, {gpu: 0.05}, {gpu: 0.19}, {gpu: 0.19}},
	memsetRow:      {{}, {gpu: 0.04}, {gpu: 0.05}, {gpu: 0.1}, {gpu: 0.1}},
	outputRow:      {{}, {0.005, 0.01}, {0.005, 0.015}, {0.01, 0.13}, {0.01, 0.13}},
	utilisationRow: {{}, {0.0015, 0.01}, {0.003, 0.015}, {0.005, 0.13}, {0.005, 0.13}},
	JobRow:         {{}, {gpu: 0.25}, {gpu: 0.25}, {gpu: 0.25}, {gpu: 0.25}},
	jobStepRow:     {{}, {0.0015, 0.13}, {0.003, 0.13}, {0.005, 0.13}, {0.005, 0.13}},
	jobMeanRow:     {{}, {0.005, 0.13}, {0.006, 0.13}, {0.011, 0.24}, {0.011, 0.24}},
	countRow:       {},
}

// OfJob is the row of the same metric in a job of several processes, each of which may make the others wait.
func (of Row) OfJob() Row {
	switch of {
	case stepRow:
		return jobStepRow
	case meanRow:
		return jobMeanRow
	}
	return of
}

// Of is the row of a metric of a subject: that of the metric's own row. note says what memory a copy reads or writes.
func Of(s measure.Subject, m measure.Metric, note string) Row {
	switch of := Row(m.Term()); {
	case of == copyRow && strings.Contains(note, "pageable"): // "pageable to device"
		return pageableRow
	case of == copyRow && s.Name == "memset":
		return memsetRow
	default:
		return of
	}
}

const (
	// replayErrorMost is the largest error of a replay with a usable sensitivity: 0.34 % was the worst of 78 runs.
	replayErrorMost = 0.005
	// waitsFrom is the least part of a step in waits for the CPU that makes the step depend on the host's CPU.
	waitsFrom = 0.1
	// hostBoundFrom is the sensitivity from which the CPU makes more of a step than the GPU.
	hostBoundFrom = 0.5
)

// HostPart is the part of a change of the host's speed that a step shows, 0 to 1.
func HostPart(base, head *recorded.Index) float64 {
	if s := sensitivity(base, head); !math.IsNaN(s) {
		return s
	}
	return waiting(base, head)
}

// HostBound reports whether a step is known to wait for the CPU more than for the GPU, on either side.
func HostBound(base, head *recorded.Index) bool {
	if s := sensitivity(base, head); !math.IsNaN(s) {
		return s > hostBoundFrom
	}
	attributed := func(side *recorded.Index) bool {
		return slices.ContainsFunc(side.Subjects(), func(s measure.Subject) bool {
			return side.HasMetric(s, measure.Owned.Name)
		})
	}
	return attributed(base) && attributed(head) && waiting(base, head) == 1
}

// sensitivity is how much a step depends on the host's speed, the more of the two sides: d ln period / d ln host
// time, measured under the profiler, which slows the host. It is NaN where a side was not replayed, or not exactly.
func sensitivity(base, head *recorded.Index) float64 {
	if NotReplayed(base, head) != nil {
		return math.NaN()
	}
	most := 0.0
	for _, side := range []*recorded.Index{base, head} {
		most = math.Max(most, side.Typical(measure.Workload, measure.Sensitivity.Name))
	}
	return math.Min(most, 1)
}

// NotReplayed says why any program's spread between hosts is expected: a side was not replayed exactly; else nil.
func NotReplayed(base, head *recorded.Index) []result.Remark {
	for i, side := range []*recorded.Index{base, head} {
		if by := side.Typical(measure.Workload, measure.ReplayError.Name); !(by <= replayErrorMost) {
			return []result.Remark{result.Say(reason.NotReplayed{Side: recorded.SideNames[i],
				Error: result.Number(by)})}
		}
	}
	return nil
}

// waiting bounds how much of a change of the host's speed a step shows, from 0 to 1: 0 where the GPU never
// waits for the CPU, all of it from a tenth of the step on, and where no recording says.
func waiting(base, head *recorded.Index) float64 {
	most := 0.0
	for _, side := range []*recorded.Index{base, head} {
		idle, known := 0.0, false
		for _, s := range side.Subjects() {
			if !side.HasMetric(s, measure.Owned.Name) {
				continue
			}
			known = true
			if class, _ := s.Idle(); class == attribution.Starved.String() || class == attribution.Blocking.String() ||
				class == attribution.Unknown.String() {
				idle += stats.Average(side.Values(s, measure.Owned.Name))
			}
		}
		step := side.Typical(measure.Workload, measure.StepTime.Name)
		if !known || !(step > 0) || math.IsNaN(idle) {
			return 1
		}
		most = math.Max(most, math.Min(1, idle/step/waitsFrom))
	}
	return most
}
