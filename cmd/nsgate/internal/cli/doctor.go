package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/ncu"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/thresholds"
)

func doctorCommand() *command {
	return &command{
		name:    "doctor",
		usage:   "[flags]",
		summary: "say what is missing to measure here, and what to do about it",
		long: `
Looks at nsys, ncu, the GPUs, the right to read performance counters, the room for reports, the policy file and the
baselines. Exit code 0 when a workload can be measured here, 3 when not. compare, accept and report need none of it.

Examples:

  nsgate doctor
  nsgate doctor --nsys /opt/nvidia/nsight-systems/bin/nsys`,
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
				x := &examination{out: e.Out, healthy: true}
				x.nsys(ctx, m.nsys)
				x.ncu(ctx)
				x.gpus(ctx)
				x.counters("/proc/driver/nvidia/params")
				x.room(os.TempDir())
				x.repository(&m, &policy)
				if !x.healthy {
					fmt.Fprintln(e.Out, "\nNothing can be measured here before what is marked ✗ is set right.")
					return &exit{code: ExitNoVerdict, quiet: true}
				}
				fmt.Fprintln(e.Out, "\nA workload can be measured here.")
				return nil
			}
		},
	}
}

// examination looks at one thing after the other and writes a line for each: ✓ for what is well, – for what is worth
// knowing, ✗ for what keeps a workload from being measured, each with what to do about it.
type examination struct {
	out     io.Writer
	healthy bool
}

func (x *examination) line(mark, what, detail string) {
	fmt.Fprintf(x.out, "%s  %-16s  %s\n", mark, report.Clean(what), report.Clean(detail))
}
func (x *examination) good(what, detail string) { x.line("✓", what, detail) }
func (x *examination) note(what, detail string) { x.line("–", what, detail) }
func (x *examination) bad(what, detail string)  { x.line("✗", what, detail); x.healthy = false }

func (x *examination) nsys(ctx context.Context, exe string) {
	version, err := collect.NsysVersion(ctx, exe)
	if err != nil {
		x.bad("nsys", "cannot be used: install Nsight Systems (it comes with the CUDA toolkit), or name it with --nsys")
		return
	}
	x.good("nsys", version)
}

// ncu is needed only to find reasons.
func (x *examination) ncu(ctx context.Context) {
	const install = "install Nsight Compute to see why a kernel got slower; verdicts do not need it"
	path, err := exec.LookPath("ncu")
	if err != nil {
		x.note("ncu", "not found: "+install)
		return
	}
	version := ncu.Version(ctx, path)
	if version == "" {
		x.note("ncu", "is there and names no version: "+install)
		return
	}
	x.good("ncu", version)
}

func (x *examination) gpus(ctx context.Context) {
	gpus, err := collect.Probe(ctx)
	if err != nil {
		x.bad("GPU", "nvidia-smi shows none: install the NVIDIA driver, or start the container with --gpus all")
		return
	}
	others, err := collect.Others(ctx)
	if err != nil {
		x.note("processes", "nvidia-smi does not list them: nothing else should compute on the GPU while nsgate measures")
	}
	x.good("driver", gpus[0].Driver)
	free := 0
	for _, g := range gpus {
		what := fmt.Sprintf("GPU %d", g.Index)
		detail := g.Name
		if g.PState != "" {
			detail += ", " + g.PState
		}
		const advice = ": wait for it, or measure on another GPU (CUDA_VISIBLE_DEVICES)"
		switch names := others[g.UUID]; {
		case len(names) > 0:
			x.note(what, detail+"; in use by "+processes(names)+advice)
		case g.Utilization > 10:
			x.note(what, fmt.Sprintf("%s; busy (%.0f %%)%s", detail, g.Utilization, advice))
		default:
			free++
			x.good(what, detail+", idle")
		}
		switch clock := fmt.Sprintf("%.0f of %.0f MHz", g.ClockMHz, g.MaxClockMHz); {
		case math.IsNaN(g.ClockMHz):
			x.note(what+" clock", "unknown: nvidia-smi does not show it")
		case g.Throttle.Slows() != "":
			x.note(what+" clock", clock+", held down by "+g.Throttle.Slows()+": let it cool, or ask for more power or air")
		default:
			x.good(what+" clock", clock+" now; nvidia-smi -lgc locks it, which makes long comparisons steadier")
		}
	}
	if free == 0 {
		x.bad("GPU", "none is free: what is measured beside other work is no basis for a verdict")
	}
}

// processes lists names, those that are hidden as such.
func processes(names []string) string {
	for i, n := range names {
		names[i] = cmp.Or(n, "a process of another container")
	}
	return list(names)
}

// counters reads the driver's parameters: Nsight Compute needs the right to read performance counters.
func (x *examination) counters(params string) {
	const what = "counters"
	text, err := os.ReadFile(params)
	m := adminOnly.FindSubmatch(text)
	switch {
	case err != nil || m == nil:
		x.note(what, "whether ncu may read them is unknown: the driver's parameters are not visible here")
	case string(m[1]) == "0":
		x.good(what, "open to every user")
	case os.Geteuid() == 0:
		x.note(what, "for administrators only: in a container ncu needs --cap-add SYS_ADMIN; nsys does not need them")
	default:
		x.note(what, "for administrators only: for ncu load the driver with NVreg_RestrictProfilingToAdminUsers=0; nsys does not need them")
	}
}

var adminOnly = regexp.MustCompile(`(?m)^RmProfilingAdminOnly: (\d+)`)

// What a session may need on disk: tens of megabytes for a short workload, a gigabyte for a long one.
const (
	minRoom  = 200 << 20
	goodRoom = 2 << 30
)

func (x *examination) room(dir string) {
	probe, err := os.MkdirTemp(dir, "nsgate-")
	if err != nil {
		x.bad("TMPDIR", "cannot be written to: set TMPDIR to a local directory of your own")
		return
	}
	os.Remove(probe)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		x.note("TMPDIR", "can be written to; its free space is unknown")
		return
	}
	free := uint64(fs.Bavail) * uint64(fs.Bsize)
	detail := fmt.Sprintf("%.1f GB free", float64(free)/1e9)
	switch {
	case free < minRoom:
		x.bad("TMPDIR", detail+": too little for a report; clean up, or set TMPDIR to a larger disk")
	case free < goodRoom:
		x.note("TMPDIR", detail+": enough for short workloads")
	default:
		x.good("TMPDIR", detail)
	}
}

func (x *examination) repository(m *measureFlags, flags *policyFlags) {
	policy, err := flags.load()
	switch {
	case err != nil:
		x.bad("policy", err.Error())
		policy = thresholds.Default()
	case policy.File == "":
		x.note("policy", "no "+policyFile+": the defaults hold; nsgate init writes one")
	default:
		x.good("policy", fmt.Sprintf("%s, %s, %s", policy.File, plural(len(policy.Workloads), "workload"), plural(len(policy.Rules), "rule")))
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
			x.bad(what, err.Error())
		case len(bases) == 0:
			x.note(what, "none in "+m.baseline+"; nsgate record writes one")
		}
		for _, dir := range sortedKeys(bases) {
			x.good(what, fmt.Sprintf("%s on %s", plural(len(bases[dir]), "session"), bases[dir][0].GPU))
		}
	}
}

func versionCommand() *command {
	return &command{
		name:    "version",
		usage:   "",
		summary: "print the version",
		long: `
Prints version, commit and Go version.

Example:

  nsgate version`,
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
