package nsys

import "github.com/nsgate/nsgate/gate/internal/model"

const (
	exportAgain = "export the report again with `nsys export --type sqlite`"
	recordAgain = "record the workload again"
	updateNsys  = "update nsys to a release at least as new as the CUDA driver and record again"
	moreOften   = "let the workload synchronise before it ends, record a shorter part, or let the buffers be emptied more often " +
		"with --cuda-flush-interval=1000"
	launchSome = "see that the workload launched kernels while it was recorded: that it did not fail, that the capture range covers " +
		"them, and that nsys followed the process that launches them"
	traceCUDA = "record with `nsys profile --trace=cuda,nvtx` and see that the workload uses the GPU"
)

// Reasons are all causes for which this package refuses. It makes no refusal that is not in this list.
var Reasons = model.Reasons{
	// The file is no export, or only a part of one.
	{Key: "empty",
		Sentence: "{file} is empty",
		Next:     exportAgain},
	{Key: "truncated",
		Sentence: "{file} is truncated: {how}",
		Next:     exportAgain},
	{Key: "unwritten",
		Sentence: "{file} begins with zeros only: it was not written to its end",
		Next:     exportAgain},
	{Key: "being-written",
		Sentence: "{file} is being written: {sign}",
		Next:     "wait until the export has ended, close the program that has the file open, or export the report again"},
	{Key: "damaged",
		Sentence: "{file} is damaged ({why})",
		Next:     exportAgain},
	{Key: "compressed",
		Sentence: "{file} is compressed ({format})",
		Next:     "decompress it first"},
	{Key: "git-lfs",
		Sentence: "{file} is a Git LFS pointer, not the file itself",
		Next:     "fetch it with `git lfs pull`"},
	{Key: "web-page",
		Sentence: "{file} is a web page, not the file itself",
		Next:     "download the file itself: where a site shows it, by its raw or download link"},
	{Key: "report",
		Sentence: "{file} is an nsys report, not its SQLite export",
		Next:     "name it with the suffix .nsys-rep, or export it with `nsys export --type sqlite`"},
	{Key: "other-format",
		Sentence: "{file} is {format}, not a SQLite export of nsys",
		Next:     exportAgain},
	{Key: "ncu-report",
		Sentence: "{file} is a report of Nsight Compute (ncu)",
		Next:     "record the workload with nsys"},
	{Key: "nvprof",
		Sentence: "{file} is a database of nvprof, not of nsys",
		Next:     "record the workload with nsys"},
	{Key: "not-nsys",
		Sentence: "{file} is a SQLite database, but no export of nsys: it has no table {table}",
		Next:     exportAgain},
	{Key: "foreign-schema",
		Sentence: "{file}: {what}: nsys did not write it so",
		Next:     exportAgain},
	{Key: "new-schema",
		Sentence: "{file}: {what}: it was written by an nsys that is newer than this nsgate",
		Next:     "update nsgate, or export the report with nsys of 2026 or older"},
	{Key: "bad-row",
		Sentence: "{file}: table {table}, row {row}: {what}",
		Next:     exportAgain},
	{Key: "rows-missing",
		Sentence: "{file} is incomplete: {what}",
		Next:     exportAgain},

	// nsys or its importer says that it lost something.
	{Key: "importer-string",
		Sentence: "{file}: the importer of nsys failed on an NVTX string and lost events",
		Next:     "record with --nvtx-domain-exclude=TSL (JAX and TensorFlow), or without NVTX (--trace=cuda)"},
	{Key: "importer-failed",
		Sentence: "{file}: the importer of nsys failed on some events and lost them",
		Next:     updateNsys},
	{Key: "event-order",
		Sentence: "{file}: the importer of nsys met events in the wrong order and lost some",
		Next:     updateNsys},
	{Key: "old-nsys",
		Sentence: "{file}: nsys is older than the CUDA driver and lost events",
		Next:     updateNsys},
	{Key: "profiling-failed",
		Sentence: "{file}: nsys could not record the workload to its end",
		Next:     recordAgain},
	{Key: "buffers-dropped",
		Sentence: "{file}: nsys says that records of the GPU were dropped",
		Next:     "record a shorter part, or let the buffers be emptied more often with --cuda-flush-interval=1000"},
	{Key: "buffers-missing",
		Sentence: "{file}: nsys says that some CUDA events might be missing (CUPTI buffers: {part} of {all})",
		Next:     moreOften},
	{Key: "records-incomplete",
		Sentence: "{file}: nsys dropped {dropped} records of the GPU because they were incomplete",
		Next: "let the workload synchronise and end by itself before the recording does, or record with --trace=cuda-sw, which traces " +
			"by software"},
	{Key: "events-lost",
		Sentence: "{file}: only {kept} of the {made} CUDA events that the workload produced were kept",
		Next:     recordAgain + ", without NVTX (--trace=cuda) if it happens again"},

	// There is no kernel in the recording.
	{Key: "kernels-not-traced",
		Sentence: "{file} holds no kernels: CUDA was not among what was traced",
		Next:     traceCUDA},
	{Key: "whole-graphs",
		Sentence: "{file} holds no kernels: whole CUDA graphs were traced",
		Next:     "record with --cuda-graph-trace=node"},
	{Key: "kernels-lost",
		Sentence: "{file} holds no kernels: the workload launched some, but what the GPU recorded of them was lost",
		Next: "see that the workload ends by itself instead of being killed and that nsys is no older than the CUDA driver, " +
			"and record again"},
	{Key: "not-all-collected",
		Sentence: "{file} holds no kernels: nsys says that not all CUDA events might have been collected",
		Next: "let the workload synchronise before the recording or its capture range ends, see that the capture range covers its " +
			"kernels and that nsys is no older than the CUDA driver, and record again"},
	{Key: "nothing-launched",
		Sentence: "{file} holds no kernels: the workload called CUDA but launched nothing while it was recorded",
		Next:     "see that it did not fail, and that the capture range covers its kernels"},
	{Key: "no-cuda",
		Sentence: "{file} holds no kernels: the workload made no CUDA calls while it was recorded",
		Next:     "see that it did not fail and that it uses the GPU"},
	{Key: "traced-nothing",
		Sentence: "{file} holds no kernels: CUDA was traced, but no activity of it was recorded",
		Next:     launchSome},
	{Key: "no-kernels",
		Sentence: "{file} holds no kernels: no CUDA activity was recorded",
		Next:     launchSome + "; where CUDA was not among what is traced, record with `nsys profile --trace=cuda,nvtx`"},

	// What is in the recording contradicts itself.
	{Key: "launches-lost",
		Sentence: "{file}: {missing} of {calls} kernel launches of process {pid} left no trace of their kernel",
		Next:     moreOften},
	{Key: "clock-backwards",
		Sentence: "{file}: the clock goes backwards: {what}",
		Next:     recordAgain + "; if it happens again, update the driver and nsys"},
	{Key: "zero-length",
		Sentence: "{file}: {zero} of {launches} launches took no time: the GPU's timer is too coarse for them or failed",
		Next:     "give the kernels more work, or record the workload again"},
	{Key: "correlation-missing",
		Sentence: "{file}: {missing} of {launches} launches have no CUDA call in the recording: " +
			"they cannot be assigned to their NVTX ranges",
		Next: "record with `nsys profile --trace=cuda,nvtx` from the start"},

	// The report cannot be exported.
	{Key: "no-nsys",
		Sentence: "{file}{version} cannot be read: nsys was not found",
		Next: "export it yourself with `nsys export --type sqlite`, or install nsys, of that release or a newer one (the package " +
			"nsight-systems-cli of NVIDIA's apt repository), or say where it is"},
	{Key: "report-truncated",
		Sentence: "nsys could not export {file}{version}: {why}",
		Next:     "the report is truncated or no report of nsys: record the workload again"},
	{Key: "nsys-without-tables",
		Sentence: "nsys could not export {file}{version}: {why}",
		Next:     "this nsys cannot export single tables: update it to 2024.2 or later"},
	{Key: "disk-full",
		Sentence: "nsys could not export {file}{version}: {why}",
		Next:     "make room on the disk and try again"},
	{Key: "export-failed",
		Sentence: "nsys could not export {file}{version}: {why}",
		Next: "the report is damaged or was written by a newer nsys: record it again, or use the nsys of that release (the package " +
			"nsight-systems-cli of NVIDIA's apt repository)"},
}

// refuse makes the refusal of a key of [Reasons] with the details in the order of the sentence, the file's name first.
func refuse(key, file string, details ...any) error {
	return Reasons.Refuse(key, append([]any{file}, details...)...)
}
