package rank

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// A packed trace is what the reduction takes of an export, in about a tenth of its bytes: a line with the version, then
// the traces of the processes in gob and zstd.
const (
	packedMagic   = "nsgate.trace/"
	packedVersion = packedMagic + "1\n"
	packedWindow  = 1 << 20 // of zstd, in bytes
)

// mostUnpacked is the largest size of the content in bytes: some 15 million launches.
var mostUnpacked int64 = 512 << 20

// Packed reports whether a file begins like a packed trace.
func Packed(head []byte) bool { return bytes.HasPrefix(head, []byte(packedMagic)) }

// Pack makes a packed trace of the processes in a recording. What is larger than a packed trace may be is an error.
func Pack(traces []model.Trace) ([]byte, error) {
	out := bytes.NewBufferString(packedVersion)
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(packedWindow))
	if err != nil {
		return nil, err
	}
	counted := &counter{Writer: z}
	enc := gob.NewEncoder(counted)
	for _, t := range traces {
		t.Pack()
		t.Source = ""
		err = errors.Join(err, enc.Encode(&t))
	}
	if err = errors.Join(err, z.Close()); err == nil && counted.n > mostUnpacked {
		err = errors.New("the recording is larger than a packed trace may be")
	}
	return out.Bytes(), err
}

// counter counts the bytes that are written.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.Writer.Write(b)
}

// ReadPacked reads a packed trace: one trace for each process. name stands for the file in messages. A file of another
// version, a damaged or too large one is a *model.Refusal.
func ReadPacked(file, name string) ([]model.Trace, error) {
	f, err := input.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	const again = "measure the job again with one release of nsgate, or keep the exports with `nsgate rank --keep`"
	version, err := in.ReadString('\n')
	if strings.HasPrefix(version, packedMagic) && err == nil && version != packedVersion {
		return nil, model.Refuse(model.OtherFormat, again, "%s was packed by another release of nsgate", name)
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(packedWindow))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	content := &io.LimitedReader{R: z, N: mostUnpacked + 1}
	traces, err := unpack(content)
	for i := range traces {
		traces[i].Source = file
	}
	switch {
	case content.N <= 0:
		return nil, model.Refuse(model.TooLarge, again, "%s holds more than %d MB", name, mostUnpacked>>20)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, model.Refuse(model.Truncated, again, "%s is truncated", name)
	case err != nil:
		return nil, model.Refuse(model.Damaged, again, "%s is damaged: %v", name, err)
	}
	return traces, nil
}

// unpack reads the content of a packed trace, which may be anything.
func unpack(content io.Reader) (traces []model.Trace, err error) {
	in := gob.NewDecoder(content)
	for {
		var t model.Trace
		if err := in.Decode(&t); err == io.EOF && len(traces) > 0 {
			return traces, nil
		} else if err != nil {
			return nil, err
		}
		t = *t.Unpacked()
		if err := t.Check(); err != nil {
			return nil, fmt.Errorf("%w does not fit the rest of it", err)
		}
		t.Job, t.Rank = "", 0
		traces = append(traces, t)
	}
}
