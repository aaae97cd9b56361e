package code

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const source = `#include "ops.cuh"
constexpr int kTile = 32;
// a comment
__global__ void __launch_bounds__(256)
saxpy(float *x) {
#pragma unroll 4
  for (int i = 0; i < kTile; i++)
    x[i] = twice(x[i]);
}
__global__ void other(float *x) {
  x[0] = 1;
}
`

const header = `__device__ float twice(float x) {
  return 2 * x;
}
#define ROUNDS 4
`

const script = `def step(x):
    y = cp.exp(x)
    return y

def other(x):
    return x

twice = RawKernel("""x[i] *= 2""")
twice(step(1))
`

// Reasons of changed lines, by their place: in the kernel, in an inlined function of a header, outside of
// functions, in other code, in a file that was edited after the build.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"app.cu": source, "inc/ops.cuh": header, "step.py": script} {
		file := filepath.Join(dir, name)
		if os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, []byte(text), 0o600) != nil {
			t.Fatal(file)
		}
	}
	at := func(file string, first, last int) git.Hunk { return git.Hunk{File: file, First: first, Last: last} }
	line := func(file string, size, number int) devicecode.Line {
		return devicecode.Line{File: file, Size: size, Number: number}
	}
	app, n := filepath.Join(dir, "app.cu"), len(source)
	kernel := []devicecode.Line{line("/usr/include/cuda.h", 5, 2), line(app, n, 5), line(app, n, 8), line(app, n, 9),
		line("./inc/ops.cuh", len(header), 2)}
	stale := []devicecode.Line{line(app, 3, 8)}
	moved := []devicecode.Line{line("/build/1/inc/ops.cuh", len(header), 2)}
	triton := []devicecode.Line{line(filepath.Join(dir, "step.py"), 0, 2)}
	module := []devicecode.Line{line(filepath.Join(dir, "step.py"), 0, 9)}
	for _, x := range []struct {
		lines []devicecode.Line
		are   Relation
		hunks []git.Hunk
		want  string
	}{
		{kernel, compiled, []git.Hunk{at("app.cu", 8, 8)}, "changed since the baseline: app.cu:8, in saxpy"},
		{kernel, compiled, []git.Hunk{at("app.cu", 6, 8), at("inc/ops.cuh", 2, 2), at("app.cu", 2, 2),
			at("app.cu", 11, 11)},
			"changed since the baseline: app.cu:6–8, in saxpy; inc/ops.cuh:2, in twice; app.cu:2, outside of " +
				"functions"},
		{kernel, compiled, []git.Hunk{{File: "app.cu", First: 7, Last: 7, Removed: true}},
			"changed since the baseline: app.cu:7 (lines removed behind it), in saxpy"},
		{kernel, compiled, []git.Hunk{{File: "app.cu", First: 9, Last: 9, Removed: true}, at("app.cu", 3, 3),
			at("a.txt", 1, 1)},
			"changed since the baseline: app.cu:9 (lines removed behind it), outside of functions"},
		{kernel, compiled, []git.Hunk{at("app.cu", 11, 11), at("step.py", 2, 2)},
			"no changed line in its code: its functions in app.cu, ops.cuh are those of the baseline; changed " +
				"elsewhere: app.cu:11, in other; step.py:2, in step"},
		{kernel, compiled, nil,
			"no changed line in its code: its functions in app.cu, ops.cuh are those of the baseline, and no " +
				"other source file changed: see the compiler, its options and libraries"},
		{stale, compiled, []git.Hunk{at("app.cu", 8, 8)},
			"changed lines are not known: app.cu changed since it was built: build it again to see the line"},
		{moved, compiled, []git.Hunk{at("inc/ops.cuh", 1, 2)},
			"changed since the baseline: inc/ops.cuh:1–2, in twice"},
		{kernel[:1], compiled, nil, "changed lines are not known: it was compiled from /usr/include/cuda.h"},
		{triton, compiled, []git.Hunk{at("step.py", 3, 3)}, "changed since the baseline: step.py:3, in step"},
		{triton, Launch, []git.Hunk{at("step.py", 2, 2)},
			"changed since the baseline, where it is called: step.py:2, in step"},
		{triton, Launch, []git.Hunk{at("step.py", 6, 6)},
			"no changed line where it is called: the function in step.py is that of the baseline; changed elsewhere: " +
				"step.py:6, in other"},
		{triton, compiled, []git.Hunk{at("step.py", 8, 8)},
			"no changed line in its code: its functions in step.py are those of the baseline; changed elsewhere: " +
				"step.py:8, outside of functions"},
		{kernel[2:3], Definition, []git.Hunk{at("app.cu", 8, 8), at("step.py", 2, 2)},
			"changed since the baseline: app.cu:8, in saxpy"},
		{kernel[2:3], Definition, []git.Hunk{at("inc/ops.cuh", 2, 2)},
			"no changed line in its definition: app.cu has that of the baseline; changed elsewhere: " +
				"inc/ops.cuh:2, in twice"},
		{kernel[2:3], Definition, nil,
			"no changed line in its definition: app.cu has that of the baseline, and no other source file changed: " +
				"see functions that it calls, the compiler"},
		{module, Launch, []git.Hunk{at("step.py", 8, 8)},
			"changed since the baseline, where it is called: step.py:8, outside of functions"},
		{module, Launch, []git.Hunk{at("step.py", 2, 2)},
			"no changed line where it is called: the code outside of functions in step.py is that of the baseline; " +
				"changed elsewhere: step.py:2, in step"},
	} {
		tree := &Tree{Root: dir, Dir: dir, Hunks: x.hunks, Tracked: func(string) bool { return true }}
		if got := tree.changed(x.lines, x.are).Sentence; !strings.HasPrefix(got, x.want) {
			t.Errorf("%v\n got %s\nwant %s", x.hunks, got, x.want)
		}
	}

	tree := &Tree{Root: dir, Dir: dir, Command: true, Tracked: func(string) bool { return true }}
	want := "no other source file changed: see the command, which differs from the baseline's, then input,"
	if got := tree.changed(triton, Launch).Sentence; !strings.Contains(got, want) {
		t.Errorf("another command: %s", got)
	}
}

// Changed lines leave out those that did not change; a line that launches a kernel leaves out its unchanged definition.
func TestEvidence(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "step.py"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	said := func(hunk int, is Relation) result.Remark {
		tree := &Tree{Root: dir, Hunks: []git.Hunk{{File: "step.py", First: hunk, Last: hunk}},
			Tracked: func(string) bool { return true }}
		return tree.Changed("step.py", 2, is)
	}
	const changed, not = 2, 6
	for _, x := range []struct {
		ofCode, ofLaunch result.Remark
		want             []result.Remark
	}{
		{},
		{ofCode: said(not, Definition), want: []result.Remark{said(not, Definition)}},
		{ofCode: NoLines("x"), ofLaunch: said(not, Launch), want: []result.Remark{NoLines("x"), said(not, Launch)}},
		{ofCode: NoLines("x"), ofLaunch: said(changed, Launch), want: []result.Remark{said(changed, Launch)}},
		{ofCode: said(not, Definition), ofLaunch: said(not, Launch), want: []result.Remark{said(not, Launch)}},
		{ofCode: said(not, compiled), ofLaunch: said(not, Launch),
			want: []result.Remark{said(not, compiled), said(not, Launch)}},
		{ofCode: said(changed, Definition), ofLaunch: said(not, Launch),
			want: []result.Remark{said(changed, Definition)}},
		{ofCode: said(changed, compiled), ofLaunch: said(changed, Launch),
			want: []result.Remark{said(changed, compiled)}},
		{ofCode: said(changed, compiled), ofLaunch: said(changed+1, Launch),
			want: []result.Remark{said(changed, compiled), said(changed+1, Launch)}},
	} {
		if got := Evidence(x.ofCode, x.ofLaunch); !slices.EqualFunc(got, x.want,
			func(a, b result.Remark) bool { return a.Sentence == b.Sentence }) {
			t.Errorf("%q and %q:\n got %v\nwant %v", x.ofCode.Sentence, x.ofLaunch.Sentence, got, x.want)
		}
	}
}

// Only kernels have a definition.
func TestDefinitions(t *testing.T) {
	defined := Definitions(fstest.MapFS{"a.cu": {Data: []byte("__global__ void k() {}")}}, nil)
	for _, c := range []struct {
		f    result.Finding
		want string
	}{
		{result.Finding{Kernel: "k", Scope: "kernel"}, "a.cu"}, {result.Finding{Kernel: "k", Scope: "range"}, ""},
		{result.Finding{Kernel: "new", Scope: "kernel"}, ""},
	} {
		if file, _, ok := defined(c.f); ok != (c.want != "") || ok && file != c.want {
			t.Errorf("%s of scope %s is in %q, want %q", c.f.Kernel, c.f.Scope, file, c.want)
		}
	}
}

// TestCalling wants the changed lines that launch a kernel or make a call, and none that only name it.
func TestCalling(t *testing.T) {
	dir := t.TempDir()
	source := "void run() {\n  scale<float><<<1, 32>>>(x);\n  cudaLaunchKernel((void *)scale<float>, 1, 1, 0);\n" +
		"  float scale = 1; // scale<<<1, 1>>>\n  cudaDeviceSynchronize ();\n  auto f = &cudaDeviceSynchronize;\n" +
		"  p = cudaMallocAsync(&q, n, s), cudaMemset(p, 0, n);\n  my_cudaMalloc(&q), upscale<<<1, 1>>>();\n" +
		"  log(\"scale<<<1, 1>>> after \\\"cudaDeviceSynchronize() \");\n" +
		"  cudaMemcpy(p, q, n, cudaMemcpyHostToDevice);\n" +
		"  cudaMemcpy(q, p, n, cudaMemcpyDeviceToHost), log(\"cudaMemcpy\");\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "a.cu"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	// Files that differ from a commit are those that git knows, which is not asked of each.
	tree := &Tree{Root: dir, Tracked: func(string) bool { return false },
		Hunks: []git.Hunk{{File: "a.cu", First: 1, Last: 99}, {File: "a.cu", First: 3, Last: 3, Removed: true}}}
	for _, c := range []struct {
		f    result.Finding
		call string
		want string
	}{
		{result.Finding{Scope: measure.ScopeKernel, Kernel: "scale"}, "", "a.cu:2, 3, in run"},
		{result.Finding{Scope: measure.ScopeWorkload}, "cudaDeviceSynchronize", "a.cu:5, in run"},
		{result.Finding{Scope: measure.ScopeWorkload, Name: "memset", Metric: measure.CopyTime.Name}, "",
			"a.cu:7, in run"},
		{result.Finding{Scope: measure.ScopeWorkload, Metric: measure.Allocations.Name}, "", "a.cu:7, in run"},
		{result.Finding{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}, "", "a.cu:10, in run"},
		{result.Finding{Scope: measure.ScopeWorkload, Name: "memcpy DtoH"}, "", "a.cu:11, in run"},
		{result.Finding{Scope: measure.ScopeWorkload, Name: "unified memcpy HtoD"}, "", ""},
		{result.Finding{Scope: measure.ScopeWorkload, Name: "memcpy PtoP"}, "", ""},
		{result.Finding{Scope: measure.ScopeKernel, Kernel: "gone"}, "", ""},
		{result.Finding{Scope: measure.ScopeWorkload, Metric: measure.StepTime.Name}, "", ""},
	} {
		said, _ := result.As[reason.ChangedLines](tree.Calling(c.f, c.call))
		if got := strings.Join(said.Lines, " "); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.f.Kernel, c.call, got, c.want)
		}
	}
}
