package torch

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// longest is the most bytes that one event, or one value beside the events, may have.
const longest = 16 << 20

// scanner walks over a Chrome trace and gives it value by value, so that one event at a time is in memory.
type scanner struct {
	source
	in    *bufio.Reader
	at    int64 // how far it has read, in bytes
	begin int64 // where the last value begins
	text  []byte
}

// walk reads the object, or the bare list of events, that the file is: event takes each event, which may need mending, and fact reads
// the value of each other key. It does not read on to the end of the file.
func (s *scanner) walk(fact func(key string) error, event func(text []byte) error) error {
	list := func() error {
		return s.each(']', func() error {
			if err := s.take(true); err != nil {
				return err
			}
			return event(s.text)
		})
	}
	if start, _ := s.next(); start == '[' {
		return list()
	}
	events := false
	err := s.each('}', func() error {
		text, err := s.value()
		if err != nil {
			return err
		}
		var key string
		if json.Unmarshal(text, &key) != nil {
			return model.Refuse(model.Damaged, exportAgain+", or see who edited it",
				"%s, near byte %d: the file is no JSON: %s", s.source, s.begin, "a key is no string")
		}
		at := s.at
		switch err := s.expect(':'); {
		case err != nil:
			return err
		case key != "traceEvents":
			return fact(key)
		}
		switch start, err := s.next(); {
		case err != nil:
			return s.broken(err)
		case events:
			return model.Refuse(model.Damaged, exportAgain,
				"%s, near byte %d: there is a second list of events", s.source, at)
		case start != '[':
			return model.Refuse(model.Damaged, exportAgain, "%s, near byte %d: traceEvents is no list", s.source, at)
		}
		events = true
		return list()
	})
	if err == nil && !events {
		return model.Refuse(model.OtherFormat, "name a file that prof.export_chrome_trace or tensorboard_trace_handler wrote",
			"%s is JSON, but no trace of torch.profiler: it has no traceEvents", s.source)
	}
	return err
}

// each reads an opening bracket, the parts, and the closing bracket.
func (s *scanner) each(end byte, part func() error) error {
	s.drop(1)
	for n := 0; ; n++ {
		c, err := s.next()
		switch {
		case err != nil:
			return s.broken(err)
		case c == end:
			s.drop(1)
			return nil
		case n > 0:
			if err := s.expect(','); err != nil {
				return err
			}
		}
		if err := part(); err != nil {
			return err
		}
	}
}

// next gives the next byte behind white space, without reading it.
func (s *scanner) next() (byte, error) {
	for n := 0; ; n++ {
		b, err := s.in.Peek(1)
		switch {
		case err != nil:
			return 0, err
		case !isSpace(b[0]):
			return b[0], nil
		case n == mostSpace:
			return 0, model.Refuse(model.TooLarge, exportAgain, "%s, near byte %d: more than %d MB of white space in one place", s.source, s.at, mostSpace>>20)
		}
		s.drop(1)
	}
}

// mostSpace is how much white space is read over in one place, in bytes.
const mostSpace = 4 << 20

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (s *scanner) drop(n int) {
	n, _ = s.in.Discard(n)
	s.at += int64(n)
}

func (s *scanner) expect(want byte) error {
	switch c, err := s.next(); {
	case err != nil:
		return s.broken(err)
	case c != want:
		return model.Refuse(model.Damaged, exportAgain+", or see who edited it",
			"%s, near byte %d: the file is no JSON: %s", s.source, s.at, "there is no "+string(want))
	}
	s.drop(1)
	return nil
}

// value reads a value, which is JSON or was made so by mend. It holds until the next one.
func (s *scanner) value() ([]byte, error) {
	if err := s.take(true); err != nil {
		return nil, err
	}
	return s.valid()
}

// valid is the text of the last value, mended if it is not JSON.
func (s *scanner) valid() ([]byte, error) {
	if jsontext.Value(s.text).IsValid(lenient...) {
		return s.text, nil
	}
	mended := mend(s.text)
	var checked json.RawMessage
	if err := json.Unmarshal(mended, &checked); err != nil {
		return nil, model.Refuse(model.Damaged, exportAgain+", or see who edited it",
			"%s, near byte %d: the file is no JSON: %s", s.source, s.begin, err)
	}
	return mended, nil
}

// skip reads over a value, however long.
func (s *scanner) skip() error { return s.take(false) }

// take reads to the end of a value, which it finds by quotation marks and brackets.
func (s *scanner) take(keep bool) error {
	_, err := s.next()
	s.text, s.begin = s.text[:0], s.at
	depth, quoted, escaped := 0, false, false
	for done := false; !done; {
		if err == nil {
			_, err = s.in.Peek(1)
		}
		if err != nil {
			return s.broken(err)
		}
		b, _ := s.in.Peek(s.in.Buffered())
		n := 0
		for ; n < len(b) && !done; n++ {
			if depth > 0 && !escaped {
				for n < len(b) && !telling[b[n]] { // most bytes
					n++
				}
				if n == len(b) {
					break
				}
			}
			c := b[n]
			switch {
			case escaped:
				escaped = false
			case quoted:
				escaped, quoted = c == '\\', c != '"'
				done = !quoted && depth == 0
			case c == '"':
				quoted = true
			case c == '{' || c == '[':
				depth++
			case depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']' || isSpace(c)):
				done = true
				n-- // the byte ends a number and is not part of it
			case c == '}' || c == ']':
				depth--
				done = depth == 0
			}
		}
		if keep {
			if s.text = append(s.text, b[:n]...); len(s.text) > longest {
				return model.Refuse(model.TooLarge, exportAgain, "%s, near byte %d: a value is longer than %d MB", s.source, s.begin, longest>>20)
			}
		}
		s.drop(n)
	}
	if s.at == s.begin {
		return model.Refuse(model.Damaged, exportAgain+", or see who edited it",
			"%s, near byte %d: the file is no JSON: %s", s.source, s.at, "there is no value")
	}
	return nil
}

// telling are the bytes by which [scanner.take] finds the end of an object or list.
var telling = [256]bool{'"': true, '\\': true, '{': true, '[': true, '}': true, ']': true}

// end reads what follows the value, which must be nothing, up to the end: the checksum of a compressed file stands there.
func (s *scanner) end() error {
	switch _, err := s.next(); {
	case err == nil:
		return model.Refuse(model.Damaged, "give every trace a file of its own",
			"%s, near byte %d: something follows the end of the trace", s.source, s.at)
	case err != io.EOF:
		return s.broken(err)
	}
	return nil
}

var (
	// odd are strings, and the words that C++ and Python write in place of a number.
	odd = input.Pattern(`(?s)"(?:[^"\\]|\\.)*"|-?(?:nan\(ind\)|nan|NaN|N/A|[iI]nf(?:inity)?)`)
	// escapes are, within a string, those of JSON, and then the backslashes and control characters that must not be there.
	escapes = input.Pattern(`\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|[\\\x00-\x1f]`)
)

// mend makes JSON of the text that Kineto writes instead if it has only one meaning: nan, inf and N/A in place of numbers, and
// control characters and backslashes inside strings. nan, inf and N/A become an empty string, never zero.
func mend(text []byte) []byte {
	return odd().ReplaceAllFunc(text, func(part []byte) []byte {
		if part[0] != '"' {
			return []byte(`""`)
		}
		return escapes().ReplaceAllFunc(part, func(e []byte) []byte {
			switch {
			case len(e) > 1:
				return e
			case e[0] == '\\':
				return []byte("/")
			}
			return []byte(" ")
		})
	})
}
