package torch

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func inApp(file string) string {
	rest, ok := strings.CutPrefix(file, "/app/")
	if !ok {
		return ""
	}
	return rest
}

// The trace is of a training step on an H200 (PyTorch 2.11): kernels of its forward and of its backward pass.
func TestCompiled(t *testing.T) {
	log, err := os.ReadFile("testdata/torch_trace.log")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Compiled(bytes.NewReader(log), inApp)
	if err != nil {
		t.Fatal(err)
	}
	at := func(kernel string) (lines []int) {
		for _, x := range all {
			if x.Kernel == kernel && x.File == "compile.py" {
				lines = append(lines, x.Line)
			}
		}
		return lines
	}
	for kernel, want := range map[string][]int{
		"triton_poi_fused_gelu_1":                  {16},
		"triton_per_fused_add_native_layer_norm_2": {15, 17},
		"triton_poi_fused_gelu_gelu_backward_3":    {16},
		"triton_red_fused__to_copy_add_mse_loss_5": {29, 17},
		"extern_kernels.addmm":                     nil,
	} {
		if got := at(kernel); !slices.Equal(got, want) {
			t.Errorf("%s: lines %v, want %v", kernel, got, want)
		}
	}
	if first := (model.Operation{Kernel: "triton_per_fused_native_layer_norm_0", File: "compile.py", Line: 15,
		Function: "forward"}); all[0] != first {
		t.Errorf("first %+v", all[0])
	}
	// No file of the repository, or no entry of stacks: nothing is known.
	for name, log := range map[string][]byte{"other names": bytes.ReplaceAll(log, []byte(stackTraces), []byte("x")),
		"other files": bytes.ReplaceAll(log, []byte("/app/"), []byte("/lib/"))} {
		if all, err := Compiled(bytes.NewReader(log), inApp); len(all) > 0 || err != nil {
			t.Errorf("%s: %v %v", name, all, err)
		}
	}
}

func FuzzCompiled(f *testing.F) {
	log, err := os.ReadFile("testdata/torch_trace.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log[:4000])
	f.Add([]byte("x " + `"` + stackTraces + `"` + "\n\t{\"triton_a:1\": [\"  File \\\"/app/a\\\", line 1, in f\\n\"]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Compiled(bytes.NewReader(data), inApp)
		for _, x := range all {
			if err != nil || x.File == "" || x.Line < 0 || !strings.HasPrefix(x.Kernel, "triton_") {
				t.Fatalf("%+v %v", x, err)
			}
		}
	})
}
