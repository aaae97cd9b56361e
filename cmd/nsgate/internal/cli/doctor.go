package cli

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/thresholds"
)

func doctorCommand() *command {
	return &command{
		name:    "doctor",
		usage:   "[flags]",
		summary: "say what is missing to measure here, and what to do about it",
		long: `
Looks at nsys, the GPUs, the policy file and the baselines. Exit code 0 when a workload can be measured here, 3 when
not. compare, accept and report need none of it.`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var m measureFlags
			var policy policyFlags
			fs.StringVar(&m.nsys, "nsys", "nsys", "the nsys executable")
			fs.StringVar(&m.baseline, "baseline", defaultBaseline, "directory of the committed baselines")
			fs.StringVar(&policy.file, "policy", "", "policy file")
			return func(ctx context.Context, e *env, args arguments) error {
				if len(args.own) > 0 {
					return usageError("doctor takes no arguments")
				}
				if !examine(ctx, e.Out, &m, &policy) {
					return &exit{code: ExitNoVerdict, quiet: true}
				}
				return nil
			}
		},
	}
}

// examine writes one line a subject and reports whether a workload can be measured here.
func examine(ctx context.Context, w io.Writer, m *measureFlags, flags *policyFlags) bool {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	healthy := true
	line := func(mark, what, detail string) { fmt.Fprintf(t, "%s\t%s\t%s\n", mark, what, report.Clean(detail)) }
	bad := func(what, detail string) { line("✗", what, detail); healthy = false }

	if version, err := collect.NsysVersion(ctx, m.nsys); err != nil {
		bad("nsys", "not found; install Nsight Systems (it comes with the CUDA toolkit) or name it with --nsys")
	} else {
		line("✓", "nsys", version)
	}
	gpus, err := collect.Probe(ctx)
	switch {
	case err != nil:
		bad("GPU", err.Error()+"; install the NVIDIA driver, or start the container with --gpus all")
	case len(gpus) == 0:
		bad("GPU", "nvidia-smi lists none")
	}
	for _, g := range gpus {
		detail := fmt.Sprintf("%s, driver %s", g.Name, g.Driver)
		if g.ClockMHz > 0 && g.MaxClockMHz > 0 {
			detail += fmt.Sprintf(", SM clock %.0f of %.0f MHz", g.ClockMHz, g.MaxClockMHz)
		}
		if g.PState != "" {
			detail += ", " + g.PState
		}
		what := fmt.Sprintf("GPU %d", g.Index)
		if g.Utilization > 10 {
			bad(what, fmt.Sprintf("%s; busy (%.0f %%): wait for the other process, or measure on another GPU", detail, g.Utilization))
			continue
		}
		line("✓", what, detail)
	}
	policy, err := flags.load()
	switch {
	case err != nil:
		bad("policy", err.Error())
		policy = thresholds.Default()
	case policy.File == "":
		line("–", "policy", "no "+policyFile+": the defaults hold; nsgate init writes one")
	default:
		line("✓", "policy", fmt.Sprintf("%s, %s, %s", policy.File, plural(len(policy.Workloads), "workload"), plural(len(policy.Rules), "rule")))
	}
	names := []string{"default"}
	if len(policy.Workloads) > 0 {
		names = nil
		for _, w := range policy.Workloads {
			names = append(names, w.Name)
		}
	}
	for _, name := range names {
		what := "baseline " + name
		bases, err := m.baselines(name)
		switch {
		case err != nil:
			bad(what, err.Error())
		case len(bases) == 0:
			line("–", what, "none in "+m.baseline+"; nsgate record writes one")
		}
		for _, dir := range sortedKeys(bases) {
			line("✓", what, fmt.Sprintf("%s on %s", plural(len(bases[dir]), "session"), bases[dir][0].GPU))
		}
	}
	return healthy
}

func versionCommand() *command {
	return &command{
		name:    "version",
		usage:   "",
		summary: "print the version",
		long:    `Prints version, commit and Go version.`,
		bind: func(*pflag.FlagSet) func(context.Context, *env, arguments) error {
			return func(_ context.Context, e *env, _ arguments) error {
				fmt.Fprintln(e.Out, versionLine())
				return nil
			}
		},
	}
}

// version is set by release builds with -ldflags "-X …cli.version=v1.2.3".
var version string

func versionLine() string {
	v, revision, dirty, goVersion := version, "", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		if v == "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				revision = s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+changes"
			}
		}
	}
	words := []string{"nsgate", v}
	if revision != "" && !strings.Contains(v, revision) {
		words = append(words, revision+dirty)
	}
	return strings.Join(append(words, goVersion), " ")
}
