package torch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	steps "github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// Short events. What they leave out is fixed.
func kernelOf(name string, ts, dur any, correlation int) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %s, "pid": 0, "tid": 7, "ts": %v, "dur": %v, "args": {
		"queued": 0, "device": 0, "stream": 7, "correlation": %d, "registers per thread": 32, "shared memory": 0,
		"grid": [4, 1, 1], "block": [256, 1, 1]}}`, quote(name), ts, dur, correlation)
}

func callOf(name string, ts any, correlation int) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": %s, "pid": 100, "tid": 101, "ts": %v, "dur": 5,
		"args": {"cbid": 211, "correlation": %d}}`, quote(name), ts, correlation)
}

func copyOf(name string, ts any, correlation int, bytes any) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "gpu_memcpy", "name": %s, "pid": 0, "tid": 7, "ts": %v, "dur": 2.5,
		"args": {"device": 0, "stream": 7, "correlation": %d, "bytes": %v}}`, quote(name), ts, correlation, bytes)
}

func rangeOf(name string, ts, dur any, tid any) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "user_annotation", "name": %s, "pid": 100, "tid": %v, "ts": %v, "dur": %v}`,
		quote(name), tid, ts, dur)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const (
	devices  = `"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]`
	metadata = `"schemaVersion": 1, ` + devices + `, "cuda_runtime_version": 12080, "cuda_driver_version": 13000,
		"baseTimeNanoseconds": 1790857026000000000`
)

// traceOf puts events into a file.
func traceOf(events ...string) string { return fileOf(metadata, events...) }

func fileOf(metadata string, events ...string) string {
	return "{" + metadata + `, "traceEvents": [` + strings.Join(events, ",\n") + `], "traceName": "t.json"}`
}

// base is a trace of two launches and their calls.
var base = []string{
	kernelOf("scale(float*)", 100, 20.5, 1), callOf("cudaLaunchKernel", 90.125, 1),
	kernelOf("scale(float*)", 130, 21, 2), callOf("cudaLaunchKernel", 95, 2),
}

func with(more ...string) []string { return append(base[:len(base):len(base)], more...) }

func readString(t *testing.T, s string) *model.Trace {
	t.Helper()
	r, err := readAny(t.Context(), strings.NewReader(s), "t.json")
	if err != nil {
		t.Fatal(err)
	}
	if r.Trace == nil || r.Summary != nil {
		t.Fatal("a trace was not read as one")
	}
	return r.Trace
}

func compress(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// refused checks that a file is refused, with a reason that holds some words and with a way out.
func refused(t *testing.T, file io.Reader, words string) {
	t.Helper()
	r, err := readAny(t.Context(), file, "t.json")
	var refusal *model.Refusal
	switch {
	case err == nil:
		t.Errorf("read as %+v, want a refusal: %s", r, words)
	case !errors.As(err, &refusal):
		t.Errorf("%v is no refusal", err)
	case !strings.Contains(refusal.Reason, words):
		t.Errorf("refused with %q, want %q", refusal.Reason, words)
	case refusal.Next == "" || !strings.Contains(refusal.Reason, "t.json"):
		t.Errorf("%q leaves open which file, or what to do", refusal)
	}
}

func TestTrace(t *testing.T) {
	got := readString(t, traceOf(
		rangeOf("ProfilerStep#7", 50, 100, 101), rangeOf("forward", 89, 3, 101), rangeOf("elsewhere", 80, 50, 102),
		rangeOf("## Call CompiledFxGraph fr7dtgi6qss5inoge2qoerlbjl36hgscxi7ieqm32m2jjqpzmix5 ##", 60, 1, 101),
		`{"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 0, "tid": 7, "ts": 1, "dur": 999}`,
		`{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 101, "ts": 89, "dur": 4, "args": {"cat": "kernel"}}`,
		`{"ph": "s", "id": 1, "pid": 100, "tid": 101, "ts": 90, "cat": "ac2g", "name": "ac2g"}`,
		`{"name": "process_name", "ph": "M", "ts": 1, "pid": 100, "args": {"name": "python3"}}`, `null`,
		kernelOf("scale(float*)", "4369596043549.967", "28.224", 1), callOf("cudaLaunchKernel", 90.125, 1),
		kernelOf("_ZN2ns5scaleEPf", "4369596043649.967", "1.0005", 2), callOf("cudaGraphLaunch", 149, 2),
		`{"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernelEx", "pid": 100, "tid": 101, "ts": 90.5, "dur": 1, "args": {"correlation": 1}}`,
		copyOf("Memcpy HtoD (Pinned -> Device)", "4369596043449.1", 3, 4096), callOf("cudaMemcpyAsync", 61, 3),
		strings.Replace(copyOf("Memset (Device)", "4369596043459.1", 0, 64), "gpu_memcpy", "gpu_memset", 1),
	))
	dim := func(x uint32) measure.Dim3 { return measure.Dim3{X: x, Y: 1, Z: 1} }
	kernel := func(name, raw string) model.KernelInfo {
		return model.KernelInfo{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: name, Grid: dim(4),
			Block: dim(256)},
			Raw: raw, Registers: 32, StaticShared: 0, DynamicShared: 0, LocalMemory: -1}
	}
	want := &model.Trace{
		Source: "t.json", Process: 100, MemoryPeak: -1,
		Environment: model.Environment{
			GPU: "NVIDIA H200", GPUs: 1, CUDA: "12.8", Tool: "torch.profiler", Schema: "1",
			Start: time.Unix(0, 1790857026000000000+4369596043549967).UTC(),
		},
		Kernels: []model.KernelInfo{kernel("scale(float*)", "scale(float*)"),
			kernel("ns::scale(float*)", "_ZN2ns5scaleEPf")},
		Launches: []model.Launch{
			{Start: 4369596043549967, End: 4369596043578191, API: 90125, Kernel: 0, Range: 3, Stream: 7},
			{Start: 4369596043649967, End: 4369596043650968, API: 149000, Kernel: 1, Range: 0, Stream: 7, Node: true},
		},
		Copies: []model.Copy{
			{Start: 4369596043449100, End: 4369596043451600, API: 61000, Bytes: 4096, Range: 1, Stream: 7, Kind: 1,
				Source: 1, Target: 2},
			{Start: 4369596043459100, End: 4369596043461600, API: 4369596043459100, Bytes: 64, Range: -1, Stream: 7,
				Thread: -1, Kind: model.Memset, Source: model.MemoryUnknown, Target: 2},
		},
		CallNames: []string{"cudaMemcpyAsync", "cudaLaunchKernel", "cudaGraphLaunch"},
		Calls: exporttest.Calls(model.Call{Start: 61000, End: 66000}, model.Call{Start: 90125, End: 95125, Name: 1},
			model.Call{Start: 149000, End: 154000, Name: 2}),
		RangeNames: []string{"ProfilerStep", "forward", "elsewhere", "## Call CompiledFxGraph … ##"},
		Ranges: []model.Range{
			{Start: 50000, End: 150000, Name: 0, Parent: -1}, {Start: 60000, End: 61000, Name: 3, Parent: 0},
			{Start: 80000, End: 130000, Name: 2, Parent: -1, Thread: 1}, {Start: 89000, End: 92000, Name: 1, Parent: 0},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Fields, events and metadata may come in any order, and the list of events may stand alone.
func TestOrder(t *testing.T) {
	events := with(rangeOf("step", 10, 200, 101), copyOf("Memcpy DtoH (Device -> Pageable)", 160, 0, 12))
	want := readString(t, traceOf(events...))
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		shuffled := append([]string(nil), events...)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		file := `{"traceEvents": [` + strings.Join(shuffled, ",") + `], ` + metadata + `}`
		if diff := cmp.Diff(want, readString(t, file)); diff != "" {
			t.Fatal(diff)
		}
	}
	// The same event with its fields the other way round, in the spelling of json.dumps.
	turned := strings.Replace(traceOf(events...), events[0],
		`{"args":{"block":[256,1,1],"grid":[4,1,1],"shared memory":0,`+
			`"registers per thread":32,"correlation":1,"stream":7,"device":0},"dur":20.5,"ts":1e2,"tid":7,"pid":0,`+
			`"name":"scale(float*)","cat":"kernel","ph":"X"}`, 1)
	if diff := cmp.Diff(want, readString(t, turned)); diff != "" {
		t.Error(diff)
	}
	bare := readString(t, "["+strings.Join(events, ",")+"]")
	bare.Environment = want.Environment
	if diff := cmp.Diff(want, bare); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, readString(t, string(byteOrderMark)+traceOf(events...))); diff != "" {
		t.Error(diff)
	}
	r, err := readAny(t.Context(), iotest.OneByteReader(bytes.NewReader(compress(t, traceOf(events...)))), "t.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.Trace); diff != "" {
		t.Error(diff)
	}
}

// The forms of 2021: capitals, strings in place of numbers, whole microseconds since 1970, steps that are operators.
func TestOldForm(t *testing.T) {
	got := readString(t, `{"schemaVersion": 1, "traceEvents": [
		{"ph": "X", "cat": "Operator", "name": "ProfilerStep#3", "pid": 29463, "tid": "77", "ts": 1615207264500000, "dur": 6000,
			"args": {"Input dims": [], "External id": 1}},
		{"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 29463, "tid": "77", "ts": 1615207264500001, "dur": 60},
		{"ph": "X", "cat": "Kernel", "name": "volta_sgemm_64x64_nt", "pid": 0, "tid": "stream 13", "ts": 1615207264506000, "dur": 7,
			"args": {"queued": 0, "device": 0, "context": 1, "correlation": 106123, "external id": 34735,
			"registers per thread": 126, "shared memory": 8192, "warps per SM": 14.4, "grid": [4, 4, 36], "block": [64, 1, 1]}},
		{"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 29463, "tid": "77", "ts": 1615207264505000, "dur": 6,
			"args": {"cbid": 211, "correlation": 106123, "external id": 34735, "external ts": 1615207264504915}},
		{"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 1615207264506100,
			"dur": 0, "args": {"device": 0, "stream": 7, "correlation": 20002, "bytes": 200, "memory bandwidth (GB/s)": inf}}]}`)
	l := model.Launch{Start: 1615207264506000000, End: 1615207264506007000, API: 1615207264505000000, Stream: 13}
	if len(got.Launches) != 1 || got.Launches[0] != l {
		t.Errorf("launches %+v, want %+v", got.Launches, l)
	}
	if k := got.Kernels[0]; k.Registers != 126 || k.StaticShared != -1 || k.DynamicShared != 8192 {
		t.Errorf("kernel %+v", k)
	}
	if len(got.Copies) != 1 || got.Copies[0].Bytes != 200 || got.Copies[0].Source.String() != "pageable" {
		t.Errorf("copies %+v", got.Copies)
	}
	if cmp.Diff(got.RangeNames, []string{"ProfilerStep"}) != "" {
		t.Errorf("ranges %v", got.RangeNames)
	}
	if got.Tick != 1000 || got.GPU != "" || got.GPUs != 1 || !got.Start.Equal(time.Unix(1615207264, 506000000)) {
		t.Errorf("environment %+v", got.Environment)
	}
}

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, metadata string
		want           model.Environment
	}{
		{"nothing", `"displayTimeUnit": "ns"`, model.Environment{Tool: "torch.profiler"}},
		{"driver only", `"cuda_driver_version": 12040`, model.Environment{Tool: "torch.profiler", CUDA: "12.4"}},
		{"added by the workload", `"torch_version": "2.6.0+cu124"`, model.Environment{Tool: "torch.profiler 2.6.0"}},
		{"no version", `"torch_version": "main", "cuda_runtime_version": -1`,
			model.Environment{Tool: "torch.profiler"}},
		{"names", `"host": "secret", "user": ["secret"], "nested": {"deviceProperties": [{"name": "secret"}]},
			"deviceProperties": [{"id": 1, "name": "other"}, {"id": 0, "name": "GPU\u0007 0"}]`,
			model.Environment{Tool: "torch.profiler", GPU: "GPU\uFFFD 0"}},
	} {
		got := readString(t, fileOf(c.metadata, base...)).Environment
		c.want.GPUs = 1
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	two := strings.Replace(kernelOf("other", 200, 1, 3), `"device": 0`, `"device": 1`, 1)
	got := readString(t,
		fileOf(`"deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}, {"id": 2, "name": "C"}]`,
			with(two)...))
	if got.GPU != "A + B" || got.GPUs != 2 {
		t.Errorf("two GPUs are %q (%d)", got.GPU, got.GPUs)
	}
	var many []string
	for i := range 40 {
		many = append(many, kernelOf("k", 10*i, fmt.Sprintf("%d.%03d", 1, 32*(i+1)%1000-i%3), i+1))
	}
	if got := readString(t, traceOf(many...)); got.Tick != 0 && got.Tick != 32 {
		t.Errorf("tick %v", got.Tick)
	}
}

// unnamed checks that a trace is read and that its GPU is not known.
func unnamed(t *testing.T, file string) {
	t.Helper()
	if got := readString(t, file); got.GPU != "" || len(got.Warnings) == 0 ||
		!strings.Contains(got.Warnings[len(got.Warnings)-1], "AMD GPU") {
		t.Errorf("%q, warnings %q", got.GPU, got.Warnings)
	}
}

// A GPU of AMD is read, under its name where the trace says which one it is.
func TestAMD(t *testing.T) {
	events := []string{
		kernelOf("Cijk_Ailk_Bljk", 100, 20.5, 1), callOf("hipModuleLaunchKernel", 90, 1),
		`{"ph": "X", "cat": "kernel", "name": "plain", "pid": 2, "tid": 0, "ts": 130.5, "dur": 7}`,
		`{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "pid": 2, "tid": 0, "ts": 140.5, "dur": 7}`,
	}
	got := readString(t, fileOf(`"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "maxSharedMemoryPerMultiProcessor": 65536},
		{"id": 2, "name": "AMD Instinct MI300X"}]`, events...))
	if got.GPU != "AMD Instinct MI300X" || len(got.Launches) != 2 || got.Kernels[1].Subject.Geometry() != "" ||
		got.Kernels[1].Registers != -1 {
		t.Errorf("read as %+v", got)
	}
	if len(got.Copies) != 0 || !strings.Contains(strings.Join(got.Warnings, "\n"),
		"1 of 1 copies and memsets do not tell their size") {
		t.Errorf("a copy without a size: %+v, %v", got.Copies, got.Warnings)
	}
	// Events number the GPUs with the processors, the list without: one model is one model.
	for list, want := range map[string]string{
		`{"id": 0, "name": "AMD Instinct MI300X"}`:                                           "AMD Instinct MI300X",
		`{"id": 5, "name": "AMD Instinct MI300X"}, {"id": 6, "name": "AMD Instinct MI300X"}`: "AMD Instinct MI300X",
		`{"id": 0, "name": "AMD Instinct MI300X"}, {"id": 1, "name": "AMD Instinct MI250"}`:  "",
		`{"id": 0, "name": "AMD Instinct MI300X"}, {"id": 1, "name": ""}`:                    "",
	} {
		list = `"deviceProperties": [` + list + `], "hip_runtime_version": 60342134`
		if want == "" {
			unnamed(t, fileOf(list, events[2]))
		} else if got := readString(t, fileOf(list, events[2])).GPU; got != want {
			t.Errorf("%s: %q", list, got)
		}
	}
	unnamed(t, fileOf(`"hip_runtime_version": 60342134`, events...))
	unnamed(t, fileOf(`"deviceProperties": [{"name": ""}]`, events...))
}

func TestWarnings(t *testing.T) {
	many := []string{}
	for i := range 30 {
		many = append(many, callOf("cudaLaunchKernel", 5000+i, 1000+i))
	}
	long := strings.Replace(kernelOf("long", 100, 5000, 3), `"stream": 7`, `"stream": 9`, 1)
	under := strings.Replace(kernelOf("short", 110, 20, 4), `"stream": 7`, `"stream": 9`, 1)
	for _, c := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"none", base, nil},
		{"written twice", with(base[0], base[2]),
			[]string{"2 launches are written twice in the trace: each counts once"}},
		{"no call", []string{base[0], base[1], base[2], strings.Replace(base[2], `"correlation": 2`, `"x": 2`, 1)},
			[]string{"2 of 3 launches have no CUDA call in the trace: they belong to no range"}},
		{"no kernel", with(callOf("cuLaunchKernel", 99, 9), callOf("cudaLaunchKernelExC", 98, 9)),
			[]string{"1 of 3 calls that launch a kernel have no kernel in the trace"}},
		{"captured", with(append(many, callOf("cudaStreamBeginCapture", 4999, 999))...),
			[]string{"30 of 32 calls that launch a kernel have no kernel in the trace"}},
		{"swallowed", with(long, under, callOf("cudaLaunchKernel", 90, 3), callOf("cudaLaunchKernel", 90, 4)), []string{
			"1 launches last longer than others that start later on their stream, up to 5000 µs: their durations " +
				"are doubtful"}},
	} {
		if diff := cmp.Diff(c.want, readString(t, traceOf(c.events...)).Warnings); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if lost := readString(t, traceOf(with(callOf("cuLaunchKernel", 99, 9))...)).Lost; len(lost) != 1 ||
		lost[0] != 99_000 {
		t.Errorf("launches without a record at %d ns, want one at 99,000", lost)
	}
	if n := len(readString(t, traceOf(with(base[0], base[2])...)).Launches); n != 2 {
		t.Errorf("%d launches, want the 2 that are different", n)
	}
}

// A kernel in two variants of attributes is one kernel, with the attributes of the most launches.
func TestVariants(t *testing.T) {
	more := strings.NewReplacer(`"registers per thread": 32`, `"registers per thread": 40`)
	got := readString(t, traceOf(base[0], more.Replace(kernelOf("scale(float*)", 200, 1, 3)),
		more.Replace(kernelOf("scale(float*)", 300, 1, 4))))
	if len(got.Kernels) != 1 || got.Kernels[0].Registers != 40 || got.Launches[0].Kernel != 0 {
		t.Errorf("kernels %+v", got.Kernels)
	}
}

func TestRefusedTraces(t *testing.T) {
	log := func(lines string) string { return fileOf(metadata+`, "WARNING": [`+lines+`]`, base...) }
	lost := func(text string) string { return log(`"fine", "` + text + `"`) }
	var launched []string
	for i := range 30 {
		launched = append(launched, callOf("cudaLaunchKernel", 5000+i, 1000+i))
	}
	replace := func(old, new string) string { return traceOf(strings.Replace(base[0], old, new, 1), base[1]) }
	for _, c := range []struct{ name, file, words string }{
		{"empty", "", "t.json is empty"},
		{"no JSON", "{\"traceEvents\": [}", "the file is no JSON"},
		{"other JSON", `{"schema": "nsgate/1", "findings": [{"kernel": "\"traceEvents\""}]}`,
			"no trace of torch.profiler: it has no traceEvents"},
		{"empty object", `{}`, "no traceEvents"},
		{"empty list", `[]`, "holds no GPU kernel: nothing in it is of torch.profiler"},
		{"no kernel", traceOf(), "holds no GPU kernel: only the CPU was recorded"},
		{"events no list", `{"traceEvents": {}}`, "near byte 14: traceEvents is no list"},
		{"two lists", fileOf(`"traceEvents": []`, base...), "there is a second list of events"},
		{"no event", traceOf(`7`), "something among the events that is no event"},
		{"args no object", replace(`"args": {`, `"args": 7, "x": {`), "an event without proper args"},
		{"something behind", traceOf(base...) + "\n{}", "something follows the end of the trace"},
		{"zeros behind", traceOf(base...) + "\x00\x00", "something follows the end of the trace"},
		{"devices no list", fileOf(`"deviceProperties": 7`, base...), "deviceProperties is no list of GPUs"},
		{"CPU only", traceOf(rangeOf("a", 1, 2, 3)), "holds no GPU kernel: only the CPU was recorded"},
		{"a number beyond all", fileOf(`"other": 17e0857026000000000`, rangeOf("a", 1, 2, 3)),
			"holds no GPU kernel: only the CPU was recorded"},
		{"calls only", traceOf(callOf("cudaMalloc", 1, 1)), "the program called CUDA but launched nothing"},
		{"launches only", traceOf(launched...),
			"holds no GPU kernel: 30 were launched, but none was recorded on the GPU"},
		{"CUPTI",
			fileOf(`"ERROR": ["function status failed with error CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"]`),
			"CUPTI failed with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
		{"kernels lost", traceOf(with(launched...)...), "30 of 32 calls that launch a kernel have no kernel"},
		{"stopped early", lost("Record counts: Out-of-range = 0, CUPTI stopped early? = 1"),
			"the GPU's part of the profile stopped early"},
		{"stopped early, new", lost("Unexpected CUDA events = 0, GPU stopped early? = 1"),
			"the GPU's part of the profile stopped early"},
		{"buffers full",
			lost("CuptiActivityApi.cpp:203] Exceeded max GPU buffer count (33 >= 33) - terminating tracing"),
			"the buffers"},
		{"state", lost("State: CollectTrace stopped by GPU profiler. (Buffer size configured is 128MB)"),
			"the buffers"},
		{"dropped", lost("Dropped 17 activity records"), "records of the GPU were dropped"},
		{"no duration", replace(`"dur": 20.5,`, ``), "a kernel has no duration (dur)"},
		{"null duration", replace(`"dur": 20.5,`, `"dur": null,`), "a kernel has no duration (dur)"},
		{"NaN duration", replace(`"dur": 20.5,`, `"dur": NaN,`), "a kernel has no duration (dur)"},
		{"no time", replace(`"ts": 100,`, ``), "a kernel has no time (ts)"},
		{"negative duration", replace(`"dur": 20.5,`, `"dur": -3.5,`), "a kernel lasts -3.5 µs"},
		{"negative time", replace(`"ts": 100,`, `"ts": -100,`), "a kernel starts at -100 µs"},
		{"time too large", replace(`"ts": 100,`, `"ts": 1e40,`), "a kernel has no time (ts)"},
		{"begin and end", replace(`"ph": "X"`, `"ph": "B"`), "work of the GPU is not given as a complete event"},
		{"no phase", replace(`"ph": "X", `, ``), "work of the GPU is not given as a complete event"},
		{"grid", replace(`"grid": [4, 1, 1]`, `"grid": [4, -1, 1]`), "the grid of a kernel is none"},
		{"block", replace(`"block": [256, 1, 1]`, `"block": [256, 1]`), "the block of a kernel is none"},
		{"copy without duration", traceOf(with(strings.Replace(copyOf("Memset (Device)", 1, 1, 1), `"dur"`, `"d"`,
			1))...), "a copy has no duration"},
		{"GPU's records lost", traceOf(with(kernelOf("k", "0.000", "0.000", 3))...), "1 of 3 kernels have no time"},
		{"no clock", traceOf(kernelOf("k", 5, 0, 1), kernelOf("k", 6, 0, 2)), "all 2 kernels took no time"},
		{"merged", traceOf(with(strings.Replace(base[1], `"pid": 100`, `"pid": "[TP01] 100"`, 1))...),
			"merged from the traces of several processes"},
		{"XPU", traceOf(base[0],
			`{"ph": "X", "cat": "xpu_runtime", "name": "urEnqueueKernelLaunch", "pid": 1, "tid": 1, "ts": 1, "dur": 1}`),
			"the trace of an Intel GPU (XPU) and holds 1 event"},
		{"XPU in capitals", traceOf(base[0],
			`{"ph": "X", "cat": "XPU_DRIVER", "name": "zeCommandListAppendLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 1}`),
			"the trace of an Intel GPU (XPU) and holds 1 event"},
		{"XPU by its model", fileOf(`"deviceProperties": [{"id": 0, "name": "Intel(R) Data Center GPU Max 1550"}]`,
			base[0]),
			"the trace of an Intel GPU (XPU) (Intel(R) Data Center GPU Max 1550)"},
		{"MTIA", traceOf(base[0],
			`{"ph": "X", "cat": "mtia_ccp_events", "name": "fba_fc", "pid": 1, "tid": 1, "ts": 1, "dur": 1}`),
			"an accelerator of Meta (MTIA) and holds 1 event"},
		{"deep event", traceOf(`{"cat": "kernel", "args": ` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) +
			`}`), "the file is no JSON: exceeded max depth"},
		{"long string", traceOf(rangeOf(strings.Repeat("x", longest+1<<17), 1, 2, 3)),
			"a value, or the white space before it, is longer than 16 MB"},
		{"long value", fileOf(`"deviceProperties": [{"name": "`+strings.Repeat("x", longest+1<<17)+`"}]`, base...),
			"a value, or the white space before it, is longer than 16 MB"},
		{"quotation mark in a name", replace(`scale(float*)`, `scale "fast" (float*)`), "the file is no JSON"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, strings.NewReader(c.file), c.words) })
	}
}

// A file that ends anywhere before its end is refused, compressed or not.
func TestTruncated(t *testing.T) {
	file := strings.TrimSpace(traceOf(with(rangeOf("step", 10, 200, 101))...))
	for n := range len(file) {
		_, err := readAny(t.Context(), strings.NewReader(file[:n]), "t.json")
		var refusal *model.Refusal
		if !errors.As(err, &refusal) {
			t.Fatalf("the first %d bytes give %v", n, err)
		}
		if n > 1 && !strings.Contains(refusal.Reason, "the file ends in the middle") {
			t.Fatalf("the first %d bytes give %v", n, err)
		}
	}
	packed := compress(t, file)
	for n := 2; n < len(packed); n++ {
		_, err := readAny(t.Context(), bytes.NewReader(packed[:n]), "t.json")
		var refusal *model.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, "the compressed file ends in the middle") {
			t.Fatalf("the first %d bytes give %v", n, err)
		}
	}
	broken := bytes.Clone(packed)
	broken[len(broken)-8] ^= 1
	refused(t, bytes.NewReader(broken), "its checksum is wrong")
	broken = bytes.Clone(packed)
	broken[20] ^= 0xff
	if _, err := readAny(t.Context(), bytes.NewReader(broken), "t.json"); err == nil {
		t.Error("a damaged file was read")
	}
	refused(t, bytes.NewReader(append(bytes.Clone(packed), "more than a header"...)),
		"the compressed file is damaged or has something behind its end")
	refused(t, strings.NewReader("\x1f\x8bno gzip at all"), "the compressed file is damaged")
}

// Text by Kineto and others that is no JSON, but has one meaning only.
func TestNotQuiteJSON(t *testing.T) {
	noise := func(args string) string {
		return strings.Replace(base[0], `"queued": 0`, args, 1)
	}
	want := readString(t, traceOf(base...))
	for _, args := range []string{
		`"memory bandwidth (GB/s)": inf`, `"blocks per SM": -inf, "warps per SM": nan, "x": -nan`, `"queued": N/A`,
		`"a": [NaN, Infinity, -Infinity,nan]`,
		`"x": -nan(ind), "n": null, "i": true`, `"path": "C:\Users\new"`, "\"op\": \"a\nb\tc\x01d\"", `"u": "\u12"`,
		`"u": "\uD800"`, "\"bad\": \"\xff\xfe\"",
	} {
		if diff := cmp.Diff(want, readString(t, traceOf(append([]string{noise(args)}, base[1:]...)...))); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
	// However the file comes in.
	file := traceOf(append([]string{noise(`"blocks per SM": -Infinity, "path": "C:\Us\"ers\\", "q": nan`)},
		base[1:]...)...)
	for _, r := range []io.Reader{
		iotest.OneByteReader(strings.NewReader(file)), iotest.DataErrReader(strings.NewReader(file)),
		iotest.HalfReader(strings.NewReader(file)),
	} {
		got, err := readAny(t.Context(), r, "t.json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Trace); diff != "" {
			t.Error(diff)
		}
	}
	for _, word := range []string{"nano", "none", "infinite", "NaN7", "-", "- 1", "N/AA"} {
		refused(t, strings.NewReader(traceOf(noise(`"x": `+word))), "the file is no JSON")
	}
}

func TestNames(t *testing.T) {
	got := readString(t, traceOf(
		kernelOf("void (anonymous namespace)::k<\u00e9>(int)", 1, 1, 1),
		`{"ph": "X", "cat": "kernel", "name": "a\u001b[31mb \ud83d\ude00", "ts": 2, "dur": 1}`,
		`{"ph": "X", "cat": "kernel", "ts": 3, "dur": 1}`, rangeOf("a\u0007b\u200b", 1, 1, 1), rangeOf("", 1, 1, 1),
		`{"ph": "X", "cat": "user_annotation", "name": 7, "pid": 1, "tid": 1, "ts": 1, "dur": 1}`,
		rangeOf("batch 12", 1, 1, 1),
	))
	var names []string
	for _, k := range got.Kernels {
		names = append(names, k.Subject.Name)
	}
	want := []string{"void (anonymous namespace)::k<\u00e9>(int)", "a\uFFFD[31mb \U0001F600", "(unnamed kernel)"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a\uFFFDb\u200b", "batch #"}, got.RangeNames); diff != "" {
		t.Error(diff)
	}
}

// Every call of CUDA is known, with an id or without, unless it is inside another one of its thread.
func TestCalls(t *testing.T) {
	made := func(name string, ts, dur, tid any, more string) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": %s, "pid": 100, "tid": %v, "ts": %v, "dur": %v%s}`, quote(name), tid, ts, dur, more)
	}
	driver := func(name string, ts, dur any) string {
		return strings.Replace(made(name, ts, dur, 101, ""), "cuda_runtime", "cuda_driver", 1)
	}
	events := with(
		// on one thread, not in cudaMalloc on another
		made("cudaMalloc_v3020", 10, 20, 102, ""), driver("cuMemAlloc_v2", 12, 3), made("INVALID", 50, 1, 101, ""),
		made("cudaStreamSynchronize", 200, 50.5, 101, `, "args": {"cbid": 131, "correlation": 9}`),
		driver("cuStreamSynchronize", 201, 49),
		made("cudaMalloc", 250.5, 0, 101, ""),
	)
	type named struct {
		Name       string
		Start, End int64
		Thread     int32
	}
	read := func(events []string) (out []named, x *model.Trace) {
		x = readString(t, traceOf(events...))
		for c := range x.Calls.All() {
			out = append(out, named{x.CallNames[c.Name], c.Start, c.End, c.Thread})
		}
		return out, x
	}
	got, x := read(events)
	want := []named{
		{"cuMemAlloc", 12000, 15000, 0}, {"a CUDA call", 50000, 51000, 0}, {"cudaLaunchKernel", 90125, 95125, 0},
		{"cudaLaunchKernel", 95000, 100000, 0},
		{"cudaStreamSynchronize", 200000, 250500, 0}, {"cudaMalloc", 250500, 250500, 0},
		{"cudaMalloc", 10000, 30000, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(x.CallNames) != 5 || len(x.Warnings) > 0 {
		t.Errorf("names %q, warnings %q", x.CallNames, x.Warnings)
	}
	// Whoever does not know when some were knows of none.
	for _, undated := range []string{made("cudaFree", 300, "null", 101, ""), made("cudaFree", 300, -3, 101, ""),
		made("cudaFree", "null", 1, 101, "")} {
		got, x := read(append(events[:len(events):len(events)], undated))
		if len(got)+len(x.CallNames) > 0 {
			t.Errorf("with %s: %v", undated, got)
		}
		if diff := cmp.Diff([]string{"1 CUDA calls do not tell when they were: none is judged"},
			x.Warnings); diff != "" {
			t.Error(diff)
		}
	}
	if _, x := read([]string{base[0], base[2]}); x.Calls.Len() > 0 || x.CallNames != nil {
		t.Errorf("calls of a trace without: %v", x.Calls)
	}
	refused(t, strings.NewReader(traceOf(with(strings.Replace(made("cudaFree", 9, 1, 101, ""), "100", "200", 1))...)),
		"merged from the traces of several processes")
}

// A step with a host that waits for the GPU and then lets it wait gives blocking time, as one of nsys does.
func TestBlocking(t *testing.T) {
	var events []string
	for i := range 8 {
		at := 1000 * (i + 1)
		events = append(events, rangeOf(fmt.Sprintf("ProfilerStep#%d", i), at, 990, 101),
			kernelOf("k", at+20, 100, 2*i+1), callOf("cudaLaunchKernel", at+10, 2*i+1),
			// 10 µs longer than the kernel
			strings.Replace(callOf("cudaStreamSynchronize", at+30, 0), `"dur": 5`, `"dur": 100`, 1),
			kernelOf("k", at+320, 100, 2*i+2), callOf("cudaLaunchKernel", at+310, 2*i+2))
	}
	sides, err := steps.Reduce(steps.Options{Warmup: "0"}, []model.Trace{*readString(t, traceOf(events...))})
	if err != nil {
		t.Fatal(err)
	}
	const sync = "cudaStreamSynchronize"
	for _, want := range []struct {
		subject measure.Subject
		metric  measure.Metric
		value   float64
	}{
		{measure.Workload, measure.SyncCalls, 1},
		{measure.Subject{Scope: measure.ScopeCall, Name: sync}, measure.SyncCalls, 1},
		{measure.IdleSubject("blocking", measure.Place{Call: sync, Range: "ProfilerStep"}), measure.Owned, 10_000},
		{measure.IdleSubject(measure.IdleLaunch, measure.Place{Call: measure.HostCode, Range: "ProfilerStep",
			After: sync}), measure.Owned, 180_000},
	} {
		if x, ok := sides[0][0].Find(want.subject, want.metric.Name); !ok || x.Values[0] != want.value {
			t.Errorf("%s of %+v: %v, want %v", want.metric.Name, want.subject, x.Values, want.value)
		}
	}
}

// The innermost range of the calling thread counts. Ranges that overlap are as if the later one were the inner.
func TestNesting(t *testing.T) {
	got := readString(t, traceOf(
		rangeOf("outer", 10, 100, 101), rangeOf("inner", 20, 10, 101), rangeOf("overlaps", 25, 20, 101),
		rangeOf("other", 0, 500, 102),
		rangeOf("unfinished", 11, -1, 101),
		`{"ph": "X", "cat": "user_annotation", "name": "endless", "pid": 100, "tid": 101, "ts": 12}`,
		kernelOf("k", 1000, 1, 1), callOf("cudaLaunchKernel", 9, 1), kernelOf("k", 1001, 1, 2),
		callOf("cudaLaunchKernel", 10, 2),
		kernelOf("k", 1002, 1, 3), callOf("cudaLaunchKernel", 22, 3), kernelOf("k", 1003, 1, 4),
		callOf("cudaLaunchKernel", 29, 4),
		kernelOf("k", 1004, 1, 5), callOf("cudaLaunchKernel", 46, 5), kernelOf("k", 1005, 1, 6),
		callOf("cudaLaunchKernel", 110, 6),
		kernelOf("k", 1006, 1, 7), callOf("cudaLaunchKernel", 110.001, 7),
	))
	want := []string{"", "outer", "inner", "overlaps", "outer", "outer", ""}
	for i, l := range got.Launches {
		name := ""
		if l.Range >= 0 {
			name = got.RangeNames[got.Ranges[l.Range].Name]
		}
		if name != want[i] {
			t.Errorf("launch %d is in range %q, want %q", i, name, want[i])
		}
	}
}

// Reading stops when the context ends, and gives the reader's own error.
func TestReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := &stopping{g: &generated{steps: 1000, operators: 100, launches: 10}, after: 1 << 20, stop: cancel}
	if _, err := readAny(ctx, g, "t.json"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled reading gives %v", err)
	}
	if g.read > 2<<20 {
		t.Errorf("%d bytes were read, the context ended after %d", g.read, g.after)
	}
	own := errors.New("the disk is on fire")
	for _, start := range []string{"", "{", "text\n", "\x1f\x8b", string(compress(t, traceOf(base...))[:40])} {
		_, err := readAny(t.Context(), io.MultiReader(strings.NewReader(start), iotest.ErrReader(own)), "t.json")
		var refusal *model.Refusal
		if !errors.Is(err, own) || errors.As(err, &refusal) {
			t.Errorf("after %q: %v", start, err)
		}
	}
}

// stopping calls stop after some bytes.
type stopping struct {
	g           io.Reader
	read, after int
	stop        func()
}

func (s *stopping) Read(p []byte) (int, error) {
	n, err := s.g.Read(p)
	s.read += n
	if s.read > s.after {
		s.stop()
	}
	return n, err
}

// The kept part of a file is bounded.
func TestBounds(t *testing.T) {
	defer func(records, text int) { mostRecords, mostText = records, text }(mostRecords, mostText)
	mostRecords, mostText = 100, 1<<20
	many := func(n int, event func(i int) string) string {
		var events []string
		for i := range n {
			events = append(events, event(i))
		}
		return traceOf(events...)
	}
	for name, file := range map[string]string{
		"launches": many(101, func(i int) string { return kernelOf("k", i, 1, i) }),
		"calls":    many(101, func(i int) string { return callOf("cudaMalloc", i, i+1) }),
		"copies":   many(101, func(i int) string { return copyOf("Memset (Device)", i, i, 1) }),
		"ranges":   many(101, func(i int) string { return rangeOf("r", i, 1, 1) }),
		"kernels": many(80, func(i int) string {
			return kernelOf(strings.Repeat(string(rune('一'+i)), 1<<16), i, 1, i)
		}),
		"names": many(80, func(i int) string {
			return rangeOf(strings.Repeat(string(rune('一'+i)), 1<<16), i, 1, 1)
		}),
		"threads": many(80, func(i int) string {
			return rangeOf("r", i, 1, quote(strings.Repeat(string(rune('一'+i)), 1<<16)))
		}),
	} {
		_, err := readTrace("t.json", bufio.NewReader(strings.NewReader(file)))
		var refusal *model.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, "more than 100 records of one kind") &&
			!strings.Contains(refusal.Reason, "names of more than 1 MB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The unpacked size of a file, and white space, have a bound that the refusal names.
func TestUnpackedBounds(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	fmt.Fprint(w, `{"traceEvents": [`, strings.Repeat(" ", longest+1<<17), "]}")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, bytes.NewReader(bomb.Bytes()), "a value, or the white space before it, is longer than 16 MB")
	defer func(most int64) { largestFile = most }(largestFile)
	largestFile = 1 << 20
	_, _, err := Read(t.Context(), bytes.NewReader(bomb.Bytes()), "t.json.gz")
	if model.KindOf(err) != model.TooLarge || !strings.Contains(err.Error(), "has more than 0 GB, unpacked") {
		t.Errorf("%v", err)
	}
	largestFile = 1000
	_, _, err = Read(t.Context(), strings.NewReader(strings.Repeat("a line of a log\n", 1000)), "t.txt")
	if model.KindOf(err) != model.TooLarge {
		t.Errorf("a text: %v", err)
	}
}

// Operators cost no memory, however many there are; nor does what a small compressed file unpacks to.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 50 MB")
	}
	const most = 24 << 20
	read := func(r io.Reader) uint64 {
		peak := watchHeap()
		if _, err := readAny(t.Context(), r, "t.json"); err != nil {
			t.Error(err)
		}
		return peak()
	}
	if n := read(&generated{steps: 80, operators: 1000, launches: 5}); n > most {
		t.Errorf("a trace of 80,000 operators takes %d MB", n>>20)
	}
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	fmt.Fprint(w, `{"x": [`)
	for range 25_000 {
		fmt.Fprintf(w, `"%s", {"y": [[]]}, `, strings.Repeat(" ", 1000))
	}
	fmt.Fprint(w, `0], "traceEvents": [`, strings.Repeat(" ", 1<<20), strings.Join(base, ","), "]}")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := read(&bomb); n > most {
		t.Errorf("a compressed file of 25 MB of nothing takes %d MB", n>>20)
	}
}
