package nsys

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func readH100(t *testing.T, name string) model.Trace {
	t.Helper()
	traces, err := Read(t.Context(), filepath.Join("..", "..", "..", "..", "testdata", "h100", name))
	if err != nil {
		t.Fatal(err)
	}
	return traces[0]
}

func TestPythonStacks(t *testing.T) {
	trace := readH100(t, "stacks-python.sqlite")
	type place struct {
		kernel, call string
		python       model.Frame // the first of the program itself
		native       bool
	}
	count := map[place]int{}
	for _, c := range trace.Callers {
		p := place{call: c.Call, native: len(c.Native) > 0}
		if c.Kernel >= 0 {
			p.kernel = trace.Kernels[c.Kernel].Subject.Short()
		}
		for _, f := range c.Python {
			if f.File == "/repo/transformer.py" {
				p.python = f
				break
			}
		}
		count[p] += len(c.Calls)
		for _, x := range c.Calls {
			if x.End <= x.Start {
				t.Errorf("%+v took %d ns", p, x.End-x.Start)
			}
		}
	}
	launch, file := "cudaLaunchKernel", "/repo/transformer.py"
	want := map[place]int{
		{"vectorized_layer_norm_kernel", launch, model.Frame{Function: "forward", File: file, Line: 50}, false}: 3,
		{"vectorized_layer_norm_kernel", launch, model.Frame{Function: "forward", File: file, Line: 57}, false}: 3,
		{"multi_tensor_apply_kernel", launch, model.Frame{Function: "train_step", File: file, Line: 75}, false}: 3,
		// autograd's thread
		{"layer_norm_grad_input_kernel_vectorized", launch, model.Frame{}, true}: 5,
	}
	if diff := cmp.Diff(want, count, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestNativeStacks(t *testing.T) {
	trace := readH100(t, "stacks-native.sqlite")
	for _, c := range trace.Callers {
		if trace.Kernels[c.Kernel].Subject.Short() == "saxpy" {
			want := []model.Frame{
				{Function: "cudaLaunchKernel", File: "/repo/kernels"},
				{Function: "saxpy(unsigned long, float, float const*, float*)", File: "/repo/kernels"},
				{Function: "main", File: "/repo/kernels"},
				{Function: "__libc_start_main", File: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
				{Function: "_start", File: "/repo/kernels"},
			}
			if diff := cmp.Diff(want, c.Native); diff != "" {
				t.Errorf("without what is not resolved (-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("saxpy has no caller")
}

// Whatever stands in the place of a stack, the recording is read.
func TestOddStacks(t *testing.T) {
	const call = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, " +
		"returnValue, callchainId) VALUES (100, 200, 67, %d, 11, 3, 0, 1)"
	read := func(marks ...string) []model.Caller {
		statements := []string{
			"CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, " +
				"originalIP INTEGER, stackDepth INTEGER)",
			"INSERT INTO StringIds VALUES (901, '&lt;module&gt;'), (902, '/repo/train.py')",
			fmt.Sprintf(call, tidA),
		}
		for _, m := range marks {
			statements = append(statements, fmt.Sprintf(
				"INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, jsonText) VALUES (%s)", m))
		}
		return read1(t, with(statements...)...)[1].Callers
	}
	stack := func(text string) string { return fmt.Sprintf(`150, 34, %d, 1, '%s'`, tidA, text) }
	const sound = `{"Python Backtrace on CUDA":{"Frames":[{"Function":901,"File":902,"Line":7}]}}`
	want := []model.Frame{{Function: "<module>", File: "/repo/train.py", Line: 7}}
	if got := read(stack(sound)); len(got) != 1 || !cmp.Equal(got[0].Python, want) ||
		!cmp.Equal(got[0].Calls, []model.Interval{{Start: 100, End: 200}}) {
		t.Fatalf("got %+v", got)
	}
	named := `{"Python Backtrace on CUDA":{"Frames":[{"Function":"<module>","File":"/repo/train.py","Line":7}]}}`
	if got := read(stack(named)); len(got) != 1 || !cmp.Equal(got[0].Python, want) {
		t.Errorf("names in the text itself: %+v", got)
	}
	for name, mark := range map[string]string{
		"cut JSON":       stack(sound[:60]),
		"other JSON":     stack(`{"Python Backtrace on CUDA":[1,2]}`),
		"no frames":      stack(`{"Python Backtrace on CUDA":{}}`),
		"other thread":   fmt.Sprintf(`150, 34, %d, 1, '%s'`, tidA2, sound),
		"after the call": fmt.Sprintf(`201, 34, %d, 1, '%s'`, tidA, sound),
		"no text":        fmt.Sprintf(`150, 34, %d, 1, NULL`, tidA),
	} {
		if got := read(mark); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
