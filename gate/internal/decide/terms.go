package decide

import (
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/attribution"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// relation is how far apart the runs of the two sides were measured, the nearest first.
type relation int

const (
	interleaved relation = iota // runs of both sides alternate in one session
	backToBack                  // one session, all runs of a side after the other's
	otherTime                   // sessions of one GPU at different times
	sameBoard                   // hosts whose GPUs have one board part number
	otherBoard                  // hosts of one GPU model, with other or unknown boards
	relations
)

// errorTerm is the standard deviation of a session about the mean of all sessions, relative: the GPU's part, and the
// CPU's part of a program that always waits for its CPU.
type errorTerm struct{ gpu, cpu float64 }

// sd is the standard deviation for a program whose step has this sensitivity to the speed of the host, 0 to 1.
func (x errorTerm) sd(sensitivity float64) float64 { return math.Hypot(x.gpu, sensitivity*x.cpu) }

// row is a row of the table of error terms.
type row int

const (
	kernelRow row = iota // times of kernels
	sumRow               // GPU time of ranges, devices, sections and the workload
	stepRow
	meanRow
	stallRow
	wallRow
	copyRow // but for those of pageable memory
	pageableRow
	memsetRow
	outputRow
	utilisationRow
	countRow
	rows
)

// errorTerms are the deviations between sessions, per kind and relation. Values are measured on 14 H200 and 6 H100
// hosts unless they are marked assumed; no nearer relation has a larger one.
//
//   - kernelRow: 37 batches 0.01 to 0.03 %, 2.5 times that for GPUs that are less idle; another day assumed; hosts of one board 0.03 to
//     0.12 %; of a model 0.5 %, which session_sd sets.
//   - sumRow: as kernels; between hosts also by the overhead of small kernels, 4 to 20 % of theirs.
//   - stepRow: 0.00 to 0.27 % in batches; GPU-bound steps 0.3 to 0.5 % between hosts, host code 13 %. Another day assumed.
//   - meanRow adds stallRow, which was 1.00 to 1.02 in 53 PyTorch runs on H200 and up to 1.20 on H100 hosts.
//   - wallRow: start-up varies by tens of per cent between hosts. Batches and days assumed.
//   - copies: up to 1.8 % in sessions of one GPU, 3 to 19 % between hosts, pageable ones most; memsets 4 and 10 %.
//   - output, utilisationRow: as the step; of an output the GPU's part is 0.5 % and 1 %.
//   - countRow: counts do not differ between hosts.
var errorTerms = [rows][relations]errorTerm{
	kernelRow:      {{}, {gpu: 0.0007}, {gpu: 0.001}, {gpu: 0.0015}, {gpu: 0.005}},
	sumRow:         {{}, {gpu: 0.0007}, {gpu: 0.001}, {gpu: 0.004}, {gpu: 0.005}},
	stepRow:        {{}, {0.0015, 0.01}, {0.003, 0.015}, {0.005, 0.13}, {0.005, 0.13}},
	meanRow:        {{}, {0.005, 0.015}, {0.006, 0.02}, {0.011, 0.24}, {0.011, 0.24}},
	stallRow:       {{}, {0.005, 0.01}, {0.005, 0.015}, {0.01, 0.2}, {0.01, 0.2}},
	wallRow:        {{}, {gpu: 0.03}, {gpu: 0.1}, {gpu: 0.25}, {gpu: 0.25}},
	copyRow:        {{}, {gpu: 0.012}, {gpu: 0.02}, {gpu: 0.06}, {gpu: 0.06}},
	pageableRow:    {{}, {gpu: 0.03}, {gpu: 0.05}, {gpu: 0.19}, {gpu: 0.19}},
	memsetRow:      {{}, {gpu: 0.04}, {gpu: 0.05}, {gpu: 0.1}, {gpu: 0.1}},
	outputRow:      {{}, {0.005, 0.01}, {0.005, 0.015}, {0.01, 0.13}, {0.01, 0.13}},
	utilisationRow: {{}, {0.0015, 0.01}, {0.003, 0.015}, {0.005, 0.13}, {0.005, 0.13}},
	countRow:       {},
}

// rowOf is the row of a metric of a subject. note says what memory a copy reads or writes.
func rowOf(s measure.Subject, m measure.Metric, note string) row {
	switch {
	case m.Exact:
		return countRow
	case m.Name == measure.CopyTime.Name:
		return rowOfCopy(s.Name, note)
	case model.OutsideSteps(m), m.Name == measure.WallTime.Name:
		return wallRow
	case m == measure.MeanStep:
		return meanRow
	case m == measure.MeanToTypical:
		return stallRow
	case m.OnHost():
		return stepRow
	case m.Unprofiled():
		return outputRow
	case slices.Contains(measure.GPUMetrics, m):
		return utilisationRow
	case m.Name == measure.GPUTime.Name:
		return sumRow
	}
	return kernelRow
}

// rowOfCopy is the row of a kind of copy: "memcpy HtoD", with the memory it was made between ("pageable to device").
func rowOfCopy(name, note string) row {
	switch {
	case strings.Contains(note, "pageable"):
		return pageableRow
	case name == "memset":
		return memsetRow
	}
	return copyRow
}

// relation is that of the sides of a comparison.
func (t comparison) relation() relation {
	switch {
	case t.batches:
		return backToBack
	case len(t.shared) > 0:
		return interleaved
	case t.oneGPU():
		return otherTime
	case t.boards == result.SameBoard:
		return sameBoard
	}
	return otherBoard
}

// term is the variance between sessions that is expected of a metric before its own sessions are seen.
func (t comparison) term(s measure.Subject, m measure.Metric) float64 {
	note := t.Head.Note(s, m.Name) + " " + t.Base.Note(s, m.Name)
	of := rowOf(s, m, strings.TrimSpace(note))
	sd := errorTerms[of][t.relation()].sd(t.hostPart())
	if of <= sumRow {
		sd = math.Min(sd, t.Policy.SessionSD)
	}
	return sd * sd
}

// hostPart is how much of a change of the host's speed a step shows, 0 to 1.
func (t comparison) hostPart() float64 {
	if s := t.sensitivity(); !math.IsNaN(s) {
		return s
	}
	return t.waiting()
}

// sensitivity is how much a step depends on the host's speed, the more of the two sides: d ln period / d ln host
// time, measured under the profiler, which slows the host. It is NaN where a side was not replayed, or not exactly.
func (t comparison) sensitivity() float64 {
	if t.notReplayed() != nil {
		return math.NaN()
	}
	most := 0.0
	for _, side := range []*recorded.Index{t.Base, t.Head} {
		most = math.Max(most, side.Typical(measure.Workload, measure.Sensitivity.Name))
	}
	return math.Min(most, 1)
}

// notReplayed says why the spread of any program between hosts is expected: a side was not replayed, or not exactly.
// Nil where both were.
func (t comparison) notReplayed() []result.Remark {
	for i, side := range []*recorded.Index{t.Base, t.Head} {
		if by := side.Typical(measure.Workload, measure.ReplayError.Name); !(by <= replayErrorMost) {
			return []result.Remark{result.Say(reason.NotReplayed{Side: recorded.SideNames[i], Error: result.Number(by)})}
		}
	}
	return nil
}

// waiting bounds how much of a change of the host's speed a step shows, from 0 to 1: nothing where the GPU never
// waits for the CPU, all of it from a tenth of the step on, and where no recording says.
func (t comparison) waiting() float64 {
	most := 0.0
	for _, side := range []*recorded.Index{t.Base, t.Head} {
		idle, known := 0.0, false
		for _, s := range side.Subjects() {
			if !side.HasMetric(s, model.Owned.Name) {
				continue
			}
			known = true
			if class, _ := s.Idle(); class == attribution.Starved.String() || class == attribution.Blocking.String() || class == attribution.Unknown.String() {
				idle += stats.Average(side.Values(s, model.Owned.Name))
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
