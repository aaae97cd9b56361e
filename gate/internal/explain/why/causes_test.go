package why_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
)

// changes are those of a page: what the cell of a counter becomes. A counter that the page lacks is added.
type changes map[string]func(was float64) float64

func times(k float64) func(float64) float64 { return func(was float64) float64 { return k * was } }
func becomes(v float64) func(float64) float64 {
	return func(float64) float64 { return v }
}

// counted are counters of the full recordings that the page in testdata leaves out, as they are for every kernel there.
var counted = map[string]float64{
	"memory_l1_wavefronts_shared": 32768000, "memory_l1_wavefronts_shared_ideal": 32768000,
	"memory_l2_theoretical_sectors_global_ideal":                 5373952,
	"smsp__thread_inst_executed_per_inst_executed.ratio":         32,
	"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": 31.95,
	"sm__ops_path_tensor_src_fp16.sum" + ncuPeak:                 1075205733305937.88,
	"sm__ops_path_tensor_src_tf32_dst_fp32.sum" + ncuPeak:        537602866652968.94,
	"sm__ops_path_tensor_src_bf16_dst_fp32.sum" + ncuPeak:        1075205733305937.88,
}

const ncuPeak = ".peak_sustained_elapsed.per_second"

// changed reads the raw page of an H200 with the counters of one kernel, and its grid, changed.
func changed(t *testing.T, kernel, grid string, by changes) counters.Kernel {
	t.Helper()
	data, err := os.ReadFile("../../../../testdata/ncu/base.raw.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range counted {
		rows[0], rows[1] = append(rows[0], name), append(rows[1], "")
		for i := 2; i < len(rows); i++ {
			if name == "memory_l2_theoretical_sectors_global_ideal" { // as in the recordings: everything is coalesced
				rows[i] = append(rows[i], rows[i][slices.Index(rows[0], "memory_l2_theoretical_sectors_global")])
				continue
			}
			rows[i] = append(rows[i], fmt.Sprint(v))
		}
	}
	names, geometry := slices.Index(rows[0], "Kernel Name"), slices.Index(rows[0], "Grid Size")
	for name, change := range by {
		at := slices.Index(rows[0], name)
		if at < 0 {
			t.Fatalf("no counter %s", name)
		}
		for _, row := range rows[2:] {
			if !strings.HasPrefix(row[names], kernel+"(") {
				continue
			}
			was, err := strconv.ParseFloat(strings.ReplaceAll(row[at], ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			row[at] = strconv.FormatFloat(change(was), 'f', 6, 64)
			if grid != "" {
				row[geometry] = grid
			}
		}
	}
	var page bytes.Buffer
	csv.NewWriter(&page).WriteAll(rows)
	p, err := ncu.Read(&page, "page.csv")
	if err != nil {
		t.Fatal(err)
	}
	found := p.Find(measure.Subject{Scope: measure.ScopeKernel, Name: kernel})
	if len(found) != 1 || len(found[0].Values[measure.Cycles.Name]) != 2 {
		t.Fatalf("%v of %s", found, kernel)
	}
	return found[0]
}

// slower changes the time alone: the same work in k times the cycles.
func slower(k float64, others ...changes) changes {
	c := changes{
		"gpu__time_duration.sum": times(k), "gpu__time_duration.avg": times(k), "gpc__cycles_elapsed.max": times(k),
		"sm__cycles_elapsed.max":   times(k),
		"smsp__cycles_elapsed.avg": times(k), "dram__bytes.sum.per_second": times(1 / k),
		"dram__bytes_read.sum.per_second":                                  times(1 / k),
		"dram__bytes_write.sum.per_second":                                 times(1 / k),
		"sm__throughput.avg.pct_of_peak_sustained_elapsed":                 times(1 / k),
		"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": times(1 / k),
		"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed":           times(1 / k),
	}
	for _, op := range []string{"dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul", "hfma"} {
		c[rate(op)] = times(1 / k)
	}
	for _, o := range others {
		for name, change := range o {
			if was := c[name]; was != nil {
				c[name] = func(v float64) float64 { return change(was(v)) }
			} else {
				c[name] = change
			}
		}
	}
	return c
}

func rate(op string) string {
	return "smsp__sass_thread_inst_executed_op_" + op + "_pred_on.sum.per_cycle_elapsed"
}

// dram is k times the traffic of the DRAM.
func dram(k float64) changes {
	c := changes{}
	for _, way := range []string{"read", "write"} {
		c["dram__bytes_"+way+".sum"], c["dram__bytes_"+way+".sum.per_second"] = times(k), times(k)
	}
	c["dram__bytes.sum.per_second"] = times(k)
	return c
}

func stalled(reason string, cycles float64) changes {
	return changes{"smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio": becomes(cycles)}
}

// flops is k times the arithmetic in single precision, in the same time.
func flops(k float64) changes {
	return changes{rate("ffma"): times(k), rate("fadd"): times(k), rate("fmul"): times(k)}
}

// A page of an H200 whose counters are changed as each cause changes them names that cause first, and says of the rest
// nothing but what follows from it.
func TestCauses(t *testing.T) {
	const (
		instructions = "smsp__inst_executed.sum"
		theoretical  = "sm__maximum_warps_per_active_cycle_pct"
		achieved     = "sm__warps_active.avg.pct_of_peak_sustained_active"
		registers    = "launch__registers_per_thread"
		byRegisters  = "launch__occupancy_limit_registers"
		waves        = "launch__waves_per_multiprocessor"
		loads        = "sass__inst_executed_local_loads"
		stores       = "sass__inst_executed_local_stores"
		spilling     = "sass__inst_executed_register_spilling"
		l2           = "lts__t_sectors.sum"
		sectors      = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
		global       = "memory_l2_theoretical_sectors_global"
		ideal        = "memory_l2_theoretical_sectors_global_ideal"
		tensor       = "sm__ops_path_tensor_src_fp16.sum"
	)
	for _, tt := range []struct {
		name, kernel, grid string
		base, head         changes
		rules              []string
		first              string // of the first reason; or of the summary, where no rule speaks
	}{
		{name: "register pressure", kernel: "softmax", rules: []string{"register pressure"},
			head: slower(2.4, changes{registers: becomes(255), byRegisters: becomes(1), theoretical: becomes(12.5),
				achieved: becomes(12.1), waves: becomes(8)},
				stalled("long_scoreboard", 9)),
			first: "registers 31 → 255 per thread and theoretical occupancy 100 % → 12.50 % (achieved 83.29 % → " +
				"12.10 %): register pressure"},
		{name: "spilling, because registers were capped", kernel: "softmax",
			rules: []string{"local memory", "work", "traffic"},
			head: slower(1.5, dram(3), changes{registers: becomes(16), loads: becomes(4e6), stores: becomes(2e6),
				spilling: becomes(6e6), instructions: times(1.12), l2: times(1.6)}),
			first: "local loads 0 → 4 M and local stores 0 → 2 M: registers spill (registers 31 → 16 per thread)"},
		{name: "an array that is indexed at run time", kernel: "softmax", rules: []string{"local memory", "work"},
			head: slower(1.4, changes{loads: becomes(4e6), stores: becomes(4e6), instructions: times(1.2)}),
			first: "local loads 0 → 4 M and local stores 0 → 4 M: an array that is indexed at run time lies in " +
				"local memory (the compiler marks no spills)"},
		{name: "bytes × 1.5 at the same FLOPs", kernel: "saxpy", rules: []string{"traffic"},
			head: slower(1.5, dram(1.5), changes{l2: times(1.5)}), first: "(+50.0 %) for the same FLOPs: more traffic"},
		{name: "less reuse in L2", kernel: "sgemm", rules: []string{"L2 cache", "traffic"},
			head:  slower(1.6, dram(6), changes{"lts__t_sector_hit_rate.pct": becomes(51)}),
			first: "L2 hit rate 92.39 % → 51 %: less is reused in L2"},
		{name: "less reuse in L1", kernel: "transpose", rules: []string{"L1 cache"},
			base:  changes{"l1tex__t_sector_hit_rate.pct": becomes(80)},
			head:  slower(1.3, changes{"l1tex__t_sector_hit_rate.pct": becomes(20), l2: times(4)}),
			first: "L1 hit rate 80 % → 20 %: less is reused in L1"},
		{name: "a lower SM clock", kernel: "sgemm", rules: []string{"clock"},
			head: changes{"gpu__time_duration.sum": times(1.5), "gpu__time_duration.avg": times(1.5),
				"gpc__cycles_elapsed.avg.per_second":  times(1 / 1.5),
				"smsp__cycles_elapsed.avg.per_second": times(1 / 1.5),
				"sm__cycles_elapsed.avg.per_second":   times(1 / 1.5), "dram__bytes.sum.per_second": times(1 / 1.5)},
			first: "same instructions, same DRAM bytes, SM clock 1.976 GHz → 1.317 GHz (-33.3 %): same work, " +
				"slower, not the code"},
		{name: "a lower memory clock", kernel: "saxpy", rules: []string{"memory clock"},
			head: slower(1.2, changes{"dram__cycles_elapsed.avg.per_second": times(1 / 1.2)}),
			first: "same instructions, same DRAM bytes, peak DRAM 4.809 TB/s → 4.007 TB/s (-16.7 %): same work, " +
				"slower, for the memory clock is lower"},
		{name: "more work", kernel: "softmax", rules: []string{"work"},
			head:  slower(1.5, flops(1.5), dram(1.5), changes{instructions: times(1.5), l2: times(1.5)}),
			first: "(+50.0 %) with FLOPs in proportion: more work"},
		{name: "more instructions for the same arithmetic", kernel: "softmax", rules: []string{"work"},
			head:  slower(1.4, changes{instructions: times(1.5)}),
			first: "(+50.0 %) at the same FLOPs: more instructions for the same arithmetic"},
		{name: "a grid that fills a part of the GPU", kernel: "saxpy", grid: "(132, 1, 1)",
			rules: []string{"waves", "idle warps"},
			head:  slower(1.8, changes{waves: becomes(0.12), achieved: becomes(12.4)}),
			first: "grid 1056 → 132 blocks, waves 1.00 → 0.12: the blocks fill 12 % of the GPU"},
		{name: "a tail wave", kernel: "saxpy", grid: "(1067, 1, 1)", rules: []string{"waves", "idle warps"},
			head:  slower(1.9, changes{waves: becomes(1.01), achieved: becomes(50)}),
			first: "grid 1056 → 1067 blocks, waves 1.00 → 1.01: in the last wave 1 % of the GPU has work"},
		{name: "uncoalesced loads", kernel: "saxpy", rules: []string{"coalescing", "traffic"},
			head: slower(4, dram(5), changes{sectors: times(8), global: times(5), l2: times(5)},
				stalled("long_scoreboard", 380), stalled("lg_throttle", 40)),
			first: "sectors per load request 4 → 32: the threads of a warp access addresses farther apart"},
		{name: "shared memory", kernel: "softmax", rules: []string{"shared memory"},
			head: slower(1.6, changes{"launch__shared_mem_per_block_dynamic": becomes(100000),
				"launch__occupancy_limit_shared_mem": becomes(2),
				theoretical:                          becomes(25), achieved: becomes(24.2), waves: becomes(4)}),
			first: "shared memory 1.024 kB → 101.0 kB a block and theoretical occupancy 100 % → 25 % (achieved " +
				"83.29 % → 24.20 %): shared memory limits the blocks of an SM"},
		{name: "bank conflicts", kernel: "transpose", rules: []string{"bank conflicts"},
			head: slower(2.2, changes{"memory_l1_wavefronts_shared": times(16.5)}, stalled("mio_throttle", 30),
				stalled("short_scoreboard", 50)),
			first: "passes through shared memory ×1 → ×16.50 of what the accesses need: bank conflicts"},
		{name: "divergence", kernel: "softmax", rules: []string{"divergence", "work"},
			head: slower(1.8, changes{"smsp__thread_inst_executed_per_inst_executed.ratio": becomes(16.8),
				instructions: times(1.9)}),
			first: "active threads 32 → 16.80 of the 32 of a warp: its threads take different branches, or leave " +
				"early"},
		{name: "double instead of single precision", kernel: "sgemm", rules: []string{"precision", "traffic"},
			head: slower(2, dram(2), changes{rate("ffma"): becomes(0), rate("dfma"): becomes(2166.76 / 2),
				registers: becomes(32), sectors: times(2), global: times(2), ideal: times(2), l2: times(2)}),
			first: "FLOPs in fp64 0 → 1.339 G, FLOPs in fp32 1.342 G → 0: arithmetic of a slower precision"},
		{name: "the tensor cores are gone", kernel: "sgemm", rules: []string{"tensor cores", "work"},
			base: changes{tensor: becomes(1342177280), rate("ffma"): becomes(0), instructions: times(0.1)},
			head: slower(6), first: "tensor ops 1.342 G → 0: the tensor cores are no longer used"},
		{name: "tf32 instead of fp16", kernel: "sgemm", rules: []string{"tensor cores"},
			base: changes{tensor: becomes(1342177280), rate("ffma"): becomes(0)}, head: slower(1.7,
				changes{"sm__ops_path_tensor_src_tf32_dst_fp32.sum": becomes(1342177280), rate("ffma"): becomes(0)}),
			first: "peak of the tensor operations 1.075 POPS → 537.6 TOPS: they are of a slower type"},
		{name: "a barrier", kernel: "softmax", rules: []string{"stalls"}, head: slower(1.6, stalled("barrier", 24)),
			first: "a warp waits 3.185 → 24 cycles an instruction for the other warps of its block (barrier)"},
		{name: "nothing that is counted", kernel: "softmax", head: slower(1.3),
			first: "No rule explains the change: instructions, DRAM bytes, registers, theoretical occupancy, SM " +
				"clock did not change: same work, slower. Balanced"},
		{name: "wider loads that wait for each other", kernel: "saxpy", rules: []string{"stalls"},
			head: slower(1.2, changes{sectors: times(1), "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": times(0.25),
				instructions: times(0.6)},
				stalled("long_scoreboard", 160)),
			first: "cycles an instruction for loads from global or local memory (long scoreboard)"},
		{name: "another block", kernel: "softmax", grid: "(264, 1, 1)", rules: []string{"occupancy"},
			head: slower(1.3, changes{"launch__occupancy_limit_warps": becomes(1), byRegisters: becomes(2),
				"launch__occupancy_limit_shared_mem": becomes(9), theoretical: becomes(50),
				achieved: becomes(48), waves: becomes(2)}),
			first: "theoretical occupancy 100 % → 50 % (achieved 83.29 % → 48 %): limited by warps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, head := changed(t, tt.kernel, "", tt.base), changed(t, tt.kernel, tt.grid, tt.head)
			c := why.Explain(base, head)
			if got := why.Rules(base, head); !slices.Equal(got, tt.rules) {
				t.Errorf("rules %q, want %q\n%s", got, tt.rules, c.Summary)
			}
			text := c.Summary
			if len(c.Reasons) > 0 {
				text = c.Reasons[0]
			}
			if !strings.Contains(text, tt.first) {
				t.Errorf("got %s\nwant %s", c.Summary, tt.first)
			}
			if strings.HasPrefix(c.Summary, "Replayed") {
				t.Error(c.Summary)
			}
		})
	}
}

// A kernel of the tensor cores stands under their roof, and nowhere where that is unknown.
func TestTensorRoofline(t *testing.T) {
	const ops = 1342177280.0
	half := changes{"sm__ops_path_tensor_src_fp16.sum": becomes(ops), rate("ffma"): times(0.01)}
	c := why.Explain(changed(t, "sgemm", "", half), changed(t, "sgemm", "", nil))
	if r := c.BaseRoof; r == nil || r.Precision != "tensor" || r.Achieved < 0.001*r.Roof || r.Achieved > 0.02*r.Roof {
		t.Errorf("%+v", r)
	}
	if r := c.HeadRoof; r == nil || r.Precision != "fp32" {
		t.Errorf("%+v", r)
	}
	if want := "roofline (tensor → fp32): 255.8 → 255.8"; !strings.Contains(c.Summary, want) ||
		!strings.Contains(c.Summary, "(ridge 223.5 → 13.93)") {
		t.Errorf("%s, want %s", c.Summary, want)
	}
	// Without the peak, as in a baseline, there is no place; but a little use of the tensor cores removes none.
	for share, want := range map[float64]string{1: "", 0.01: "fp32"} {
		records := changed(t, "sgemm", "", changes{"sm__ops_path_tensor_src_fp16.sum": becomes(share * ops)})
		for _, m := range counters.Evidence {
			delete(records.Values, m.Name)
		}
		records.Values["flops_fp32"] = []float64{0.5 * records.Values["flops_fp32"][0]}
		got := ""
		if r := why.Stand(records).HeadRoof; r != nil {
			got = r.Precision
		}
		if got != want {
			t.Errorf("tensor operations of %v: %q, want %q", share, got, want)
		}
	}
	// Where the tensor cores were busy and their operations were not counted the place is unknown, too.
	records := changed(t, "sgemm", "", nil)
	delete(records.Values, "tensor_ops")
	records.Values[counters.TensorBusy.Name] = []float64{60}
	if s := why.Stand(records); s.HeadRoof != nil || why.Bound(records) != "memory" {
		t.Errorf("%+v", s)
	}
}

// Between recordings of unchanged kernels, and between the launches of one recording, no rule speaks; of the kernels
// that were changed the right one does, on the full pages.
func TestFullRecordings(t *testing.T) {
	const shared = "../../../../../shared/h200/ncu"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the full recordings are not in this checkout")
	}
	profile := func(name string) *counters.Profile {
		f, err := os.Open(filepath.Join(shared, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := ncu.Read(f, name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	base := profile("base.raw.base.csv")
	pairs := 0
	for _, name := range []string{"base.raw.base.csv", "base.raw.csv", "softmax_1.10.raw.base.csv",
		"spill.raw.base.csv", "spill.raw.csv", "torch.raw.csv"} {
		p, of := profile(name), base
		if name == "torch.raw.csv" {
			of = p
		}
		for _, h := range p.Kernels {
			for _, b := range of.Kernels {
				if b.Subject != h.Subject || strings.HasPrefix(name, "softmax") && h.Subject.Short() == "softmax" {
					continue
				}
				for i := range h.Values[measure.Cycles.Name] {
					for j := range b.Values[measure.Cycles.Name] {
						pairs++
						if c := why.Explain(only(b, j), only(h, i)); len(c.Reasons) > 0 {
							t.Errorf("%s, %s, launch %d against launch %d: %s", name, h.Subject.Short(), i, j,
								c.Summary)
						}
					}
				}
			}
		}
	}
	t.Logf("%d pairs of unchanged launches", pairs)
	kernel := func(p *counters.Profile, short string) counters.Kernel {
		return p.Find(measure.Subject{Scope: measure.ScopeKernel, Name: short})[0]
	}
	for _, tt := range []struct {
		file, kernel, was string
		rules             []string
	}{
		{"spill.raw.base.csv", "sgemm_spill", "sgemm", []string{"local memory", "work", "traffic", "L2 cache"}},
		{"spill.raw.csv", "sgemm_spill", "sgemm", []string{"local memory", "work", "traffic", "L2 cache"}},
		{"softmax_1.10.raw.base.csv", "softmax", "softmax", []string{"work"}},
	} {
		if got := why.Rules(kernel(base, tt.was), kernel(profile(tt.file), tt.kernel)); !slices.Equal(got, tt.rules) {
			t.Errorf("%s: %q, want %q", tt.file, got, tt.rules)
		}
	}
}
