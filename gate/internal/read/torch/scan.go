package torch

import (
	"bufio"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// longest is the most bytes that one event, or one value beside the events, may have.
const longest = 16 << 20

// scanner walks over a Chrome trace and gives it value by value, so that one event at a time is in memory. It is the
// reader of the mended text.
type scanner struct {
	source
	json   *jsontext.Decoder
	begin  int64 // where the last value begins
	in     *bufio.Reader
	rest   []byte // mended text in the buffer of in, which is still to be given
	taken  int    // bytes in the buffer of in that are mended
	given  int64  // bytes
	quoted bool   // the next byte is part of a string
	failed error  // why in gives no more, nil at its end
}

func newScanner(name source, in *bufio.Reader) *scanner {
	s := &scanner{source: name, in: in}
	s.json = jsontext.NewDecoder(s, lenient)
	return s
}

// walk reads the object, or the bare list of events, that the file is: event takes each event, and fact reads the value
// of each other key. It does not read on to the end of the file.
func (s *scanner) walk(fact func(key string) error, event func(text []byte) error) error {
	list := func() error {
		return s.each(']', func() error {
			text, err := s.value()
			if err != nil {
				return err
			}
			return event(text)
		})
	}
	if s.json.PeekKind() == '[' {
		return list()
	}
	events := false
	err := s.each('}', func() error {
		key, err := s.json.ReadToken()
		if err != nil {
			return s.broken(err)
		}
		at := s.json.InputOffset()
		switch {
		case key.String() != "traceEvents":
			return fact(key.String())
		case events:
			return s.near(at, model.Damaged, exportAgain, "there is a second list of events")
		case s.json.PeekKind() != '[' && s.json.PeekKind() != jsontext.KindInvalid:
			return s.near(at, model.Damaged, exportAgain, "traceEvents is no list")
		}
		events = true
		return list()
	})
	if err == nil && !events {
		return model.Refuse(model.OtherFormat,
			"name a file that prof.export_chrome_trace or tensorboard_trace_handler wrote",
			"%s is JSON, but no trace of torch.profiler: it has no traceEvents", s.source)
	}
	return err
}

// each reads an opening bracket, the parts, and the closing bracket.
func (s *scanner) each(end jsontext.Kind, part func() error) error {
	_, err := s.json.ReadToken()
	for err == nil && s.json.PeekKind() != end {
		if err := part(); err != nil {
			return err
		}
	}
	if err == nil {
		_, err = s.json.ReadToken()
	}
	return s.broken(err)
}

// value reads a value, which holds until the next one.
func (s *scanner) value() ([]byte, error) {
	v, err := s.json.ReadValue()
	s.begin = s.json.InputOffset() - int64(len(v))
	return v, s.broken(err)
}

func (s *scanner) skip() error { return s.broken(s.json.SkipValue()) }

// end reads what follows the value, which must be nothing, up to the end: the checksum of a compressed file stands
// there.
func (s *scanner) end() error {
	at := s.json.InputOffset()
	_, err := s.json.ReadToken()
	switch {
	case s.failed != nil:
		return s.source.broken(s.failed)
	case err != io.EOF:
		return s.near(at, model.Damaged, "give every trace a file of its own", "something follows the end of the trace")
	}
	return nil
}

// broken is the error of a file that cannot be read on, nil for none.
func (s *scanner) broken(err error) error {
	if err == nil {
		return nil
	}
	var syntax *jsontext.SyntacticError
	switch {
	case s.failed != nil:
		return s.source.broken(s.failed)
	case errors.Is(err, io.ErrUnexpectedEOF), !errors.As(err, &syntax):
		return s.source.broken(io.EOF)
	}
	return s.near(syntax.ByteOffset, model.Damaged, exportAgain+", or see who edited it", "the file is no JSON: %s",
		syntax.Err)
}

// Read gives the text of the file, mended.
func (s *scanner) Read(p []byte) (int, error) {
	if at := s.json.InputOffset(); s.given-at > longest {
		s.failed = s.near(at, model.TooLarge, exportAgain,
			"a value, or the white space before it, is longer than %d MB", longest>>20)
		return 0, s.failed
	}
	if len(s.rest) == 0 {
		if err := s.mend(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	s.given += int64(n)
	return n, nil
}

var (
	// odd are the words that C++ and Python write in place of a number.
	odd = input.Pattern(`^-?(?:nan\(ind\)|nan|NaN|N/A|[iI]nf(?:inity)?)`)
	// escape is one that JSON knows.
	escape = input.Pattern(`^\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])`)
)

// telling are the bytes to look at, outside of strings and within.
var telling = func() (bytes [2][256]bool) {
	for _, c := range `"nNiI-` {
		bytes[0][c] = true
	}
	for c := range ' ' {
		bytes[1][c] = true
	}
	bytes[1]['"'], bytes[1]['\\'] = true, true
	return bytes
}()

// mend takes text from the file and turns Kineto's deviations from JSON with only one meaning into JSON of the same
// length. In place of numbers, nan, inf and N/A become an empty string, never zero. In strings, control characters
// become blanks, and backslashes that begin no escape become slashes.
func (s *scanner) mend() error {
	const mostOdd = 10 // the most bytes of such a word, and of an escape
	s.in.Discard(s.taken)
	_, cut := s.in.Peek(mostOdd + 1)
	b, err := s.in.Peek(max(1, s.in.Buffered()))
	if len(b) == 0 {
		if err != io.EOF {
			s.failed = err
		}
		return err
	}
	end := len(b)
	if cut == nil { // a word that is not whole is for the next time
		end -= mostOdd
	}
	n := 0
	for ; n < end; n++ {
		look := measure.Either(s.quoted, &telling[1], &telling[0])
		for n < end && !look[b[n]] { // most bytes
			n++
		}
		if n == end {
			break
		}
		c := b[n]
		switch {
		case c == '"':
			s.quoted = !s.quoted
		case c == '\\':
			if e := escape().Find(b[n:]); e != nil {
				n += len(e) - 1
			} else {
				b[n] = '/'
			}
		case s.quoted:
			b[n] = ' '
		default:
			word := odd().Find(b[n:])
			for i := range word {
				word[i] = ' '
			}
			if copy(word, `""`) > 0 {
				n += len(word) - 1
			}
		}
	}
	s.rest, s.taken = b[:n], n
	return nil
}
