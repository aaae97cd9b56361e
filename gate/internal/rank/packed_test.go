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
	"github.com/nsgate/nsgate/gate/internal/nsys"
	"github.com/nsgate/nsgate/gate/internal/trace"
)

const recordings = "../../../testdata/"

// compressed is a packed trace with any content.
func compressed(t testing.TB, content []byte) []byte {
	t.Helper()
	out := bytes.NewBufferString(packedVersion)
	z := gzip.NewWriter(out)
	if _, err := z.Write(content); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// gobOf is the content of a packed trace of one process.
func gobOf(t testing.TB, x model.Trace) []byte {
	t.Helper()
	var out bytes.Buffer
	x.Pack()
	if err := gob.NewEncoder(&out).Encode(&x); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// digestOf is the digest of a recording with collectives.
func digestOf(t testing.TB) model.Trace {
	t.Helper()
	defer func(launches int) { trace.LongRun = launches }(trace.LongRun)
	trace.LongRun = 100
	traces, err := nsys.Read(t.Context(), recordings+"h200/kernels/base/base.000.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	x := traces[0]
	x.Kernels = slices.Clone(x.Kernels)
	x.Kernels[0].Subject.Name = "ncclDevKernel_AllReduce"
	x, ok := trace.Digest(x, "")
	if !ok || len(x.Kernels) != 1 {
		t.Fatal("there is no digest")
	}
	return x
}

// A packed trace holds all that is read of an export; of one that was not cut down it is a tenth.
func TestPacked(t *testing.T) {
	for _, name := range []string{"h200/nccl.sqlite", "h200/jax.sqlite", "h200/graph-node.sqlite",
		"h200/graph-whole.sqlite",
		"h200/kernels/base/base.000.sqlite", "h100/gpu-metrics.sqlite", "h100/memory.sqlite", "h100/stacks-python.sqlite"} {
		want, err := nsys.Read(t.Context(), recordings+name)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := Pack(want, "")
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
		got, err := ReadPacked(file, "it")
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		export, err := os.Stat(recordings + name)
		if err != nil || strings.Contains(name, "kernels") && 10*int64(len(packed)) > export.Size() {
			t.Errorf("%s: %d bytes packed, %v", name, len(packed), err)
		}
	}
}

// A long rank leaves a digest by the step that is named, or by its own.
func TestPackedDigest(t *testing.T) {
	defer func(launches int) { trace.LongRun = launches }(trace.LongRun)
	trace.LongRun = 100
	traces, err := nsys.Read(t.Context(), recordings+"h200/kernels/base/base.000.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{"": "step", "compute": "compute", trace.NoStep: "", "epoch": ""} {
		packed, err := Pack(traces, step)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "x.trace")
		if err := os.WriteFile(file, packed, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPacked(file, "it")
		if err != nil || (got[0].Digest == nil) != (want == "") || want != "" && got[0].Digest.Step != want {
			t.Errorf("%q: %v, %+v", step, err, got[0].Digest)
		}
	}
}

// A file that is no packed trace of this version, or a cut or changed one, is refused.
func TestPackedRefused(t *testing.T) {
	traces, err := nsys.Read(t.Context(), recordings+"h200/nccl.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	sound, err := Pack(traces, "")
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
	defer func(most int64) { mostUnpacked = most }(mostUnpacked)
	mostUnpacked = 1 << 20
	long(&traces[0])
	if _, err := Pack(traces, ""); err == nil {
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
		"another version": {append([]byte(packedMagic+"2\n"), sound[len(packedVersion):]...), model.OtherFormat,
			"it was packed by another release"},
		"cut":             {sound[:len(sound)/2], model.Truncated, "it is truncated; measure the job again"},
		"without content": {[]byte(packedVersion), model.Damaged, "it is damaged"},
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
		"number of its launches":     func(t *model.Trace) { t.Pack(); t.Packed = t.Packed[:len(t.Packed)-1] },
		"the number of its launche":  func(t *model.Trace) { t.Pack(); t.Packed = append(t.Packed, 0) },
		"a sample":                   func(t *model.Trace) { t.Sampling = &model.Sampling{Values: [][]float64{{1}}} },
	} {
		files[says] = refused{changed(change), model.Damaged, says}
	}
	digest := digestOf(t)
	for says, change := range map[string]func(*model.Trace, *model.Digest){
		"": func(t *model.Trace, d *model.Digest) {},
		"its digest does not fit": func(t *model.Trace, d *model.Digest) {
			t.Ranges, t.RangeNames = []model.Range{{Parent: -1}}, []string{"x"}
		},
		"its digest does": func(t *model.Trace, d *model.Digest) { t.Sampling = &model.Sampling{} },
		"its digest": func(t *model.Trace, d *model.Digest) {
			t.Captures = []model.Interval{{Start: 1, End: 2}}
		},
		"the number of its launches":  func(t *model.Trace, d *model.Digest) { d.Devices = nil },
		"the number of its launches,": func(t *model.Trace, d *model.Digest) { d.Span.End = -1 },
		"a step does not fit":         func(t *model.Trace, d *model.Digest) { d.Compute = []float64{math.NaN()} },
		"a step":                      func(t *model.Trace, d *model.Digest) { d.Compute = nil },
		"a collective does not fit": func(t *model.Trace, d *model.Digest) {
			d.Collectives = model.PackCollectives([]model.Collective{{Step: 1 << 20}})
		},
		"a collective does not":  func(t *model.Trace, d *model.Digest) { d.Collectives.Own = d.Collectives.Own[1:] },
		"a collective does":      func(t *model.Trace, d *model.Digest) { d.Collectives.Rest += "x" },
		"a warm-up does not fit": func(t *model.Trace, d *model.Digest) { d.Skips = []int{1 << 30} },
	} {
		x, d := digest, *digest.Digest
		x.Digest = &d
		change(&x, &d)
		kind := model.Damaged
		if says == "" {
			kind = ""
		}
		files["digest: "+says] = refused{compressed(t, gobOf(t, x)), kind, says}
	}
	for name, x := range files {
		file := filepath.Join(t.TempDir(), "x.trace")
		if err := os.WriteFile(file, x.file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPacked(file, "it")
		if model.KindOf(err) != x.kind || !strings.Contains(fmt.Sprint(err), cmp.Or(x.says, "nil")) {
			t.Errorf("%s: %s, %v", name, model.KindOf(err), err)
		}
	}
}

// Whatever a packed trace holds, it is refused or reduced.
func FuzzPacked(f *testing.F) {
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
	f.Add(gobOf(f, digestOf(f)))
	f.Fuzz(func(t *testing.T, content []byte) {
		traces, err := unpack(io.LimitReader(bytes.NewReader(content), 1<<20))
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
