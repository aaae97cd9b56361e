package terms

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// TestErrorTerms holds the table: every judged kind has a term in every relation between sessions, and no nearer
// relation has a larger one.
func TestErrorTerms(t *testing.T) {
	for of := KernelRow; of < rows; of++ {
		for r := range relations {
			x := errorTerms[of][r]
			if empty := x == (errorTerm{}); empty != (r == Interleaved || of == countRow) {
				t.Errorf("row %d, relation %d: %+v", of, r, x)
			}
			if r > 0 && (x.gpu < errorTerms[of][r-1].gpu || x.cpu < errorTerms[of][r-1].cpu) {
				t.Errorf("row %d, relation %d: %+v is less than that of the nearer relation, %+v", of, r, x,
					errorTerms[of][r-1])
			}
		}
	}
}

// TestRowOfEveryMetric holds which row a metric has; a metric that is judged, or that a rule may name, and has no row
// here fails.
func TestRowOfEveryMetric(t *testing.T) {
	want := map[Row][]string{
		stepRow:  {"step_time", "run_time"},
		meanRow:  {"mean_step_time"},
		stallRow: {"mean_to_typical"},
		wallRow:  {"elapsed_time", "wall_time", "startup_time", "init_time", "teardown_time"},
		copyRow:  {"copy_time"},
		outputRow: {"rate", "cost", "duration", "item_rate", "bandwidth", "flop_rate", "memory",
			"more_value", "less_value"},
		utilisationRow: {"sm_active", "sm_issue", "tensor_active", "dram_read", "dram_write", "pcie_rx", "pcie_tx",
			"nvlink_rx", "nvlink_tx"},
		SumRow: {"gpu_time"},
		KernelRow: {"time", "total", "gpu_duration", "gpu_bandwidth", "gpu_flop_rate", "imbalance", "ncu_time",
			"cycles", "sm_throughput", "memory_throughput", "dram_throughput", "dram_bytes", "dram_bandwidth",
			"l2_bytes", "l1_hit_rate", "l2_hit_rate", "load_sectors", "store_sectors", "achieved_occupancy",
			"flops_fp64", "flops_fp32", "flops_fp16",
			"ratio", "rate_ratio"},
	}
	of := map[string]Row{}
	for r, names := range want {
		for _, name := range names {
			of[name] = r
		}
	}
	for _, m := range measure.Metrics {
		r, listed := of[m.Name]
		switch {
		case m.Exact:
			r = countRow
		case !listed && m.Better != measure.Neither:
			t.Errorf("%s has no row", m.Name)
			continue
		case !listed:
			continue
		}
		if got := Of(measure.Workload, m, ""); got != r {
			t.Errorf("%s has row %d, want %d", m.Name, got, r)
		}
	}
	for _, c := range []struct {
		name, note string
		want       Row
	}{{"memcpy HtoD", "pinned to device", copyRow}, {"memcpy HtoD", "pageable to device", pageableRow}, {"memset",
		"device", memsetRow}} {
		if got := Of(measure.Subject{Scope: measure.ScopeWorkload, Name: c.name}, measure.CopyTime,
			c.note); got != c.want {
			t.Errorf("%s, %s: row %d, want %d", c.name, c.note, got, c.want)
		}
	}
}
