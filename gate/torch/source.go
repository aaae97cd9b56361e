package torch

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nsgate/nsgate/gate/measure"
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
	const next = "copy or write it again"
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		if s.packed {
			return measure.Refuse(s.name+": the compressed file ends in the middle", next)
		}
		return s.truncated()
	case errors.Is(err, gzip.ErrChecksum):
		return measure.Refuse(s.name+": the compressed file is damaged: its checksum is wrong", next)
	case errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return measure.Refuse(s.name+": the compressed file is damaged or has something behind its end", next)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// truncated refuses a file that stops before it is complete.
func (s *source) truncated() error {
	return measure.Refuse(s.name+": the file ends in the middle",
		"see that the program was not stopped while the profiler wrote it, and that the disk was not full")
}
