package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/baseline"
	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/gate/stats"
	"github.com/nsgate/nsgate/thresholds"
)

func checkCommand() *command {
	return &command{
		name:     "check",
		usage:    "[flags] [-- WORKLOAD…]",
		summary:  "measure the workload and judge it against the committed baseline or a base build",
		workload: true,
		long: `
Runs the workload several times, each a fresh process, in one nsys session, and compares what its kernels, copies and
ranges cost with the baseline that nsgate record wrote. Without a command after -- the workload of nsgate.toml is run.

With a base build (--base-ref, --base-cmd or both) a head that the baseline does not let pass for certain is measured
again, by turns with the base build in one session, and that decides: hosts and clocks are then the same on both
sides. Without a baseline, or with --paired, only that is done. The worktree of --base-ref, with its submodules, is
removed afterwards; what a workload finds by absolute paths, installed packages or the environment is not part of it.

Where a kernel's time fails the gate and Nsight Compute (ncu) is installed, the base build and the head are run once more
under ncu, a few launches of these kernels only, and the report says why: spilled registers, lower occupancy, more
traffic, more work. Without a base build it says what limits the kernel. That changes no verdict; --explain never leaves
it out.

--profiler ncu judges what Nsight Compute measures of single launches instead: their duration, and whatever a rule of the policy
names (sm_throughput, registers, local_loads, dram_throughput, …). Kernels are those of the baseline that nsgate record
--ncu wrote, or --kernel.

--runs 5..12 judges after 5, 8 and 12 runs and stops as soon as nothing is undecided; the chance of a false alarm is
shared out among the looks, so it stays what --alpha says.

Examples:

  nsgate check -- ./app --steps 60
  nsgate check --workload training --threshold 2% --report json=report.json
  nsgate check --base-ref origin/main --build 'make -C bench' -- bench/app --steps 60
  nsgate check --base-cmd './app.old --steps 60' --runs 5..12 -- ./app --steps 60
  nsgate check --from profiles/`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var m measureFlags
			var base baseFlags
			var policy policyFlags
			var out outputFlags
			var counters counterFlags
			var explained string
			m.bind(fs)
			base.bind(fs)
			fs.StringVar(&m.profiler, "profiler", "nsys", "what to measure with: nsys (times) or ncu (counters of single launches)")
			counters.bind(fs)
			fs.StringVar(&explained, "explain", "auto",
				"say from Nsight Compute why a kernel got slower: auto (what fails the gate), always (all that is slower) or never")
			policy.bind(fs)
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(); err != nil {
					return err
				}
				if !slices.Contains([]string{"auto", "always", "never"}, explained) {
					return usageError("--explain: %q is none of auto, always, never", explained)
				}
				if !slices.Contains([]string{"nsys", "ncu"}, m.profiler) {
					return usageError("--profiler: %q is neither nsys nor ncu", m.profiler)
				}
				if err := counters.check(m.profiler); err != nil {
					return err
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				c := &check{env: e, flags: &m, kernels: counters.kernels, quiet: out.quiet, explained: explained}
				if c.job, err = m.resolve(p, args); err != nil {
					return err
				}
				c.policy = policy.of(p, c.job.name)
				if c.base, err = base.resolve(ctx, e, &m, c.job); err != nil {
					return err
				}
				if err := c.readBaselines(); err != nil {
					return err
				}
				if m.profiler == "ncu" && m.from == "" {
					var kernels []string
					for _, dir := range sortedKeys(c.bases) {
						kernels = namesOf(c.bases[dir])
					}
					c.job.counters = new(counters.plan(c.job, &m, kernels))
				}
				c.screens = len(c.bases) > 0 && !base.paired
				if m.dryRun {
					return c.printPlan()
				}
				if !c.screens && c.base == nil {
					record := map[string]string{"nsys": "nsgate record", "ncu": "nsgate record --ncu"}[m.profiler]
					return usageError("no baseline of workload %q in %s; write one with %s, on the code to compare with",
						c.job.name, m.baseline, record)
				}
				r, err := c.run(ctx)
				if err != nil {
					return err
				}
				r.Workload = c.job.name
				shown := &env{line: withoutCommands(e.line)}
				r.Reproduce = shown.reproduce(args.workload)
				if r.Baseline != "" {
					offerAccept(r, &out)
				}
				return out.publish(e, r, func(f gate.Finding) (string, int, bool) {
					if r.Baseline == "" {
						return "", 0, false
					}
					return baseline.Locate(r.Baseline, f.Subject(), f.Metric)
				})
			}
		},
	}
}

// check is one check: what to measure and what to hold it against.
type check struct {
	*env
	flags   *measureFlags
	kernels []string // those to judge, all where there is none
	job     *job
	policy  *thresholds.Policy
	base    *baseBuild                   // nil without one
	bases   map[string][]measure.Session // committed, by directory: what the profiler of this check measured
	counted map[string][]measure.Session // committed, by directory: what ncu measured
	screens bool                         // the head is held against the committed baseline first
	quiet   bool
	// explained says which regressions to explain: "auto", "always" or "never".
	explained string
}

// run measures and judges: the head alone against the committed baseline, then, where that is not a clear pass and
// there is a base build, both builds by turns.
func (c *check) run(ctx context.Context) (*gate.Report, error) {
	var screen *gate.Report
	if c.screens {
		var err error
		if screen, err = c.screen(ctx); err != nil {
			return refused(err) // to measure the base would not help
		}
		if c.base == nil {
			return screen, c.explain(ctx, screen, nil)
		}
		if screen.Verdict == gate.Pass && !screen.Undecided {
			return screen, nil
		}
		if !c.quiet {
			fmt.Fprintf(c.Err, "nsgate: %s against the committed baseline: measuring the base build beside the head\n", answer(screen))
		}
	}
	r, err := c.pair(ctx)
	if err != nil {
		if r, err = refused(err); err != nil {
			return nil, err
		}
	}
	if screen != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the committed baseline said %s (%s); the base build, measured beside the head, decides",
			answer(screen), screen.Reason))
		if screen.Verdict == gate.Fail && r.Verdict == gate.Pass {
			r.Next = append(r.Next, "the committed baseline does not describe the base on this machine: record it anew, or on this host too")
		}
	}
	return r, nil
}

// readBaselines reads the committed sessions, those of this check's profiler and those of ncu. Of kernels that the user
// names only these are held against the head.
func (c *check) readBaselines() error {
	all, err := c.flags.baselines(c.job.name)
	if err != nil {
		return err
	}
	c.bases, c.counted = map[string][]measure.Session{}, map[string][]measure.Session{}
	for dir, sessions := range all {
		if own := c.flags.own(sessions); len(own) > 0 {
			c.bases[dir] = only(c.kernels, own)
			if have := namesOf(by(c.flags.profiler, own)); c.base == nil {
				for _, name := range c.kernels {
					if !slices.Contains(have, name) {
						return usageError("--kernel: the baseline %s has no kernel %q; it has %s", dir, name, list(have))
					}
				}
			}
		}
		c.counted[dir] = by("ncu", sessions)
	}
	return nil
}

// own keeps the sessions that a check holds its head against: those of its profiler, and with --from, where finished
// profiles say what measured them, all.
func (m *measureFlags) own(sessions []measure.Session) []measure.Session {
	if m.from != "" {
		return sessions
	}
	return by(m.profiler, sessions)
}

// answer is a report's verdict in a sentence.
func answer(r *gate.Report) string {
	switch {
	case r.Undecided:
		return "undecided"
	case r.Verdict == gate.NoVerdict:
		return "no verdict"
	}
	return string(r.Verdict)
}

// screen measures the head alone and judges it against the committed baseline. With a base build it takes one look:
// what that leaves open the pair settles.
func (c *check) screen(ctx context.Context) (*gate.Report, error) {
	dir, base, r := c.flags.choose(ctx, c.job, c.bases)
	if r == nil {
		looks := c.job.looks
		if c.base != nil {
			looks = looks[:1]
		}
		var err error
		r, err = c.judge(ctx, looks, nil, base, &measured{}, func(_, head []measure.Session) []measure.Session {
			dir, base = ofModel(c.bases, dir, base, head[len(head)-1].GPU)
			return base
		})
		if err != nil {
			return nil, err
		}
	}
	r.Baseline = dir
	return r, nil
}

// pair measures both builds by turns and judges the head against the base build.
func (c *check) pair(ctx context.Context) (*gate.Report, error) {
	build, remove, err := c.base.ready(ctx, c.env, c.quiet)
	defer remove()
	if err != nil {
		return nil, err
	}
	var committed []measure.Session
	for _, dir := range sortedKeys(c.bases) {
		committed = c.bases[dir]
	}
	all := &measured{baseCommit: c.base.commit(), warnings: slices.Clone(c.base.warnings)}
	r, err := c.judge(ctx, c.job.looks, &build, committed, all, func(base, _ []measure.Session) []measure.Session { return base })
	if err != nil {
		return nil, err
	}
	r.Baseline, _ = ofModel(c.bases, "", nil, r.Head.Environment.GPU)
	return r, c.explain(ctx, r, &build)
}

// judge measures until a look settles it, and at most to the last: each look takes further runs, judges all of them,
// and may be wrong in its share of the policy's error only. against chooses the side that the head is held against,
// from the base and the head that were measured; like is finished sessions to cut them like.
func (c *check) judge(ctx context.Context, looks []int, base *collect.Build, like []measure.Session, all *measured,
	against func(base, head []measure.Session) []measure.Session) (*gate.Report, error) {
	var r *gate.Report
	taken := 0
	for i, share := range stats.Spend(c.policy.Alpha, looks) {
		if i > 0 && !c.quiet {
			fmt.Fprintf(c.Err, "nsgate: undecided after %d runs: measuring up to %d\n", taken, looks[i])
		}
		if err := c.flags.take(ctx, c.env, c.job, looks[i]-taken, base, c.quiet, all); err != nil {
			return nil, err
		}
		taken = looks[i]
		b, h, err := c.flags.cut(ctx, like, all)
		if err != nil && base != nil && len(like) > 0 {
			b, h, err = c.flags.cut(ctx, nil, all) // the committed sessions are not what decides
		}
		if err != nil {
			return nil, err
		}
		p := *c.policy
		p.Alpha = share
		h = only(c.kernels, h)
		held := against(b, h)
		if c.flags.from != "" {
			if err := c.asked(h); err != nil {
				return nil, err
			}
			held, h = alike(held, h)
		}
		r = report.Evaluate(held, h, &p)
		explainCounted(r, held)
		tellUnused(r, &p, held, h)
		if c.flags.from != "" {
			tellTwice(r, held, h)
		}
		r.Warnings = append(r.Warnings, all.warnings...)
		if len(looks) > 1 {
			r.Alpha = gate.Number(c.policy.Alpha)
			r.Notes = append(r.Notes, fmt.Sprintf("judged at look %d of at most %d, after %d of at most %d runs; "+
				"the chance of a false alarm is shared out among the looks", i+1, len(looks), taken, looks[len(looks)-1]))
		}
		if r.Verdict == gate.NoVerdict && !r.Undecided || r.Verdict == gate.Fail || !slices.ContainsFunc(r.Findings, open) {
			break
		}
	}
	return r, nil
}

// asked refuses finished profiles of another profiler than --profiler names. Without it they say themselves what they are.
func (c *check) asked(head []measure.Session) error {
	if c.flags.profiler == "ncu" && len(by("ncu", head)) == 0 {
		return measure.Refuse(fmt.Sprintf("%s was measured with %s, not with ncu", c.flags.from, head[len(head)-1].Profiler()),
			"name pages of ncu with --from, or leave --profiler out")
	}
	return nil
}

// open reports whether further runs could still turn a finding into a failure.
func open(f gate.Finding) bool {
	return f.Gates && f.Outcome == gate.Inconclusive && !(f.High <= f.Limit)
}

// printPlan is --dry-run.
func (c *check) printPlan() error {
	if c.screens || c.base == nil {
		looks := c.job.looks
		if c.base != nil {
			looks = looks[:1]
		}
		if err := c.flags.printPlan(c.env, c.job, looks, nil); err != nil || c.base == nil {
			return err
		}
		fmt.Fprintln(c.Out, "# unless that passes against the committed baseline:")
	}
	c.base.printPlan(c.env)
	return c.flags.printPlan(c.env, c.job, c.job.looks, &c.base.build)
}

// choose picks the baseline to hold the head against, before it is measured: the one of this machine's GPU. Where
// the machine's GPU is known and has none, nothing needs to be measured, and the report says so.
func (m *measureFlags) choose(ctx context.Context, j *job, bases map[string][]measure.Session) (string, []measure.Session, *gate.Report) {
	dirs := sortedKeys(bases)
	dir, base := dirs[0], bases[dirs[0]]
	if m.from != "" {
		return dir, base, nil
	}
	gpus, err := collect.Probe(ctx)
	if err != nil || len(gpus) == 0 {
		return dir, base, nil
	}
	var models []string
	for _, d := range dirs {
		models = append(models, bases[d][0].GPU)
		if slices.ContainsFunc(gpus, func(g collect.GPU) bool { return g.Name == bases[d][0].GPU || g.MIG }) {
			return d, bases[d], nil
		}
	}
	return dir, base, gate.Refused(&measure.Refusal{
		Reason: fmt.Sprintf("this machine has a %s, the baseline was measured on %s", gpus[0].Name, list(models)),
		Next:   "record a baseline on this GPU with nsgate record, or run the check where the baseline was measured",
	})
}

// ofModel is the baseline of the GPU that the head turned out to have, else the one chosen before.
func ofModel(bases map[string][]measure.Session, dir string, base []measure.Session, gpu string) (string, []measure.Session) {
	for _, d := range sortedKeys(bases) {
		if bases[d][0].GPU == gpu {
			return d, bases[d]
		}
	}
	return dir, base
}
