package model

import (
	"encoding/json"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

func TestSessionJSON(t *testing.T) {
	kernel := measure.Subject{Scope: measure.ScopeKernel, Name: "reduce(unsigned long, const float *, float *)",
		Grid: measure.Dim3{X: 1056, Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
	want := Session{
		Environment: Environment{
			GPU: "NVIDIA H200", GPUs: 1, Processes: 1, GPUHash: "dda61e32", Driver: "580.95.05", CUDA: "13.0",
			Tool:   "nsys 2025.3.2",
			Schema: "3.20.3", GraphTrace: "node", Tick: 32, ClockMHz: 1980,
			Start: time.Date(2026, 11, 21, 1, 51, 36, 0, time.UTC),
		},
		Step: "step", Warmup: "auto",
		Runs: []Run{{Skipped: 6, Total: 60, Launches: 324, Steady: true},
			{Skipped: 6, Total: 60, Launches: 324, Steady: true}},
		Series: []Series{
			{Subject: measure.Workload, Metric: measure.GPUTime, Values: Values{401971.463, 401026.981}},
			{
				Subject: measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}, Metric: measure.CopyBytes,
				Values: Values{8388608, 8388608},
				Note:   "pinned to device",
			},
			{Subject: kernel, Metric: measure.Time, Values: Values{47557.295, math.NaN()}, Role: "step/memory"},
			{Subject: kernel, Metric: measure.Metric{Name: "total", Unit: "s"}, Values: Values{1, 2},
				Role: "step/memory"},
			{Subject: kernel, Metric: measure.Total, Values: Values{1, 2}},
			{Subject: kernel, Metric: measure.Launches, Values: Values{1, 1}, Role: "step"},
		},
	}
	want.Hardware = Hardware{Board: "692-2G520-0282-001", VBIOS: "96.00.A5.00.1A", MemoryMHz: 3201, PowerW: 700,
		MIG: "60 + 60 SMs", CPU: "Xeon"}
	data, err := json.Marshal(SessionList{want})
	if err != nil {
		t.Fatal(err)
	}
	var got SessionList
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(SessionList{want}, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{`"H4sI"`, `"???"`, `7`, string(data[:len(data)-9]) + `"`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
	if data, err = json.Marshal(want); err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(data, -1) {
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).Match(name[1]) {
			t.Errorf("%q is not in the style of the other names", name[1])
		}
	}
}

func TestValuesJSON(t *testing.T) {
	data, err := json.Marshal(Values{1, math.NaN(), 2.5})
	if err != nil || string(data) != "[1,null,2.5]" {
		t.Fatalf("%s, %v", data, err)
	}
	var back Values
	if err := json.Unmarshal(data, &back); err != nil || len(back) != 3 || back[0] != 1 || !math.IsNaN(back[1]) {
		t.Fatalf("%v, %v", back, err)
	}
}
