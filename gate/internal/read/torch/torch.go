// Package torch reads what torch.profiler of PyTorch writes: Kineto's Chrome traces (JSON, plain or compressed with
// gzip), event by event, and the tables that key_averages().table() prints. A trace tells the sum of static and dynamic
// shared memory, which counts as dynamic. A table is a summary without geometry, steps and spread, rounded to three
// decimals of the unit of each cell.
package torch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// Next steps of the refusals of this package.
const (
	profileAgain = "profile the workload again"
	exportAgain  = "export the trace again with prof.export_chrome_trace"
	copyAgain    = "copy or write it again"
	fewerSteps   = "profile fewer steps: torch.profiler.schedule(wait=…, warmup=…, active=…)"
	activities   = "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
	// printAgain prints a table in which every kernel has its name.
	printAgain = "print prof.key_averages().table(row_limit=-1, max_name_column_width=None)"
)

// Read reads one file on one run, a Chrome trace or a printed table; name stands for it in messages and in
// model.Trace.Source. A trace of any size is streamed: only GPU activities, CUDA calls and the ranges of
// record_function are kept. The error is a *model.Refusal if the file cannot be judged: no kernels, records that the
// profiler lost, a file that is damaged, ends in the middle or is something else.
func Read(ctx context.Context, r io.Reader, name string) (trace *model.Trace, summary *model.Session, err error) {
	file := source(name)
	const peekSize = 4 << 10
	in := bufio.NewReaderSize(cells.Until(ctx, r), 64<<10)
	start, err := in.Peek(len(gzipMagic))
	if err != nil && err != io.EOF {
		return nil, nil, file.broken(err)
	}
	if bytes.Equal(start, gzipMagic) {
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, file.broken(err)
		}
		defer unzip.Close()
		in = bufio.NewReaderSize(unzip, 64<<10)
	}
	bounded := &io.LimitedReader{R: in, N: largestFile + 1}
	in = bufio.NewReaderSize(bounded, 64<<10)
	start, err = in.Peek(peekSize)
	switch {
	case err != nil && err != io.EOF:
		return nil, nil, file.broken(err)
	case len(start) == 0:
		return nil, nil, model.Refuse(model.EmptyFile, "see that the profiler finished and wrote its file",
			"%s is empty", file)
	case isJSON(start):
		if bytes.HasPrefix(start, byteOrderMark) {
			in.Discard(len(byteOrderMark))
		}
		trace, err = readTrace(file, in)
	default:
		summary, err = readTable(file, in)
	}
	if bounded.N <= 0 {
		return nil, nil, model.Refuse(model.TooLarge, fewerSteps, "%s has more than %d GB, unpacked", file,
			largestFile>>30)
	}
	return trace, summary, err
}

// Sniff reports whether the beginning of a file, best its first 64 KiB, looks like a Chrome trace of torch.profiler or
// like a table of key_averages. What is compressed with gzip is looked into. Other JSON, Chrome traces of other
// programs and other tables are not meant.
func Sniff(head []byte) bool {
	if bytes.HasPrefix(head, gzipMagic) {
		unzip, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		// The head ends in the middle of the file: the output before the error is the part to sniff.
		head, _ = io.ReadAll(io.LimitReader(unzip, 1<<20))
	}
	if isJSON(head) {
		return sniffTrace(head)
	}
	for line := range strings.Lines(string(cells.Text(head))) {
		if _, ok := tableHeader(line); ok {
			return true
		}
	}
	return false
}

// marks are top-level keys that Kineto or torch.profiler write and other writers of Chrome traces do not.
var marks = map[string]bool{
	"schemaVersion": true, "deviceProperties": true, "baseTimeNanoseconds": true, "distributedInfo": true,
	"trace_id": true, "cupti_version": true, "record_shapes": true, "with_stack": true, "with_flops": true,
	"with_modules": true, "profile_memory": true,
}

// sniffTrace looks at the keys of the object and the events that the head holds.
func sniffTrace(head []byte) bool {
	s := newScanner("", bufio.NewReader(bytes.NewReader(bytes.TrimPrefix(head, byteOrderMark))))
	found, events := 0, bytes.Contains(head, []byte(`"traceEvents"`))
	enough := errors.New("enough")
	err := s.walk(func(key string) error {
		if marks[key] {
			found++
		}
		return s.skip()
	}, func(text []byte) error {
		var e event
		if ok := e.read(text); found > 0 || ok && e.kind != other && len(e.Ph) > 0 {
			return enough
		}
		return nil
	})
	return err == enough || found > 0 && events || found > 1
}

// source is the name of the file that is read, for messages.
type source string

// broken is the error of a file that cannot be read: the reader's own, or the refusal of a file that ends early or that
// gzip cannot unpack.
func (s source) broken(err error) error {
	var corrupt flate.CorruptInputError
	var refusal *model.Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, io.EOF):
		return model.Refuse(model.Truncated,
			"see that the program was not stopped while the profiler wrote it, and that the disk was not full",
			"%s: the file ends in the middle", s)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return model.Refuse(model.Truncated, copyAgain, "%s: the compressed file ends in the middle", s)
	case errors.Is(err, gzip.ErrChecksum):
		return model.Refuse(model.Damaged, copyAgain, "%s: the compressed file is damaged: its checksum is wrong", s)
	case errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return model.Refuse(model.Damaged, copyAgain,
			"%s: the compressed file is damaged or has something behind its end", s)
	}
	return fmt.Errorf("%s: %w", s, err)
}

// near is the refusal of a file for what stands at a byte of it.
func (s source) near(at int64, kind model.Kind, next, format string, args ...any) error {
	return model.Refuse(kind, next, "%s, near byte %d: %s", s, at, fmt.Sprintf(format, args...))
}

// largestFile is how many bytes of a file are read at most, unpacked.
var largestFile int64 = 8 << 30

var gzipMagic = []byte{0x1f, 0x8b}

// isJSON distinguishes a trace from a text with a table in it: a log may begin with a bracket too.
func isJSON(start []byte) bool {
	start = bytes.TrimLeft(bytes.TrimPrefix(start, byteOrderMark), " \t\r\n")
	if len(start) == 0 {
		return false
	}
	inside := bytes.TrimLeft(start[1:], " \t\r\n")
	switch start[0] {
	case '{':
		return len(inside) == 0 || inside[0] == '"' || inside[0] == '}'
	case '[':
		return len(inside) == 0 || inside[0] == '{' || inside[0] == ']'
	}
	return false
}

var byteOrderMark = []byte("\uFEFF")
