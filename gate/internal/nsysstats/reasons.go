package nsysstats

import "github.com/nsgate/nsgate/gate/internal/model"

// The ways out.
const (
	again      = "export again: nsys stats --report cuda_gpu_trace --format csv REPORT.nsys-rep"
	withC      = "export again with LC_ALL=C"
	oneRun     = "give the tables of one run at a time, made once and with the same filters"
	nanosecond = "export again with --timeunit nsec"
	fromReport = "give nsgate the report or its SQLite export instead (nsys export --type sqlite)"
	noKernel   = "see that the workload did not fail, that it uses the GPU, and that the capture range covers its kernels"
	noTime     = "export again with --timeunit nsec; where that does not help, record again"
)

// Reasons are all causes for which this package refuses. It makes no refusal that is not in this list.
var Reasons = model.Reasons{
	// There is no table of kernels.
	{Key: "no-file", Sentence: "there is no file to read", Next: again},
	{Key: "empty", Sentence: "{file} is empty: nsys stats leaves such a file where it skips a report", Next: noKernel},
	{Key: "no-table", Sentence: "{files}: no table of nsys stats", Next: again},
	{Key: "other-tables", Sentence: "{files}: no table of kernels, only {tables}", Next: again},
	{Key: "no-kernels", Sentence: "{place}: nsys found no CUDA kernels in the recording", Next: noKernel},
	{Key: "kernels-and-none", Sentence: "{place}: nsys says that there are no CUDA kernels, and another table lists some",
		Next: oneRun},
	{Key: "not-csv", Sentence: "{place}: the table is not printed as CSV", Next: again},
	{Key: "unknown-report", Sentence: "{place}: nsys says {what}",
		Next: "releases until 2022 call the reports gputrace and gpukernsum, later ones cuda_gpu_trace and cuda_gpu_kern_sum"},
	{Key: "skipped", Sentence: "{place}: nsys skipped a report: the recording {why}", Next: fromReport},
	{Key: "written-elsewhere", Sentence: "{place}: the table went to the file {file}", Next: "give nsgate that file"},

	// The table is of another tool, or lacks what its header must have.
	{Key: "not-nsys", Sentence: `{place}: the column "Row#" is not of nsys: asys of Alibaba's PPU writes it`, Next: again},
	{Key: "nvprof", Sentence: "{place}: nvprof wrote the table, whose times and names are not those of nsys",
		Next: "record again with nsys: nsys profile -o REPORT WORKLOAD"},
	{Key: "column-twice", Sentence: "{place}: the column {column} is there twice", Next: again},
	{Key: "no-column", Sentence: "{place}: {table} has no column {column}", Next: again},
	{Key: "no-unit", Sentence: "{place}: the column {column} does not say its unit of time", Next: again},
	{Key: "unknown-unit", Sentence: "{place}: the column {column} is in a unit of {kind} that is not known", Next: again},
	{Key: "units-mixed", Sentence: "{place}: the columns are in different units of time", Next: again},

	// The table is cut, broken or one of several.
	{Key: "no-rows", Sentence: "{place}: {table} has a header and no rows: nsys printed none of the kernels", Next: fromReport},
	{Key: "table-twice", Sentence: "{place}: {table} is there twice, and differs from that at {other}", Next: oneRun},
	{Key: "rows-missing", Sentence: "{place}: the rows of {table} add up to {percent} % of its total: rows are missing",
		Next: "export the whole table again: nsys stats --report {table} --format csv REPORT.nsys-rep"},
	{Key: "stray-row", Sentence: "{place}: a row of {table} outside of the table: the file is cut or mixed with other output",
		Next: fromReport},
	{Key: "long-line", Sentence: "{place}: the line is longer than any row of nsys", Next: again},
	{Key: "few-cells", Sentence: "{place}: the row has {cells} cells, the header {columns}: " +
		"the table is cut, mixed with other output, or holds a name with a line break", Next: fromReport},
	{Key: "many-cells", Sentence: "{place}: the row has {cells} cells, the header {columns}: " +
		"a name with commas has lost its quotes, or the table is mixed with other output", Next: fromReport},
	{Key: "cut", Sentence: "{place}: the last row has {cells} cells, the header {columns}: the file is cut", Next: again},
	{Key: "cut-quotes", Sentence: "{place}: the last row ends inside quotes: the file is cut", Next: again},
	{Key: "endless-quotes", Sentence: "{place}: a cell begins with a quote and does not end", Next: again},

	// A cell does not hold what its column is for.
	{Key: "empty-cell", Sentence: "{place}: column {column}: the cell is empty", Next: again},
	{Key: "ambiguous", Sentence: "{place}: column {column}: {cell} is ambiguous: its comma may separate thousands or decimals",
		Next: withC},
	{Key: "foreign", Sentence: "{place}: column {column}: {cell} is written with a decimal comma or with points between thousands",
		Next: withC},
	{Key: "negative", Sentence: "{place}: column {column}: {cell} is negative", Next: again},
	{Key: "no-number", Sentence: "{place}: column {column}: {cell} is no number", Next: again},
	{Key: "not-whole", Sentence: "{place}: column {column}: {cell} is no whole number of at most {most}", Next: again},
	{Key: "too-much", Sentence: "{place}: column {column}: {cell} is more than can be", Next: again},
	{Key: "too-long", Sentence: "{place}: column {column}: {cell} is longer than any launch", Next: again},
	{Key: "no-count", Sentence: "{place}: column {column}: {cell} is no number of launches", Next: again},
	{Key: "no-extent", Sentence: "{place}: column {column}: {cell} is no extent of a grid or block", Next: again},
	{Key: "no-category", Sentence: "{place}: column {column}: {cell} is no category of nsys", Next: again},
	{Key: "no-copy", Sentence: "{place}: column {column}: {cell} is no copy and no memset", Next: fromReport},
	{Key: "no-name", Sentence: "{place}: the row has no name", Next: fromReport},

	// The table cannot be judged.
	{Key: "coarse", Sentence: "{place}: the {what} are rounded to {step} ns", Next: nanosecond},
	{Key: "copies-only", Sentence: "{place}: {table} lists {copies} and no kernel", Next: noKernel},
	{Key: "no-time", Sentence: "{place}: all {launches} launches took no time", Next: noTime},
}

// refuse makes the refusal of a key of [Reasons] that is about a line.
func refuse(key, file string, line int, details ...any) error {
	return Reasons.Refuse(key, append([]any{place(file, line)}, details...)...)
}
