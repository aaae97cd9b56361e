package torch

import "github.com/nsgate/nsgate/gate/internal/model"

const (
	profileAgain = "profile the workload again"
	exportAgain  = "export the trace again with prof.export_chrome_trace"
	copyAgain    = "copy or write it again"
	fewerSteps   = "profile fewer steps: torch.profiler.schedule(wait=…, warmup=…, active=…)"
	activities   = "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
	// printAgain prints a table in which every kernel has its name.
	printAgain = "print prof.key_averages().table(row_limit=-1, max_name_column_width=None)"
)

// Reasons are all causes for which this package refuses. It makes no refusal that is not in this list.
var Reasons = model.Reasons{
	// The file is not whole, or none of torch.profiler.
	{Key: "empty", Sentence: "{file} is empty", Next: "see that the profiler finished and wrote its file"},
	{Key: "truncated", Sentence: "{file}: the file ends in the middle",
		Next: "see that the program was not stopped while the profiler wrote it, and that the disk was not full"},
	{Key: "packed-truncated", Sentence: "{file}: the compressed file ends in the middle", Next: copyAgain},
	{Key: "packed-checksum", Sentence: "{file}: the compressed file is damaged: its checksum is wrong", Next: copyAgain},
	{Key: "packed-damaged", Sentence: "{file}: the compressed file is damaged or has something behind its end", Next: copyAgain},
	{Key: "neither", Sentence: "{file} holds neither a trace nor a table of torch.profiler",
		Next: "name what prof.export_chrome_trace wrote, or " + printAgain},
	{Key: "no-events", Sentence: "{file} is JSON, but no trace of torch.profiler: it has no traceEvents",
		Next: "name a file that prof.export_chrome_trace or tensorboard_trace_handler wrote"},
	{Key: "no-json", Sentence: "{file}, near byte {at}: the file is no JSON: {why}", Next: exportAgain + ", or see who edited it"},
	{Key: "more-behind", Sentence: "{file}, near byte {at}: something follows the end of the trace",
		Next: "give every trace a file of its own"},

	// Something in the trace is not as torch.profiler writes it.
	{Key: "events-twice", Sentence: "{file}, near byte {at}: there is a second list of events", Next: exportAgain},
	{Key: "events-no-list", Sentence: "{file}, near byte {at}: traceEvents is no list", Next: exportAgain},
	{Key: "odd-event", Sentence: "{file}, near byte {at}: there is something among the events that is no event, " +
		"or an event without proper args", Next: exportAgain},
	{Key: "odd-phase", Sentence: "{file}, near byte {at}: work of the GPU is not given as a complete event (ph X)", Next: exportAgain},
	{Key: "no-time", Sentence: "{file}, near byte {at}: a {what} has no time (ts)", Next: exportAgain},
	{Key: "no-duration", Sentence: "{file}, near byte {at}: a {what} has no duration (dur)", Next: exportAgain},
	{Key: "no-extent", Sentence: "{file}, near byte {at}: the {what} of a kernel is none", Next: exportAgain},
	{Key: "no-devices", Sentence: "{file}, near byte {at}: deviceProperties is no list of GPUs", Next: exportAgain},
	{Key: "negative-duration", Sentence: "{file}, near byte {at}: a {what} lasts {time} µs", Next: profileAgain},
	{Key: "negative-time", Sentence: "{file}, near byte {at}: a {what} starts at {time} µs", Next: profileAgain},
	{Key: "long-value", Sentence: "{file}, near byte {at}: a value is longer than {most} MB", Next: exportAgain},
	{Key: "many-names", Sentence: "{file} holds names of more than {most} MB", Next: fewerSteps},
	{Key: "many-records", Sentence: "{file} holds more than {most} records of one kind", Next: fewerSteps},
	{Key: "merged", Sentence: "{file} is merged from the traces of several processes", Next: "name the trace of each rank by itself"},
	{Key: "intel-gpu", Sentence: "{file} is the trace of an Intel GPU (XPU), which nsgate cannot judge", Next: "profile on a CUDA GPU"},
	{Key: "amd-model", Sentence: "{file} is the trace of an AMD GPU, but does not say of which model",
		Next: "profile with a newer PyTorch"},

	// There is no kernel in the trace.
	{Key: "cupti-failed", Sentence: "{file} holds no GPU kernel: CUPTI failed with {error}",
		Next: "see that no other profiler (nsys, ncu, DCGM) uses the GPU, and that this user may profile"},
	{Key: "other-trace", Sentence: "{file} holds no GPU kernel: nothing in it is of torch.profiler",
		Next: "name a file that prof.export_chrome_trace wrote"},
	{Key: "none-recorded", Sentence: "{file} holds no GPU kernel: {calls} were launched, but none was recorded on the GPU",
		Next: activities + ", call torch.cuda.synchronize() before it stops, and see that no other profiler uses the GPU"},
	{Key: "nothing-launched",
		Sentence: "{file} holds no GPU kernel: the program called CUDA but launched nothing while it was profiled",
		Next:     "see that the active steps of the schedule cover the work"},
	{Key: "cpu-only", Sentence: "{file} holds no GPU kernel: only the CPU was recorded",
		Next: activities + ", where torch.cuda.is_available() and no other profiler (nsys, ncu, DCGM) uses the GPU"},

	// The profiler lost some.
	{Key: "records-lost", Sentence: "{file}: {what}, and kernels are missing",
		Next: "profile fewer steps, or set KINETO_CONFIG to a file with ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=1024"},
	{Key: "no-times", Sentence: "{file}: {timeless} of {launches} kernels have no time: the GPU's records of them were lost",
		Next: "profile fewer steps"},
	{Key: "zero-length", Sentence: "{file}: all {launches} kernels took no time: the GPU's clock was not recorded", Next: profileAgain},
	{Key: "kernels-lost", Sentence: "{file}: {missing} of {calls} calls that launch a kernel have no kernel: " +
		"the GPU's records of them were lost",
		Next: "call torch.cuda.synchronize() before the profiler stops, and profile fewer steps"},

	// The printed table cannot be judged.
	{Key: "old-table", Sentence: "{place}: a table of PyTorch before 1.8, which lists no kernels", Next: "update PyTorch and " + printAgain},
	{Key: "no-gpu-times", Sentence: "{place}: the table has no GPU times", Next: activities + ", then " + printAgain},
	{Key: "other-device", Sentence: "{place}: the table is of {device}, which nsgate cannot judge", Next: "profile on a CUDA GPU"},
	{Key: "no-column", Sentence: "{place}: the table has no column {column}", Next: printAgain},
	{Key: "tables", Sentence: "{place}: there is another table in line {line}, with other numbers",
		Next: "keep one table a file, of one run"},
	{Key: "table-cut", Sentence: "{place}: the table that begins here ends in the middle", Next: printAgain},
	{Key: "no-foot", Sentence: "{place}: the table has no line \"Self {device} time total\" at its foot, " +
		"so that nothing tells whether it is complete", Next: printAgain + " with its last lines"},
	{Key: "odd-foot", Sentence: "{place}: {cell} is no time", Next: printAgain},
	{Key: "table-no-kernels", Sentence: "{place}: the table lists no GPU kernel", Next: activities + ", then " + printAgain},
	{Key: "table-copies-only", Sentence: "{place}: the table lists copies but no GPU kernel", Next: printAgain},
	{Key: "table-rows-missing", Sentence: "{place}: the rows of what ran on the GPU add up to {sum} ms, " +
		"the foot of the table says {total} ms: rows are missing", Next: printAgain},
	{Key: "table-annotations", Sentence: "{place}: the rows of what ran on the GPU add up to {sum} ms, " +
		"the foot of the table says {total} ms: kernels and annotations cannot be told apart",
		Next: printAgain + "; where that does not help, use the trace: prof.export_chrome_trace"},
	{Key: "large-table", Sentence: "{place}: the table is larger than {most} MB", Next: "group its rows: " + printAgain},
	{Key: "no-rule", Sentence: "{place}: the line under the header is no rule", Next: printAgain},
	{Key: "other-rule", Sentence: "{place}: the rule has other columns than the header", Next: printAgain},
	{Key: "long-row", Sentence: "{place}: the line is longer than a row of a table", Next: printAgain},
	{Key: "row-early", Sentence: "{place}: the row begins before the column of names", Next: printAgain},
	{Key: "no-row", Sentence: "{place}: the row is no row of the table", Next: printAgain},
	{Key: "no-time-cell", Sentence: "{place}: column {column}: {cell} is no time", Next: printAgain},
	{Key: "no-count", Sentence: "{place}: column \"# of Calls\": {cell} is no count", Next: printAgain},
	{Key: "other-average", Sentence: "{place}: average times calls is not the total", Next: printAgain},
}
