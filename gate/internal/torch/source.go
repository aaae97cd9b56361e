package torch

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// source is the name of the file that is read, for messages.
type source string

// broken is the error of a file whose bytes cannot be had: the reader's own, or a refusal of one that ends early or that gzip
// cannot unpack.
func (s source) broken(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.EOF):
		return s.refuse("truncated")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return s.refuse("packed-truncated")
	case errors.Is(err, gzip.ErrChecksum):
		return s.refuse("packed-checksum")
	case errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return s.refuse("packed-damaged")
	}
	return fmt.Errorf("%s: %w", s, err)
}

// refuse makes the refusal of a key of [Reasons] that is about the file.
func (s source) refuse(key string, details ...any) error {
	return Reasons.Refuse(key, append([]any{s}, details...)...)
}

// refuseLine makes one that is about a line of it.
func (s source) refuseLine(key string, line int, details ...any) error {
	return Reasons.Refuse(key, append([]any{fmt.Sprintf("%s:%d", s, line)}, details...)...)
}
