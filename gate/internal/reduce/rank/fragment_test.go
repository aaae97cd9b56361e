package rank

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/gob"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/nsys"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
)

const recordings = "../../../../testdata/"

// compressed is a fragment with any content.
func compressed(t testing.TB, content []byte) []byte {
	t.Helper()
	out := bytes.NewBufferString(fragmentVersion)
	z := gzip.NewWriter(out)
	if _, err := z.Write(content); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// gobOf is the content of a fragment of one process.
func gobOf(t testing.TB, x model.Trace) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(&x); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fragmentOf is the fragment of a recording with collectives.
func fragmentOf(t testing.TB) model.Trace {
	t.Helper()
	traces, err := nsys.Read(t.Context(), recordings+"h200/kernels/base/base.000.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	x := traces[0]
	x.Kernels = slices.Clone(x.Kernels)
	x.Kernels[0].Subject.Name = "ncclDevKernel_AllReduce"
	x, ok := trace.Fragment(x, trace.Options{})
	if !ok || len(x.Kernels) != 1 {
		t.Fatal("there is no fragment")
	}
	return x
}

// A fragment holds all that is read of an export; of one that was not cut down it is about an eighth.
func TestLaunches(t *testing.T) {
	for _, name := range []string{"h200/nccl.sqlite", "h200/jax.sqlite", "h200/graph-node.sqlite",
		"h200/graph-whole.sqlite", "h200/kernels/base/base.000.sqlite", "h100/gpu-metrics.sqlite", "h100/memory.sqlite",
		"h100/stacks-python.sqlite"} {
		want, err := nsys.Read(t.Context(), recordings+name)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := Fragment(want, trace.Options{Step: trace.NoStep})
		if err != nil {
			t.Fatal(name, err)
		}
		file := filepath.Join(t.TempDir(), "run.000.rank0.trace")
		if err := os.WriteFile(file, packed, 0o600); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i].Source = file
		}
		got, err := ReadFragment(file, "it")
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		export, err := os.Stat(recordings + name)
		if err != nil || strings.Contains(name, "kernels") && 7*int64(len(packed)) > export.Size() {
			t.Errorf("%s: %d bytes packed, %v", name, len(packed), err)
		}
	}
}

// A rank with steps leaves a fragment by the step that is named, or by its own.
func TestFragmentStep(t *testing.T) {
	traces, err := nsys.Read(t.Context(), recordings+"h200/kernels/base/base.000.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{"": "step", "compute": "compute", trace.NoStep: "", "epoch": ""} {
		packed, err := Fragment(traces, trace.Options{Step: step})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "x.trace")
		if err := os.WriteFile(file, packed, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFragment(file, "it")
		if err != nil || (got[0].Fragment == nil) != (want == "") || want != "" && got[0].Fragment.Step != want {
			t.Errorf("%q: %v, %+v", step, err, got[0].Fragment)
		}
	}
}

// A fragment has samples for the warm-up that is asked for.
func TestFragmentWarmup(t *testing.T) {
	traces, err := nsys.Read(t.Context(), recordings+"h200/kernels/base/base.000.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := Fragment(traces, trace.Options{Warmup: "2"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.trace")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	for warmup, kind := range map[string]model.Kind{"": "", "2": "", "1": model.RunsDiffer, "99": model.LongWarmup} {
		got, err := ReadFragment(file, "it")
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := trace.Reduce(trace.Options{Warmup: warmup}, got)
		if model.KindOf(err) != kind || kind == "" && warmup != "" && sessions[0][0].Runs[0].Skipped != 2 {
			t.Errorf("a warm-up of %q: %v", warmup, err)
		}
	}
}

// A file that is no fragment of this version, or a cut or changed one, is refused.
func TestFragmentRefused(t *testing.T) {
	traces, err := nsys.Read(t.Context(), recordings+"h200/nccl.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	sound, err := Fragment(traces, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*model.Trace)) []byte {
		x := traces[0]
		x.Launches, x.Ranges, x.Kernels = slices.Clone(x.Launches), slices.Clone(x.Ranges), slices.Clone(x.Kernels)
		change(&x)
		return compressed(t, gobOf(t, x))
	}
	long := func(t *model.Trace) { t.Warnings = []string{strings.Repeat("x", 2<<20)} }
	defer func(most int64) { largestFragment = most }(largestFragment)
	largestFragment = 1 << 20
	long(&traces[0])
	if _, err := Fragment(traces, trace.Options{}); err == nil {
		t.Error("too large a recording is packed")
	}
	traces[0].Warnings = nil
	type refused struct {
		file []byte
		kind model.Kind
		says string
	}
	files := map[string]refused{
		"sound": {sound, "", ""},
		"another version": {append([]byte(fragmentMagic+"1\n"), sound[len(fragmentVersion):]...), model.OtherFormat,
			"it was written by another release"},
		"cut":             {sound[:len(sound)/2], model.Truncated, "it is truncated; measure the job again"},
		"without content": {[]byte(fragmentVersion), model.Damaged, "it is damaged"},
		"empty":           {nil, model.Damaged, "it is damaged"},
		"another format":  {[]byte("SQLite format 3\x00"), model.Damaged, "it is damaged"},
		"no process":      {compressed(t, nil), model.Damaged, "it is damaged"},
		"too large":       {changed(long), model.TooLarge, "it holds more than 1 MB"},
	}
	for says, change := range map[string]func(*model.Trace){
		"the number of its launches": func(t *model.Trace) { t.Launches = nil },
		"its launch 2 does not fit":  func(t *model.Trace) { t.Launches[1].Kernel = 99 },
		"its launch 1 does not fit":  func(t *model.Trace) { t.Launches[0].End = -1 },
		"its launch 4 does not fit":  func(t *model.Trace) { t.Launches[3].API = 1 << 62 },
		"its launch 3 does not fit":  func(t *model.Trace) { t.Launches[2].Range = 1 << 20 },
		"its range 1 does not fit":   func(t *model.Trace) { t.Ranges[0].Parent = 0 },
		"its kernel 1 does not fit":  func(t *model.Trace) { t.Kernels[0].Subject.Scope = "" },
		"a call does not fit":        func(t *model.Trace) { t.CallNames = nil },
		"its capture 1 does not fit": func(t *model.Trace) { t.Captures = []model.Interval{{Start: 2, End: 1}} },
		"the number of its NVTX":     func(t *model.Trace) { t.RangeCategories = []string{"x"} },
		"its call stack 1":           func(t *model.Trace) { t.Callers = []model.Caller{{Kernel: 99}} },
		"a sample":                   func(t *model.Trace) { t.Sampling = &model.Sampling{Values: [][]float64{{1}}} },
	} {
		files[says] = refused{changed(change), model.Damaged, says}
	}
	fragment := fragmentOf(t)
	for says, change := range map[string]func(*model.Trace, *model.Fragment){
		"": func(t *model.Trace, d *model.Fragment) {},
		"its fragment does not fit": func(t *model.Trace, d *model.Fragment) {
			t.Ranges, t.RangeNames = []model.Range{{Parent: -1}}, []string{"x"}
		},
		"its fragment does": func(t *model.Trace, d *model.Fragment) { t.Sampling = &model.Sampling{} },
		"its fragment": func(t *model.Trace, d *model.Fragment) {
			t.Captures = []model.Interval{{Start: 1, End: 2}}
		},
		"the number of its launches":  func(t *model.Trace, d *model.Fragment) { d.Devices = nil },
		"the number of its launches,": func(t *model.Trace, d *model.Fragment) { d.Span.End = -1 },
		"a step does not fit":         func(t *model.Trace, d *model.Fragment) { d.Compute = []float64{math.NaN()} },
		"a step":                      func(t *model.Trace, d *model.Fragment) { d.Compute = nil },
		"a collective does not fit": func(t *model.Trace, d *model.Fragment) {
			d.Collectives = model.PackCollectives([]model.Collective{{Step: 1 << 20}})
		},
		"a collective does not": func(t *model.Trace, d *model.Fragment) { d.Collectives.Own = d.Collectives.Own[:1] },
		"a collective does":     func(t *model.Trace, d *model.Fragment) { d.Collectives.Rest += "x" },
		"a warm-up does not fit": func(t *model.Trace,
			d *model.Fragment) {
			d.Warmups = []model.Warmup{{Steps: 1 << 30}}
		},
	} {
		x, d := fragment, *fragment.Fragment
		x.Fragment = &d
		change(&x, &d)
		kind := model.Damaged
		if says == "" {
			kind = ""
		}
		files["fragment: "+says] = refused{compressed(t, gobOf(t, x)), kind, says}
	}
	for name, x := range files {
		file := filepath.Join(t.TempDir(), "x.trace")
		if err := os.WriteFile(file, x.file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFragment(file, "it")
		if model.KindOf(err) != x.kind || !strings.Contains(fmt.Sprint(err), cmp.Or(x.says, "nil")) {
			t.Errorf("%s: %s, %v", name, model.KindOf(err), err)
		}
	}
}

// Whatever a fragment holds, it is refused or reduced.
func FuzzFragment(f *testing.F) {
	for _, name := range []string{"h200/nccl.sqlite", "h200/graph-whole.sqlite", "h100/gpu-metrics.sqlite"} {
		traces, err := nsys.Read(f.Context(), recordings+name)
		if err != nil {
			f.Fatal(err)
		}
		x := traces[0]
		n := min(len(x.Launches), 40) // a short one is changed faster
		x.Launches, x.Calls, x.Callers = x.Launches[:n], model.Calls{}, nil
		f.Add(gobOf(f, x))
	}
	f.Add(gobOf(f, fragmentOf(f)))
	f.Fuzz(func(t *testing.T, content []byte) {
		traces, err := decode(io.LimitReader(bytes.NewReader(content), 1<<20))
		if err != nil {
			return
		}
		for range 2 { // alone, and as ranks
			sessions, err := trace.Reduce(trace.Options{}, traces)
			if err == nil && len(sessions[0]) == 0 {
				t.Error("reduced to nothing")
			}
			traces = []model.Trace{traces[0], traces[0]}
			for i := range traces {
				traces[i].Job, traces[i].Rank = "job", i
			}
		}
	})
}
