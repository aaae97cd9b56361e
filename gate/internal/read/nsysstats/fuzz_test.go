package nsysstats

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// Whatever the bytes, reading ends with a run that is fit to be judged, or with a refusal.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		head2021 + "0.270410,2208,0,,,,,,,,,,4096,1855.072,,,Tesla V100 (0),0,0,[CUDA Unified Memory memcpy " +
			"DtoH]\n0.271100,172767,18,1,512,1,64,1,1,44,1032,16,,,,,Tesla V100 (0),1,14,f\n",
		head2025 + row2025 + "2000,1024,8,,,,,,,,,,0.004,3999.998,Pageable,Device,NVIDIA H200 (0),1,,7,[CUDA memcpy " +
			"Host-to-Device]\n\nName,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration " +
			"(ns),Style,PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n" +
			":step,1000,2024,500,100,PushPop,5,5,2,0,1,1,,:1\n\":a, " +
			"\"b\"\",1000,500,510,20,PushPop,5,5,1,1,0,2,1,:1:2\n",
		headSum + rowSum + "\nTotal (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev " +
			"(MB),Operation\n\"482,333\",3,\"160,778\",\"160,778\",0,0,\"0,000\",[CUDA memset]\n",
		"\uFEFF" + strings.ReplaceAll(headSum+rowSum, "\n", "\r\n"),
		"Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Category,Operation\n100.0,1500,3,500.0,400,600,CUDA_KERNEL,k\n",
		"Processing [x.sqlite] with [/r/cuda_gpu_kern_sum.py]... \nSKIPPED: x.sqlite does not contain CUDA kernel " +
			"data.\n",
		"\xff\xfeT\x00i\x00m\x00e\x00",
	} {
		f.Add([]byte(seed))
	}
	for _, name := range []string{"odd/all.txt", "odd/column.txt", "kernels/k_cuda_gpu_sum.csv"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		half := len(content) / 2
		for _, texts := range [][]string{{string(content)}, {string(content[:half]), string(content[half:])}} {
			run, err := read(t, texts...)
			var refusal *model.Refusal
			if err != nil && !errors.As(err, &refusal) {
				t.Fatalf("%v", err)
			}
			if err == nil {
				fit(t, run)
			}
		}
		Sniff(content)
	})
}

// fit checks what those who judge rely on.
func fit(t *testing.T, run outcome) {
	t.Helper()
	if s := run.Summary; s != nil {
		if err := s.Check(); err != nil || len(s.Runs) != 1 || s.Runs[0].Launches < 1 {
			t.Fatalf("%v: %+v", err, s.Runs)
		}
		return
	}
	x := run.Trace
	if len(x.Launches) == 0 || x.GPUs < 1 || x.Tick < 32 {
		t.Fatalf("%d launches, %+v", len(x.Launches), x.Environment)
	}
	for i, l := range x.Launches {
		if l.Start < 0 || l.End < l.Start || int(l.Kernel) >= len(x.Kernels) || int(l.Range) >= len(x.Ranges) ||
			i > 0 && l.Start < x.Launches[i-1].Start {
			t.Fatalf("launch %d: %+v", i, l)
		}
	}
	for i, c := range x.Copies {
		if c.Start < 0 || c.End < c.Start || c.Bytes < 0 || int(c.Range) >= len(x.Ranges) || i > 0 &&
			c.Start < x.Copies[i-1].Start {
			t.Fatalf("copy %d: %+v", i, c)
		}
	}
	for i, r := range x.Ranges {
		if r.End < r.Start || int(r.Name) >= len(x.RangeNames) || int(r.Parent) >= i || i > 0 &&
			r.Start < x.Ranges[i-1].Start {
			t.Fatalf("range %d: %+v", i, r)
		}
	}
	for _, k := range x.Kernels {
		if k.Subject.Name == "" || strings.ContainsAny(k.Subject.Name, "\n\x00\x1b") {
			t.Fatalf("%+v", k)
		}
	}
}
