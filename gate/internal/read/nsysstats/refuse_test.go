package nsysstats

import (
	"errors"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// refused checks that the texts are refused with a sentence that holds want, and a way out.
func refused(t *testing.T, want, next string, texts ...string) {
	t.Helper()
	_, err := read(t, texts...)
	var refusal *model.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("%v is no refusal", err)
	}
	if !strings.Contains(refusal.Reason, want) || !strings.Contains(refusal.Next, next) || refusal.Next == "" {
		t.Errorf("%q; %q, want %q; %q", refusal.Reason, refusal.Next, want, next)
	}
	if strings.HasSuffix(refusal.Reason, ".") || strings.Contains(refusal.Reason, "\n") {
		t.Errorf("not one sentence: %q", refusal.Reason)
	}
}

func TestRefusals(t *testing.T) {
	const (
		memTime = "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
			"(ns),Operation\n100.0,900,3,300.0,300.0,100,500,1.0,[CUDA memcpy Device-to-Host]\n"
		nvtx = "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max " +
			"(ns),StdDev (ns),Kernel Name\n"
	)
	replace := strings.Replace
	for name, c := range map[string]struct {
		text, want, next string
	}{
		"nothing at all": {"", "a.csv is empty", "did not fail"},
		"no table":       {"hello\nworld, 1, 2\n", "a.csv: no table of nsys stats", "--report cuda_gpu_trace"},
		"a summary of calls": {"Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
			"(ns),Name\n100.0,5,1,5.0,5.0,5,5,0.0,read\n", "no table of kernels, only another report",
			"cuda_gpu_trace"},
		"announced reports": {"Processing [x.sqlite] with [/r/osrt_sum.py]... \nTime (%),Total Time (ns),Num " +
			"Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n100.0,5,1,5.0,5.0,5,5,0.0,read\n\n" + memTime,
			"only cuda_gpu_mem_time_sum, osrt_sum", "cuda_gpu_trace"},
		"a header alone": {headSum, "a.csv:1: cuda_gpu_kern_sum has a header and no rows", "SQLite"},
		"a trace header": {"x\n" + head2025, "a.csv:2: cuda_gpu_trace has a header and no rows", "SQLite"},
		"no kernels": {"Processing [x.sqlite] with [cuda_gpu_kern_sum.py]... \nSKIPPED: x.sqlite does not " +
			"contain CUDA kernel data.\n", "a.csv:2: nsys found no CUDA kernels", "did not fail"},
		"no kernels in 2021": {"SKIPPED: /home/u/x.sqlite does not contain CUDA kernel data\n",
			"a.csv:1: nsys found no CUDA kernels", "did not fail"},
		"an old export": {"SKIPPED: /home/u/x.sqlite does not contain 'greenContextId' column. Please re-export.\n",
			"a.csv:1: nsys skipped a report: the recording does not contain 'greenContextId' column. Please re-export",
			"SQLite"},
		"an unknown report": {"Processing [x.sqlite] with [gputrace]... \nERROR: Report 'gputrace' could not be " +
			"found.\n", "a.csv:2: nsys says", "cuda_gpu_trace"},
		"semicolons": {strings.ReplaceAll(headSum+rowSum, ",", ";"), "a.csv: no table of nsys stats", "--format csv"},
		"JSON":       {"[\n  {\n    \"Time (%)\": 94.5,\n", "a.csv: no table of nsys stats", "--format csv"},
		"asys": {"Row#,Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
			"(ns),Name,\n1,100.0,1500,3,500.0,500.0,400,600,100.0,\"k\",\n", "no table of kernels, only another report",
			"nsys stats"},
		"asys, its ranges": {"Row#,HGTX Range,Style,PID,TID,HGTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med " +
			"(ns),Min (ns),Max (ns),StdDev (ns),Kernel Name,\n", "no table of kernels, only another report",
			"nsys stats"},
		"MPI events": {replace(headSum, ",Name", ",Source,Name", 1) +
			"100.0,1500,3,500.0,500.0,400,600,100.0,MPI,MPI_Send\n", "no table of kernels, only another report",
			"cuda_gpu_trace"},
		"a column twice": {replace(headSum, "Med (ns)", "Avg (ns)", 1) + rowSum,
			"a column of cuda_gpu_kern_sum is there twice", "again"},
		"half a geometry": {replace(head2025, "BlkZ", "Blk", 1) + row2025, `cuda_gpu_trace has no column "blkz"`,
			"again"},
		"no unit": {replace(head2025, "Duration (ns)", "Duration", 1) + row2025,
			`a.csv:1: the column "Duration" is in a unit that is not known`, "again"},
		"unknown unit": {replace(head2025, "Duration (ns)", "Duration (fortnights)", 1) + row2025,
			`the column "Duration (fortnights)" is in a unit that is not known`, "again"},
		"unknown size": {replace(head2025, "Bytes (MB)", "Bytes (pages)", 1) + row2025,
			`the column "Bytes (pages)" is in a unit that is not known`, "again"},
		"seconds": {replace(head2025, "Duration (ns)", "Duration (sec)", 1) + replace(row2025, ",500,", ",0.0005,", 1),
			"the times are rounded to 100000 ns", "--timeunit nsec"},
		"a summary in s": {strings.ReplaceAll(headSum, "(ns)", "(sec)") +
			"100.0,0.0007,19,0.0000,0.0000,0.0000,0.0003,0.0001,k\n", "the times are rounded to 100000 ns",
			"--timeunit nsec"},
		"an empty cell": {head2025 + replace(row2025, ",500,", ",,", 1),
			`a.csv:2: column "Duration (ns)": "" is no number`, "again"},
		"an empty geometry": {head2025 + replace(row2025, ",4,1,1,256", ",,1,1,256", 1),
			`column "GrdX": "" is no number`, "again"},
		"empty registers": {head2025 + replace(row2025, ",40,", ",,", 1), `column "Reg/Trd": "" is no number`, "again"},
		"empty bytes": {head2025 + row2025 +
			"1,2,3,,,,,,,,,,,1.0,Pinned,Device,NVIDIA H200 (0),1,,7,[CUDA memcpy HtoD]\n",
			`a.csv:3: column "Bytes (MB)": "" is no number`, "again"},
		"no bytes": {"Start (ns),Duration (ns),CorrId,Name\n1,2,3,[CUDA memcpy HtoD]\n",
			`cuda_gpu_trace has no column "bytes"`, "again"},
		"no name": {head2025 + replace(row2025, "\"void k(int, float)\"", "", 1), "a.csv:2: the row has no name",
			"SQLite"},
		"a word": {head2025 + replace(row2025, ",500,", ",n/a,", 1), `column "Duration (ns)": "n/a" is no number`,
			"again"},
		"not a number": {headSum + replace(rowSum, "500.0,500.0", "nan,500.0", 1),
			`column "Avg (ns)": "nan" is no number`, "again"},
		"a unit in the cell": {headSum + replace(rowSum, "1500", "1.5 us", 1), `"1.5 us" is no number`, "again"},
		"a percent sign": {headSum + replace(rowSum, "100.0,1500", "100.0%,1500", 1), `"100.0%" is no number`,
			"again"},
		"negative": {head2025 + replace(row2025, ",500,", ",-500,", 1), `"-500" is negative`, "again"},
		"absurdly long": {head2025 + replace(row2025, ",500,", ",99999999999999999,", 1), "is more than can be",
			"again"},
		"absurdly late": {head2025 + replace(row2025, "1000,", "9223372036854775807,", 1), "is no number", "again"},
		"absurdly wide": {head2025 + replace(row2025, ",256,", ",4294967296,", 1),
			`column "BlkX": "4294967296" is more than can be`, "again"},
		"half a launch": {headSum + replace(rowSum, ",3,", ",3.5,", 1), `column "Instances": "3.5" is no whole number`,
			"again"},
		"no launches": {headSum + replace(rowSum, ",3,", ",0,", 1), `"k" was launched 0 times`, "again"},
		"decimal commas": {headSum + "\"100,0\",1500,3,\"500,0\",\"500,0\",400,600,\"100,0\",k\n",
			`a.csv:2: column "Time (%)": "100,0" is written with a decimal comma`, "LC_ALL=C"},
		"points and commas": {headSum + "100.0,\"1.500,0\",3,500.0,500.0,400,600,100.0,k\n",
			"decimal comma or with points between thousands", "LC_ALL=C"},
		"points of thousands": {headSum + "100.0,1.234.567,3,500.0,500.0,400,600,100.0,k\n", "points between thousands",
			"LC_ALL=C"},
		"an ambiguous comma": {headSum + "100.0,\"482,333\",3,\"160,778\",\"160,778\",\"160,778\",\"160,778\",0,k\n",
			`a.csv:2: column "Total Time (ns)": "482,333" is ambiguous`, "LC_ALL=C"},
		"both at once": {headSum + replace(rowSum, "500.0,500.0", "\"0,500.0\",500.0", 1),
			`"0,500.0" is no number`, "again"},
		"too few cells": {headSum + replace(rowSum, "600,", "", 1) + rowSum,
			"a.csv:2: the row has 8 cells, the header 9", "SQLite"},
		"too many cells": {headSum + "100.0,1500,3,500.0,500.0,400,600,100.0,void k<1, 2>(int)\n" + rowSum,
			"a.csv:2: the row has other cells than the header: a name with commas has lost its quotes", "SQLite"},
		"a cut row": {headSum + rowSum + "0.0,1500,3,50", "a.csv:3: the last row is not whole: the file is cut",
			"again"},
		"a cut name": {headSum + rowSum + "0.0,1500,3,500.0,500.0,400,600,100.0,\"void k<1, 2>(in",
			"a.csv:3: the last row is not whole", "again"},
		"a quote for ever": {headSum + rowSum + "0.0,1500,3,500.0,500.0,400,600,100.0,\"void\n" +
			strings.Repeat("x\n", 200), "a.csv:4: the row has 1 cells, the header 9", "SQLite"},
		"a line break": {head2025 + replace(row2025, "\"void k(int, float)\"", "line\nbreak/k", 1),
			"a.csv:3: the row has 1 cells, the header 21", "SQLite"},
		"output in between": {head2025 + row2025 + "loss 0.5\n" + row2025, "a.csv:3: the row has 1 cells", "SQLite"},
		"a cut row, spaced": {strings.ReplaceAll(headSum+rowSum, "\n", "\n\n") + "0.0,1500,3,50",
			"a.csv:5: the last row is not whole: the file is cut", "again"},
		"copies, no kernels": {head2025 + "1,2,3,,,,,,,,,,0.004,1.0,Pinned,Device,NVIDIA H200 (0),1,,7,[CUDA memcpy " +
			"HtoD]\n\nSKIPPED: x.sqlite does not contain CUDA kernel data.\n",
			"a.csv:1: cuda_gpu_trace lists 1 copy and no kernel", "did not fail"},
		"no ranges, nothing": {nvtx, "no table of kernels, only another report", "cuda_gpu_trace"},
		"a row astray": {head2025 + row2025 + "\nloss 0.5\n" + row2025,
			"a.csv:5: a row of cuda_gpu_trace outside of the table", "SQLite"},
		"a long line": {headSum + "0.0,1500,3,500.0,500.0,400,600,100.0," + strings.Repeat("x", 1<<20),
			"a.csv:2: the line is longer than any row", "again"},
		"no time": {head2025 + replace(row2025, ",500,", ",0,", 1), "a.csv:1: all 1 launches took no time",
			"--timeunit nsec"},
		"no time in sums": {headSum + "0.0,0,3,0.0,0.0,0,0,0.0,k\n", "a.csv:1: all 3 launches took no time",
			"--timeunit nsec"},
		"copies alone": {head2025 + "1,2,3,,,,,,,,,,0.004,1.0,Pinned,Device,NVIDIA H200 (0),1,,7,[CUDA memcpy HtoD]\n",
			"a.csv:1: cuda_gpu_trace lists 1 copy and no kernel", "did not fail"},
		"no such copy": {headSum + rowSum + "\n" + replace(memTime, "[CUDA memcpy Device-to-Host]", "k", 1),
			`"k" is no copy and no memset`, "SQLite"},
		"another mean": {headSum + replace(rowSum, "500.0,500.0", "400.0,500.0", 1),
			"a.csv:2: Avg (ns) 400.0 is not Total Time (ns) 1500 / Instances 3: the row contradicts itself", "again"},
		"another total": {headSum + replace(rowSum, "1500", "1200", 1),
			"Avg (ns) 500.0 is not Total Time (ns) 1200 / Instances 3", "again"},
		"other launches": {headSum + replace(rowSum, ",3,", ",6,", 1), "is not Total Time (ns) 1500 / Instances 6",
			"again"},
		"a median below": {headSum + replace(rowSum, "500.0,400", "399.8,401", 1),
			"Min (ns) 401 is above Med (ns) 399.8", "again"},
		"a median above": {headSum + replace(rowSum, "500.0,400", "700.0,400", 1),
			"Med (ns) 700.0 is above Max (ns) 600", "again"},
		"a mean above": {headSum + replace(rowSum, "400,600", "400,498", 1), "Med (ns) 500.0 is above Max (ns) 498",
			"again"},
		"a mean of copies": {headSum + rowSum + "\n" + replace(memTime, ",300.0", ",200.0", 1),
			"a.csv:5: Avg (ns) 200.0 is not Total Time (ns) 900 / Count 3", "again"},
		"rows are missing": {headSum + "60.0,1500,3,500.0,500.0,400,600,100.0,k\n",
			"a.csv:1: the rows of cuda_gpu_kern_sum add up to 60.0 % of its total: rows are missing",
			"cuda_gpu_kern_sum"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.want, c.next, c.text) })
	}
}

func TestRefusalsOfSeveralFiles(t *testing.T) {
	refused(t, "b.csv:1: cuda_gpu_kern_sum is there twice, and differs from that at a.csv:1", "one run", headSum+rowSum,
		headSum+strings.Replace(rowSum, "1500,3,500.0", "1800,3,600.0", 1))
	refused(t, "a.csv, b.csv: no table of kernels, only cuda_gpu_mem_size_sum", "cuda_gpu_trace", "",
		"Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev "+
			"(MB),Operation\n1.000,1,1.000,1.000,1.000,1.000,0.000,[CUDA memset]\n")
	if _, err := read(t, "", headSum+rowSum, headSum+rowSum); err != nil {
		t.Errorf("an empty file beside a table, and the table twice: %v", err)
	}
	if _, err := read(t); err == nil {
		t.Error("no files are a run")
	}
}

// Names are untrusted: a message carries no control characters of them and is short.
func TestHostileMessages(t *testing.T) {
	_, err := read(t, head2025+row2025+"1000,"+strings.Repeat("\x1b[31m",
		100)+",1,1,1,1,1,1,1,1,1,1,,,,,x (0),1,,7,k\n")
	if err == nil || strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > 600 {
		t.Errorf("%q", err)
	}
}
