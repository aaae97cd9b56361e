package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/run/nsysrun"
)

func TestPlanAsksFor(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"tool": "#!/usr/bin/env python3\n", "app": "\x7fELF",
		"run.sh": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var metrics, stacks Plan
	metrics.GPUMetrics, stacks.Stacks = true, true
	for _, tt := range []struct {
		plan      Plan
		command   string
		has, lack string
	}{
		{Plan{}, "./app", "--sample=none", "--gpu-metrics-devices --cudabacktrace --python-backtrace"},
		{metrics, "./app", "--gpu-metrics-devices=cuda-visible --gpu-metrics-frequency=10000 --sample=none",
			"--cudabacktrace"},
		{stacks, "./app", "--cudabacktrace=all:0 --sample=process-tree", "--python-backtrace --gpu-metrics-devices"},
		{stacks, "./run.sh", "--cudabacktrace=all:0", "--python-backtrace"},
		{stacks, "./tool", "--python-backtrace=cuda", ""},
		{stacks, "python3.12 -m bench", "--python-backtrace=cuda", ""},
		{stacks, "torchrun --nproc-per-node 2 ddp.py", "--python-backtrace=cuda", ""},
		{stacks, "./app python", "--python-backtrace=cuda", ""}, // a launcher, for all that one can see
	} {
		tt.plan.Profiler, tt.plan.Runs = nsysrun.Nsys{}, 1
		tt.plan.Head = Build{Command: strings.Fields(tt.command), Dir: dir}
		var lines []string
		for _, line := range tt.plan.CommandLines() {
			lines = append(lines, line...)
		}
		got := " " + strings.Join(lines, " ") + " "
		for _, word := range strings.Fields(tt.has) {
			if !strings.Contains(got, " "+word+" ") {
				t.Errorf("%s: %q is missing in %s", tt.command, word, got)
			}
		}
		for _, word := range strings.Fields(tt.lack) {
			if strings.Contains(got, word) {
				t.Errorf("%s: %q is in %s", tt.command, word, got)
			}
		}
	}
}

// The timeout of a run bounds how long a profiler may take to start, to end and to export.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		plan          Plan
		start, finish time.Duration
	}{
		{Plan{Runs: 5}, 2 * time.Minute, 10 * time.Minute},
		{Plan{Runs: 5, Options: Options{Timeout: 5 * time.Second}}, 35 * time.Second, 80 * time.Second},
		{Plan{Runs: 5, Unprofiled: 5, Base: &Build{}, Options: Options{Timeout: 5 * time.Second}}, 35 * time.Second,
			230 * time.Second},
		{Plan{Runs: 5, Options: Options{Timeout: 5 * time.Minute}}, 2 * time.Minute, 10 * time.Minute},
		{Plan{Runs: 5, Options: Options{Timeout: time.Second}, StartLimit: time.Second, FinishLimit: time.Minute},
			time.Second, time.Minute},
	} {
		tt.plan.Profiler = nsysrun.Nsys{}
		if p := tt.plan.withDefaults(); p.StartLimit != tt.start || p.FinishLimit != tt.finish {
			t.Errorf("%+v: %v and %v", tt.plan, p.StartLimit, p.FinishLimit)
		}
	}
}

// Arguments reach the program as they are, and no shell reads them.
func TestWith(t *testing.T) {
	hostile := []string{"$(echo a)", "it's `b` #\\", "~;c>d"}
	for _, command := range []string{
		"printf|[%s]", "sh|-c|printf '[%s]'", "sh|-ec|printf '[%s]' >&1",
		"env|A=1|/bin/sh|-e|-u|-c|cat <<E\nE\nprintf '[%s]'",
		`sh|-c|printf '[%s]' "$@"|name`, "sh|-eo|noglob|-c|printf '[%s]'",
	} {
		b := Build{Command: strings.Split(command, "|")}
		own := slices.Clone(b.Command)
		words := b.With(hostile).Command
		out, err := exec.Command(words[0], words[1:]...).Output()
		if got, want := string(out), "["+strings.Join(hostile, "][")+"]"; err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", command, got, err, want)
		}
		if !slices.Equal(b.Command, own) || !slices.Equal(b.With(nil).Command, own) {
			t.Errorf("%s: the command was changed", command)
		}
	}
	for _, command := range []string{"sh|run.sh|-c|file", "python3|-c|code", "sh|-c"} {
		words := strings.Split(command, "|")
		if got := (&Build{Command: words}).With(hostile).Command; !slices.Equal(got, append(words, hostile...)) {
			t.Errorf("%s: %q", command, got)
		}
	}
}
