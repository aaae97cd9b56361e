package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/profile"
	"github.com/nsgate/nsgate/gate/report"
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
		bind: func(fs *pflag.FlagSet) action {
			var m measureFlags
			var base baseFlags
			var policy policyFlags
			var out outputFlags
			var counters counterFlags
			var explain, profiler string
			m.bind(fs)
			base.bind(fs)
			fs.StringVar(&profiler, "profiler", "nsys", "what to measure with: nsys (times) or ncu (counters of single launches)")
			counters.bind(fs)
			fs.StringVar(&explain, "explain", "auto",
				"say from Nsight Compute why a kernel got slower: auto (what fails the gate), always (all that is slower) or never")
			policy.bind(fs)
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) error {
				by := measure.Profiler(profiler)
				if err := cmp.Or(out.check(report.Formats()), oneOf("explain", explain, autoAlwaysNever...),
					oneOf("profiler", profiler, "nsys", "ncu"), counters.check(by.ByLaunch())); err != nil {
					return err
				}
				j, err := m.resolve(e, &policy, args.workload, by, out.quiet)
				if err != nil {
					return err
				}
				c := &check.Check{
					Workload: j.name, Measurer: j.measurer, Policy: j.policy, Looks: j.looks, Paired: base.paired, Profiler: by,
					Kernels: counters.Kernels, Rule: j.rule, Explain: check.Explain(explain), Observe: j.progress,
				}
				if c.Base, err = base.resolve(ctx, e, m.from, j); err != nil {
					return err
				}
				if c.Baselines, err = check.ReadBaselines(m.baseline, j.name); err != nil {
					return err
				}
				if m.from != "" && !fs.Changed("profiler") {
					c.Profiler = "" // finished profiles say what measured them
				}
				if err := c.Valid(); err != nil {
					return usageError("--kernel: %w", err)
				}
				if machine, ok := c.Measurer.(*check.Machine); ok && by.ByLaunch() {
					machine.Counters = &counters.Counters
				}
				if m.dryRun {
					return printCommands(e, c.Commands())
				}
				if !c.Screens() && c.Base == nil {
					return usageError("no baseline of workload %q in %s; write one with %s, on the code to compare with",
						j.name, m.baseline, map[bool]string{false: "nsgate record", true: "nsgate record --ncu"}[by.ByLaunch()])
				}
				r, err := c.Run(ctx)
				if err != nil {
					return err
				}
				r.Reproduce = e.again
				offerAccept(r, &out)
				return out.publish(e, r, true, j.policy.File)
			}
		},
	}
}

func compareCommand() *command {
	return &command{
		name:    "compare",
		usage:   "[flags] BASE HEAD",
		summary: "judge from profiles or saved sessions, no GPU needed",
		own:     2,
		wants:   "two sides, BASE and HEAD,",
		long: `
BASE and HEAD are each a profile, a directory of profiles, a baseline directory, or a saved JSON report. Every process in a
profile that launched kernels is a run of that side; both sides must come from one profiler. What is read:

` + inputs() + `
Examples:

  nsgate compare before/ after/
  nsgate compare --threshold 1% before.sqlite after.sqlite
  nsgate compare --explain before.csv,after.csv before/ after/
  nsgate compare --format json before/ after/ > report.json`,
		bind: func(fs *pflag.FlagSet) action {
			var policy policyFlags
			var cut sampleFlags
			var out outputFlags
			var explain string
			policy.bind(fs)
			cut.bind(fs)
			fs.StringVar(&explain, "explain", "", "say why kernels got slower from output of ncu --csv --page raw: BASE.csv,HEAD.csv")
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(report.Formats()); err != nil {
					return err
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				c := check.Compare{Base: args.own[0], Head: args.own[1], Policy: p, Observe: newProgress(e, false).event}
				c.Tools.Nsys = cut.nsys
				if c.Rule, err = cut.rule(); err != nil {
					return err
				}
				if explain != "" {
					pages := strings.Split(explain, ",")
					if len(pages) != 2 || pages[0] == "" || pages[1] == "" {
						return usageError("--explain: %q is not BASE.csv,HEAD.csv, two files that ncu --csv --page raw printed", explain)
					}
					c.Counters = [2]string(pages)
				}
				r, err := c.Run(ctx)
				if err != nil {
					return err
				}
				r.Reproduce = e.again
				return out.publish(e, r, false, p.File)
			}
		},
	}
}

func reportCommand() *command {
	return &command{
		name:    "report",
		usage:   "[flags] REPORT",
		summary: "render a saved JSON report in any format",
		own:     1,
		wants:   "one saved report",
		long: `
Renders a report that check or compare saved, without a GPU, and ends with the exit code of its verdict.

Example:

  nsgate report --format markdown report.json`,
		bind: func(fs *pflag.FlagSet) action {
			var out outputFlags
			out.bind(fs)
			return func(_ context.Context, e *env, args arguments) error {
				if err := out.check(report.Formats()); err != nil {
					return err
				}
				r, err := readReport(args.own[0])
				if err != nil {
					return err
				}
				return out.publish(e, r, filepath.IsLocal(r.Baseline), "")
			}
		},
	}
}

// offerAccept puts the command that takes a failing report's measurement as the baseline into the report.
func offerAccept(r *gate.Report, out *outputFlags) {
	if r.Verdict != gate.Fail || r.Baseline == "" {
		return
	}
	file := ""
	for _, f := range out.files {
		if name, ok := strings.CutPrefix(f, "json="); ok {
			file = name
		}
	}
	if file == "" {
		file = "report.json"
		r.Next = append(r.Next, "to accept the change, check again with --report json="+file)
	}
	if out.patch != "" {
		r.Next = append(r.Next, "to accept it with the patch that is written beside: "+thresholds.JoinCommand([]string{"git", "apply", out.patch}))
	}
	r.Accept = thresholds.JoinCommand([]string{"nsgate", "accept", file, "--reason"}) + " 'WHY'"
}

// inputs lists what is read, a line a format.
func inputs() string {
	var b strings.Builder
	for _, f := range profile.Formats() {
		needs := ""
		if f.Needs != "" {
			needs = ", needs " + f.Needs
		}
		fmt.Fprintf(&b, "  %s (%s%s)\n", f.Name, strings.Join(f.Suffixes, ", "), needs)
	}
	return b.String()
}
