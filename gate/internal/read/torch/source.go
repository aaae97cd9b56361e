package torch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/nsgate/nsgate/gate/internal/model"
)

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

// largestFile is how many bytes of a file are read at most, unpacked.
const largestFile = 8 << 30

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
