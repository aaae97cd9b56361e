//go:build linux

package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/nvidia"
)

// explained prepares a machine with the fake ncu, whose log is the given text for the workload ./work. A test that ends
// may leave neither processes nor files behind.
func explained(t *testing.T, log, script string) NcuPlan {
	t.Helper()
	session(t, 1, "true")
	dir := t.TempDir()
	t.Setenv("NSGATE_FAKE_NCU", dir)
	t.Setenv("NSGATE_FAKE_NCU_CALLS", filepath.Join(dir, "calls"))
	for name, text := range map[string]string{"work.csv": log, "work": "#!/bin/sh\n" + script + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return NcuPlan{Device: nvidia.New(), Build: Build{Command: []string{"./work", "a word"}, Dir: dir}, Kernels: []string{"sgemm", "operator()"}}
}

func TestExplain(t *testing.T) {
	log, err := os.ReadFile("../../../testdata/ncu/base.raw.csv")
	if err != nil {
		t.Fatal(err)
	}
	p := explained(t, string(log), `echo '"ID","Process ID"'; sleep 60 & echo "$PWD|$1|$TMPDIR" >seen`)
	profile, err := Profile(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(profile.Records) != 12 || profile.GPU != "NVIDIA H200" {
		t.Errorf("%d launches on %q", len(profile.Records), profile.GPU)
	}
	seen, _ := os.ReadFile(filepath.Join(p.Build.Dir, "seen"))
	if f := strings.Split(string(seen), "|"); len(f) != 3 || f[0] != p.Build.Dir || f[1] != "a word" || !strings.Contains(f[2], "nsgate-") {
		t.Errorf("the workload saw %q", seen)
	}
	calls, _ := os.ReadFile(filepath.Join(p.Build.Dir, "calls"))
	for _, want := range []string{`-k regex:^(sgemm|operator\(\))(`, "--config-file off ", "--clock-control none ", "--cache-control all "} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("no %q in %s", want, calls)
		}
	}
}

// What goes wrong is a refusal, or the reason for which the context ended, and nothing is left.
func TestExplainFaults(t *testing.T) {
	for _, tt := range []struct{ name, fault, log, script, want string }{
		{"permission", "permission", "", "", "ERR_NVGPUCTRPERM"},
		{"unknown metric", "metric", "", "", "does not know a metric"},
		{"no kernel", "none", "", "", "profiled no kernel"},
		{"nothing written", "silent", "", "", "ncu wrote nothing (exit status 1)"},
		{"no table", "", "hello", "", "holds no table"},
		{"the workload fails", "", "", "exit 3", "the program failed under ncu"},
		{"ncu hangs", "hang", "", "", "ncu did not finish within 300ms"},
		{"the workload hangs", "", "", "trap '' TERM; sleep 60 & sleep 60", "ncu did not finish within 300ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := explained(t, tt.log, tt.script)
			t.Setenv("NSGATE_FAKE_NCU_FAULT", tt.fault)
			if strings.Contains(tt.name, "hangs") {
				p.Timeout = 300 * time.Millisecond
			}
			_, err := Profile(t.Context(), p)
			var refusal *model.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), tt.want) || refusal.Next == "" {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), os.TempDir()) {
				t.Errorf("a path is shown: %v", err)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		p := explained(t, "", "sleep 60 & sleep 60")
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(200*time.Millisecond, func() { cancel(cause) })
		if _, err := Profile(ctx, p); err != cause {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no ncu", func(t *testing.T) {
		p := explained(t, "", "")
		p.Ncu = "not-there"
		if _, err := Profile(t.Context(), p); err == nil || !strings.Contains(err.Error(), "ncu was not found") {
			t.Errorf("got %v", err)
		}
	})
}

// The pattern matches the names and nothing else, whatever they are.
func TestPattern(t *testing.T) {
	names := rapid.SliceOfN(rapid.OneOf(rapid.StringN(1, 8, -1), rapid.StringOf(rapid.RuneFrom([]rune(`ab()|.*[]{}^$\+?`)))), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		kernels, other := names.Draw(t, "kernels"), rapid.StringOf(rapid.RuneFrom([]rune(`ab()|.*$`))).Draw(t, "other")
		expression, ok := strings.CutPrefix(pattern(kernels), "regex:")
		if !ok {
			t.Fatal(pattern(kernels))
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			t.Skip(err) // names are valid UTF-8
		}
		for _, k := range append(kernels, other) {
			if got, want := re.MatchString(k), slices.Contains(kernels, k); got != want {
				t.Fatalf("%s matches %q: %v", expression, k, got)
			}
		}
	})
}

// ncu matches its own names, which have tags that the names of kernels here have not.
func TestPatternTags(t *testing.T) {
	re := regexp.MustCompile(strings.TrimPrefix(pattern([]string{"black_scholes_kernel"}), "regex:"))
	for name, want := range map[string]bool{
		"black_scholes_kernel": true, "black_scholes_kernel[v1,cw51cXTLSUwv1sDUaKthqaNgtEUAA_3d_3d]": true, "black_scholes_kernel[v1]": true,
		"black_scholes_kernel[abi:v1,cw51cXTLSUwv1sCUt9Uw_3d]": true, "black_scholes_kernel$241": true,
		"black_scholes_kernel_2": false, "black_scholes_kernel_2[v1]": false, "black_scholes_kernel[]": false,
	} {
		if re.MatchString(name) != want {
			t.Errorf("%s matches %q: %v", re, name, !want)
		}
	}
}
