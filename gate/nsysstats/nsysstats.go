// Package nsysstats reads what `nsys stats --format csv` of Nsight Systems prints: the tables of the versions 2020 to
// 2026, one or several in a stream or a file each, with whatever stands before and between them.
//
// The tables are second to an SQLite export, which gate/nsys reads. A summary has no single launches, so that its warm-up
// cannot be left out. Sizes are rounded to thousands of bytes. No table says whether CUDA graphs were traced as a whole, so
// that their kernels are missing, nor which process launched a kernel, so that several count as one run. What cannot be
// read for certain is refused.
package nsysstats

import (
	"context"
	"fmt"
	"io"

	"github.com/nsgate/nsgate/gate/measure"
)

// Tool is the profiler of everything that this package gives, see measure.Environment.
const Tool = "nsys-stats"

// File is one file, or one stream, of output. The name stands in messages and says which report the file holds.
type File struct {
	Name string
	io.Reader
}

// Run is what the tables of one run say. Exactly one of the fields is set.
type Run struct {
	// Trace is the run launch by launch, from cuda_gpu_trace or cuda_kern_exec_trace. What the table has no column for is
	// -1. Sizes are as exact as the table prints them: where it gives MB with three decimals, to 1000 bytes.
	//
	// Ranges are those of nvtx_gpu_proj_trace, if that is there. Beside cuda_gpu_trace, which does not say when a kernel
	// was launched, they are the ranges as projected onto the GPU, and Launch.API is Launch.Start; a range ends where the
	// next one of the same thread and level begins, even if work of it is still running. Beside cuda_kern_exec_trace, which
	// says when and by which thread, they are the ranges as they were on the CPU.
	Trace *measure.Trace
	// Summary is a session of this one run, from summaries over its kernels and copies. Time is the mean over all launches
	// of the run (Avg), the first ones included, whose warm-up no summary lets one leave out. A range stands for the time
	// of the kernels launched in it (nvtx_kern_sum); a range that was nested in one of its own name is missing, because
	// nsys counts the kernels in it twice, and so are the bytes of copies that the table rounds by more than one in a hundred.
	Summary *measure.Session
}

// The ways out of a refusal.
const (
	again      = "export again: nsys stats --report cuda_gpu_trace --format csv REPORT.nsys-rep"
	withC      = "export again with LC_ALL=C"
	oneRun     = "give the tables of one run at a time, made once and with the same filters"
	nanosecond = "export again with --timeunit nsec"
	fromReport = "give nsgate the report or its SQLite export instead (nsys export --type sqlite)"
	noKernel   = "see that the workload did not fail, that it uses the GPU, and that the capture range covers its kernels"
	noTime     = "export again with --timeunit nsec; where that does not help, record again"
)

// Read reads the tables of one run. The error is a *measure.Refusal where they cannot be judged: no kernels in them, a
// table that is cut or broken, numbers in another language, tables that contradict each other. Reading stops when ctx ends.
func Read(ctx context.Context, files ...File) (Run, error) {
	c := newCollection()
	for _, f := range files {
		if err := c.read(ctx, f); err != nil {
			return Run{}, err
		}
	}
	return c.finish()
}

func refuse(file string, line int, reason, next string) error {
	return measure.Refuse(fmt.Sprintf("%s:%d: %s", file, line, reason), next)
}

// quote is untrusted text as it may stand in a message.
func quote(s string) string {
	const longest = 80
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return fmt.Sprintf("%q", measure.NormalizeControl(s))
}
