package why

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
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
	at := func(file string, line int, function string) model.Frame {
		if file != "<string>" && file != "train.py" {
			file = filepath.Join(root, file)
		}
		return model.Frame{Function: function, File: file, Line: line}
	}
	kernel := measure.Subject{Scope: measure.ScopeKernel, Name: "void saxpy(int)"}
	calls := func(n int, start, each int64) (out []model.Interval) {
		for i := range int64(n) {
			out = append(out, model.Interval{Start: start + i*each, End: start + (i+1)*each})
		}
		return out
	}
	launch := func(count int, python, native []model.Frame) model.Caller {
		return model.Caller{Call: "cudaLaunchKernel", Calls: calls(count, 0, 1), Python: python, Native: native}
	}
	call := func(name, file string, line int, calls []model.Interval) model.Caller {
		return model.Caller{Kernel: -1, Call: name, Calls: calls, Python: []model.Frame{at(file, line, "f")}}
	}
	const sync = "cudaStreamSynchronize"
	launches := Target{kernel: kernel}
	for _, tt := range []struct {
		name    string
		target  Target
		callers []model.Caller
		want    *result.Origin
	}{
		{"nothing recorded", launches, nil, nil},
		{"the innermost frame of the repository, and most launches", launches, []model.Caller{
			launch(3, []model.Frame{at("<string>", 1, "f"), at("venv/lib/torch.py", 9, "g"),
				at(".venv/site.py", 2, "h"), at("lib/ops.py", 5, "mul"), at("train.py", 73, "forward")}, nil),
			launch(1, []model.Frame{at("../gone.py", 1, "f"), at("train.py", 80, "backward")}, nil),
		}, &result.Origin{File: "lib/ops.py", Line: 5, Function: "mul", Share: 0.75}},
		{"a name without a directory is one of the workload's", launches,
			[]model.Caller{launch(2, []model.Frame{at("train.py", 7, "<module>")}, nil)},
			&result.Origin{File: "train.py", Line: 7, Function: "<module>", Share: 1}},
		{"elsewhere alone", launches, []model.Caller{launch(2, []model.Frame{at("venv/lib/torch.py", 9, "g")}, nil)},
			nil},
		{"from everywhere", launches, []model.Caller{
			launch(6, nil, nil), launch(1, []model.Frame{at("train.py", 1, "f")}, nil),
			launch(2, []model.Frame{at("train.py", 2, "f")}, nil),
		}, nil},
		{"new and mostly launched by a backward pass", Target{kernel: kernel, isNew: true}, []model.Caller{
			launch(6, nil, nil), launch(1, []model.Frame{at("train.py", 1, "f")}, nil),
			launch(2, []model.Frame{at("train.py", 2, "f")}, nil),
		}, &result.Origin{File: "train.py", Line: 2, Function: "f", Share: 2. / 9}},
		{"new and of many lines", Target{kernel: kernel, isNew: true}, []model.Caller{launch(95, nil, nil),
			launch(5, []model.Frame{at("train.py", 1, "f")}, nil)}, nil},
		{"several by their names", Target{kernel: measure.Subject{Scope: measure.ScopeKernel, Name: "void erf(int)"},
			names: []string{"void erf(int)", kernel.Name}},
			[]model.Caller{launch(2, []model.Frame{at("train.py", 7, "act")}, nil)},
			&result.Origin{File: "train.py", Line: 7, Function: "act", Share: 1}},
		{"another kernel", Target{kernel: measure.Subject{Scope: measure.ScopeKernel, Name: "void erf(int)"}},
			[]model.Caller{launch(2, []model.Frame{at("train.py", 7, "act")}, nil)}, nil},
		{"one geometry of a kernel", Target{kernel: measure.Subject{Scope: measure.ScopeKernel, Name: kernel.Name,
			Grid: measure.Dim3{X: 2, Y: 1, Z: 1}}},
			[]model.Caller{launch(2, []model.Frame{at("train.py", 7, "act")}, nil)}, nil},
		{"machine code: not the stub of the kernel's own name", launches, []model.Caller{
			launch(2, nil, []model.Frame{at("app", 0, "cudaLaunchKernel"), at("app", 0, "saxpy(int)"),
				at("app", 0, "step(int, float)")}),
		}, &result.Origin{Function: "step", Share: 1}},
		{"main without a line", launches, []model.Caller{launch(2, nil,
			[]model.Frame{at("app", 0, "saxpy(int)"), at("app", 0, "main")})}, nil},
		{"main and the start of the program", launches,
			[]model.Caller{launch(2, nil, []model.Frame{at("app", 0, "saxpy(int)"), at("app", 0, "main"),
				at("app", 0, "_start")})}, nil},
		{"a launch is no wait", Target{call: sync}, []model.Caller{launch(9, []model.Frame{at("train.py", 1, "f")},
			nil)}, nil},
		{"the longest wait", Target{call: sync, timed: true}, []model.Caller{
			call(sync, "train.py", 1, calls(9, 0, 1)), call(sync, "train.py", 2, calls(1, 0, 27)),
			call("cudaMalloc", "train.py", 3, calls(1, 0, 90)),
		}, &result.Origin{Call: sync, File: "train.py", Line: 2, Function: "f", Share: 0.75}},
		{"the most calls", Target{call: sync}, []model.Caller{call(sync, "train.py", 1, calls(9, 0, 1)),
			call(sync, "train.py", 2, calls(1, 0, 27))},
			&result.Origin{Call: sync, File: "train.py", Line: 1, Function: "f", Share: 0.9}},
		{"only within steps, on any thread", Target{call: sync}, []model.Caller{
			call(sync, "train.py", 1, calls(50, 0, 1)),
			call(sync, "train.py", 2, []model.Interval{{Start: 100, End: 101}, {Start: 230, End: 260}}),
			call(sync, "train.py", 3, calls(1, 210, 2)), call(sync, "train.py", 4, calls(20, 300, 1)),
			call(sync, "train.py", 5, calls(20, 205, 0)),
		}, &result.Origin{Call: sync, File: "train.py", Line: 2, Function: "f", Share: 2. / 3}},
		{"not where the steps call it from elsewhere", Target{call: sync}, []model.Caller{
			call(sync, "train.py", 1, calls(50, 0, 1)), call(sync, "venv/lib/torch.py", 2, calls(1, 120, 2)),
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			traces := []model.Trace{{Kernels: []model.KernelInfo{{Subject: kernel}}, Callers: tt.callers,
				RangeNames: []string{"load", "step"},
				Ranges: []model.Range{{Start: 0, End: 90}, {Start: 100, End: 200, Name: 1},
					{Start: 150, End: 160, Name: 1}, {Start: 206, End: 300, Name: 1}}}}
			got := tt.target.Origin(traces, "step", Sources{Root: root, Dir: root})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOriginTarget(t *testing.T) {
	fact := func(call string, base, head result.Number) result.Remark {
		return result.Remark{Key: "calls", Args: result.Args{"call": call, "base": base, "head": head}}
	}
	part := func(idle bool, where string, change result.Number) *result.Waterfall {
		return &result.Waterfall{Parts: []result.WaterfallPart{{Idle: idle, Where: where,
			Own: result.Own{Change: change}}, {Idle: true, Where: "cudaFree in step", Own: result.Own{Change: 1}}}}
	}
	step := result.Finding{Scope: measure.ScopeWorkload, Metric: measure.StepTime.Name}
	syncs := result.Finding{Scope: measure.ScopeWorkload, Metric: measure.SyncCalls.Name}
	syncs.Facts = []result.Remark{fact("cudaDeviceSynchronize", 1, 2), fact("cudaStreamSynchronize", 0, 3),
		fact("cudaMemcpy", 9, 0), {Key: "other"}}
	fewer := syncs
	fewer.Facts = []result.Remark{fact("cudaMemcpy", 9, 0)}
	for _, tt := range []struct {
		name    string
		finding result.Finding
		fall    *result.Waterfall
		want    Target
	}{
		{"a kernel", result.Finding{Scope: measure.ScopeKernel, Name: "k"}, nil,
			Target{kernel: measure.Subject{Scope: measure.ScopeKernel, Name: "k"}}},
		{"host code after a call", step, part(true, "host code in step after cudaDeviceSynchronize", 9),
			Target{call: "cudaDeviceSynchronize", timed: true}},
		{"in a call", step, part(true, "cudaMalloc in backward", 9), Target{call: "cudaMalloc", timed: true}},
		{"host code alone", step, part(true, "host code in step", 9), Target{}},
		{"not idle", step, part(false, "", 9), Target{}},
		{"less of it", step, part(true, "cudaMalloc in backward", -9), Target{}},
		{"no waterfall", step, nil, Target{}},
		{"the call that grew most", syncs, nil, Target{call: "cudaStreamSynchronize"}},
		{"none grew", fewer, nil, Target{}},
		{"another metric", result.Finding{Scope: measure.ScopeWorkload, Metric: measure.GPUTime.Name},
			part(true, "cudaMalloc", 9), Target{}},
	} {
		if got := targetOf(&tt.finding, tt.fall); got.known() && !reflect.DeepEqual(got, tt.want) ||
			got.known() != tt.want.known() {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestNewTarget wants the places of new kernels where the GPU time got longer: one of a backward pass has none.
func TestNewTarget(t *testing.T) {
	find := func(scope measure.Scope, name, metric string, head result.Number, o result.Outcome) result.Finding {
		return result.Finding{Scope: scope, Name: name, Kernel: name, Metric: metric, Head: head, Outcome: o,
			Gates: o == result.Slower}
	}
	list := []result.Finding{find("workload", "", measure.GPUTime.Name, 9, result.Slower),
		find("kernel", "short", measure.Total.Name, 1, result.New),
		find("kernel", "long", measure.Total.Name, 5, result.New)}
	got := Targets(&result.Report{Findings: list}, false)
	if len(got) != 2 || got[2].kernel.Name != "long" || !got[2].isNew || got[1].kernel.Name != "short" {
		t.Errorf("targets %+v", got)
	}
	sum := find("kernel", "mul", measure.Total.Name, 7, result.Slower)
	sum.Match, sum.BaseNames, sum.HeadNames = "name", []string{"gelu"}, []string{"mul", "erf"}
	got = Targets(&result.Report{Findings: append(list, sum)}, false)
	if x := got[3]; !x.isNew || !slices.Equal(x.names, sum.HeadNames) {
		t.Errorf("target %+v of a replacement", x)
	}
	list[0].Outcome = result.WithinLimit
	if got := Targets(&result.Report{Findings: list}, false); len(got) > 0 {
		t.Errorf("targets %+v of a gate in which nothing got slower", got)
	}
}
