package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/measure"
)

func recordCommand() *command {
	return &command{
		name:     "record",
		usage:    "[flags] [-- WORKLOAD…]",
		summary:  "measure the workload and write, or extend, its baseline",
		workload: true,
		bind: func(fs *pflag.FlagSet) action {
			var m measureFlags
			var policy policyFlags
			var counters counterFlags
			var quiet, replace, count bool
			var reason, anchor string
			m.bind(fs)
			m.bindMetrics(fs)
			fs.BoolVar(&count, "ncu", false, "profile the heaviest kernels with Nsight Compute as well")
			counters.bind(fs)
			fs.StringVar(&reason, "reason", "", "why it is recorded, for those who review the baseline")
			fs.BoolVar(&replace, "replace", false, "put the session in place of all that the baseline holds so far")
			bindAnchor(fs, &anchor)
			policy.bindFile(fs)
			fs.BoolVarP(&quiet, "quiet", "q", false, "no progress")
			return func(ctx context.Context, e *env, args arguments) error {
				if err := counters.check(count); err != nil {
					return err
				}
				if count && m.from != "" {
					return usageError("--ncu runs the workload, --from does not; record finished pages of ncu with --from alone")
				}
				jobs, err := m.resolve(e, &policy, args.workload, model.Nsys, quiet)
				if err != nil {
					return err
				}
				var failed error
				for _, j := range jobs {
					if err := m.fixed(j, "baseline"); err != nil {
						return err
					}
					if j.looks[0] == 1 && m.from == "" {
						return usageError("a baseline of one run has no spread to judge by: record at least 2 runs, better 5 (--runs)")
					}
				}
				for _, j := range jobs {
					c := &app.Record{
						Workload: j.name, Root: j.root, Measurer: j.measurer, Runs: j.looks[0], Policy: j.policy,
						Rule: j.rule, Reason: reason, Replace: replace, Anchor: anchor, Observe: j.progress,
					}
					if count {
						c.Counters = &counters.Counters
					}
					if len(jobs) > 1 && m.dryRun {
						fmt.Fprintln(e.Out, "# workload", j.name)
					} else if len(jobs) > 1 {
						j.progress(app.Event{Stage: app.Checking, Text: j.name})
					}
					if m.dryRun {
						if err := printCommands(e, c.Commands()); err != nil {
							return err
						}
						continue
					}
					// One workload that cannot be recorded keeps no other from being.
					done, err := c.Run(ctx)
					if err != nil {
						held := done != nil && done.Held != nil && saveLast(done.Held)
						if err = noVerdict(e, "recorded", err); held {
							fmt.Fprintln(e.Err, "nsgate: to take this measurement:", acceptLine(done.Held, "", true, false))
						}
						if refused := (*exit)(nil); !errors.As(err, &refused) || refused.code != ExitNoVerdict {
							return err
						}
						failed = err
						continue
					}
					if len(jobs) > 1 {
						fmt.Fprintln(e.Out, report.Rule(j.name, width(e)))
					}
					printRecorded(e, done)
				}
				return failed
			}
		},
	}
}

// noVerdict says that a measurement cannot be used, in a word what is not done with it, and ends with exit code 3; other errors pass.
func noVerdict(e *env, what string, err error) error {
	list := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		list = several.Unwrap()
	}
	for _, err := range list {
		r := (*model.Refusal)(nil)
		if !errors.As(err, &r) {
			return err
		}
		fmt.Fprintln(e.Err, "nsgate: not "+what+":", report.Clean(r.Reason))
		if r.Next != "" {
			fmt.Fprintln(e.Err, "nsgate:", report.Clean(WayOut(string(r.Kind), r.Next)))
		}
	}
	return &exit{code: ExitNoVerdict}
}

// recorded says what sessions of one profiler hold.
func recorded(sessions []model.Session) string {
	runs, untraced, kernels := 0, 0, map[measure.Subject]bool{}
	for _, s := range sessions {
		runs += s.Profiled()
		untraced += len(s.Runs) - s.Profiled()
		for _, x := range s.Series {
			if x.Subject.Scope == measure.ScopeKernel {
				kernels[x.Subject] = true
			}
		}
	}
	last := sessions[len(sessions)-1]
	unit := "per run"
	switch {
	case last.Profiler().ByLaunch():
		unit = "counters of single launches"
	case last.Step != "":
		unit = fmt.Sprintf("per step of %q", report.Clean(last.Step))
	default:
		if x, ok := last.Find(measure.Workload, measure.Repeats.Name); ok && len(x.Values) > 0 {
			unit += fmt.Sprintf(", steps told by kernels, which repeat %s", measure.Count(int(x.Values[0]), "time"))
		}
	}
	beside := ""
	if untraced > 0 {
		beside = fmt.Sprintf(" and %d untraced", untraced)
	}
	return fmt.Sprintf("%s of %d runs%s on %s: %s, %s", measure.Count(len(sessions), "session"), runs, beside,
		cmp.Or(report.Clean(last.GPU), "an unknown GPU"), measure.Count(len(kernels), "kernel"), unit)
}

// printRecorded says what was measured, how sure it is, and where it stands in the baseline.
func printRecorded(e *env, done *app.Recorded) {
	for _, sessions := range done.Sessions {
		fmt.Fprintln(e.Out, "recorded", recorded(sessions))
	}
	if len(done.Noise) > 0 {
		times := done.Sessions[0]
		fmt.Fprintln(e.Out, strings.TrimPrefix(report.NoiseTable(done.Noise, times[len(times)-1].Step, app.DefaultRuns, report.Options{Width: width(e)}), "\n"))
	}
	tell := func(format string, args ...any) { fmt.Fprintln(e.Out, report.Clean(fmt.Sprintf(format, args...))) }
	if len(done.Sessions) > 0 {
		if last := done.Sessions[0][len(done.Sessions[0])-1]; last.Warmup != "" {
			tell("warm-up: %s, %s", last.Warmup, skipped(last))
		}
	}
	for _, x := range done.Changes {
		tell("differs from the sessions before: %s", x)
	}
	if len(done.New) > 0 {
		tell("new kernels: %s", report.Elide(strings.Join(done.New, ", "), 300))
	}
	if len(done.Gone) > 0 {
		tell("kernels that are gone: %s", report.Elide(strings.Join(done.Gone, ", "), 300))
	}
	for _, o := range done.Replaced {
		tell("in place of %s, of %s%s", o.ID, o.Start.UTC().Format("2006-01-02 15:04"), because(o.Reason))
	}
	for _, file := range done.Files {
		fmt.Fprintf(e.Out, "wrote %s\n", file)
	}
	fmt.Fprintf(e.Out, "%s now holds %s; commit it\n", done.Dir, measure.Count(done.Total, "session"))
}

// because is a reason behind what it is the reason of.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// skipped says how much of a session was warm-up.
func skipped(s model.Session) string {
	least, most, of := math.MaxInt, 0, 0
	for _, r := range s.Runs[:s.Profiled()] {
		least, most, of = min(least, r.Skipped), max(most, r.Skipped), max(of, r.Total)
	}
	amount := fmt.Sprint(least)
	if most > least {
		amount += fmt.Sprintf(" to %d", most)
	}
	unit := "launches"
	if s.Step != "" {
		unit = "steps"
	}
	return fmt.Sprintf("%s of %d %s left out in every run", amount, of, unit)
}
