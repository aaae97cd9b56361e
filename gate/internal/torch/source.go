package torch

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// source is the name of the file that is read, for messages.
type source string

// broken is the error of a file whose bytes cannot be had: the reader's own, or a refusal of one that ends early or that gzip
// cannot unpack.
func (s source) broken(err error) error {
	var corrupt flate.CorruptInputError
	var refusal *model.Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, errLarge):
		return model.Refuse(model.TooLarge, fewerSteps, "%s has more than %d GB, unpacked", s, largestFile>>30)
	case errors.Is(err, io.EOF):
		return model.Refuse(model.Truncated, "see that the program was not stopped while the profiler wrote it, and that the disk was not full",
			"%s: the file ends in the middle", s)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return model.Refuse(model.Truncated, copyAgain, "%s: the compressed file ends in the middle", s)
	case errors.Is(err, gzip.ErrChecksum):
		return model.Refuse(model.Damaged, copyAgain,
			"%s: the compressed file is damaged: its checksum is wrong", s)
	case errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return model.Refuse(model.Damaged, copyAgain,
			"%s: the compressed file is damaged or has something behind its end", s)
	}
	return fmt.Errorf("%s: %w", s, err)
}
