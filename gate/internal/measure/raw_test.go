package measure

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// variants are the parts of a raw name that do not change its class: the aggregate of the instances, and which
// operations, pipes, units and reasons are counted.
var variants = []struct {
	of *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`\.(avg|max|min|sum)(\.|$)`), ".A$2"},
	{regexp.MustCompile(`_(op|mem|pipe|srcunit|aperture|evict|srcnode|path_tensor|issue_stalled)_[a-z0-9_]*`),
		"_${1}_"},
	{regexp.MustCompile(`^(device|numa|nvlink|c2clink|profiler)__.*`), "$1"},
}

func classOf(raw string) string {
	for _, v := range variants {
		raw = v.of.ReplaceAllString(raw, v.by)
	}
	return raw
}

var directions = map[string]Direction{"lower": Lower, "neither": Neither, "higher": Higher}

// TestRawDirections holds the direction and unit of a metric of each class on raw pages of Nsight Compute, and finds
// every name of the pages of this repository among these classes.
func TestRawDirections(t *testing.T) {
	text, err := os.ReadFile("testdata/raw.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	counts := map[Direction]int{}
	for line := range strings.Lines(string(text)) {
		word := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 3)
		want := directions[word[0]]
		m, ok := MetricByName(RawPrefix + word[1])
		if !ok || m.Better != want || m.Unit != word[2] || m.Judged() || m.Title() != word[1] || m.Raw() != word[1] {
			t.Errorf("%s: %+v, want %s and %s", word[1], m, word[0], word[2])
		}
		known[word[0]+classOf(word[1])] = true
		counts[want]++
	}
	if len(counts) != 3 || counts[Neither] < 50 || counts[Lower] < 50 || counts[Higher] < 50 {
		t.Errorf("directions: %v", counts)
	}
	pages, _ := filepath.Glob("../../../testdata/ncu/*.raw.csv")
	names := map[string]bool{}
	for _, page := range pages {
		f, err := os.Open(page)
		if err != nil {
			t.Fatal(err)
		}
		head, err := csv.NewReader(f).Read()
		if f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range head {
			if strings.Contains(name, "__") {
				names[name] = true
			}
		}
	}
	if len(names) < 50 {
		t.Errorf("%d names on the pages", len(names))
	}
	for name := range names {
		m, _ := MetricByName(RawPrefix + name)
		for word, d := range directions {
			if m.Better == d && !known[word+classOf(name)] {
				t.Errorf("%s of a page is %s, and no name of its class in testdata/raw.txt is", name, word)
			}
		}
	}
}

// Names beside those of the pages: of older and newer releases, and those that people put into policies.
func TestRawMetrics(t *testing.T) {
	for name, want := range map[string]Metric{
		"smsp__inst_executed.sum":                             {Unit: "count", Better: Lower, Exact: true},
		"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": {Unit: "count", Better: Lower, Exact: true},
		"smsp__inst_executed.avg":                             {Unit: "count", Better: Lower},
		"launch__registers_per_thread": {Unit: "count", Better: Lower,
			Exact: true},
		"launch__grid_size":                                                      {Unit: "count", Exact: true},
		"dram__bytes.sum":                                                        {Unit: "B", Better: Lower},
		"dram__bytes.sum.per_second":                                             {Unit: "B/s", Better: Higher},
		"sm__inst_executed.avg.per_cycle_active":                                 {Unit: "ratio", Better: Higher},
		"smsp__inst_executed.sum.per_cycle_elapsed":                              {Unit: "ratio", Better: Higher},
		"smsp__sass_thread_inst_executed_op_fadd.sum.per_cycle_elapsed":          {Unit: "ratio", Better: Higher},
		"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct":          {Unit: "%", Better: Higher},
		"smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct":             {Unit: "%", Better: Higher},
		"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global.ratio":         {Unit: "ratio", Better: Lower},
		"l1tex__data_bank_conflicts_pipe_lsu.avg.pct_of_peak_sustained_elapsed":  {Unit: "%", Better: Lower},
		"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum":                     {Unit: "count", Better: Lower},
		"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum.per_second":          {Unit: "1/s"},
		"smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct":           {Unit: "%", Better: Lower},
		"smsp__warps_issue_stalled_barrier.avg.pct_of_peak_sustained_active":     {Unit: "%", Better: Lower},
		"sm__warps_active.avg.pct_of_peak_sustained_active":                      {Unit: "%", Better: Higher},
		"smsp__warps_eligible.avg.per_cycle_active":                              {Unit: "ratio", Better: Higher},
		"sm__warps_active.sum":                                                   {Unit: "count"},
		"sm__warps_active.avg.peak_sustained":                                    {Unit: "ratio"},
		"smsp__issue_inst0.avg.pct_of_peak_sustained_active":                     {Unit: "%", Better: Lower},
		"smsp__thread_inst_executed_per_inst_executed.pct":                       {Unit: "%", Better: Higher},
		"smsp__inst_issued_per_issue_active.ratio":                               {Unit: "ratio"},
		"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum":                          {Unit: "count", Better: Lower},
		"l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum":               {Unit: "count"},
		"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum":             {Unit: "count", Better: Lower},
		"lts__t_sectors.sum.per_second":                                          {Unit: "1/s"},
		"gpc__cycles_elapsed.max":                                                {Unit: "count", Better: Lower},
		"smsp__cycles_elapsed.avg.per_second":                                    {Unit: "Hz", Better: Higher},
		"gpu__time_duration.sum":                                                 {Unit: "ns", Better: Lower},
		"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active":         {Unit: "%", Better: Higher},
		"sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active": {Unit: "%", Better: Higher},
		"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed":       {Unit: "%", Better: Higher},
		"gpu__compute_memory_throughput.avg.peak_sustained":                      {Unit: "ratio"},
		"launch__shared_mem_per_block_static": {Unit: "B per block", Better: Lower,
			Exact: true},
		"lts__average_gcomp_output_sector_compression_achieved_rate.ratio":   {Unit: "ratio"},
		"future__of_a_later_release.sum":                                     {Unit: "count"},
		"sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum": {Unit: "count", Better: Lower},
		"smsp__inst_executed_op_local_ld.sum.pct_of_peak_sustained_elapsed":  {Unit: "%", Better: Lower},
		"smsp__average_inst_executed_per_warp.ratio":                         {Unit: "ratio"},
		"l1tex__m_xbar2l1tex_read_bytes.sum.pct_of_peak_sustained_elapsed":   {Unit: "%", Better: Higher},
		"smsp__average_warp_latency_issue_stalled_math_pipe_throttle.ratio":  {Unit: "ratio", Better: Lower},
		"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio":  {Unit: "ratio"},
		"smsp__sass_average_branch_targets_threads_uniform.pct":              {Unit: "%", Better: Higher},
		"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.max_rate": {Unit: "ratio"},
		"pcie__read_bytes.sum.per_second":                                    {Unit: "B/s"},
		"sm__ops_path_tensor_src_fp16.sum.peak_sustained_elapsed.per_second": {Unit: "1/s"},
		"sm__ops_path_tensor_src_fp16.sum.per_second":                        {Unit: "1/s", Better: Higher},
	} {
		want.Name = RawPrefix + name
		if got, ok := MetricByName(want.Name); got != want || !ok {
			t.Errorf("%s: %+v, %t, want %+v", name, got, ok, want)
		}
	}
	for _, name := range []string{"ncu:", "ncu:a b", "ncu:*", "ncu:smsp__*", "ncu:a,b", "ncu:regex:a"} {
		if m, ok := MetricByName(name); ok {
			t.Errorf("%q is %+v", name, m)
		}
	}
}
