package torch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// FuzzRead holds what comes out of any file against what a caller relies on.
func FuzzRead(f *testing.F) {
	// The recordings are no seeds: the fuzzer would spend its time on making such long inputs shorter.
	plain := printTable(columns, tableRows, foot)
	for _, s := range []string{
		"", "{", "[", "[]", "{}", "null", "\x1f\x8b", traceOf(), traceOf(base...), "[" + strings.Join(base, ",") + "]",
		traceOf(with(rangeOf("ProfilerStep#1", 10, 200, 101), rangeOf("x", "1e3", "NaN", `"7"`),
			copyOf("Memcpy PtoP (a -> b)", 1.5, 2, "inf"))...),
		traceOf(with(strings.Replace(base[0], `"grid": [4, 1, 1]`, `"grid": [4, -1]`, 1))...),
		fileOf(`"WARNING": ["Dropped 3 activity records"]`, base...),
		fileOf(`"traceEvents": [], "deviceProperties": [{"id": 1e9, "name": "AMD x"}]`, base...),
		traceOf(`{"cat": "kernel", "ph": "X", "ts": "", "dur": 1}`),
		plain, plain + plain, strings.ReplaceAll(plain, "ms", "us"),
		printTable(append(columns[:1:1], append(row{"Overload Name"}, columns[1:]...)...), nil, foot),
		"Name  Self CPU  # of Calls\n--- --- ---", strings.ReplaceAll(plain, "\n", "\r\n"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		Sniff(data)
		r, err := readAny(t.Context(), bytes.NewReader(data), "fuzz.json")
		if err != nil {
			var refusal *model.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("%v is no refusal", err)
			}
			if refusal.Reason == "" || refusal.Next == "" || !strings.Contains(refusal.Reason, "fuzz.json") {
				t.Fatalf("%q leaves open which file, or what to do", refusal)
			}
			return
		}
		switch {
		case r.Trace != nil && r.Summary == nil:
			checkTrace(t, r.Trace)
		case r.Summary != nil && r.Trace == nil:
			if err := r.Summary.Check(); err != nil || len(r.Summary.Runs) != 1 {
				t.Fatalf("%d runs, %v", len(r.Summary.Runs), err)
			}
		default:
			t.Fatal("not exactly one of trace and summary")
		}
	})
}

func checkTrace(t *testing.T, x *model.Trace) {
	if len(x.Launches) == 0 || x.GPUs == 0 || x.Profiler() != "torch.profiler" {
		t.Fatalf("%d launches, environment %+v", len(x.Launches), x.Environment)
	}
	inRange := func(r int32) bool { return r >= -1 && int(r) < len(x.Ranges) }
	for i, l := range x.Launches {
		if l.End < l.Start || l.Start < 0 || int(l.Kernel) >= len(x.Kernels) || !inRange(l.Range) || i > 0 &&
			l.Start < x.Launches[i-1].Start {
			t.Fatalf("launch %d: %+v", i, l)
		}
	}
	seen := map[measure.Subject]bool{}
	for _, k := range x.Kernels {
		if k.Subject.Name == "" || seen[k.Subject] {
			t.Fatalf("kernel %+v", k)
		}
		seen[k.Subject] = true
	}
	for i, c := range x.Copies {
		if c.End < c.Start || c.Bytes < 0 || !inRange(c.Range) || i > 0 && c.Start < x.Copies[i-1].Start {
			t.Fatalf("copy %d: %+v", i, c)
		}
	}
	for i, r := range x.Ranges {
		if r.End < r.Start || int(r.Name) >= len(x.RangeNames) || r.Parent >= int32(i) || i > 0 &&
			r.Start < x.Ranges[i-1].Start {
			t.Fatalf("range %d: %+v", i, r)
		}
	}
	var last model.Call
	for c := range x.Calls.All() {
		if c.End < c.Start || int(c.Name) >= len(x.CallNames) || c.Thread < last.Thread || c.Thread == last.Thread &&
			c.Start < last.Start {
			t.Fatalf("call %+v after %+v", c, last)
		}
		last = c
	}
	for _, name := range x.RangeNames {
		if name == "" {
			t.Fatal("a range without a name")
		}
	}
}
