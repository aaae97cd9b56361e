package nsysstats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSniff(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"nothing":        {"", false},
		"a header alone": {headSum, true},
		"a cut header":   {headSum[:60], true},
		"an old header":  {"Time(%),Total Time (ns),Operations,Average,Minimum,Maximum,Operation\n", true},
		"sizes of 2021":  {"Total,Operations,Average,Minimum,Maximum,Operation\n", true},
		"calls": {"Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
			"(ns),Name\n", true},
		"ranges": {"Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances\n", true},
		"a skipped report": {"Processing [x.sqlite] with [/r/cuda_gpu_kern_sum.py]... \nSKIPPED: x.sqlite does " +
			"not contain CUDA kernel data.\n", true},
		"only what it skips": {"SKIPPED: x.sqlite does not contain CUDA kernel data.\n", true},
		"an unknown report": {"Processing [x.sqlite] with [gputrace]... \nERROR: Report 'gputrace' could not be " +
			"found.\n", true},
		"decimal commas": {"Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev " +
			"(MB),Operation\n\"482,333\",3,\"160,778\"\n", true},
		"behind much output": {strings.Repeat("epoch 1, loss 0.5, accuracy 0.9\n", 1500) + head2025, true},
		"a telephone bill":   {"Number,Time,Calls,Avg,Min,Max,Name\n1,2,3,4,5,6,7\n", false},
		"Nsight Compute": {"==PROF== Connected\n\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel " +
			"Name\",\"Context\",\"Stream\",\"Section Name\",\"Metric Name\"\n", false},
		"the baseline":        {"scope,subject,metric,unit,session,values,role,note\nkernel,saxpy#548fb142,time,ns,a,1,,\n", false},
		"the sessions":        {"id,gpu,gpus,gpu_hash,driver,cuda,tool,schema,mode,graph_trace,tick_ns,clock_mhz,start,step,warmup,runs\n", false},
		"any CSV":             {"Start,Duration,Name,Device\n1,2,3,4\n", false},
		"an audio annotation": {"Start (s),Duration (s),Name\n1.0,2.0,cough\n", false},
		"a time sheet":        {"Total Time,Count,Name,Time\n1,2,3,4\n", false},
		"an inventory":        {"Total,Count,Operation\n1,2,sold\n", false},
		"another profiler":    {"\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\",\"Duration_NS\"\n", false},
		"torch": {"{\"schemaVersion\": 1, \"traceEvents\": [{\"name\": \"Time (%), Total Time " +
			"(ns)\"}]}\n", false},
		"a SQLite database": {"SQLite format 3\x00 Time (%),Total Time (ns),Instances,Name\n", false},
		"a log":             {"SKIPPED: tests that need a GPU\nTotal time 5 s, Start (ns) 7\n", false},
	} {
		if got := Sniff([]byte(c.text)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	others, _ := filepath.Glob("../../../../testdata/ncu/*.csv")
	if len(others) == 0 {
		t.Error("no output of ncu to hold it against")
	}
	tables, _ := filepath.Glob("../../../../testdata/h200/sessions/*/*.csv")
	for _, file := range append(others, tables...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if Sniff(text[:min(len(text), 64<<10)]) {
			t.Errorf("%s is not of nsys stats", file)
		}
	}
}

func TestGroup(t *testing.T) {
	got := Group([]string{
		"base.000_cuda_gpu_trace.csv", "README.md", "base.000_nvtx_gpu_proj_trace.csv", "base.001_cuda_gpu_trace.csv",
		"notes.csv",
		"run-gpukernsum.csv", "run.gputrace.CSV", "cuda_gpu_kern_sum.csv", "nvtx_kern_sum.csv",
		"x_cuda_gpu_kern_sum_nvtx=step_base.csv",
		"x_cuda_gpu_trace_nvtx-name_base.csv", "n5_gpukernsum_gpukernsum.csv", "n5_gputrace_gputrace.csv",
		"my_cuda_gpu_trace.txt", "gpu_trace.csv", "base.001_osrt_sum.csv",
		"cuda_gpu_kern_sum_old.csv",
	})
	want := [][]string{
		{"base.000_cuda_gpu_trace.csv", "base.000_nvtx_gpu_proj_trace.csv"}, {"README.md"},
		{"base.001_cuda_gpu_trace.csv", "base.001_osrt_sum.csv"}, {"notes.csv"},
		{"run-gpukernsum.csv", "run.gputrace.CSV"},
		{"cuda_gpu_kern_sum.csv", "nvtx_kern_sum.csv"},
		{"x_cuda_gpu_kern_sum_nvtx=step_base.csv", "x_cuda_gpu_trace_nvtx-name_base.csv"},
		{"n5_gpukernsum_gpukernsum.csv", "n5_gputrace_gputrace.csv"}, {"my_cuda_gpu_trace.txt"}, {"gpu_trace.csv"},
		{"cuda_gpu_kern_sum_old.csv"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
