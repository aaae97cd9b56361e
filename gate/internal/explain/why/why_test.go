package why_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
)

// launches reads the launches of a kernel from a recording.
func launches(t *testing.T, file, short string) counters.Kernel {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../../testdata/ncu", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := ncu.Read(f, file)
	if err != nil {
		t.Fatal(err)
	}
	found := p.Find(measure.Subject{Scope: measure.ScopeKernel, Name: short})
	if len(found) != 1 {
		t.Fatalf("%s: %d kernels %s", file, len(found), short)
	}
	return found[0]
}

// only is one of the launches.
func only(k counters.Kernel, i int) counters.Kernel {
	out := counters.Kernel{Subject: k.Subject, Values: map[string][]float64{}}
	for name, values := range k.Values {
		out.Values[name] = values[i : i+1]
	}
	return out
}

// The explanations of real slowdowns, in full.
func TestRecordings(t *testing.T) {
	for _, tt := range []struct {
		base, head, kernel, slower string
		rules                      []string
		summary                    string
	}{
		{"base.raw.csv", "spill.raw.csv", "sgemm", "sgemm_spill",
			[]string{"local memory", "work", "traffic", "L2 cache"},
			"Local loads 0 → 20.97 M and local stores 0 → 20.97 M: an array that is indexed at run time lies in " +
				"local memory (the compiler " +
				"marks no spills); instructions 63.64 M → 329.3 M (×5.175) at the same FLOPs: more instructions for " +
				"the same arithmetic; DRAM bytes " +
				"5.248 MB → 58.03 GB (×11.06 k) for the same FLOPs: more traffic; L2 hit rate 92.39 % → 52.45 %: " +
				"less is reused in L2. " +
				"Memory-bound before, latency-bound after; roofline (fp32): 255.8 → 0.02313 FLOP/B (ridge 13.90), " +
				"12.85 % → 29.96 % of the roof."},
		{"base.raw.csv", "softmax_1.10.raw.csv", "softmax", "softmax", []string{"work"},
			"Instructions 52.58 M → 57.82 M (+9.97 %) with FLOPs in proportion: more work. " +
				"Balanced between compute and memory before and after; roofline (fp32): 2.181 → 2.148 FLOP/B (ridge " +
				"13.78), 40.23 % → 41.09 % of the roof."},
		{"base.details.csv", "spill.details.csv", "sgemm", "sgemm_spill", []string{"work", "traffic", "L2 cache"},
			"Instructions 63.64 M → 329.3 M (×5.175): more work; DRAM bytes 5.248 MB → 57.96 GB (×11.04 k), " +
				"instructions ×5.175: more traffic; " +
				"L2 hit rate 92.39 % → 52.45 %: less is reused in L2. Memory-bound before, latency-bound after."},
	} {
		base, head := launches(t, tt.base, tt.kernel), launches(t, tt.head, tt.slower)
		c := why.Explain(base, head)
		if got := why.Rules(base, head); !slices.Equal(got, tt.rules) {
			t.Errorf("%s → %s: rules %q, want %q", tt.base, tt.head, got, tt.rules)
		}
		if c.Summary != tt.summary {
			t.Errorf("%s → %s:\n got %s\nwant %s", tt.base, tt.head, c.Summary, tt.summary)
		}
	}
}

// Kernels that did not change are not explained: no rule speaks on repeated launches of one kernel.
func TestUnchanged(t *testing.T) {
	for _, head := range []string{"base.raw.csv", "scaled.raw.csv", "softmax_1.10.raw.csv", "spill.raw.csv"} {
		for _, kernel := range []string{"saxpy", "reduce", "transpose", "sgemm", "softmax", "tiny"} {
			if head == "spill.raw.csv" && kernel == "sgemm" || head == "softmax_1.10.raw.csv" && kernel == "softmax" {
				continue
			}
			b, h := launches(t, "base.raw.csv", kernel), launches(t, head, kernel)
			for _, pair := range [][2]counters.Kernel{{b, h}, {only(b, 0), only(h, 0)}, {only(b, 1), only(h, 0)}} {
				c := why.Explain(pair[0], pair[1])
				if len(c.Reasons) > 0 {
					t.Errorf("%s, %s: %s", head, kernel, c.Summary)
				}
				if !strings.Contains(c.Summary,
					"No rule explains the change: instructions, DRAM bytes, registers, theoretical occupancy") &&
					kernel != "tiny" {
					t.Errorf("%s, %s: %s", head, kernel, c.Summary)
				}
			}
		}
	}
}

// plain is a launch of 100 µs; each test adds its own counters.
var plain = map[string]float64{
	"ncu_time": 100e3, "cycles": 198e3, "sm_clock": 1.98e9, "instructions": 1e8, "dram_bytes": 1e8, "l2_bytes": 1e8,
	"l1_hit_rate": 50,
	"l2_hit_rate": 90, "achieved_occupancy": 94, "theoretical_occupancy": 100, "registers": 32, "static_shared": 0,
	"dynamic_shared": 8192,
	"limit_blocks":   32, "limit_registers": 8, "limit_shared": 16, "limit_warps": 8, "waves": 4, "local_loads": 0,
	"local_stores": 0,
	"load_sectors": 4, "store_sectors": 4, "sm_throughput": 40, "memory_throughput": 85,
	"flops_fp64": 0, "flops_fp32": 1e9, "flops_fp16": 0, "tensor_ops": 0, "peak_dram": 4e12, "peak_fp32": 6e13,
	"stall_long_scoreboard": 10, "stall_barrier": 1,
}

// record is the plain launch with changes; NaN takes a metric away.
func record(changes map[string]float64) counters.Kernel {
	r := counters.Kernel{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "k()",
		Grid: measure.Dim3{X: 1056, Y: 1, Z: 1}}, Values: map[string][]float64{}}
	for _, from := range []map[string]float64{plain, changes} {
		for name, v := range from {
			if name == "grid" {
				r.Subject.Grid.X = uint32(v)
				continue
			}
			r.Values[name] = []float64{v}
			if math.IsNaN(v) {
				delete(r.Values, name)
			}
		}
	}
	return r
}

// Each rule with its words, and a case just outside of it.
func TestRules(t *testing.T) {
	type changes map[string]float64
	unknown := math.NaN()
	for _, tt := range []struct {
		name       string
		base, head changes
		want       string // of the first reason; "" where no rule speaks
	}{
		{"registers", nil, changes{"registers": 255, "theoretical_occupancy": 12.5, "achieved_occupancy": 12,
			"limit_registers": 1},
			"registers 32 → 255 per thread and theoretical occupancy 100 % → 12.50 % (achieved 94 % → 12 %): " +
				"register pressure"},
		{"registers without a price", nil, changes{"registers": 40}, ""},
		{"registers, but the block size limits", nil, changes{"registers": 40, "theoretical_occupancy": 50,
			"limit_warps": 4, "achieved_occupancy": 47},
			"theoretical occupancy 100 % → 50 % (achieved 94 % → 47 %): limited by warps"},
		{"occupancy that was not used", changes{"achieved_occupancy": 40},
			changes{"registers": 64, "theoretical_occupancy": 50, "limit_registers": 4, "achieved_occupancy": 40}, ""},
		{"shared memory", nil, changes{"static_shared": 100e3, "theoretical_occupancy": 25, "limit_shared": 2,
			"achieved_occupancy": 24},
			"shared memory 8.192 kB → 108.2 kB a block and theoretical occupancy 100 % → 25 % (achieved 94 % → 24 " +
				"%): shared memory limits the blocks of an SM"},
		{"spills marked", changes{"spills": 0}, changes{"local_loads": 5e6, "spills": 9e6},
			"local loads 0 → 5 M: registers spill"},
		{"spills unmarked", changes{"local_stores": 100}, changes{"local_stores": 200},
			"local stores 100 → 200 (×2): registers spill, or an array is indexed at run time"},
		{"spills of fewer registers", changes{"registers": 64, "spills": 0}, changes{"local_loads": 5e6, "spills": 5e6},
			"local loads 0 → 5 M: registers spill (registers 64 → 32 per thread)"},
		{"spills alone", changes{"local_loads": unknown, "local_stores": unknown, "spills": 0}, changes{"spills": 5e6},
			"spills 0 → 5 M: registers spill"},
		{"fewer spills", changes{"local_stores": 200}, changes{"local_stores": 100}, ""},
		{"idle warps", nil, changes{"achieved_occupancy": 60},
			"achieved occupancy 94 % → 60 % at the same theoretical occupancy: the load is unbalanced, or there are " +
				"too few blocks"},
		{"work", nil, changes{"instructions": 1.1e8, "flops_fp32": 1.1e9},
			"instructions 100 M → 110 M (+10.0 %) with FLOPs in proportion: more work"},
		{"other work", nil, changes{"instructions": 1.3e8, "flops_fp32": 1.1e9},
			"instructions 100 M → 130 M (+30.0 %), FLOPs +10.0 %: more work"},
		{"overhead", nil, changes{"instructions": 3e8},
			"instructions 100 M → 300 M (×3) at the same FLOPs: more instructions for the same arithmetic"},
		{"work of unknown kind", changes{"tensor_ops": unknown}, changes{"instructions": 2e8},
			"instructions 100 M → 200 M (×2): more work"},
		{"less work", nil, changes{"instructions": 0.9e8}, ""},
		{"traffic", nil, changes{"dram_bytes": 1.5e8},
			"DRAM bytes 100.0 MB → 150.0 MB (+50.0 %) for the same FLOPs: more traffic"},
		{"traffic of more work", nil, changes{"dram_bytes": 1.1e8, "flops_fp32": 1.1e9}, ""},
		{"little traffic", changes{"dram_bytes": 3000}, changes{"dram_bytes": 9000}, ""},
		{"L2", nil, changes{"l2_hit_rate": 51, "dram_bytes": 1.04e8}, "L2 hit rate 90 % → 51 %: less is reused in L2"},
		{"L2 without traffic", nil, changes{"l2_hit_rate": 51}, ""},
		{"L1", nil, changes{"l1_hit_rate": 10, "l2_bytes": 2e8}, "L1 hit rate 50 % → 10 %: less is reused in L1"},
		{"coalescing", nil, changes{"load_sectors": 32},
			"sectors per load request 4 → 32: the threads of a warp access addresses farther apart"},
		{"coalescing of stores", nil, changes{"store_sectors": 17.5},
			"sectors per store request 4 → 17.50: the threads of a warp access addresses farther apart"},
		{"tail", nil, changes{"waves": 4.1}, "waves 4.00 → 4.10: in the last wave 10 % of the GPU has work"},
		{"small grid", nil, changes{"waves": 0.125, "grid": 132},
			"grid 1056 → 132 blocks, waves 4.00 → 0.12: the blocks fill 12 % of the GPU"},
		{"fuller waves", changes{"waves": 3.2}, changes{"waves": 4}, ""},
		{"clock", nil, changes{"ncu_time": 140e3, "sm_clock": 1.41e9},
			"same instructions, same DRAM bytes, SM clock 1.980 GHz → 1.410 GHz (-28.8 %): same work, slower, not " +
				"the code"},
		{"clock without counts of bytes", changes{"dram_bytes": unknown},
			changes{"ncu_time": 140e3, "sm_clock": 1.41e9},
			"same instructions, SM clock 1.980 GHz → 1.410 GHz (-28.8 %): same work, slower, not the code"},
		{"memory clock", changes{"peak_dram": 4e12}, changes{"ncu_time": 140e3, "peak_dram": 3e12},
			"same instructions, same DRAM bytes, peak DRAM 4.000 TB/s → 3.000 TB/s (-25.0 %): same work, slower, " +
				"for the memory clock is lower"},
		{"tensor cores left", changes{"tensor_ops": 1e12}, changes{"flops_fp32": 1e12},
			"tensor ops 1 T → 0: the tensor cores are no longer used"},
		{"tensor cores left in part", changes{"tensor_ops": 1e12}, changes{"tensor_ops": 4e11, "flops_fp32": 6e11},
			"tensor ops 1 T → 400 G: a part of the work has left the tensor cores"},
		{"fewer tensor operations", changes{"tensor_ops": 1e12}, changes{"tensor_ops": 9e11}, ""},
		{"tensor operations of a slower type", changes{"tensor_ops": 1e12, "peak_tensor": 989e12},
			changes{"tensor_ops": 1e12, "peak_tensor": 494e12},
			"peak of the tensor operations 989 TOPS → 494 TOPS: they are of a slower type"},
		{"double precision", nil, changes{"flops_fp64": 1e9, "flops_fp32": 0},
			"FLOPs in fp64 0 → 1 G, FLOPs in fp32 1 G → 0: arithmetic of a slower precision"},
		{"single instead of half", changes{"flops_fp16": 1e9, "flops_fp32": 0}, changes{"flops_fp32": 1e9},
			"FLOPs in fp32 0 → 1 G, FLOPs in fp16 1 G → 0: arithmetic of a slower precision"},
		{"half instead of single", changes{"flops_fp32": 1e9}, changes{"flops_fp16": 1e9, "flops_fp32": 0}, ""},
		{"a double constant", nil, changes{"flops_fp64": 3e7},
			"FLOPs in fp64 0 → 30 M: double precision, which a constant without an f brings"},
		{"a little double", nil, changes{"flops_fp64": 3e6}, ""},
		{"divergence", changes{"active_threads": 32}, changes{"active_threads": 16.4, "instructions": 1.9e8},
			"active threads 32 → 16.40 of the 32 of a warp: its threads take different branches, or leave early"},
		{"predicates", changes{"active_threads": 32, "unmasked_threads": 31},
			changes{"active_threads": 32, "unmasked_threads": 17},
			"threads of a warp that are not masked out 31 → 17 of 32: branches within a warp became predicates"},
		{"bank conflicts", changes{"shared_wavefronts": 1}, changes{"shared_wavefronts": 32},
			"passes through shared memory ×1 → ×32 of what the accesses need: bank conflicts"},
		{"wider loads", changes{"global_sectors": 1}, changes{"global_sectors": 1, "load_sectors": 16}, ""},
		{"wider loads of doubles", nil, changes{"load_sectors": 8, "flops_fp64": 1e9, "flops_fp32": 0},
			"FLOPs in fp64 0 → 1 G, FLOPs in fp32 1 G → 0: arithmetic of a slower precision"},
		{"fewer FLOPs", nil, changes{"instructions": 1.3e8, "flops_fp32": 0.9e9},
			"instructions 100 M → 130 M (+30.0 %), FLOPs -10.0 %: more instructions for less arithmetic"},
		{"lower clock and more cycles", nil, changes{"ncu_time": 140e3, "sm_clock": 1.9e9, "cycles": 220e3}, ""},
		{"lower clock that cost nothing", nil, changes{"sm_clock": 1.41e9}, ""},
		{"stalls", nil, changes{"ncu_time": 140e3, "stall_long_scoreboard": 30, "stall_barrier": 3},
			"a warp waits 10 → 30 cycles an instruction for loads from global or local memory (long scoreboard)"},
		{"stalls of a kernel that is not slower", nil, changes{"stall_long_scoreboard": 30}, ""},
		{"stalls behind a cause", nil, changes{"ncu_time": 140e3, "stall_long_scoreboard": 30, "instructions": 3e8},
			"instructions 100 M → 300 M (×3) at the same FLOPs: more instructions for the same arithmetic"},
		{"nothing", nil, changes{"ncu_time": 140e3}, ""},
	} {
		for i := range tt.base {
			if tt.head == nil {
				tt.head = changes{}
			}
			if math.IsNaN(tt.base[i]) {
				tt.head[i] = tt.base[i]
			}
		}
		c := why.Explain(record(tt.base), record(tt.head))
		got := ""
		if len(c.Reasons) > 0 {
			got = c.Reasons[0]
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if tt.want != "" && len(c.Reasons) > 1 && tt.name != "divergence" {
			t.Errorf("%s: %d reasons: %s", tt.name, len(c.Reasons), c.Summary)
		}
		if tt.want == "" && !strings.Contains(c.Summary, "No rule explains the change") {
			t.Errorf("%s: %s", tt.name, c.Summary)
		}
		if under := strings.HasPrefix(c.Summary, "Replayed, one"); under == (tt.head["ncu_time"] > 100e3) {
			t.Errorf("%s: slower when it is replayed? %s", tt.name, c.Summary)
		}
	}
}

func TestPosition(t *testing.T) {
	for _, tt := range []struct {
		sm, memory float64
		want       string
	}{
		{90, 50, "compute"}, {50, 90, "memory"}, {95, 85, "compute"}, {59, 59, "latency"}, {59, 61, "balanced"},
		{65, 78, "memory"}, {1.65, 39.5, "latency"}, {70.8, 84.4, "memory"}, {math.NaN(), 90, ""},
	} {
		if got := why.Bound(record(map[string]float64{"sm_throughput": tt.sm,
			"memory_throughput": tt.memory})); got != tt.want {
			t.Errorf("SM %v %%, memory %v %%: %q, want %q", tt.sm, tt.memory, got, tt.want)
		}
	}
	// 10 FLOP a byte under a ridge of 15: 40 TFLOP/s are possible and 10 reached.
	r := why.Explain(record(nil), record(nil)).HeadRoof
	if r == nil || r.Precision != "fp32" || r.Intensity != 10 || r.Ridge != 15 || r.Roof != 4e13 ||
		math.Abs(float64(r.Achieved/r.Roof)-0.25) > 1e-11 {
		t.Errorf("roofline %+v", r)
	}
	for _, without := range []string{"dram_bytes", "ncu_time", "peak_dram", "peak_fp32", "flops_fp32"} {
		for _, v := range []float64{0, math.NaN()} {
			if r := why.Explain(record(map[string]float64{without: v}), record(nil)).BaseRoof; r != nil {
				t.Errorf("%s = %v: roofline %+v", without, v, r)
			}
		}
	}
}

// Without a base the position is all there is to say.
func TestStand(t *testing.T) {
	for _, tt := range []struct{ file, kernel, want string }{
		{"base.raw.csv", "sgemm", "Memory-bound, .* of the fp32 roof at .* FLOP/B .*Theoretical occupancy 100 %.$"},
		{"spill.raw.csv", "sgemm_spill", "^Latency-bound, .*Theoretical occupancy 100 %.$"},
	} {
		c := why.Stand(launches(t, tt.file, tt.kernel))
		if !regexp.MustCompile(tt.want).MatchString(c.Summary) || len(c.Reasons) > 0 || len(c.Metrics) < 20 {
			t.Errorf("%s: %s (%d metrics)", tt.kernel, c.Summary, len(c.Metrics))
		}
		if c.Metrics[0].Base.Known() || c.Metrics[0].Head <= 0 {
			t.Errorf("%s: %+v", tt.kernel, c.Metrics[0])
		}
	}
	c := why.Stand(counters.Kernel{Values: map[string][]float64{"theoretical_occupancy": {12.5}, "limit_registers": {1},
		"limit_warps": {8}, "limit_blocks": {32}}})
	if want := "Theoretical occupancy 12.50 %, limited by registers."; c.Summary != want {
		t.Errorf("%s, want %s", c.Summary, want)
	}
	c = why.Stand(counters.Kernel{Values: map[string][]float64{"theoretical_occupancy": {50}, "limit_registers": {64},
		"limit_shared": {32}, "limit_warps": {64}, "limit_blocks": {32}}})
	if want := "Theoretical occupancy 50 %, limited by the number of blocks."; c.Summary != want {
		t.Errorf("%s, want %s: a kernel of small blocks that uses no shared memory", c.Summary, want)
	}
	if c := why.Stand(counters.Kernel{}); !strings.Contains(c.Summary, "no metric") || c.Head != "" {
		t.Errorf("of nothing: %s", c.Summary)
	}
}

// Any launches give a cause that says nothing of infinities, that JSON can hold, and that is empty for two equal sides.
func TestAnything(t *testing.T) {
	side := rapid.Custom(func(t *rapid.T) counters.Kernel {
		k := counters.Kernel{Values: map[string][]float64{}}
		for _, m := range slices.Concat(measure.Throughput, counters.Evidence,
			[]measure.Metric{measure.Registers, measure.StaticShared, measure.DynamicShared}) {
			value := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 100), rapid.Float64Range(0, 1e300))
			if v := rapid.SliceOfN(value, 0, 3).Draw(t, m.Name); len(v) > 0 {
				k.Values[m.Name] = v
			}
		}
		return k
	})
	rapid.Check(t, func(t *rapid.T) {
		base, head := side.Draw(t, "base"), side.Draw(t, "head")
		c := why.Explain(base, head)
		for _, bad := range []string{"NaN", "Inf", "%!", "  "} {
			if strings.Contains(c.Summary, bad) {
				t.Fatalf("%q in %s", bad, c.Summary)
			}
		}
		if c.Summary == "" {
			t.Fatal("nothing is said")
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Reasons {
			if len(c.Guides) == 0 || !strings.Contains(r, "→") {
				t.Fatalf("a reason without numbers or source: %+v", r)
			}
		}
		for _, g := range c.Guides {
			if g.Title == "" || !strings.HasPrefix(g.Link, "https://docs.nvidia.com/") {
				t.Fatalf("a guide without title or link: %+v", g)
			}
		}
		if same := why.Explain(base, base); len(same.Reasons) > 0 {
			t.Fatalf("nothing changed, but %s", same.Summary)
		}
	})
}
