package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

func TestOrigin(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"train.py", "lib/ops.py", "venv/lib/torch.py", ".venv/site.py", "app"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(file string, line int, function string) measure.Frame {
		if file != "<string>" && file != "train.py" {
			file = filepath.Join(root, file)
		}
		return measure.Frame{Function: function, File: file, Line: line}
	}
	kernel := measure.KernelSubject("void saxpy(int)", measure.Dim3{X: 1, Y: 1, Z: 1}, measure.Dim3{X: 32, Y: 1, Z: 1})
	wait := measure.Subject{Scope: "idle", Name: "blocking: cudaStreamSynchronize in forward"}
	launch := func(count int, python, native []measure.Frame) measure.Caller {
		return measure.Caller{Call: "cudaLaunchKernel", Count: count, Python: python, Native: native}
	}
	for _, tt := range []struct {
		name    string
		subject measure.Subject
		callers []measure.Caller
		want    *gate.Origin
	}{
		{"nothing recorded", kernel, nil, nil},
		{"the innermost frame of the repository, and most launches", kernel, []measure.Caller{
			launch(3, []measure.Frame{at("<string>", 1, "f"), at("venv/lib/torch.py", 9, "g"), at(".venv/site.py", 2, "h"), at("lib/ops.py", 5, "mul"), at("train.py", 73, "forward")}, nil),
			launch(1, []measure.Frame{at("../gone.py", 1, "f"), at("train.py", 80, "backward")}, nil),
		}, &gate.Origin{File: "lib/ops.py", Line: 5, Function: "mul", Share: 0.75}},
		{"a name without a directory is one of the workload's", kernel, []measure.Caller{launch(2, []measure.Frame{at("train.py", 7, "<module>")}, nil)},
			&gate.Origin{File: "train.py", Line: 7, Function: "<module>", Share: 1}},
		{"elsewhere alone", kernel, []measure.Caller{launch(2, []measure.Frame{at("venv/lib/torch.py", 9, "g")}, nil)}, nil},
		{"machine code: not the stub of the kernel's own name", kernel, []measure.Caller{
			launch(2, nil, []measure.Frame{at("app", 0, "cudaLaunchKernel"), at("app", 0, "saxpy(int)"), at("app", 0, "step(int, float)")}),
		}, &gate.Origin{Function: "step", Share: 1}},
		{"a launch is no wait", wait, []measure.Caller{launch(9, []measure.Frame{at("train.py", 1, "f")}, nil)}, nil},
		{"the longest wait", wait, []measure.Caller{
			{Kernel: -1, Call: "cudaStreamSynchronize", Count: 9, Wait: 10, Python: []measure.Frame{at("train.py", 1, "f")}},
			{Kernel: -1, Call: "cudaStreamSynchronize", Count: 1, Wait: 30, Python: []measure.Frame{at("train.py", 2, "g")}},
			{Kernel: -1, Call: "cudaMalloc", Count: 1, Wait: 90, Python: []measure.Frame{at("train.py", 3, "h")}},
		}, &gate.Origin{File: "train.py", Line: 2, Function: "g", Share: 0.75}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			traces := []measure.Trace{{Kernels: []measure.KernelInfo{{Subject: kernel}}, Callers: tt.callers}}
			got := originOf(tt.subject, traces, sources{root: root, dir: root})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
