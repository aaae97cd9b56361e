package ncu

import (
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/model"
)

const (
	again = "write it again: ncu --import REPORT --csv --page raw --print-units base"
	fewer = "profile fewer launches (--launch-count), or fewer sections (--set basic)"
	withC = "run ncu with LC_ALL=C"
)

// Reasons are all causes for which this package refuses. It makes no refusal that is not in this list.
var Reasons = model.Reasons{
	// ncu measured nothing, or not all.
	{Key: "no-permission", Sentence: "{place}: ncu may not read the GPU's performance counters (ERR_NVGPUCTRPERM)",
		Next: "run it as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0; nsys needs neither"},
	{Key: "lock", Sentence: "{place}: ncu could not take its lock in the temporary directory",
		Next: "set TMPDIR to a directory of your own"},
	{Key: "counters-in-use", Sentence: "{place}: another tool is using the GPU's performance counters",
		Next: "stop it (DCGM: dcgmi profile --pause) and profile again"},
	{Key: "unsupported-gpu", Sentence: "{place}: this ncu cannot profile the GPU",
		Next: "update ncu to a version that lists the chip: ncu --list-chips"},
	{Key: "clocks", Sentence: "{place}: ncu could not lock the GPU's clocks",
		Next: "profile with --clock-control none"},
	{Key: "old-driver", Sentence: "{place}: the GPU driver is older than ncu",
		Next: "update the driver, or use the ncu of its CUDA release"},
	{Key: "out-of-memory", Sentence: "{place}: ncu ran out of memory",
		Next: "profile fewer launches, or with --replay-mode application"},
	{Key: "no-kernel", Sentence: "{place}: ncu profiled no kernel",
		Next: "compare the kernel filter (-k, --launch-skip, --launch-count) with the kernels that the workload launches"},
	{Key: "unknown-section", Sentence: "{place}: ncu has no section of the name that it was asked for",
		Next: "see which ones there are: ncu --list-sections"},
	{Key: "unknown-metric", Sentence: "{place}: ncu does not know a metric that it was asked for",
		Next: "see which ones this GPU has: ncu --query-metrics"},
	{Key: "failed-kernel", Sentence: "{place}: ncu failed to profile a kernel",
		Next: "read the lines before it"},
	{Key: "program-failed", Sentence: "{place}: the program failed under ncu",
		Next: "run it alone first"},
	{Key: "interrupted", Sentence: "{place}: ncu was interrupted",
		Next: "profile again, for longer or fewer launches"},
	{Key: "ncu-error", Sentence: "{place}: ncu reports an error",
		Next: "read what it says there"},
	{Key: "no-range", Sentence: "{place}: ncu profiled no kernel, because no NVTX range matched",
		Next: "write a push/pop range with a slash, as in --nvtx-include 'step/', and register its domain if it has one"},

	// The output holds no launch with its metrics.
	{Key: "no-table", Sentence: "{file} holds no table of ncu", Next: again},
	{Key: "large", Sentence: "{file} is larger than {most} MB", Next: fewer},
	{Key: "empty-table", Sentence: "{place}: the table holds no kernel",
		Next: "compare ncu's kernel filter with the kernels that the workload launches"},
	{Key: "summary-page", Sentence: "{place}: a summary (--print-summary) does not hold the single launches", Next: again},
	{Key: "source-page", Sentence: "{place}: the source page holds instructions, not launches", Next: again},
	{Key: "session-page", Sentence: "{place}: the session page holds no launch", Next: again},
	{Key: "text-page", Sentence: "{place}: the page is text: ncu writes a table with --csv", Next: again},
	{Key: "no-line-ends", Sentence: "{place}: the line ends of the output are lost: every row needs its line", Next: again},
	{Key: "no-commas", Sentence: "{place}: the cells are not separated by commas, as ncu does: a spreadsheet wrote the file", Next: again},
	{Key: "window-export", Sentence: "{place}: the window of Nsight Compute exported the table, with the units in the names", Next: again},
	{Key: "no-id", Sentence: "{place}: the table lacks the column ID or Kernel Name in its place: ncu writes them first", Next: again},

	// The table is cut or broken.
	{Key: "elided", Sentence: "{place}: rows are left out here ({text})", Next: again},
	{Key: "cut-row", Sentence: "{place}: the row is cut", Next: again},
	{Key: "cut-cell", Sentence: "{place}: the output ends in the middle of a cell: it is cut", Next: again},
	{Key: "cut-launch", Sentence: "{place}: launch {id}, the last one, has {metrics} metrics, and each before it {others}: the output is cut",
		Next: again},
	{Key: "stray-row", Sentence: "{place}: a row of a table outside of any table: the output is cut or mixed with the program's",
		Next: again},
	{Key: "row-length", Sentence: "{place}: the row has {cells} cells, the header {columns}: the table is cut or broken", Next: again},
	{Key: "quotes-lost", Sentence: "{place}: the row has {cells} cells, the header {columns}: the quotes around the cells are lost",
		Next: again},
	{Key: "broken-table", Sentence: "{place}: the table is broken: {why}", Next: again},
	{Key: "column-twice", Sentence: "{place}: column {column} is there twice", Next: again},
	{Key: "no-column", Sentence: "{place}: no column {column}", Next: again},
	{Key: "no-units", Sentence: "{place}: the row of units is missing", Next: again},
	{Key: "units-twice", Sentence: "{place}: a second row of units", Next: again},
	{Key: "odd-row", Sentence: "{place}: a row with neither a metric nor a rule", Next: again},

	// What it says contradicts itself, or is not for certain.
	{Key: "another-kernel", Sentence: "{place}: launch {id} is another kernel than on line {line}", Next: again},
	{Key: "cell-twice", Sentence: "{place}: column {column}: {cell}: line {line} says {other} of the same launch",
		Next: "write one page at a time"},
	{Key: "no-name", Sentence: "{place}: the launch has no kernel name", Next: again},
	{Key: "no-extent", Sentence: "{place}: column {column}: {cell}: not of the form (X, Y, Z)", Next: again},
	{Key: "large-extent", Sentence: "{place}: column {column}: {cell}: larger than any grid", Next: again},
	{Key: "foreign-number", Sentence: "{place}: column {column}: {cell}: the number is written with a decimal comma, " +
		"or with other signs than commas between thousands", Next: withC},
	{Key: "ambiguous-number", Sentence: "{place}: column {column}: {cell}: the number is ambiguous: " +
		"its point may separate thousands or decimals", Next: withC},
	{Key: "models", Sentence: "{place}: the launches ran on GPUs of different models", Next: "profile on one GPU model at a time"},
	{Key: "another-gpu", Sentence: "{file} was measured on another GPU model than {other}, or is another page",
		Next: "write the same page of every run on one GPU model"},

	// A metric is missing.
	{Key: "no-counters", Sentence: "{file} holds none of the counters that a metric is made of",
		Next: "profile with ncu --set full, or name gpu__time_duration.sum in --metrics"},
	{Key: "unknown-value", Sentence: "{metric} is not known: {why}",
		Next: "collect it again; where the GPU does not have it, take it out of the policy"},
	{Key: "not-collected", Sentence: "{metric} was not collected",
		Next: "profile with ncu --set full, or name it in --metrics: {counters}"},

	// The report holds no launch, or is broken.
	{Key: "empty-report", Sentence: "{file}{version} holds no kernel",
		Next: "compare ncu's kernel filter with the kernels that the workload launches"},
	{Key: "empty-launch", Sentence: "{file}: launch {number}, of {kernel}, has no metrics: ncu failed to profile it",
		Next: "profile again, and read what ncu says of it"},
	{Key: "broken-report", Sentence: "{file}{version} is damaged: {what}", Next: "copy it again, or profile again"},

	// The report cannot be exported.
	{Key: "no-report", Sentence: "{file} is no report of ncu", Next: "give a file that ncu -o wrote"},
	{Key: "cut-report", Sentence: "{file} is cut off: it should have at least {want} bytes and has {have}",
		Next: "copy it again, or profile again"},
	{Key: "no-ncu", Sentence: "{file}{version} cannot be read: it is not laid out as nsgate knows it, and ncu was not found",
		Next: "install Nsight Compute and put its ncu on the PATH, or write the page yourself: ncu {args} > PAGE.csv"},
	{Key: "large-page", Sentence: "the page of {file} is larger than {most} MB", Next: fewer},
	{Key: "disk", Sentence: "the page of {file} could not be written: {why}", Next: "make room on the disk and try again"},
	{Key: "old-ncu", Sentence: "ncu could not read {file}{version}: {why}",
		Next: "this is ncu {mine}: read the report with ncu {release} or later"},
	{Key: "damaged", Sentence: "ncu could not read {file}{version}: {why}",
		Next: "the report is damaged: profile again, or open it in the ncu that wrote it{version}"},
}

// refuse makes the refusal of a key of [Reasons] that is about a line.
func refuse(key, file string, line int, details ...any) error {
	return Reasons.Refuse(key, append([]any{fmt.Sprintf("%s:%d", file, line)}, details...)...)
}
