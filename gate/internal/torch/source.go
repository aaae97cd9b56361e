package torch

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
)

// source is the file as it comes in. It ends when ctx does, and remembers why it ended.
type source struct {
	ctx    context.Context
	r      io.Reader
	name   string
	packed bool  // compressed
	cause  error // why reading ended, other than at the end of the file
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		s.cause = err
		return 0, err
	}
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.cause = err
	}
	return n, err
}

// broken is the error of a file whose bytes cannot be had: the reader's own, or a refusal of what gzip cannot unpack.
func (s *source) broken(err error) error {
	if s.cause != nil {
		return fmt.Errorf("%s: %w", s.name, s.cause)
	}
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		if s.packed {
			return s.refuse("packed-truncated")
		}
		return s.refuse("truncated")
	case errors.Is(err, gzip.ErrChecksum):
		return s.refuse("packed-checksum")
	case errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return s.refuse("packed-damaged")
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// refuse makes the refusal of a key of [Reasons] that is about the file.
func (s *source) refuse(key string, details ...any) error {
	return Reasons.Refuse(key, append([]any{s.name}, details...)...)
}

// refuseLine makes one that is about a line of it.
func (s *source) refuseLine(key string, line int, details ...any) error {
	return Reasons.Refuse(key, append([]any{fmt.Sprintf("%s:%d", s.name, line)}, details...)...)
}
