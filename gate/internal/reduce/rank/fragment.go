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
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
)

// A fragment file holds what the judgement of a job needs of a rank: a line with the version, then each of its
// processes in gob and gzip, as a fragment of a session (see [trace.Fragment]) or, without steps, with its launches.
const (
	fragmentMagic   = "nsgate.trace/"
	fragmentVersion = fragmentMagic + "2\n"
)

// largestFragment is the largest size of the content in bytes: some 4 million launches.
var largestFragment int64 = 128 << 20

// IsFragment reports whether a file begins like that of a fragment.
func IsFragment(head []byte) bool { return bytes.HasPrefix(head, []byte(fragmentMagic)) }

// Fragment makes the fragment file of a recording. A content of more than [largestFragment] is an error.
func Fragment(traces []model.Trace, o trace.Options) ([]byte, error) {
	var content bytes.Buffer
	enc := gob.NewEncoder(&content)
	for _, t := range traces {
		t, _ = trace.Fragment(t, o)
		t.Source = ""
		if err := enc.Encode(&t); err != nil {
			return nil, err
		}
	}
	if int64(content.Len()) > largestFragment {
		return nil, errors.New("the recording is larger than a fragment may be")
	}
	out := bytes.NewBufferString(fragmentVersion)
	z := gzip.NewWriter(out)
	_, err := content.WriteTo(z)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// ReadFragment reads the file of a fragment: one trace for each process. name stands for the file in messages. A file
// of another version, a damaged or too large one is a *model.Refusal.
func ReadFragment(file, name string) ([]model.Trace, error) {
	f, err := input.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	const again = "measure the job again with one release of nsgate, or keep the exports with `nsgate rank --keep`"
	version := make([]byte, len(fragmentVersion))
	switch _, err := io.ReadFull(in, version); {
	case err != nil || !IsFragment(version):
		return nil, model.Refuse(model.Damaged, again, "%s is damaged: it does not begin as a fragment", name)
	case string(version) != fragmentVersion:
		return nil, model.Refuse(model.OtherFormat, again, "%s was written by another release of nsgate", name)
	}
	content := &io.LimitedReader{N: largestFragment + 1}
	var traces []model.Trace
	if content.R, err = gzip.NewReader(in); err == nil {
		traces, err = decode(content)
	}
	for i := range traces {
		traces[i].Source = file
	}
	switch {
	case content.N <= 0:
		return nil, model.Refuse(model.TooLarge, again, "%s holds more than %d MB", name, largestFragment>>20)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, model.Refuse(model.Truncated, again, "%s is truncated", name)
	case err != nil:
		return nil, model.Refuse(model.Damaged, again, "%s is damaged: %v", name, err)
	}
	return traces, nil
}

// decode reads the content of a fragment, which may be anything.
func decode(content io.Reader) (traces []model.Trace, err error) {
	in := gob.NewDecoder(content)
	for {
		var t model.Trace
		if err := in.Decode(&t); err == io.EOF && len(traces) > 0 {
			return traces, nil
		} else if err != nil {
			return nil, err
		}
		if err := t.Check(); err != nil {
			return nil, fmt.Errorf("%w does not fit the rest of it", err)
		}
		t.Job, t.Rank = "", 0
		traces = append(traces, t)
	}
}
