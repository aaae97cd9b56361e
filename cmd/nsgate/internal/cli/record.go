package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/baseline"
	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/thresholds"
)

func recordCommand() *command {
	return &command{
		name:     "record",
		usage:    "[flags] [-- WORKLOAD…]",
		summary:  "measure the workload and write, or extend, its baseline",
		workload: true,
		long: `
Runs the workload as nsgate check does and stores the session below --baseline, as CSV made for review. Commit it.
A baseline holds several sessions: recorded on several hosts it tells differences between hosts from regressions. A
session taken on the same GPU within the hour replaces the one before. --replace starts the baseline anew.

With --ncu the heaviest kernels are profiled with Nsight Compute as well and stored beside: nsgate check --profiler ncu is held
against that, and a check that fails explains itself with it.

Examples:

  nsgate record -- ./app --steps 60
  nsgate record --ncu -- ./app --steps 60
  nsgate record --workload training --reason "second host"
  nsgate record --from profiles/`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var m measureFlags
			var policy policyFlags
			var counters counterFlags
			var quiet, replace, count bool
			var reason string
			m.bind(fs)
			fs.BoolVar(&count, "ncu", false, "profile the heaviest kernels with Nsight Compute as well")
			counters.bind(fs)
			fs.StringVar(&reason, "reason", "", "why it is recorded, for those who review the baseline")
			fs.BoolVar(&replace, "replace", false, "drop the sessions that the baseline holds so far")
			fs.StringVar(&policy.file, "policy", "", "policy file (default nsgate.toml here or at the repository's root, if there is one)")
			fs.BoolVarP(&quiet, "quiet", "q", false, "no progress")
			return func(ctx context.Context, e *env, args arguments) error {
				profiler := "nsys"
				if count {
					profiler = "ncu"
				}
				if err := counters.check(profiler); err != nil {
					return err
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				j, err := m.resolve(p, args)
				if err != nil {
					return err
				}
				if count && m.from != "" {
					return usageError("--ncu runs the workload, --from does not; record finished pages of ncu with --from alone")
				}
				if len(j.looks) > 1 {
					return usageError("--runs: a baseline has a fixed number of runs, not %s", m.runs.String())
				}
				if m.dryRun {
					if err := m.printPlan(e, j, j.looks, nil); err != nil || !count {
						return err
					}
					j.counters = new(counters.plan(j, &m, nil))
					fmt.Fprintln(e.Out, "# then the heaviest kernels, with -k and their names:")
					return m.printPlan(e, j, []int{ncuRuns}, nil)
				}
				if err := baseline.Writable(m.baseline); err != nil {
					return err
				}
				bases, err := m.baselines(j.name)
				if err != nil {
					return err
				}
				var like []measure.Session
				if !replace {
					for _, dir := range sortedKeys(bases) {
						like = by("nsys", bases[dir])
					}
				}
				var all measured
				if err := m.take(ctx, e, j, j.runs, nil, quiet, &all); err != nil {
					return noVerdict(e, err)
				}
				_, head, err := m.cut(ctx, like, &all)
				if err != nil {
					return noVerdict(e, err)
				}
				if count {
					kernels := counters.kernels
					if len(kernels) == 0 {
						if kernels, err = heaviest(&head[len(head)-1], p.Impact, counters.skip); err != nil {
							return noVerdict(e, err)
						}
					}
					counted, err := m.counted(ctx, e, j, counters.plan(j, &m, kernels), quiet, &all)
					if err != nil {
						return noVerdict(e, err)
					}
					head = append(head, counted...)
				}
				for _, w := range all.warnings {
					fmt.Fprintln(e.Err, "nsgate: warning:", report.Clean(w))
				}
				for i := range head {
					head[i].Reason = measure.NormalizeLine(reason)
				}
				return store(e, m.baseline, j.name, head, replace, p.For(j.name))
			}
		},
	}
}

// counted is the session of record --ncu.
func (m *measureFlags) counted(ctx context.Context, e *env, j *job, plan collect.NcuPlan, quiet bool, all *measured) ([]measure.Session, error) {
	var got measured
	if err := m.count(ctx, e, plan, ncuRuns, nil, quiet, &got); err != nil {
		return nil, err
	}
	all.warn(got.warnings)
	_, sessions, err := m.cut(ctx, nil, &got)
	return sessions, err
}

// noVerdict says that a measurement cannot be used and ends with exit code 3; other errors pass.
func noVerdict(e *env, err error) error {
	r, err := refused(err)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Err, "nsgate: not recorded:", report.Clean(r.Reason))
	for _, next := range r.Next {
		fmt.Fprintln(e.Err, "nsgate:", report.Clean(next))
	}
	return &exit{code: ExitNoVerdict, quiet: true}
}

// store adds sessions to the baseline of their GPU, all or none, and says what was written.
func store(e *env, root, workload string, head []measure.Session, replace bool, p *thresholds.Policy) error {
	gpu := head[len(head)-1].GPU
	dir := baseline.Dir(root, workload, gpu)
	profilers := profilersOf(head)
	for _, name := range profilers {
		own := by(name, head)
		if r := report.Evaluate(own, own, unruled(p)); r.Verdict == gate.NoVerdict {
			return noVerdict(e, measure.Refuse(r.Reason, strings.Join(r.Next, "; ")))
		}
	}
	var total int
	err := baseline.Update(dir, func(old []measure.Session) ([]measure.Session, error) {
		if replace {
			old = nil
		}
		for _, name := range profilers {
			if err := fits(e, by(name, old), by(name, head), p); err != nil {
				return nil, err
			}
		}
		for _, s := range head {
			old = baseline.Extend(old, s, 0)
		}
		total = len(old)
		return old, nil
	})
	if err != nil {
		return noVerdict(e, err)
	}
	for _, name := range profilers {
		fmt.Fprintln(e.Out, "recorded", recorded(by(name, head)))
	}
	fmt.Fprintf(e.Out, "%s now holds %s; commit it\n", dir, plural(total, "session"))
	return nil
}

// unruled is a policy without its rules: what may be stored does not depend on what is judged.
func unruled(p *thresholds.Policy) *thresholds.Policy {
	c := *p
	c.Rules = nil
	return &c
}

// fits refuses sessions that cannot be held against those of the baseline, and warns where they differ.
func fits(e *env, old, head []measure.Session, p *thresholds.Policy) error {
	if len(old) == 0 {
		return nil
	}
	r := report.Evaluate(old, head, p)
	switch r.Verdict {
	case gate.NoVerdict:
		return measure.Refuse("this session does not fit the baseline: "+r.Reason, "start anew with --replace")
	case gate.Fail:
		fmt.Fprintln(e.Err, "nsgate: warning: this session differs from the baseline:", report.Clean(r.Reason))
		fmt.Fprintln(e.Err, "nsgate: if the code has changed, start anew with --replace")
	}
	return nil
}

// recorded says what sessions of one profiler hold.
func recorded(sessions []measure.Session) string {
	runs, kernels := 0, map[measure.Subject]bool{}
	for _, s := range sessions {
		runs += len(s.Runs)
		for _, x := range s.Series {
			if x.Subject.Scope == measure.ScopeKernel {
				kernels[x.Subject] = true
			}
		}
	}
	last := sessions[len(sessions)-1]
	unit := "per run"
	switch {
	case last.Profiler() == "ncu":
		unit = "counters of single launches"
	case last.Step != "":
		unit = fmt.Sprintf("per step of %q", report.Clean(last.Step))
	}
	return fmt.Sprintf("%s of %d runs on %s: %s, %s", plural(len(sessions), "session"), runs, cmp.Or(report.Clean(last.GPU), "an unknown GPU"),
		plural(len(kernels), "kernel"), unit)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func list(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}
