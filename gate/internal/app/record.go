package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/thresholds"
)

// Record measures a workload and writes, or extends, its baseline.
type Record struct {
	Job
	Runs int // fresh processes, at least one
	// Counters, where not nil, counts kernels as well, the heaviest ones where it names none; it needs Live.
	Counters *profiler.Selection
	Reason   string // why it is recorded, for those who review the baseline
	Replace  bool   // puts the session in place of all sessions of the baseline
	Anchor   string // names the session as the anchor of drift, "" for none
}

// Recorded is the result of [Record.Run].
type Recorded struct {
	Workload string            `json:"workload"`
	Dir      string            `json:"directory"`            // of the baseline
	Sessions [][]model.Session `json:"-"`                    // that were measured, by profiler
	Files    []string          `json:"files"`                // written, or present with the very same content
	Total    int               `json:"sessions"`             // that are in effect now
	Kept     bool              `json:"kept"`                 // nothing was measured: it is not due
	Ignored  string            `json:"ignored_by,omitempty"` // the rule of git for these files, "FILE:LINE:PATTERN"
	Replaced []model.Session   `json:"-"`                    // that the new ones replace
	// Noise is the spread between the runs of the last session of times, none with too few runs.
	Noise []calibrate.Noise `json:"noise,omitempty"`
	// Changes are the differences from the sessions before, New and Gone the kernels that only one of them has.
	Changes []string `json:"changes,omitempty"`
	New     []string `json:"new,omitempty"`
	Gone    []string `json:"gone,omitempty"`
	// Suggested are numbers that every run printed once, and that the policy may name as outputs.
	Suggested []measure.Output `json:"-"`
	// Unwritten is the report of a session that was refused because it changed within the hour without a reason.
	Unwritten *result.Report `json:"-"`
}

// Run measures and writes. A measurement that cannot be stored is a *model.Refusal, returned with its known part.
func (c *Record) Run(ctx context.Context) (*Recorded, error) {
	if err := cmp.Or(git.Outward(ctx, c.Root), baseline.Writable(c.Root)); err != nil {
		return nil, err
	}
	defer c.Tell(Event{Stage: run.Done})
	all := &Measurement{}
	head, err := c.measure(ctx, c.Measurer, c.Runs, c.Baselines, all)
	if err != nil {
		return nil, err
	}
	if c.Counters != nil {
		counted, err := c.counted(ctx, head, all)
		if err != nil {
			return nil, err
		}
		head = append(head, counted...)
	}
	for _, w := range all.Warnings {
		c.Warn(w)
	}
	c.spent(head)
	if c.Reason != "" {
		if c.Reason, err = reason(c.Reason); err != nil {
			return nil, err
		}
	}
	if err := c.Code.attach(ctx, head); err != nil {
		return nil, err
	}
	for i := range head {
		head[i].Reason = c.Reason
	}
	out, err := c.store(head, all.typical)
	if err == nil {
		out.Workload, out.Suggested = c.Workload, suggest(all.printed)
		if len(out.Files) > 0 {
			out.Ignored = ignoredBy(ctx, out.Files[0])
		}
	}
	return out, err
}

// Due says why the baseline of this machine's GPU is to be recorded anew, "" where it is not: there is none, its
// newest session is older than max_age at a time, or holds an accepted change alone.
func (c *Record) Due(ctx context.Context, now time.Time) string {
	models, first := c.Live.Models(ctx)
	if first { // the others are not recorded
		models = models[:1]
	}
	own := c.Baselines.Here(models, first)
	newest := own.Newest()
	switch {
	case len(own) == 0:
		return "there is no baseline of this GPU"
	case newest.Accepted:
		return "the last change was accepted, not measured as a whole"
	case c.Policy.MaxAge > 0 && !newest.Start.IsZero() && now.Sub(newest.Start) > c.Policy.MaxAge:
		return "the newest session is older than max_age"
	}
	return ""
}

// Commands are the commands of Run; the kernels to count are known only afterwards.
func (c *Record) Commands(context.Context) []string {
	out := c.Live.Commands([]int{c.Runs}, nil)
	if c.Counters != nil {
		counting := c.Live.counting(*c.Counters)
		out = append(out, "# then the heaviest kernels, with -k and their names:")
		out = append(out, counting.Commands([]int{CounterRuns}, nil)...)
	}
	return out
}

func (c *Record) measure(ctx context.Context, by Measurer, runs int, baselines Baselines,
	all *Measurement) ([]model.Session, error) {
	m := &Measurement{}
	if err := m.take(by.Measure(ctx, runs, nil)); err != nil {
		return nil, err
	}
	var like []model.Session
	if b, ok := baselines.ForGPU(m.Head.GPU()); ok && !c.Replace {
		like = model.Timed(b.Sessions)
	}
	_, head, err := m.sessions(ctx, c.Rule, like)
	if err == nil {
		head, err = c.withoutOutliers(ctx, by, m, head, like)
	}
	if err == nil && len(head) == 1 && all.typical == nil {
		all.typical = profile.Draw(result.Side{Warmup: head[0].Warmup, Step: head[0].Step}, &m.Head, nil, "")
	}
	all.add(&Measurement{Warnings: m.Warnings, printed: m.printed})
	return head, err
}

// withoutOutliers measures runs that are outliers as a whole a second time and leaves them out: a baseline with
// such a run would hide changes. Runs that are outliers again, or that cannot be measured again, are a *model.Refusal.
func (c *Record) withoutOutliers(ctx context.Context, by Measurer, m *Measurement, head,
	like []model.Session) ([]model.Session, error) {
	const next = "let the machine come to rest, and record again"
	if len(head) != 1 {
		return head, nil
	}
	first := decide.OutlierRuns(head[0], c.Policy)
	if len(first) == 0 {
		return head, nil
	}
	if m.finished {
		return nil, model.Refuse(model.OutlierRun, next, "a baseline with an outlier would hide changes: %s",
			namedRuns(first))
	}
	c.Warn(namedRuns(first) + ", and is measured again: a baseline with it would hide changes")
	if err := m.take(by.Measure(ctx, len(first), nil)); err != nil {
		return nil, err
	}
	var err error
	if _, head, err = m.sessions(ctx, c.Rule, like); err != nil || len(head) != 1 {
		return head, err
	}
	head[0].Runs = without(head[0].Runs, first)
	var series []model.Series
	for _, x := range head[0].Series {
		x.Values = without(x.Values, first)
		if len(stats.Known(x.Values)) > 0 {
			series = append(series, x)
		}
	}
	head[0].Series = series
	if again := decide.OutlierRuns(head[0], c.Policy); len(again) > 0 {
		return nil, model.Refuse(model.OutlierRun, next, "a second measurement has an outlier as well: %s",
			namedRuns(again))
	}
	return head, nil
}

// namedRuns says which runs are outliers, and by how much: "run 3 differs by +30.0 % in nearly all kernels".
func namedRuns(outliers map[int]float64) string {
	words := measure.Map(slices.Sorted(maps.Keys(outliers)), func(run int) string {
		return fmt.Sprintf("run %d differs by %s in nearly all kernels", run+1, result.Number(outliers[run]).Change())
	})
	return strings.Join(words, ", ")
}

// without is a list of one item a run, without those of some runs.
func without[T any](items []T, runs map[int]float64) (kept []T) {
	for run, x := range items {
		if _, out := runs[run]; !out {
			kept = append(kept, x)
		}
	}
	return kept
}

func (c *Record) counted(ctx context.Context, timed []model.Session, all *Measurement) ([]model.Session, error) {
	counters := *c.Counters
	if len(counters.Kernels) == 0 {
		var err error
		if counters.Kernels, err = heaviest(&timed[len(timed)-1], recorded.KernelShare, counters.Skip); err != nil {
			return nil, err
		}
	}
	return c.measure(ctx, c.Live.counting(counters), CounterRuns, nil, all)
}

// store adds sessions to the baseline of their GPU, all or none, and the typical step of the one with times.
func (c *Record) store(head []model.Session, typical *model.Drawing) (*Recorded, error) {
	dir := baseline.Dir(c.Root, c.Workload, head[len(head)-1].GPU)
	out := &Recorded{Dir: dir}
	for _, p := range model.Profilers(head) {
		own := p.Pick(head)
		if err := storable(own, c.Policy); err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, own)
		if p != "" && len(model.Timed(own)) > 0 {
			out.Noise = calibrate.NoiseOf(own[len(own)-1], c.Policy, DefaultRuns)
		}
	}
	added, err := baseline.Add(dir, func(b *baseline.Baseline) ([]baseline.Entry, error) {
		var entries []baseline.Entry
		live := b.InEffect()
		for _, p := range model.Profilers(head) {
			if err := c.fits(p.Pick(live), p.Pick(head), out); err != nil {
				return nil, err
			}
			for _, s := range p.Pick(head) {
				e := baseline.Entry{Session: s, Workload: c.Workload}
				e.ID, e.Anchor = "", measure.NormalizeLine(c.Anchor)
				for _, o := range p.Pick(live) {
					if c.Replace || model.SameSession(o.Environment, s.Environment) {
						e.Supersedes = append(e.Supersedes, o.ID)
						out.Replaced = append(out.Replaced, o)
					}
				}
				entries = append(entries, e)
			}
		}
		return entries, nil
	})
	if err != nil {
		return out, err
	}
	for _, e := range added {
		out.Files = append(out.Files, e.File)
		if typical != nil && typical.Step != nil && len(model.Timed([]model.Session{e.Session})) > 0 {
			file, err := baseline.WriteStep(e.File, typical)
			if err != nil {
				return out, err
			}
			if file != "" {
				out.Files = append(out.Files, file)
			}
		}
		out.Replaced = slices.DeleteFunc(out.Replaced, func(s model.Session) bool { return s.ID == e.ID })
	}
	in, err := baseline.Read(dir)
	out.Total = len(in)
	return out, err
}

// storable refuses sessions that no check could use, whatever the rules of the policy are.
func storable(own []model.Session, policy *thresholds.Resolved) error {
	unruled := *policy
	unruled.Rules = nil
	if r := insight.Judge(decide.Input{Baseline: own, Head: own, Policy: &unruled}); r.Verdict == result.NoVerdict &&
		!r.Undecided {
		return &model.Refusal{Reason: r.Reason, Next: strings.Join(r.Next, "; "), Kind: model.Kind(r.ReasonKey)}
	}
	return nil
}

// fits notes the differences from the baseline. It refuses other work, and changes within the hour without a reason.
func (c *Record) fits(old, head []model.Session, out *Recorded) error {
	if len(old) == 0 || c.Replace && c.Reason != "" {
		return nil
	}
	again := slices.DeleteFunc(slices.Clone(old), func(o model.Session) bool {
		return !slices.ContainsFunc(head, func(s model.Session) bool {
			return model.SameSession(o.Environment, s.Environment)
		})
	})
	if len(again) > 0 && c.Reason == "" {
		r := insight.Judge(decide.Input{Baseline: again, Head: head, Policy: c.Policy})
		changed := Accept{Judgement: r}.changes()
		if (r.Verdict == result.Fail || slices.ContainsFunc(r.Findings,
			func(f result.Finding) bool { return f.Outcome == result.Faster })) && len(changed) > 0 {
			if r.Verdict == result.Fail { // what is faster is recorded with a reason
				r.Append(result.Addition{Baseline: Placed(out.Dir), Workload: c.Workload})
				out.Unwritten = r
			}
			lines := measure.Map(changed, changeLine)
			minutes := int(head[len(head)-1].Start.Sub(again[len(again)-1].Start).Abs().Minutes())
			return model.Refuse(model.ChangedWithinHour, "say why it is recorded, for those who review the baseline",
				"the same GPU gave other times within %s: %s", measure.Count(max(minutes, 1), "minute"),
				result.Few(lines))
		}
	}
	if c.Replace {
		return nil
	}
	r := insight.Judge(decide.Input{Baseline: old, Head: head, Policy: c.Policy})
	if r.Verdict == result.NoVerdict && !r.Undecided {
		return model.Refuse(model.OtherBaseline, "start the baseline anew",
			"this session does not fit the baseline: %s", r.Reason)
	}
	for _, f := range (Accept{Judgement: r}).changes() {
		switch f.Outcome {
		case result.New:
			out.New = append(out.New, changeName(f))
		case result.Gone:
			out.Gone = append(out.Gone, changeName(f))
		default:
			out.Changes = append(out.Changes, changeLine(f))
		}
	}
	if r.Verdict == result.Fail && len(again) < len(old) {
		c.Warn("this session differs from the baseline: " + r.Reason +
			"; if the code has changed, start the baseline anew")
	}
	return nil
}

// heaviest are the short names of the kernels with the most GPU time in a session of times, without those that hang
// when they are replayed and those with at most skip launches. No such kernel is a *model.Refusal.
func heaviest(s *model.Session, share float64, skip int) ([]string, error) {
	const maxCounted = 10                                  // of the heaviest
	cost, often := map[string]float64{}, map[string]bool{} // often: launched more than skip times a run in one geometry
	whole := 0.0
	for _, x := range s.Series {
		if x.Subject.Scope != measure.ScopeKernel {
			continue
		}
		switch x.Metric.Name {
		case measure.Total.Name:
			v := slices.Max(append(stats.Known(x.Values), 0)) // a run may lack the kernel
			whole += v
			cost[x.Subject.Short()] += v
		case measure.Launches.Name:
			// one that communicates hangs where a profiler runs it alone
			if launched([]model.Session{*s}, x.Subject) > skip && !attribution.Communicates(x.Subject.Name) {
				often[x.Subject.Short()] = true
			}
		}
	}
	var names []string
	for name, v := range cost {
		if v >= share*whole && often[name] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(cost[b], cost[a]), cmp.Compare(a, b)) })
	if len(names) == 0 {
		return nil, model.Refuse(model.NothingToCount, "let the workload run longer, or profile earlier launches",
			"no kernel that matters is launched more than %d times a run, so none would be profiled", skip)
	}
	return names[:min(len(names), maxCounted)], nil
}
