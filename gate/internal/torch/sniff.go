package torch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
)

// Sniff reports whether the beginning of a file, best its first 64 KiB, looks like a Chrome trace of torch.profiler or like
// a table of key_averages. What is compressed with gzip is looked into. Other JSON, Chrome traces of other programs
// and other tables are not meant.
func Sniff(head []byte) bool {
	if bytes.HasPrefix(head, gzipMagic) {
		unzip, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		// The head ends in the middle of the file: what comes out before the error is what there is to see.
		head, _ = io.ReadAll(io.LimitReader(unzip, 1<<20))
	}
	if isJSON(head) {
		return sniffTrace(head)
	}
	text, _ := io.ReadAll(cells.UTF8(bytes.NewReader(head)))
	for line := range strings.Lines(string(text)) {
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
