package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/thresholds"
)

// Job is a workload to measure, and the policy to judge it by.
type Job struct {
	Workload string // its name in reports and of its baseline
	Measurer Measurer
	// Live is the Measurer where that runs the workload, else one that measures nothing. It must be given.
	Live *Live
	Root string // directory of the baselines
	// Baselines are the committed ones, see [ReadBaselines]; none where only a base build is measured.
	Baselines Baselines
	Policy    *thresholds.Resolved // the limits that hold; must be given
	Rule      profile.Rule         // how traces are cut; what it leaves open is as in the baseline
	Code      CodeFiles            // with device code, which is compared beside what is measured
	Observe   func(Event)          // told of the progress and of doubts, nil for nobody
}

// Way is how the workload is measured.
func (j *Job) Way() Way { return j.Live.Way }

// Name is the workload's.
func (j *Job) Name() string { return j.Workload }

// Event is a step of progress.
type Event = run.Event

func (j *Job) Tell(e Event) { tell(j.Observe, e) }

// Begin tells the observer of something that takes long.
func (j *Job) Begin(what string) { j.Tell(Event{Stage: run.Begun, Text: what}) }

// Warn tells the observer of a doubt.
func (j *Job) Warn(text string) { j.Tell(Event{Stage: run.Warning, Text: text}) }

func (j *Job) hint(text string) { j.Tell(Event{Stage: run.Hint, Text: text}) }

func tell(observe func(Event), e Event) {
	if observe != nil {
		observe(e)
	}
}

func spend(s *result.Spent, r *run.Result) {
	s.Total += result.Number(r.Elapsed)
	s.InRuns += result.Number(r.InRuns())
	for _, x := range r.Runs {
		s.Runs++
		if x.Held != nil {
			s.Starts++
		}
	}
	for stage, to := range map[run.Stage]*result.Number{run.Starting: &s.Start, run.Finishing: &s.Report,
		run.Exporting: &s.Export, run.Reading: &s.Read} {
		*to += result.Number(r.Stages[stage])
	}
}

// spent is where the time of a measurement on this machine went, which it tells; nil where nothing was run.
func (j *Job) spent(head []model.Session) *result.Spent {
	m := j.Live
	if m.spent.Runs == 0 {
		return nil
	}
	out := m.spent
	out.Run = insight.RunParts(model.Timed(head))
	j.Tell(Event{Stage: run.Spent, Text: out.String()})
	return &out
}

// List joins words, each once.
func List(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}

// answer is a report's verdict in a word or two: "pass", "fail", "no verdict", "undecided".
func answer(r *result.Report) string {
	switch {
	case r.Undecided:
		return "undecided"
	case r.Verdict == result.NoVerdict:
		return "no verdict"
	}
	return string(r.Verdict)
}

// Measurement holds the recordings of a Measurer.
type Measurement struct {
	Base, Head profile.Recording // Base is empty unless a base build was measured
	BaseCommit string            // of the base build, "" where it is not known
	// Place is the environment of the measurement, for recordings that do not name it themselves.
	Place    model.Environment
	Warnings []string // doubts that do not forbid a judgement; none is repeated
	// loaded are those of the Warnings about the load of the host, slowed those about the power limit of the GPU.
	loaded, slowed []string
	Throttled      string        // reason for an unusual slowdown of the GPU, "" for none
	Longest        time.Duration // how long the longest run took, 0 where that is not known

	command    string               // a hash of the head's, "" beside a base build, whose command may be another
	finished   bool                 // profiles that were there before
	typical    *model.Drawing       // the typical step of a session to record, nil where none is known
	operations [2][]model.Operation // of base and head, nil where they are not known
	printed    []string             // output of each run of the head, untrusted
	// here gives the commit that was checked out when the measurement began, nil for profiles that were there before.
	here func() (string, error)
}

func (m *Measurement) take(o *Measurement, err error) error {
	if err == nil {
		m.add(o)
	}
	return err
}

func (m *Measurement) add(o *Measurement) {
	if o.finished {
		m.Base, m.Head = o.Base, o.Head
	} else {
		m.Base.Add(&o.Base)
		m.Head.Add(&o.Head)
	}
	m.finished, m.command = o.finished, cmp.Or(m.command, o.command)
	if m.here == nil {
		m.here = o.here
	}
	if m.Place.Start.IsZero() {
		m.Place = o.Place
	}
	for i, of := range o.operations {
		if of != nil {
			m.operations[i] = of
		}
	}
	m.Throttled = cmp.Or(m.Throttled, o.Throttled)
	m.Longest = max(m.Longest, o.Longest)
	m.printed = append(m.printed, o.printed...)
	for last, own := range map[*[]string]*[]string{&o.loaded: &m.loaded, &o.slowed: &m.slowed} {
		if len(*last) > 0 { // each session has other numbers: the last ones say it
			m.Warnings = slices.DeleteFunc(m.Warnings, func(w string) bool { return slices.Contains(*own, w) })
			*own = *last
		}
	}
	m.Warnings = measure.Once(m.Warnings, slices.Concat(o.Base.Warnings, o.Head.Warnings, o.Warnings)...)
}

// doubts are the Warnings without load and power limit where these cannot change the verdict: no comparison that gates,
// for load one of host time, is slower or undecided.
func (m *Measurement) doubts(r *result.Report) []string {
	open := func(host bool) bool {
		return r.Verdict == result.NoVerdict || slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
			metric, _ := measure.MetricByName(f.Metric)
			return f.Gates && (f.Outcome == result.Slower || f.Outcome == result.Undecided) &&
				(!host || metric.OnHost() || metric.Unprofiled() && !metric.OnGPU())
		})
	}
	host, gpu := open(true), open(false)
	return slices.DeleteFunc(slices.Clone(m.Warnings), func(w string) bool {
		return !host && slices.Contains(m.loaded, w) || !gpu && slices.Contains(m.slowed, w)
	})
}

// sessions cuts the recordings into sessions, all by the same step and warm-up, those of like where there are any. It
// fills in the commit and the environment that recordings of counters lack.
func (m *Measurement) sessions(ctx context.Context, rule profile.Rule, like []model.Session) (
	base, head []model.Session, err error) {
	cut, err := profile.Cut(rule, &profile.Recording{Finished: like}, &m.Base, &m.Head)
	if err != nil {
		return nil, nil, err
	}
	base, head = cut[1], cut[2]
	for i := range base {
		base[i].Commit = m.BaseCommit
		m.place(&base[i], m.operations[0])
	}
	for i := range head {
		m.place(&head[i], m.operations[1])
		head[i].Command = cmp.Or(head[i].Command, m.command)
		if head[i].Commit == "" {
			head[i].Commit = m.commit(ctx)
		}
	}
	return base, head, nil
}

// commit is the commit that is checked out here, "" with a warning where git refuses the repository.
func (m *Measurement) commit(ctx context.Context) string {
	if m.here == nil {
		m.here = func() (string, error) { return commit(ctx) }
	}
	id, err := m.here()
	w := fmt.Sprintf("the commit of this checkout is not known: %v", err)
	if err != nil && !slices.Contains(m.Warnings, w) {
		m.Warnings = append(m.Warnings, w)
	}
	return id
}

// place fills in the environment of a session measured here, its longest run and operations; a saved one keeps its own.
func (m *Measurement) place(s *model.Session, operations []model.Operation) {
	s.Longest = max(s.Longest, m.Longest)
	if operations != nil {
		s.Operations = operations
	}
	if at := m.Place; at.Tool != "" {
		s.Tool, s.Mode, s.Start = at.Tool, at.Mode, at.Start
		s.GPUHash, s.Driver, s.Hardware = at.GPUHash, at.Driver, at.Hardware
	}
}

func kernels(sessions []model.Session) []string {
	var names model.Interned[string]
	for _, s := range sessions {
		for i, x := range s.Series {
			if x.Subject.Scope != measure.ScopeKernel || i > 0 && x.Subject == s.Series[i-1].Subject {
				continue
			}
			names.Of(x.Subject.Short())
		}
	}
	return names.List
}

// keepKernels restricts sessions to kernels of these short names, all where there are none.
func keepKernels(kernels []string, sessions []model.Session) []model.Session {
	if len(kernels) == 0 {
		return sessions
	}
	sessions = slices.Clone(sessions)
	for i := range sessions {
		sessions[i].Series = slices.DeleteFunc(slices.Clone(sessions[i].Series), func(x model.Series) bool {
			return x.Subject.Scope == measure.ScopeKernel && !profiler.Selects(kernels, x.Subject.Short())
		})
	}
	return sessions
}

// Way is a way of measuring a workload, as facts: see [WayOf]. Profiles that were made before have none of them.
type Way struct {
	Live       bool // runs are taken here
	Counts     bool // the counters of single launches are measured
	Timed      bool // the times of runs are measured
	Unprofiled bool // no run whose times are judged is profiled
	Rows       bool // a run of each build is profiled where a row of a benchmark file got slower
	Local      bool // the workload runs on this host, and not as ranks of a job that is gathered
	Served     bool // its program loads a server
	Alone      bool // the program itself starts here and ends: it loads no server and launches no ranks
}

// WayOf is the way of a workload that a profiler measures.
func WayOf(w *thresholds.Workload, by model.Profiler) Way {
	counts, unprofiled, local, served := by == model.Counting, !w.Profiled(), w.Gather == "", w.Server != nil
	return Way{Live: true, Counts: counts, Timed: !counts, Unprofiled: !counts && unprofiled,
		Rows: unprofiled && w.Profile == "explain", Local: local, Served: served, Alone: local && !served}
}
