package rank

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/trace"
)

// A packed trace holds the data that the reduction reads of an export, in about a tenth of its bytes, or its digest: a
// line with the version, then the traces of the processes in gob and gzip.
const (
	packedMagic   = "nsgate.trace/"
	packedVersion = packedMagic + "1\n"
)

// mostUnpacked is the largest size of the content in bytes: some 15 million launches.
var mostUnpacked int64 = 512 << 20

// Packed reports whether a file begins like a packed trace.
func Packed(head []byte) bool { return bytes.HasPrefix(head, []byte(packedMagic)) }

// Pack makes a packed trace of the processes in a recording, with digests of long ones by the named step, "" for that
// of the process: see [trace.Digest]. A content of more than [mostUnpacked] is an error.
func Pack(traces []model.Trace, step string) ([]byte, error) {
	out := bytes.NewBufferString(packedVersion)
	z := gzip.NewWriter(out)
	counted := &counter{Writer: z}
	enc := gob.NewEncoder(counted)
	var err error
	for _, t := range traces {
		t, _ = trace.Digest(t, step)
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
	version := make([]byte, len(packedVersion))
	switch _, err := io.ReadFull(in, version); {
	case err != nil || !Packed(version):
		return nil, model.Refuse(model.Damaged, again, "%s is damaged: it does not begin as a packed trace", name)
	case string(version) != packedVersion:
		return nil, model.Refuse(model.OtherFormat, again, "%s was packed by another release of nsgate", name)
	}
	content := &io.LimitedReader{N: mostUnpacked + 1}
	var traces []model.Trace
	if content.R, err = gzip.NewReader(in); err == nil {
		traces, err = unpack(content)
	}
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
