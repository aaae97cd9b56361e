package torch

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	steps "github.com/nsgate/nsgate/gate/internal/reduce/trace"
)

// sums are the totals of a trace. Times are in ns.
type sums struct {
	Launches, Kernels, Copies, Ranges, Nodes int
	Time, API, CopyTime, Bytes               int64
	First                                    int64
	Calls, Syncs                             int // outermost calls, and those that synchronise
	CallTime                                 int64
	GPU                                      string
	Names                                    []string
}

// count adds up a trace in another way than the package does: the whole file as maps, the numbers as fractions.
func count(t *testing.T, data []byte) sums {
	t.Helper()
	var file map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	ns := func(v any) int64 {
		x, ok := new(big.Rat).SetString(fmt.Sprint(v))
		if !ok {
			t.Fatalf("%v is no number", v)
		}
		x.Mul(x, big.NewRat(1000, 1))
		if !x.IsInt() {
			t.Fatalf("%v is no whole number of ns", v)
		}
		return x.Num().Int64()
	}
	whole := func(v any) int64 {
		n, err := v.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var s sums
	calls, graphs := map[string]int64{}, map[string]bool{}
	kernels, names := map[string]bool{}, map[string]bool{}
	type span struct {
		from, to int64
		name     string
	}
	made := map[string][]span{} // by thread
	events := file["traceEvents"].([]any)
	for _, v := range events {
		e := v.(map[string]any)
		switch e["cat"] {
		case "cuda_runtime", "cuda_driver":
			id := fmt.Sprint(e["args"].(map[string]any)["correlation"])
			if at, ok := calls[id]; !ok || ns(e["ts"]) < at {
				calls[id] = ns(e["ts"])
			}
			graphs[id] = graphs[id] || e["name"] == "cudaGraphLaunch"
			thread := fmt.Sprint(e["tid"])
			made[thread] = append(made[thread], span{ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"].(string)})
		case "user_annotation":
			s.Ranges++
		}
	}
	for _, v := range events {
		e := v.(map[string]any)
		args, _ := e["args"].(map[string]any)
		id := fmt.Sprint(args["correlation"])
		switch e["cat"] {
		case "kernel":
			s.Launches++
			s.Time += ns(e["dur"])
			s.API += calls[id]
			if graphs[id] {
				s.Nodes++
			}
			if at := ns(e["ts"]); s.First == 0 || at < s.First {
				s.First = at
			}
			kernels[fmt.Sprint(e["name"], args["grid"], args["block"])] = true
			names[e["name"].(string)] = true
		case "gpu_memcpy", "gpu_memset":
			s.Copies++
			s.CopyTime += ns(e["dur"])
			s.Bytes += whole(args["bytes"])
		}
	}
	for _, calls := range made {
		for i, x := range calls {
			inside := false
			for j, o := range calls {
				inside = inside || i != j && o.from <= x.from && x.to <= o.to
			}
			if !inside {
				s.Calls++
				s.CallTime += x.to - x.from
				if strings.Contains(x.name, "Synchronize") {
					s.Syncs++
				}
			}
		}
	}
	s.Kernels = len(kernels)
	s.Names = slices.Sorted(maps.Keys(names))
	if list := file["deviceProperties"].([]any); len(list) > 0 {
		s.GPU = list[0].(map[string]any)["name"].(string)
	}
	return s
}

// amounts are the totals of a trace from the package.
func amounts(x *model.Trace) sums {
	s := sums{Launches: len(x.Launches), Kernels: len(x.Kernels), Copies: len(x.Copies), Ranges: len(x.Ranges),
		GPU: x.GPU}
	names := map[string]bool{}
	for _, l := range x.Launches {
		s.Time += l.End - l.Start
		s.API += l.API
		if l.Node {
			s.Nodes++
		}
	}
	for _, k := range x.Kernels {
		names[k.Raw] = true
	}
	for _, c := range x.Copies {
		s.CopyTime += c.End - c.Start
		s.Bytes += c.Bytes
	}
	s.Calls = x.Calls.Len()
	for c := range x.Calls.All() {
		s.CallTime += c.End - c.Start
		if strings.Contains(x.CallNames[c.Name], "Synchronize") {
			s.Syncs++
		}
	}
	s.First = x.Launches[0].Start
	s.Names = slices.Sorted(maps.Keys(names))
	return s
}

func unpack(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(file, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

// outcome is what is read of one run: a trace, or a summary.
type outcome struct {
	Trace   *model.Trace
	Summary *model.Session
}

func readAny(ctx context.Context, r io.Reader, name string) (o outcome, err error) {
	o.Trace, o.Summary, err = Read(ctx, r, name)
	return o, err
}

func readFile(t *testing.T, file string) (outcome, error) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		t.Fatal(err)
	}
	if !Sniff(head[:n]) {
		t.Errorf("%s is not recognised", file)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return readAny(t.Context(), f, filepath.Base(file))
}

// Recordings of H100 and H200 GPUs, here and beside the repository, and the public traces there: every one that holds
// kernels must agree with another count of the same file.
func TestRecordings(t *testing.T) {
	files := []string{
		filepath.Join("testdata", "h200.pt.trace.json"), filepath.Join("testdata", "h100-steps.pt.trace.json.gz"),
	}
	shared := filepath.Join("..", "..", "..", "..", "shared")
	for _, pattern := range []string{filepath.Join("h200", "kineto", "*.json.gz"),
		filepath.Join("samples", "kineto-*.json.gz")} {
		found, _ := filepath.Glob(filepath.Join(shared, pattern))
		if len(found) == 0 {
			t.Logf("there is no %s beside the repository", pattern)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := count(t, unpack(t, file))
			got, err := readFile(t, file)
			if want.Launches == 0 {
				var refusal *model.Refusal
				if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason,
					"holds no GPU kernel: only the CPU was recorded") {
					t.Fatalf("a trace without kernels: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, amounts(got.Trace)); diff != "" {
				t.Error(diff)
			}
			if len(got.Trace.Warnings) > 0 {
				t.Errorf("warnings %q", got.Trace.Warnings)
			}
			if got.Trace.Start.Year() < 2024 || got.Trace.CUDA == "" || got.Trace.MemoryPeak != -1 {
				t.Errorf("environment %+v", got.Trace.Environment)
			}
			t.Logf("%d kernels, %d launches, %d ns, %d copies", want.Kernels, want.Launches, want.Time, want.Copies)
		})
	}
}

// Two known recordings, number by number: what TestRecordings counts must not be wrong in the same way.
func TestKnownRecordings(t *testing.T) {
	for _, c := range []struct {
		file            string
		launches, nodes int
		time, first     int64
		gpu             string
		tick            float64
	}{
		{"h200.pt.trace.json", 26, 0, 1132189, 4369596043549967, "NVIDIA H200", 32},
		{"h100-steps.pt.trace.json.gz", 144, 12, 4348166, 4434216715629662, "NVIDIA H100 80GB HBM3", 32},
	} {
		r, err := readFile(t, filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		s := amounts(r.Trace)
		if s.Launches != c.launches || s.Nodes != c.nodes || s.Time != c.time || s.First != c.first || s.GPU != c.gpu ||
			r.Trace.Tick != c.tick {
			t.Errorf("%s: %+v, tick %v", c.file, s, r.Trace.Tick)
		}
	}
}

// A run is cut by the steps of torch.profiler.schedule: six of 24 launches, two of them of a graph.
func TestSteps(t *testing.T) {
	r, err := readFile(t, filepath.Join("testdata", "h100-steps.pt.trace.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	sides, err := steps.Reduce(steps.Options{Warmup: "0"}, []model.Trace{*r.Trace})
	if err != nil {
		t.Fatal(err)
	}
	s := sides[0][0]
	if s.Step != "ProfilerStep" || s.Runs[0].Total != 6 || s.Runs[0].Launches != 144 {
		t.Errorf("step %q, runs %+v", s.Step, s.Runs)
	}
	if x, ok := s.Find(measure.Workload, measure.Launches.Name); !ok || x.Values[0] != 24 {
		t.Errorf("launches a step: %v", x.Values)
	}
	// A call attributes idle time: here none synchronises, and the GPU waits for the launches.
	if x, ok := s.Find(measure.Workload, measure.SyncCalls.Name); !ok || x.Values[0] != 0 {
		t.Errorf("synchronising calls a step: %v", x.Values)
	}
	launching := measure.IdleSubject(measure.IdleLaunch, measure.ParsePlace("cudaLaunchKernelExC in forward"))
	if x, ok := s.Find(launching, measure.Owned.Name); !ok || x.Values[0] <= 0 {
		t.Errorf("idle time in launches: %v", x.Values)
	}
	forward := measure.Subject{Scope: measure.ScopeRange, Name: "forward"}
	if x, ok := s.Find(forward, measure.GPUTime.Name); !ok || x.Values[0] <= 0 {
		t.Errorf("the range forward: %v", x.Values)
	}
}
