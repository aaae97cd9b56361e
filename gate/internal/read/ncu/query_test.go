package ncu

import (
	"testing"
)

func TestCatalogCheck(t *testing.T) {
	c := Catalog{"smsp__inst_executed": "Counter", "sm__throughput": "Throughput", "lts__t_sector_hit_rate": "Ratio",
		"FBSP.TriageCompute.dramc__throughput": "Throughput"}
	for name, want := range map[string]string{
		"smsp__inst_executed.sum":                          "",
		"smsp__inst_executed.sum.per_cycle_elapsed":        "",
		"sm__throughput.avg.pct_of_peak_sustained_elapsed": "",
		"lts__t_sector_hit_rate.pct":                       "",
		"FBSP.TriageCompute.dramc__throughput.avg.pct":     "",
		"launch__registers_per_thread":                     "",
		"memory_l2_theoretical_sectors_global":             "",
		"smsp__inst_executed": "smsp__inst_executed needs a suffix: .avg, .max, " +
			".min, .sum",
		"lts__t_sector_hit_rate.sum": "lts__t_sector_hit_rate has no suffix .sum: it has .max_rate, .pct, .ratio",
		"smsp__inst_executedd.sum":   `ncu has no metric "smsp__inst_executedd.sum" on this GPU: did you mean smsp__inst_executed.sum?`,
		"smps__warps_of_something_that_is_not_there.avg.pct": "ncu has no metric " +
			"\"smps__warps_of_something_that_is_not_there.avg.pct\" on this GPU: `ncu --query-metrics` lists them",
	} {
		got := ""
		if err := c.Check(name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if err := Catalog(nil).Check(name); err != nil {
			t.Errorf("%s without a catalog: %v", name, err)
		}
	}
}
