package ncu_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
)

// The headers that versions and options of ncu write, and what people make of them. Each was seen in a public
// repository and is retyped here with values of its own.
const (
	who2020  = `"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream",`
	who2022  = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",`
	who2023  = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",`
	nvtxPair = `"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",`
	whoRange = `"ID","Process ID","Process Name","Host Name",` + nvtxPair +
		`"Kernel Name","Context","Stream","Device","CC",`
	metricEnd = `"Section Name","Metric Name","Metric Unit","Metric Value"`
	ruleEnd   = `,"Rule Name","Rule Type","Rule Description"`
	speedEnd  = ruleEnd + `,"Estimated Speedup Type","Estimated Speedup"`

	is2020 = `"0","20798","app","127.0.0.1","axpy(int, float*)","2020-May-29 12:02:46","1","7",`
	is2022 = `"0","827","app","127.0.0.1","axpy(int, float *)","1","7",`
	is2023 = `"0","17333","app","127.0.0.1","axpy(int, float *)","1","7","(256, 1, 1)","(48, 1, 1)","0","8.6",`
	sol    = `"GPU Speed Of Light Throughput",`
	asked  = `"Command line profiler metrics",`
)

func rows(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// Every shape is read right, with every cell accounted for.
func TestWild(t *testing.T) {
	full := rows(who2023+metricEnd, is2023+asked+`"gpu__time_duration.sum","nsecond","1,234"`)
	for _, tt := range []struct {
		name, text string
		subject    string // name and geometry of the first launch, "axpy" of 48 blocks of 256 where empty
		launches   int    // 1 where 0
		metrics    map[string]float64
		cells      int // of metrics
	}{
		{name: "2020: kernel time, old labels, units of one kind, no blanks in the name",
			text: rows(who2020+metricEnd, is2020+`"GPU Speed Of Light","Memory Frequency","cycle/second","772656250"`,
				is2020+`"GPU Speed Of Light","SOL DRAM","%","39.60"`,
				is2020+`"GPU Speed Of Light","Memory [%]","%","46.47"`,
				is2020+`"GPU Speed Of Light","SM [%]","%","11.50"`,
				is2020+`"GPU Speed Of Light","SM Frequency","cycle/second","1138271055.75"`,
				is2020+`"GPU Speed Of Light","Duration","nsecond","8992"`),
			subject: "axpy(int, float*) ", cells: 6,
			metrics: map[string]float64{"ncu_time": 8992, "sm_clock": 1138271055.75, "memory_throughput": 46.47,
				"sm_throughput": 11.5, "dram_throughput": 39.6}},
		{name: "2020: a blank line under the header, and the name without parameters",
			text: rows(who2020+metricEnd, "", "", strings.Replace(is2020, "axpy(int, float*)", "axpy",
				1)+`"GPU Speed Of Light","Duration","usecond","8.99"`),
			subject: "axpy ", cells: 1, metrics: map[string]float64{"ncu_time": 8990}},
		{name: "2021.2: the section has its name of today, the labels not yet",
			text: rows(who2020+metricEnd, is2020+sol+`"Compute (SM) [%]","%","18.25"`,
				is2020+sol+`"Memory [%]","%","46.10"`, is2020+sol+`"Duration","usecond","12.40"`),
			subject: "axpy(int, float*) ", cells: 3, metrics: map[string]float64{"sm_throughput": 18.25,
				"memory_throughput": 46.1, "ncu_time": 12400}},
		{name: "2022: rules, and no estimated speedup yet", text: rows(who2022+metricEnd+ruleEnd,
			is2022+sol+`"SM Frequency","cycle/nsecond","1.09",`, is2022+sol+`"Duration","msecond","2.50",`,
			is2022+`"SpeedOfLight","","","","SOLBottleneck","Warning","too few blocks, ""tail"""`),
			subject: "axpy(int, float *) ", cells: 2,
			metrics: map[string]float64{"sm_clock": 1.09e9, "ncu_time": 2.5e6}},
		{name: "2023: only --metrics", text: full, cells: 1, metrics: map[string]float64{"ncu_time": 1234}},
		{name: "2024: rules with a speedup, rows of metrics that end in one empty cell",
			text: rows(who2023+metricEnd+speedEnd, is2023+sol+`"Duration","us","2.88",`,
				is2023+`"Occupancy","","","","AchievedOccupancy","OPT","see below","global","12.5"`),
			cells: 1, metrics: map[string]float64{"ncu_time": 2880}},
		{name: "2024: rows of metrics that are filled up but for one cell",
			text:  rows(who2023+metricEnd+speedEnd, is2023+sol+`"SM Frequency","hz","1,410,000,000.50","","","",""`),
			cells: 1, metrics: map[string]float64{"sm_clock": 1410000000.5}},
		{name: "2024: rows of metrics that are as long as the header",
			text: rows(who2023+metricEnd+speedEnd,
				is2023+`"Launch Statistics","Registers Per Thread","register/thread","32","","","","",""`), cells: 1,
			metrics: map[string]float64{"registers": 32}},
		{name: "2025: body items, and spills",
			text: rows(who2023+`"Section Name","Body Item Label","Metric Name","Metric Unit","Metric Value"`+speedEnd,
				is2023+`"Warp State Statistics","Warp State (All Cycles)","Stall Long Scoreboard","inst","4.50",`,
				is2023+`"Warp State Statistics","","Avg. Active Threads Per Warp","","31.5",`,
				is2023+`"GPU Speed Of Light Roofline Chart","Single Precision Roofline","SM Frequency","Ghz","2.15",`,
				is2023+`"Memory Workload Analysis","","Local Memory Spilling Requests","","7",`),
			cells: 4, metrics: map[string]float64{"stall_long_scoreboard": 4.5, "spills": 7, "active_threads": 31.5}},
		{name: "--print-metric-name label-name",
			text: rows(who2023+metricEnd, is2023+sol+`"Duration (gpu__time_duration.sum)","ns","2,881"`,
				is2023+sol+`"Compute (SM) Throughput (sm__throughput.avg.pct_of_peak_sustained_elapsed)","%","12.5"`),
			cells: 2, metrics: map[string]float64{"ncu_time": 2881, "sm_throughput": 12.5}},
		{name: "--print-metric-name name --print-details all says things twice",
			text: rows(who2023+metricEnd, is2023+asked+`"gpu__time_duration.avg","ns","2881"`,
				is2023+asked+`"sm__throughput.avg.pct_of_peak_sustained_elapsed","%","12.5"`,
				is2023+sol+`"sm__throughput.avg.pct_of_peak_sustained_elapsed","%","12.5"`),
			cells: 3, metrics: map[string]float64{"ncu_time": 2881, "sm_throughput": 12.5}},
		{name: "--nvtx",
			text: rows(strings.Replace(who2023, `"Kernel Name"`, nvtxPair+`"Kernel Name"`, 1)+metricEnd+speedEnd,
				strings.Replace(is2023, `"axpy`,
					`"15372  ""<default domain>:step:none:none:none:none:none:none"" ","","axpy`, 1)+sol+
					`"Duration","us","81.47",`), cells: 1, metrics: map[string]float64{"ncu_time": 81470}},
		{name: "application range replay",
			text: rows(whoRange+metricEnd+speedEnd,
				`"0","4242","python","h",""," ""0:<default domain>:attention:fwd:none:none:none:none:none:none"" ","range","1","n/a","0","10.0",`+
					asked+`"gpu__time_duration.avg","ns","123480704",`),
			subject: "attention:fwd ", cells: 1, metrics: map[string]float64{"ncu_time": 123480704}},
		{name: "range replay of two ranges",
			text: rows(whoRange+`"gpu__time_duration.sum"`, `"","","","","","","","","","","","ns"`,
				`"0","4242","python","h","7  ""model:step 12:none:none:none:none:none:none"" ","","range","1","n/a","0","10.0","2"`,
				`"1","4242","python","h","7  ""model:eval:none:none:none:none:none:none"" ","","range","1","n/a","0","10.0","3"`),
			subject: "model:step # ", launches: 2, cells: 2, metrics: map[string]float64{"ncu_time": 2}},
		{name: "range replay between cudaProfilerStart and cudaProfilerStop",
			text: rows(`"ID","Process ID","Kernel Name","Stream","gpu__time_duration.sum"`, `"","","","","ns"`,
				`"0","1","range","n/a","2"`),
			subject: "range ", cells: 1, metrics: map[string]float64{"ncu_time": 2}},
		{name: "a kernel that is called range",
			text: rows(`"ID","Process ID","Kernel Name","Stream","gpu__time_duration.sum"`, `"","","","","ns"`,
				`"0","1","range","7","2"`),
			subject: "range ", cells: 1, metrics: map[string]float64{"ncu_time": 2}},
		{name: "a whole graph", text: rows(who2023+`"gpu__time_duration.sum","launch__registers_per_thread"`,
			`"","","","","","","","","","","","us",""`,
			`"0","1","app","h","graph","1","7","(0, 0, 0)","(0, 0, 0)","0","9.0","91.000000","n/a"`),
			subject: "graph ", cells: 2, metrics: map[string]float64{"ncu_time": 91000}},
		{name: "raw page, live, English thousands, with the program's output before and after",
			text: rows("==PROF== Connected to process 42 (/usr/bin/python3)", "\x1b[1;97mrun time: 6.0 s, 12\x1b[0m",
				`==PROF== Profiling "axpy" - 0: 0%....50%....100% - 9 passes`,
				"==WARNING== Found outstanding GPU clock reset, trying to revert...Success.",
				who2023+`"gpu__time_duration.sum","launch__waves_per_multiprocessor","launch__tpc_enabled"`,
				`"","","","","","","","","","","","ns","",""`, is2023+`"25,984","3.88","0,1,2,3"`,
				"==PROF== Disconnected from process 42", "bye"),
			cells: 3, metrics: map[string]float64{"ncu_time": 25984, "waves": 3.88}},
		{name: "raw page, imported, C locale, scaled units",
			text: rows(who2023+`"dram__bytes.sum","gpu__time_duration.sum","sm__cycles_elapsed.avg.per_second"`,
				`"","","","","","","","","","","","Mbyte","us","Ghz"`, is2023+`"1.500000","25.984000","1.410000"`),
			cells: 3, metrics: map[string]float64{"ncu_time": 25984, "dram_bytes": 1.5e6, "sm_clock": 1.41e9}},
		{name: "raw page, with a kernel time, and n/a of all kinds",
			text:    rows(who2020+`"gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","smsp__inst_executed.sum","dram__bytes.sum"`, `"","","","","","","","","nsecond","%","inst","byte"`, is2020+`"2","(nan)","n/a","no data"`),
			subject: "axpy(int, float*) ", cells: 4, metrics: map[string]float64{"ncu_time": 2}},
		{name: "raw page resaved by pandas: row numbers, floats for IDs, quotes where needed",
			text: rows(`,ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size,Device,CC,gpu__time_duration.sum,launch__registers_per_thread`,
				`0,,,,,,,,,,,,ns,register/thread`,
				`1,0.0,17333.0,app,127.0.0.1,"axpy(int, float *)",1.0,7.0,"(256, 1, 1)","(48, 1, 1)",0.0,8.6,"81,472",16.0`),
			cells: 2, metrics: map[string]float64{"ncu_time": 81472, "registers": 16}},
		{name: "details page resaved by pandas, without row numbers",
			text: rows(`ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size,Device,CC,Section Name,Metric Name,Metric Unit,Metric Value`,
				`0,17333,app,127.0.0.1,"axpy(int, float *)",1,7,"(256, 1, 1)","(48, 1, 1)",0,8.6,Command line profiler metrics,gpu__time_duration.sum,nsecond,"10,776,576"`),
			cells: 1, metrics: map[string]float64{"ncu_time": 10776576}},
		{name: "resaved with a named column of row numbers",
			text:  rows(`Unnamed: 0,ID,Process ID,Kernel Name,Block Size,Grid Size,Metric Name,Metric Unit,Metric Value`, `0,0,1,"axpy(int, float *)","(256, 1, 1)","(48, 1, 1)",gpu__time_duration.sum,ns,5`),
			cells: 1, metrics: map[string]float64{"ncu_time": 5}},
		{name: "columns cut away", text: rows(`"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"`,
			`"0","axpy","gpu__time_duration.sum","nsecond","10,000"`,
			`"1","axpy","gpu__time_duration.sum","nsecond","12,000"`),
			subject: "axpy ", launches: 2, cells: 2, metrics: map[string]float64{"ncu_time": 10000}},
		{name: "columns cut away from the raw page", text: rows(`"ID","Kernel Name","gpu__time_duration.sum"`,
			`"","","nsecond"`, `"0","axpy","120"`), subject: "axpy ", cells: 1,
			metrics: map[string]float64{"ncu_time": 120}},
		{name: "blanks after the commas, and no blanks in the geometry",
			text:  rows(`"ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "Metric Name", "Metric Unit", "Metric Value"`, `"0", "1", "axpy(int, float *)", "(256,1,1)", "(48,1,1)", "gpu__time_duration.sum", "ns", "5"`),
			cells: 1, metrics: map[string]float64{"ncu_time": 5}},
		{name: "the device by name", text: strings.Replace(full, `"0","8.6"`, `"NVIDIA A10","8.6"`, 1), cells: 1,
			metrics: map[string]float64{"ncu_time": 1234}},
		{name: "blanks at the ends of lines and before them",
			text: "    " + strings.ReplaceAll(strings.TrimSuffix(full, "\n"), "\n", "   \n    ") + "   \n", cells: 1,
			metrics: map[string]float64{"ncu_time": 1234}},
		{name: "a blank line after every line", text: strings.ReplaceAll(full, "\n", "\r\r\n\r\n"), cells: 1,
			metrics: map[string]float64{"ncu_time": 1234}},
		{name: "a page in a Markdown file", text: "The counters:\n\n```\n" + full + "```\n", cells: 1,
			metrics: map[string]float64{"ncu_time": 1234}},
		{name: "pages one after the other, of different columns",
			text: full + rows(who2022+metricEnd, is2022+asked+`"gpu__time_duration.sum","usecond","7.5"`) +
				rawPage("gpu__time_duration.sum", "ns", "9", "smsp__inst_executed.sum", "inst", "3"),
			cells: 4, launches: 3, metrics: map[string]float64{"ncu_time": 1234}},
		{name: "the last launch without a section that the others have",
			text: rows(who2023+metricEnd, is2023+sol+`"Duration","us","7.50"`,
				is2023+`"Launch Statistics","Registers Per Thread","register/thread","32"`,
				strings.Replace(is2023, `"0"`, `"1"`, 1)+sol+`"Duration","us","7.50"`),
			cells: 3, launches: 2, metrics: map[string]float64{"ncu_time": 7500, "registers": 32}},
		{name: "launches with other metrics, and the last with the fewest",
			text: rows(who2023+metricEnd, is2023+sol+`"Duration","us","7.50"`, is2023+sol+`"SM Frequency","Ghz","1.50"`,
				strings.Replace(is2023, `"0"`, `"1"`, 1)+sol+`"Duration","us","7.50"`,
				strings.Replace(is2023, `"0"`, `"2"`, 1)+sol+`"Duration","us","7.50"`),
			cells: 4, launches: 3, metrics: map[string]float64{"ncu_time": 7500, "sm_clock": 1.5e9}},
		{name: "what the program prints after the page is no row of it", text: full + "12 steps\n7\n", cells: 1,
			metrics: map[string]float64{"ncu_time": 1234}},
		{name: "topology that looks like a decimal comma",
			text: rawPage("nvlink__dev0Id", "", "0,1", "numa__cpu_affinity", "", "0,32", "gpu__time_duration.sum",
				"ns", "9"),
			subject: "k(int) 2x1x1/64x1x1", cells: 3, metrics: map[string]float64{"ncu_time": 9}},
		{name: "names of Triton, of templates and of lambdas",
			text: strings.Replace(full, "axpy(int, float *)",
				`void unnamed>::run<at::native::f<(int)4>, [lambda() (instance 1)]>(T1 *, ""x"")`, 1),
			subject: `void (anonymous namespace)::run<at::native::f<(int)4>, [lambda() (instance 1)]>(T1 *, "x") 48x1x1/256x1x1`, cells: 1, metrics: map[string]float64{"ncu_time": 1234}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := read(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.subject
			if want == "" {
				want = "axpy(int, float *) 48x1x1/256x1x1"
			}
			r := records(p)[0]
			if got := r.Subject.Name + " " + r.Subject.Geometry(); got != want {
				t.Errorf("subject %q, want %q", got, want)
			}
			if scope := r.Subject.Scope; (scope == measure.ScopeRange) != strings.Contains(tt.name, "range replay") {
				t.Errorf("scope %s", scope)
			}
			if p.Launches != max(tt.launches, 1) {
				t.Errorf("%d launches", p.Launches)
			}
			for name, v := range tt.metrics {
				got, ok := r.Metrics[name]
				if !ok {
					got, ok = r.Evidence[name]
				}
				if !ok || math.Abs(got-v) > 1e-9*math.Abs(v) {
					t.Errorf("%s = %v, %v; want %v", name, got, ok, v)
				}
			}
			// the duration of a page of few counters gives no other
			if n := len(r.Metrics) + len(r.Evidence); n > len(tt.metrics)+1 {
				t.Errorf("%v %v", r.Metrics, r.Evidence)
			}
			if p.Cells != tt.cells {
				t.Errorf("%d of %d cells", p.Cells, tt.cells)
			}
			if !ncu.Sniff([]byte(tt.text)) {
				t.Error("not taken for output of ncu")
			}
		})
	}
}

// Unreadable files are refused with a sentence that names the next step.
func TestWildRefusals(t *testing.T) {
	full := rows(who2023+metricEnd, is2023+asked+`"gpu__time_duration.sum","nsecond","1,234"`)
	value := func(v string) string { return strings.Replace(full, "1,234", v, 1) }
	for _, tt := range []struct{ name, text, want, next string }{
		{"summary of kernels",
			rows(`"Process ID","Process Name","Host Name","Kernel Name","Block Size","Grid Size","Device","CC","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"`,
				`"1","app","h","axpy","(256, 1, 1)","(4, 1, 1)","0","11.0","14","Occupancy","Theoretical Occupancy","%","100.00","100.00","100.00"`), "x.csv:1: a summary (--print-summary)", "--page raw"},
		{"summary of kernels, cut",
			rows(`...,"Kernel Name","...","Invocations","...,","Metric Name","Metric Unit","Minimum","Maximum","Average"`, `...,"axpy","...,"100","...","dram__bytes.avg","byte","1","2","3"`), "x.csv:1: a summary", "--page raw"},
		{"summary in text",
			"  axpy (48, 1, 1)x(256, 1, 1), Device 0, CC 8.6, Invocations 3\n    Metric Name                 Metric " +
				"Unit    Minimum    Maximum    Average\n", "x.csv:2: the page is text", "--csv"},
		{"details in text", "  axpy (48, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 8.6\n    Section: GPU " +
			"Speed Of Light Throughput\n    ----------\n    Metric Name             Metric Unit Metric Value\n    " +
			"----------\n    Duration                         us         2.88\n", "x.csv:1: the table holds no kernel",
			"filter"},
		{"session page", rows("Launch Settings", `"Launch Attribute","Value"`,
			`"Profiler Command Line","ncu --set full app"`), "x.csv:2: the session page holds no launch", "--page raw"},
		{"source page", rows(`"Kernel Name","axpy"`,
			`"Address","Source","Warp Stall Sampling (All Samples)","# Samples"`,
			`"0x7f00","      LDC R1, c[0x0][0x28]","3","3"`), "x.csv:2: the source page holds instructions",
			"--page raw"},
		{"source page of a file", rows(`"File Name","/src/axpy.cu"`, `"#","Source","Instructions Executed"`,
			`"1","__global__ void axpy(","0"`), "x.csv:2: the source page", "--page raw"},
		{"semicolons", strings.ReplaceAll(full, ",", ";"), "x.csv:1: the cells are not separated by commas",
			"ncu --import"},
		{"tabs", strings.ReplaceAll(strings.ReplaceAll(full, `","`, "\t"), `"`, ""),
			"x.csv:1: the cells are not separated by commas", "ncu --import"},
		{"export of the window", "\uFEFF" +
			rows(`"ID","Estimated Speedup [%]","Function Name","Demangled Name","Process","Device Name","Grid Size","Block Size [block]","gpu__time_duration.sum [us]"`,
				`"0","12.5","axpy","axpy(int, float *)","[1] app","NVIDIA A10","48, 1, 1","256, 1, 1","2.88"`),
			"x.csv:1: the window of Nsight Compute exported the table", "ncu --import"},
		{"no column ID", rows(`"Metric Name","Metric Unit","Metric Value"`, `"gpu__time_duration.sum","ns","247300"`),
			"x.csv:1: the table lacks the column ID", "ncu --import"},
		{"columns in another order", rows(`Kernel Name,Metric Name,Metric Value,ID,Process ID`,
			`axpy,gpu__time_duration.sum,5,1,2`), "x.csv:1: the table lacks the column ID or Kernel Name in its place",
			"ncu --import"},
		{"quotes lost", strings.ReplaceAll(full, `"`, ""),
			"x.csv:2: the row has 21 cells, the header 15: the quotes around the cells are lost", "ncu --import"},
		{"no units in the raw page", strings.Replace(rawPage("a__b", "ns", "5"),
			`"","","","","","","","","","","","ns"`+"\n", "", 1), "x.csv:2: the row of units is missing",
			"ncu --import"},
		{"lines left out", full + "...\n" + is2023 + asked + `"a__b","","1"` + "\n",
			`x.csv:3: rows are left out here ("...")`, "ncu --import"},
		{"lines left out under the header", rows(who2023+metricEnd, "…"), "x.csv:2: rows are left out here",
			"ncu --import"},
		{"header cut off", who2023[:60] + "\n" + is2023[:60] + "\n",
			"x.csv:2: the output ends in the middle of a cell: it is cut", "ncu --import"},
		{"rows cut off", rows(who2023+metricEnd, is2023+asked+`"gpu__time_duration.sum","nsecond"`),
			"x.csv:2: the row has 14 cells, the header 15: the table is cut", "ncu --import"},
		{"cut in the header of the raw page", "==PROF== Disconnected from process 7\n" + who2023 +
			`"gpu__time_duration.sum","sm__inst_exec`, "x.csv:2: the output ends in the middle of a cell",
			"ncu --import"},
		{"cut in a name", full + is2023[:45], "x.csv:3: the output ends in the middle of a cell", "ncu --import"},
		{"cut behind a quote", full + `"`, "x.csv:3: the row is cut", "ncu --import"},
		{"cut in an ID", full + `"1`, "x.csv:3: the row is cut", "ncu --import"},
		{"cut behind an ID", full + `"1"`, "x.csv:3: the row is cut", "ncu --import"},
		{"cut in an ID without quotes",
			"ID,Process ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,7,axpy,gpu__time_duration.sum,ns,5\n1",
			"x.csv:3: the row is cut", "ncu --import"},
		{"cut between two metrics of a launch", rows(who2023+metricEnd, is2023+asked+`"dram__bytes.sum","byte","5"`,
			is2023+asked+`"gpu__time_duration.sum","ns","5"`,
			strings.Replace(is2023, `"0"`, `"1"`, 1)+asked+`"dram__bytes.sum","byte","6"`),
			`x.csv:4: launch "1", the last one, has 1 metrics, and each before it 2: the output is cut`,
			"ncu --import"},
		{"line ends lost", "512,==PROF== Connected to process 7 (/bin/app)loss 0.5==PROF== Disconnected from process " +
			"7\"\"ID\"\"\",Process ID,Process Name,Kernel Name,Metric Name,Metric Unit,Metric " +
			"Value0,7,app,axpy,Duration,ns,5,0\n", "x.csv:1: the line ends of the output are lost", "ncu --import"},
		{"a section that there is not",
			"==ERROR== Option '--section .*Light.*' did not match any section.\n==ERROR== Use --list-sections to " +
				"see the list of available sections.\n", "x.csv:1: ncu has no section", "--list-sections"},
		{"the rest of a table", is2023 + asked + `"gpu__time_duration.sum","ns","5"` + "\n",
			"x.csv:1: a row of a table outside of any table", "ncu --import"},
		{"a comment sign before the lines", "// " + strings.ReplaceAll(full, "\n", "\n// "),
			"x.csv:1: the table holds no kernel", ""},
		{"Spanish", rows(who2023+metricEnd, is2023+asked+`"dram__bytes.sum","byte","2.508.800"`),
			`"2.508.800": the number is written with a decimal comma, or with other signs`, "LC_ALL=C"},
		{"French", value("1\u202f234\u202f567"), "the number is written with a decimal comma, or with other signs",
			"LC_ALL=C"},
		{"French, of Windows", value("1\xa0234"), "the number is written", "LC_ALL=C"},
		{"Polish", value("10 776 576,25"), "the number is written", "LC_ALL=C"},
		{"Swiss", value("1'234'567.25"), "the number is written", "LC_ALL=C"},
		{"Indian", value("1,07,76,576"), "the number is written", "LC_ALL=C"},
		{"German beside whole numbers", value("65,77"), "the number is written", "LC_ALL=C"},
		{"of either language", value("117.344"), "the number is ambiguous", "LC_ALL=C"},
		{"lock", "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process " +
			"has write permissions on this file.\n==ERROR== Failed to profile \"axpy\" in process 7\n==ERROR== The " +
			"application returned an error code (9).\n==WARNING== No kernels were profiled.\n",
			"x.csv:1: ncu could not take its lock", "TMPDIR"},
		{"other profilers", "==ERROR== An error was reported by the driver:\n==ERROR== Profiling failed because a " +
			"driver resource was unavailable. Ensure that no\nother tool (like DCGM) is\n",
			"x.csv:2: another tool is using", "DCGM"},
		{"a chip of later", "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer " +
			"--list-chips option.\n==WARNING== No kernels were profiled.\n", "x.csv:1: this ncu cannot profile the GPU",
			"update ncu"},
		{"MIG", "==ERROR== Cannot lock GPU clock frequencies on MIG! Try locking the clocks externally\n",
			"x.csv:1: ncu could not lock", "--clock-control none"},
		{"driver", "==ERROR== Cuda driver is not compatible with Nsight Compute.\n", "x.csv:1: the GPU driver",
			"driver"},
		{"memory", "==ERROR== Unhandled C++ exception: bad allocation\n==ERROR== Failed to profile \"axpy\"\n",
			"x.csv:1: ncu ran out of memory", "application"},
		{"some kernels", full + "==ERROR== Failed to profile \"gemm\" in process 7\n==ERROR== The application " +
			"returned an error code (15).\n", "x.csv:3: ncu failed to profile a kernel", "read"},
		{"a signal in a line of progress", "==PROF== Profiling \"axpy\" - 20: 0%..==PROF== Received signal\n" + full,
			"x.csv:1: ncu was interrupted", "again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := read(tt.text)
			var refusal *model.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, tt.want) ||
				!strings.Contains(refusal.Next, tt.next) {
				t.Errorf("got %v, %v\nwant %s; %s", p, err, tt.want, tt.next)
			}
		})
	}
}

// Other text is not taken for ncu's output, and ncu's output is, also without a launch.
func TestSniff(t *testing.T) {
	long := strings.Repeat("epoch 1, loss 0.5\n", 5000)
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"a page far down, after a line of ncu's", "==PROF== Connected to process 1\n" + long +
			rawPage("a__b", "", "1"), true},
		{"a page far down, and nothing of ncu's before", long + rawPage("a__b", "", "1"), false},
		{"lines that became one", "512,==PROF== Connected to process 7==PROF== Disconnected from process " +
			"7\"ID\",\"Process ID\",\"Kernel Name\"\n", true},
		{"no column ID", `"Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n", true},
		{"someone's metrics", "Metric Name,Metric Value\naccuracy,0.9\n", false},
		{"no kernels", "hello\n==WARNING== No kernels were profiled.\n", true},
		{"permission", "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", true},
		{"summary",
			`"Process ID","Kernel Name","Invocations","Metric Name","Metric Unit","Minimum","Maximum","Average"` + "\n",
			true},
		{"text page", "    Metric Name             Metric Unit Metric Value\n", true},
		{"session page", "Launch Settings\n\"Launch Attribute\",\"Value\"\n", true},
		{"source page", "\"Kernel Name\",\"k\"\n\"Address\",\"Source\",\"# Samples\"\n", true},
		{"half of UTF-16", "\xff\xfe=\x00=\x00P\x00R\x00O\x00F\x00=\x00=\x00 \x00x", true},
		{"nothing", "", false},
		{"zeros", strings.Repeat("\x00", 100), false},
		{"SQLite", "SQLite format 3\x00\"ID\",\"Process ID\"", false},
		{"a report of ncu", "NVR\x00\x02\x00\x00\x00\x08\x07", false},
		{"nsys stats, kernels",
			"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n", false},
		{"nsys stats, trace", "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem " +
			"(MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n", false},
		{"nsys stats, ranges", "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min " +
			"(ns),Max (ns),StdDev (ns),Kernel Name\n", false},
		{"nsys stats, executions", "Count,QCount,AAvg (ns),TAvg (ns),API Name,Kernel Name,PID,TID,DevId\n", false},
		{"nvprof", "==12345== NVPROF is profiling process 12345, command: " +
			"app\n\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n", false},
		{"nvprof, metrics", `"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"` +
			"\n", false},
		{"torch.profiler, table",
			"-----  ------------  ------------\n    Name    Self CPU %      Self CPU   # of Calls\n", false},
		{"torch.profiler, trace", `{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"kernel","name":"k"}]}`, false},
		{"rocprof", "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\"\n", false},
		{"someone's table", "ID,Name,Value\n0,a,1\n", false},
		{"someone's kernels", "Benchmark Type,Test Name,Kernel ID,Achieved occupancy,Kernel execution time (ns)\n",
			false},
	} {
		if got := ncu.Sniff([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
