package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Measurement holds the recordings of a Measurer.
type Measurement struct {
	Base, Head profile.Recording // Base is empty unless a base build was measured
	BaseCommit string            // of the base build, "" where it is not known
	// Place is the environment of the measurement, for recordings that do not name it themselves.
	Place model.Environment
	// Warnings do not forbid a judgement; none is repeated.
	Warnings []string
	// loaded are those of the Warnings about the load of the host, slowed those about the power limit of the GPU.
	loaded, slowed []string
	// Throttled is the reason for an unusual slowdown of the GPU, "" for none.
	Throttled string
	// Longest is how long the longest run took, 0 where that is not known.
	Longest time.Duration

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
	for _, w := range slices.Concat(o.Base.Warnings, o.Head.Warnings, o.Warnings) {
		if !slices.Contains(m.Warnings, w) {
			m.Warnings = append(m.Warnings, w)
		}
	}
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
		if m.operations[0] != nil { // a session of a saved report keeps its own
			base[i].Operations = m.operations[0]
		}
		m.place(&base[i])
	}
	for i := range head {
		m.place(&head[i])
		if m.operations[1] != nil {
			head[i].Operations = m.operations[1]
		}
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

// place fills in the environment of a session measured here, which pages of counters omit, and its longest run.
func (m *Measurement) place(s *model.Session) {
	s.Longest = max(s.Longest, m.Longest)
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
