//go:build linux

package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/ncurun"
	"github.com/nsgate/nsgate/gate/internal/run/nvidia"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// explained prepares a machine with the fake ncu, whose log is the given text for the workload ./work. A test that ends
// may leave neither processes nor files behind.
func explained(t *testing.T, log, script string) CounterPlan {
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
	return CounterPlan{Counter: ncurun.Ncu{}, Device: nvidia.New(),
		Build:     Build{Command: []string{"./work", "a word"}, Dir: dir},
		Selection: profiler.Selection{Kernels: []string{"sgemm", "operator()"}}}
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
	if profile.Launches != 12 || profile.GPU != "NVIDIA H200" {
		t.Errorf("%d launches on %q", profile.Launches, profile.GPU)
	}
	seen, _ := os.ReadFile(filepath.Join(p.Build.Dir, "seen"))
	if f := strings.Split(string(seen), "|"); len(f) != 3 || f[0] != p.Build.Dir || f[1] != "a word" ||
		!strings.Contains(f[2], "nsgate-") {
		t.Errorf("the workload saw %q", seen)
	}
	calls, _ := os.ReadFile(filepath.Join(p.Build.Dir, "calls"))
	for _, want := range []string{`-k regex:^(sgemm|operator\(\))(`, "--config-file off ", "--clock-control none ",
		"--cache-control all "} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("no %q in %s", want, calls)
		}
	}
}

// A fault is a refusal, or the cause of the end of the context, and nothing is left.
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
	t.Run("what was profiled", func(t *testing.T) {
		log, err := os.ReadFile("../../../testdata/ncu/base.raw.csv")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NSGATE_FAKE_NCU_FAULT", "endless")
		for _, kill := range []bool{true, false} {
			p := explained(t, string(log), "")
			p.Why, p.Kill, p.Kernels = true, kill, []string{"saxpy", "sgemm"}
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no more time"))
			start := time.Now()
			profile, err := Profile(ctx, p)
			if err != nil || profile.Launches != 12 || kill && time.Since(start) > 900*time.Millisecond {
				t.Errorf("%v: what was profiled is lost: %v, %v", kill, profile, err)
			}
			cancel()
		}
	})
	t.Run("nothing is profiled", func(t *testing.T) {
		p := explained(t, "", "")
		p.Why, p.Timeout = true, 300*time.Millisecond
		for fault, want := range map[string]string{"stall": "ncu did not finish within", "die": "ncu"} {
			t.Setenv("NSGATE_FAKE_NCU_FAULT", fault)
			start := time.Now()
			_, err := Profile(t.Context(), p)
			if err == nil || !strings.Contains(err.Error(), want) || time.Since(start) > 5*time.Second {
				t.Errorf("%s: %v after %v", fault, err, time.Since(start))
			}
		}
	})
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
		p.Exe = "not-there"
		if _, err := Profile(t.Context(), p); err == nil || !strings.Contains(err.Error(), "ncu was not found") {
			t.Errorf("got %v", err)
		}
	})
}
