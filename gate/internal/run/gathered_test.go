//go:build linux

package run

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/run/nsysrun"
)

// reader reads the jobs in the directory that it is given, as nsgate does, and writes their traces. Started by itself,
// it is the child that reads them, and leaves a sign.
func reader() int {
	if os.Args[1] == RunnerArg {
		os.WriteFile(filepath.Join(os.TempDir(), "sign"), nil, 0o600)
		return RunnerMain(os.Args[2:])
	}
	proc.UseGuard()
	p := Plan{Options: Options{Profiler: nsysrun.Nsys{}, Gather: "/shared"}, Runs: 1}
	var private proc.Private
	private.Joined = os.Args[1]
	traces, err := p.readJobs(context.Background(), &private, make([]Run, 1), func(Event) {})
	if err != nil {
		fmt.Fprintln(os.Stderr, model.KindOf(err), err)
		return 1
	}
	if gob.NewEncoder(os.Stdout).Encode(traces[0]) != nil {
		return 3
	}
	return 0
}

// The exports and fragments of ranks are read by a child: the same traces, and the same refusal.
func TestReadJobs(t *testing.T) {
	for name, kind := range map[string]model.Kind{"nccl.sqlite": "", "jax.sqlite": "",
		"kernels/base/base.000.sqlite": "", "graph-node.sqlite": "", "README.md": model.OtherFormat} {
		t.Run(name, func(t *testing.T) { readJob(t, name, kind, false) })
		t.Run(name+" packed", func(t *testing.T) {
			if kind != "" {
				kind = model.Damaged
			}
			readJob(t, name, kind, true)
		})
	}
}

func readJob(t *testing.T, name string, kind model.Kind, packed bool) {
	const recordings = "../../../testdata/h200/"
	dir := t.TempDir()
	export, called := rank.File(dir, jobOf(0), 0, rank.ExportFile), "the profile of rank 0 of run 1 of 1"
	copyFile(t, recordings+name, export)
	want, wantErr := nsysrun.Nsys{}.Read(t.Context(), export, called)
	if packed {
		from := export
		export = rank.File(dir, jobOf(0), 0, rank.FragmentFile)
		if wantErr == nil {
			data, err := rank.Fragment(slices.Clone(want), trace.Options{Step: trace.NoStep})
			if err == nil {
				err = os.WriteFile(export, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		} else {
			copyFile(t, from, export)
			_, wantErr = rank.ReadFragment(export, called)
		}
		os.Remove(from)
	}
	status := `{"format":"nsgate.rank/1","rank":0,"size":1,"profiled":true,"done":true}`
	if err := os.WriteFile(rank.File(dir, jobOf(0), 0, rank.StatusFile), []byte(status), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("reader", dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, sign := os.Stat(filepath.Join(dir, "sign")); sign != nil {
		t.Errorf("%s: no child was started", name)
	}
	if kind != "" {
		if said := stderr.String(); err == nil || said != fmt.Sprintln(kind, wantErr) {
			t.Errorf("%s: %v, %q, want %v", name, err, said, wantErr)
		}
		return
	}
	var got []model.Trace
	if err := gob.NewDecoder(strings.NewReader(string(out))).Decode(&got); err != nil {
		t.Fatalf("%s: %v: %s", name, err, stderr.String())
	}
	for i := range want {
		want[i].Job, want[i].Source = "run 1 of 1", "rank 0 of run 1 of 1"
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
	if _, err := os.Stat(export); err == nil {
		t.Errorf("%s: the export is left", name)
	}
}

// All of a trace is exported and so reaches the parent of the child that reads it.
func TestTraceTravels(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[model.Trace]()) {
		if !field.IsExported() {
			t.Errorf("model.Trace.%s does not reach the parent", field.Name)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err != nil || out.Close() != nil {
		t.Fatal(err)
	}
}
