package nsysstats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// The expected numbers come from SQL on the recordings that nsys printed; bytes are rounded to thousands, copy by copy.

func TestPrintedTrace(t *testing.T) {
	run := open(t, "odd/odd_cuda_gpu_trace.csv")
	type sum struct{ count, ns, bytes int64 }
	got := map[string]sum{}
	for _, l := range run.Trace.Launches {
		s := got["kernels"]
		got["kernels"] = sum{s.count + 1, s.ns + l.End - l.Start, 0}
	}
	for _, c := range run.Trace.Copies {
		s := got[c.Kind.String()]
		got[c.Kind.String()] = sum{s.count + 1, s.ns + c.End - c.Start, s.bytes + c.Bytes}
	}
	want := map[string]sum{
		"kernels": {40, 712261, 0}, "memcpy HtoD": {12, 12545, 24000}, "memcpy DtoH": {6, 463043, 25164000},
		"memcpy DtoD":         {9, 10336, 12000},
		"unified memcpy HtoD": {9, 25533, 207000}, "unified memcpy DtoH": {8, 13918, 146000},
		"memset": {6, 7489, 72000},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sum{})); diff != "" {
		t.Errorf("(-SQL +got):\n%s", diff)
	}
	if run.Trace.GPU != "NVIDIA H100 80GB HBM3" || run.Trace.GPUs != 1 || run.Trace.Tick != 32 ||
		run.Trace.Tool != "nsys-stats" {
		t.Errorf("%+v", run.Trace.Environment)
	}
}

// Every table of one recording that lists kernels counts 40 launches of 712,261 ns.
func TestPrintedAlike(t *testing.T) {
	for name, rounded := range map[string]float64{
		"odd/odd_cuda_gpu_trace.csv": 0, "odd/all.txt": 0, "odd/msec.txt": 40 * 50,
	} {
		run := open(t, name, "odd/odd_dx11_pix_sum.csv") // the latter is empty, as nsys leaves it
		var launches, ns float64
		if s := run.Summary; s != nil {
			count, _ := s.Find(measure.Workload, "launches")
			total, _ := s.Find(measure.Workload, "gpu_time")
			launches, ns = count.Values[0], total.Values[0]
		} else {
			launches = float64(len(run.Trace.Launches))
			for _, l := range run.Trace.Launches {
				ns += float64(l.End - l.Start)
			}
		}
		if launches != 40 || ns < 712261-rounded || ns > 712261+rounded {
			t.Errorf("%s: %v launches of %v ns", name, launches, ns)
		}
	}
}

// The tables of a run together: with the trace each launch is known, without it the summaries say what they can.
func TestPrintedRun(t *testing.T) {
	names, _ := filepath.Glob("testdata/kernels/*.csv")
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], "testdata/")
	}
	if len(Group(names)) != 1 {
		t.Fatalf("%d files in %d groups", len(names), len(Group(names)))
	}
	run := open(t, names...)
	if n, c := len(run.Trace.Launches), len(run.Trace.Copies); n != 122 || c != 22 {
		t.Errorf("%d launches, %d copies", n, c)
	}
	run = open(t, slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, "gpu_trace") })...)
	for _, c := range []struct {
		subject measure.Subject
		metric  string
		want    float64
	}{
		{measure.Workload, "gpu_time", 8916017}, {measure.Workload, "launches", 122},
		{measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}, "copy_bytes", 167_772_000},
		{measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}, "copy_time", 3099422},
		{measure.Subject{Scope: measure.ScopeWorkload, Name: "memset"}, "copies", 1},
		{measure.Subject{Scope: measure.ScopeKernel, Name: "tiny(float *)"}, "time", 1227.2},
	} {
		if x, ok := run.Summary.Find(c.subject, c.metric); !ok || x.Values[0] != c.want {
			t.Errorf("%s of %s: %v, want %v", c.metric, c.subject.ID(), x.Values, c.want)
		}
	}
	if r := run.Summary; r.Warmup != "0" || r.Runs[0] != (model.Run{Total: 122, Launches: 122, Steady: true}) ||
		r.GPU != "" || r.Tool != "nsys-stats" {
		t.Errorf("%+v %+v", r.Environment, r.Runs)
	}
}

func TestPrintedRefusals(t *testing.T) {
	for name, want := range map[string]string{
		"odd/nocuda.txt": "odd/nocuda.txt:11: nsys found no CUDA kernels in the recording",
		"odd/column.txt": "odd/column.txt:6: the rows of cuda_gpu_kern_sum add up to 97.8 % of its " +
			"total: rows are missing",
		"odd/tsv.txt":               "odd/tsv.txt: no table of nsys stats",
		"odd/odd_nvtx_kern_sum.csv": "odd/odd_nvtx_kern_sum.csv: no table of kernels, only nvtx_kern_sum",
		"odd/odd_dx11_pix_sum.csv":  "odd/odd_dx11_pix_sum.csv is empty",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAny(t.Context(), File{name, strings.NewReader(string(text))}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if Sniff(text) != (len(text) > 0) {
			t.Errorf("%s: recognised %v", name, Sniff(text))
		}
	}
}

// The published outputs beside the repository.
func TestSamples(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "samples")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no samples beside the repository")
	}
	for name, want := range map[string]string{
		"nsys-stats-2021.2.gputrace.mmperf.csv": "100 launches of matmul_dispatch_0 800701 ns, 9 copies of 143360 " +
			"B on Tesla V100-SXM2-16GB",
		"nsys-stats-2025.kern_sum.CodeGandee.csv": "387 launches of 19 kernels 3424837 ns",
		"nsys-stats-decimal-comma.mem_size.csv":   `nsys-stats-decimal-comma.mem_size.csv:2: column "Total (MB)": "482,333" is ambiguous: its comma may separate thousands or decimals; export again with LC_ALL=C`,
	} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got := ""
		run, err := readAny(t.Context(), File{name, f})
		switch {
		case err != nil:
			got = err.Error()
		case run.Trace != nil:
			var ns, bytes int64
			for _, l := range run.Trace.Launches {
				ns += l.End - l.Start
			}
			for _, c := range run.Trace.Copies {
				bytes += c.Bytes
			}
			got = fmt.Sprintf("%d launches of %s %d ns, %d copies of %d B on %s", len(run.Trace.Launches),
				run.Trace.Kernels[0].Subject.Name, ns, len(run.Trace.Copies), bytes, run.Trace.GPU)
		default:
			total, _ := run.Summary.Find(measure.Workload, "gpu_time")
			kernels := 0
			for _, x := range run.Summary.Series {
				if x.Metric == measure.Time {
					kernels++
				}
			}
			got = fmt.Sprintf("%d launches of %d kernels %.0f ns", run.Summary.Runs[0].Launches, kernels,
				total.Values[0])
		}
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
}
