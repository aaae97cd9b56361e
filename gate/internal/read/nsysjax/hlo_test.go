package nsysjax

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestOperations(t *testing.T) {
	f, err := os.Open("testdata/jit_step.after_optimizations.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own := func(file string) string {
		name, _ := strings.CutPrefix(file, "/app/")
		return name
	}
	found, err := Operations(f, own)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]model.Operation{}
	for _, x := range found {
		if _, there := got[x.Kernel]; !there {
			got[x.Kernel] = x
		}
	}
	for _, want := range []model.Operation{
		{Kernel: "loop_add_tanh_fusion", Path: "jit(step)/jvp()/add", File: "flax_like.py", Line: 4,
			Function: "<lambda>"},
		{Kernel: "loop_add_fusion_1", Path: "jit(step)/transpose(jvp())/add_any", File: "flax_like.py", Line: 4,
			Function: "<lambda>"},
		{Kernel: "input_reduce_fusion", Path: "jit(step)/jvp()/reduce_sum", File: "flax_like.py", Line: 7,
			Function: "loss"},
		{Kernel: "gemm_fusion_dot", Path: "jit(step)/transpose(jvp())/transpose", File: "flax_like.py", Line: 6,
			Function: "loss"},
	} {
		parts := got[want.Kernel].Parts
		want.Parts = parts
		if got[want.Kernel] != want || parts == "" {
			t.Errorf("%+v, want %+v", got[want.Kernel], want)
		}
	}
	if parts := got["loop_add_tanh_fusion"].Parts; parts != "add convert_element_type exp mul tanh" {
		t.Errorf("parts %q", parts)
	}
	old := "%c (p: f32[]) -> f32[] {\n}\nENTRY %m () -> f32[] {\n  ROOT %wrapped_add.1 = f32[] fusion(%p), " +
		"kind=kLoop, calls=%c, metadata={op_type=\"add\" op_name=\"jit(f)/add\" source_file=\"/app/a.py\" " +
		"source_line=9}\n}\n"
	found, err = Operations(strings.NewReader(old), own)
	if err != nil || len(found) != 1 || found[0] != (model.Operation{Kernel: "wrapped_add_1", Path: "jit(f)/add",
		File: "a.py", Line: 9}) {
		t.Errorf("%+v, %v", found, err)
	}

	equal := "%c (p: f32[]) -> f32[] {\n}\nENTRY %m () -> f32[] {\n" +
		"  %add.1 = f32[] fusion(%p), calls=%c, metadata={op_name=\"a\" deduplicated_name=\"add.1\"}\n" +
		"  %add.7 = f32[] fusion(%p), calls=%c, metadata={op_name=\"b\" deduplicated_name=\"add.1\"}\n}\n"
	found, err = Operations(strings.NewReader(equal), own)
	want := []model.Operation{{Kernel: "add_1", Path: "a"}, {Kernel: "add_7", Path: "b"}, {Kernel: "add_1", Path: "b"}}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%+v, %v", found, err)
	}

	sort := "%compare.3 (p: f32[]) -> pred[] {\n}\nENTRY %m () -> f32[] {\n  %sort.19.1 = f32[8,4] sort(%p), " +
		"dimensions={1}, is_stable=true, to_apply=%compare.3, metadata={op_name=\"jit(f)/sort\" " +
		"source_file=\"/app/a.py\" source_line=5}\n}\n"
	found, err = Operations(strings.NewReader(sort), own)
	if err != nil || len(found) != 1 || found[0] != (model.Operation{Kernel: "sort_19_1", Path: "jit(f)/sort",
		File: "a.py", Line: 5}) {
		t.Errorf("%+v, %v", found, err)
	}
}

func FuzzOperations(f *testing.F) {
	f.Add("StackFrames\n1 {file_location_id=1 parent_frame_id=2}\n2 {parent_frame_id=1}\n\nENTRY %m () -> f32[] {\n" +
		"  %a = f32[] fusion(%p), calls=%c, metadata={op_name=\"x\" stack_frame_id=2}\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := Operations(strings.NewReader(text), func(file string) string { return file })
		if err == nil && len(found) > len(text) {
			t.Errorf("%d operations", len(found))
		}
	})
}

// A program beyond the bound of lines is an error: the rest of it may hold a kernel's place.
func TestLongHLO(t *testing.T) {
	if _, err := Operations(strings.NewReader(strings.Repeat("\n", mostHLO)), nil); err != nil {
		t.Error(err)
	}
	if _, err := Operations(strings.NewReader(strings.Repeat("\n", mostHLO+1)), nil); err == nil {
		t.Error("nobody knows that a program was cut")
	}
}
