package profile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/read/nsys"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// fragmentAll writes fragments of the exports of a directory into another one, and tells their bytes and launches.
func fragmentAll(t testing.TB, from, to, step string) (size, launches int) {
	t.Helper()
	if err := os.MkdirAll(to, 0o777); err != nil {
		t.Fatal(err)
	}
	exports, _ := filepath.Glob(filepath.Join(from, "*.sqlite"))
	for _, name := range exports {
		traces, err := nsys.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range traces {
			launches += len(x.Launches)
		}
		packed, err := rank.Fragment(traces, trace.Options{Step: step})
		if err != nil {
			t.Fatal(err)
		}
		size += len(packed)
		name = filepath.Join(to, strings.TrimSuffix(filepath.Base(name), ".sqlite")+".trace")
		if err := os.WriteFile(name, packed, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return size, launches
}

// recordedJobs copies the exports that match a pattern into a directory, each under another name.
func recordedJobs(t testing.TB, pattern string, name func(i int, file string) string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	dir := t.TempDir()
	for i, from := range files {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name(i, filepath.Base(from))), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Recorded jobs have the same verdict and the same report from launches in the files of fragments as from exports.
func TestLaunchJobs(t *testing.T) { compareFragments(t, trace.NoStep) }

// Recorded jobs have the same verdict and the same report from fragments as from exports.
func TestFragmentJobs(t *testing.T) { compareFragments(t, "") }

func compareFragments(t *testing.T, step string) {
	own := func(_ int, file string) string { return file }
	ranks := func(i int, _ string) string { // of one process each: two ranks a job
		return []string{"run.000.rank0", "run.000.rank1", "run.001.rank0", "run.001.rank1", "left"}[i] + ".sqlite"
	}
	type job struct{ base, head string }
	const kernels = "../../../../testdata/h200/kernels/"
	jobs := map[string]job{
		"unchanged": {recordedJobs(t, kernels+"base/*", ranks), recordedJobs(t, kernels+"unchanged/*", ranks)},
		"slower":    {recordedJobs(t, kernels+"base/*", ranks), recordedJobs(t, kernels+"saxpy_1.05/*", ranks)},
		"idle":      {recordedJobs(t, kernels+"base/*", own), recordedJobs(t, kernels+"idle_200us/*", own)},
		"nccl":      {"../../../../testdata/h200/nccl.sqlite", "../../../../testdata/h200/nccl.sqlite"},
		"graph":     {"../../../../testdata/h200/graph-node.sqlite", "../../../../testdata/h200/graph-node.sqlite"},
		"graphs":    {"../../../../testdata/h200/graph-whole.sqlite", "../../../../testdata/h200/graph-whole.sqlite"},
	}
	straggler := job{filepath.Join(t.TempDir(), "base"), filepath.Join(t.TempDir(), "head")}
	generateJobs(t, straggler.base, 2, 3, 30*perStep, -1)
	generateJobs(t, straggler.head, 2, 3, 30*perStep, 1)
	jobs["straggler"] = straggler
	if dir := os.Getenv("NSGATE_RECORDINGS"); dir != "" {
		multi := func(name string) string { return recordedJobs(t, dir+"/multi/"+name, own) }
		jobs["ddp"] = job{multi("ddp.*"), multi("ddp-slow1.*")}
		jobs["ddp unchanged"] = job{multi("ddp.*"), multi("ddp.*")}
		jobs["ddp of one file"] = job{multi("ddp-joint.*"), multi("ddp-joint.*")}
	}
	if os.Getenv("NSGATE_TEST_FULL") == "" {
		for _, name := range []string{"unchanged", "idle", "graphs"} {
			delete(jobs, name)
		}
	}
	for name, x := range jobs {
		for _, of := range []*string{&x.base, &x.head} {
			if strings.HasSuffix(*of, ".sqlite") {
				*of = recordedJobs(t, *of, own)
			}
			os.Remove(filepath.Join(*of, "left.sqlite"))
		}
		of := func(base, head string) (*result.Report, string) {
			r := judge(t, base, head)
			var out bytes.Buffer
			if err := report.Render("json", &out, r, report.Options{}); err != nil {
				t.Fatal(name, err)
			}
			return r, strings.NewReplacer(base, "BASE", head, "HEAD", ".trace", ".sqlite").Replace(out.String())
		}
		base, head := filepath.Join(t.TempDir(), "base"), filepath.Join(t.TempDir(), "head")
		size, launches := fragmentAll(t, x.base, base, step)
		fragmentAll(t, x.head, head, step)
		files, _ := filepath.Glob(filepath.Join(base, "*"))
		read, err := rank.ReadFragment(files[0], name)
		if err != nil || (read[0].Fragment != nil) != (step == "") {
			t.Errorf("%s: %v, fragment %v", name, err, read[0].Fragment)
		}
		want, wantJSON := of(x.base, x.head)
		got, gotJSON := of(base, head)
		if got.Verdict != want.Verdict || gotJSON != wantJSON {
			t.Errorf("%s: %s: %s\n%s\nwant %s\n%s", name, got.Verdict, got.Reason, gotJSON, want.Verdict, wantJSON)
		}
		exported := 0
		exports, _ := filepath.Glob(filepath.Join(x.base, "*"))
		for _, e := range exports {
			info, _ := os.Stat(e)
			exported += int(info.Size())
		}
		t.Logf("%s: %s, %d launches of %d bytes in exports, %d packed", name, want.Verdict, launches,
			exported/launches, size/launches)
	}
}
