package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// everyCommand calls f with each command and part of one, and its flags.
func everyCommand(f func(page string, c *command, v *given)) {
	var visit func(above string, commands []*command)
	visit = func(above string, commands []*command) {
		for _, c := range commands {
			fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
			f(above+c.name, c, c.bindFlags(above+c.name, fs).line())
			visit(c.name+"-", c.parts)
		}
	}
	visit("", commands())
}

// Each flag declares where it acts, in words that are known, and flags that there are.
func TestFlagsDeclareModes(t *testing.T) {
	count, words := 0, []string{"always", "plan"}
	for mode := range modes {
		words = append(words, mode)
	}
	texts, _ := flagTexts()
	everyCommand(func(page string, c *command, v *given) {
		v.fs.VisitAll(func(f *pflag.Flag) {
			count++
			if f.Name == "help" {
				return
			}
			acts := strings.Fields(string(v.acts[f.Name]))
			if len(acts) == 0 {
				t.Errorf("--%s of %s declares no mode in help/flags.txt", f.Name, page)
			}
			for _, w := range acts {
				if other, ok := texts[w[1:]]; !slices.Contains(words, w) &&
					!(strings.ContainsAny(w[:1], "+-") && ok && other.meaning != "") {
					t.Errorf("--%s of %s acts in %q, which is no mode", f.Name, page, w)
				}
			}
		})
	})
	if count < 200 {
		t.Errorf("only %d flags", count)
	}
}

// sample is a value of a flag that is not its default.
func sample(f *pflag.Flag) string {
	known := map[string]string{"starts": "2", "timeout": "1s", "budget": "60s", "runs": "4", "warmup": "1",
		"step": "step", "kernel": "saxpy", "nsys-arg": "--foo", "ranks": "0", "threshold": "9%",
		"step-threshold": "9%", "alpha": "2%", "cost": "1%", "undecided": "fail", "set": "basic", "nvtx-range": "a/",
		"gather": "gathered", "output": "x.json", "report": "json=y.json", "patch": "p.patch", "workload": "app",
		"format": "json", "profiler": "ncu", "from": os.Getenv("TEST_HEAD"), "max-time": "1h", "target": "5%",
		"nsys": "nsys", "base-cmd": "true"}
	values := f.Annotations[completed]
	switch {
	case known[f.Name] != "":
		return known[f.Name]
	case f.Value.Type() == "bool":
		return "true"
	case f.Value.Type() == "int":
		return "7"
	case len(values) > 0:
		return values[len(values)-1]
	}
	return "x"
}

// called runs nsgate in the working directory.
func called(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(t.Context(), args, Streams{Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// atBaseline makes a directory with a baseline the working directory, and returns recordings to judge.
func atBaseline(t *testing.T) (head string) {
	t.Helper()
	kernels, err := filepath.Abs("../../../testdata/h200/kernels")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "NSGATE_") {
			t.Setenv(name, "")
		}
	}
	if code, _, err := called(t, "record", "-w", "app", "--from", kernels+"/base"); code != 0 {
		t.Fatal(err)
	}
	head = kernels + "/unchanged/unchanged.000.sqlite"
	t.Setenv("TEST_HEAD", head)
	return head
}

// TestIdleFlags tries each flag in each mode of the commands that measure: where it does nothing it is refused with a
// word on the mode, and its variable is ignored, also with a value that no flag takes.
func TestIdleFlags(t *testing.T) {
	head := atBaseline(t)
	tried := map[bool]int{}
	for _, mode := range []struct{ words, args string }{
		{"files", "check -w app --from " + head},
		{"files", "record -w app --from " + head},
		{"files", "calibrate -w app --from " + head},
		{"files pages", "check -w app --profiler ncu --from " + head},
		{"times unprofiled", "check -w app --dry-run"},
		{"times unprofiled", "record -w app --dry-run"},
		{"times counters unprofiled", "record -w app --ncu --dry-run"},
		{"times unprofiled", "calibrate -w app --dry-run"},
		{"counters", "check -w app --profiler ncu --kernel k --no-baseline show --dry-run"},
		{"files", "compare " + head + " " + head},
	} {
		args := strings.Fields(mode.args)
		var workload []string
		if strings.Contains(mode.args, "--dry-run") {
			workload = []string{"--", "true"}
		}
		called(t, slices.Concat(args, workload)...) // a second record has nothing new
		code, out, _ := called(t, slices.Concat(args, workload)...)
		everyCommand(func(page string, c *command, v *given) {
			if page != args[0] {
				return
			}
			v.fs.VisitAll(func(f *pflag.Flag) {
				a := v.acts[f.Name]
				if f.Name == "help" || slices.Contains(args, "--"+f.Name) || strings.ContainsAny(string(a), "+") ||
					strings.Contains(string(a), " -") {
					return
				}
				given := "--" + f.Name + "=" + sample(f)
				idle := a.idle(f.Name, v.fs, strings.Fields(mode.words)) != ""
				tried[idle]++
				if !idle {
					return
				}
				got, _, said := called(t, slices.Concat(args, []string{given}, workload)...)
				if refused := got == ExitUsage && strings.Contains(said, "--"+f.Name+" "); !refused {
					t.Errorf("%s %s: exit %d, %s", mode.args, given, got, said)
				}
				t.Setenv(variable(f.Name), "no value")
				if got, printed, said := called(t, slices.Concat(args, workload)...); got != code || printed != out {
					t.Errorf("%s with %s: exit %d, not %d: %s%s", mode.args, variable(f.Name), got, code, printed, said)
				}
				t.Setenv(variable(f.Name), "")
			})
		})
	}
	if tried[true] < 60 || tried[false] < 60 {
		t.Errorf("%d flags were refused, %d act", tried[true], tried[false])
	}
}

// A variable with a value that only another command takes is ignored; one that no command takes is refused.
func TestVariablesOfOtherCommands(t *testing.T) {
	head := atBaseline(t)
	tried := 0
	var formats []string
	everyCommand(func(_ string, c *command, _ *given) { formats = append(formats, c.formats...) })
	for _, line := range []string{"show " + head, "history -w app", "baseline", "baseline list", "policy", "doctor",
		"version", "init --dry-run", "compare " + head + " " + head, "check -w app --from " + head,
		"calibrate -w app --from " + head, "explain time", "record -w app --dry-run -- true"} {
		args := strings.Fields(line)
		code, _, _ := called(t, args...)
		for _, format := range slices.Compact(slices.Sorted(slices.Values(formats))) {
			t.Setenv("NSGATE_FORMAT", format)
			if got, _, said := called(t, args...); got != code {
				t.Errorf("%s with NSGATE_FORMAT=%s: exit %d, not %d: %s", line, format, got, code, said)
			}
			tried++
		}
		t.Setenv("NSGATE_FORMAT", "")
		for _, v := range []string{"NSGATE_RUNS=3..5", "NSGATE_RUNS=2..2", "NSGATE_RUNS=1", "NSGATE_WORKLOAD=app,other",
			"NSGATE_BUILD=make", "NSGATE_PATCH_REASON=x", "NSGATE_ACCEPT_LABEL=x", "NSGATE_PAIRED=true",
			"NSGATE_KERNEL=regex:x", "NSGATE_TARGET=2%", "NSGATE_RANKS=0", "NSGATE_JSON=true", "NSGATE_QUIET=true",
			"NSGATE_VERBOSE=true", "NSGATE_ALLOW_BUSY=true", "NSGATE_OUTPUT=o.json"} {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
			if got, _, said := called(t, args...); got != code {
				t.Errorf("%s with %s: exit %d, not %d: %s", line, v, got, code, said)
			}
			t.Setenv(name, "")
		}
	}
	if tried < 100 {
		t.Errorf("%d values were tried", tried)
	}
	t.Setenv("NSGATE_FORMAT", "pdf")
	if code, _, said := called(t, "show", head); code != ExitUsage || !strings.Contains(said, "NSGATE_FORMAT") {
		t.Errorf("exit %d: %s", code, said)
	}
}
