package insight

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestNewKernelOfFunction: XLA names a fusion by its last operation, so that a change of one operation is a new kernel.
func TestNewKernelOfFunction(t *testing.T) {
	op := func(kernel, path, parts string, line int) model.Operation {
		return model.Operation{Kernel: kernel, Path: path, File: "a.py", Line: line, Function: "f", Parts: parts}
	}
	was := op("loop_subtract_fusion", "jit(f)/sub", "sub tanh", 9)
	other := model.Operation{Kernel: "loop_add_fusion", Path: "jit(g)/add", File: "a.py", Line: 2, Function: "g",
		Parts: "add"}
	is := op("loop_multiply_fusion", "jit(f)/mul", "mul sinh sub tanh", 10)
	for _, c := range []struct {
		name       string
		base, head []model.Operation
		want       string
	}{
		{"one for one", []model.Operation{was, other}, []model.Operation{is, other},
			"the operations fused into it differ from those of loop_subtract_fusion in the baseline: new mul, sinh"},
		{"added beside", []model.Operation{was, other}, []model.Operation{was, is, other}, ""},
		{"two for one", []model.Operation{was, other},
			[]model.Operation{is, other, op("loop_exp_fusion", "jit(f)/exp", "exp", 11)}, ""},
		{"of another function", []model.Operation{other}, []model.Operation{is}, ""},
		{"no baseline", nil, []model.Operation{is}, ""},
	} {
		f := &result.Finding{Name: is.Kernel, Kernel: is.Kernel, Scope: measure.ScopeKernel, Outcome: result.New}
		place, facts := Operation(f, c.base, c.head)
		got := ""
		for _, x := range facts {
			got += x.Sentence
		}
		if got != c.want || place == nil || place.Line != 10 {
			t.Errorf("%s: %q at %v, want %q at line 10", c.name, got, place, c.want)
		}
	}
}

// Several kernels that replace others have the place of the dearest, or of another whose operation is known.
func TestOperationOfReplacement(t *testing.T) {
	sort := model.Operation{Kernel: "sort_1", Path: "jit(f)/sort", File: "a.py", Line: 5, Function: "f"}
	add := model.Operation{Kernel: "loop_add_fusion", Path: "jit(f)/add", File: "a.py", Line: 9, Function: "f"}
	f := &result.Finding{Name: "sort_1", Kernel: "sort_1", Scope: measure.ScopeKernel, Outcome: result.Slower,
		Match: "rest", BaseNames: []string{"fusion_3"}, HeadNames: []string{"loop_add_fusion", "sort_1"}}
	for _, c := range []struct {
		head []model.Operation
		line int
	}{{[]model.Operation{add, sort}, 5}, {[]model.Operation{add}, 9}} {
		if place, _ := Operation(f, nil, c.head); place == nil || place.Line != c.line {
			t.Errorf("%v, want line %d", place, c.line)
		}
	}
	f.Match = "exact"
	if place, _ := Operation(f, nil, []model.Operation{add}); place != nil {
		t.Errorf("a kernel of its own name is at %v", place)
	}
}
