package torch

import (
	"bytes"
	"errors"
	"io"
)

// longest is the most bytes that one event, or one value beside the events, may have.
const longest = 16 << 20

var errLong = errors.New("a value is too long")

// lenient makes JSON of what Kineto writes instead, where there is but one way to understand it: numbers that are none
// (nan, inf, N/A), and control characters and backslashes inside strings. It changes no length, so that positions stay
// those of the file. A number that is none becomes an empty string, never a zero.
type lenient struct {
	r                io.Reader
	buf              []byte
	given, done, end int // of buf: handed out so far, made JSON so far, read so far
	err              error
	quoted           bool  // done lies inside a string
	offset           int64 // bytes handed out
	// begin is the position at which the value that is being read begins.
	begin int64
}

// ahead is how far a decision may have to look: "-Infinity" and what follows it.
const ahead = 16

func newLenient(r io.Reader) *lenient { return &lenient{r: r, buf: make([]byte, 64<<10)} }

// Read gives errLong when a value has become too long, else the error of the reader below.
func (l *lenient) Read(p []byte) (int, error) {
	if l.offset-l.begin > longest {
		return 0, errLong
	}
	if l.given == l.done {
		l.fill()
		l.convert()
	}
	n := copy(p, l.buf[l.given:l.done])
	l.given += n
	l.offset += int64(n)
	if n == 0 && len(p) > 0 {
		return 0, l.err
	}
	return n, nil
}

// fill reads on until there is enough to decide on at least one byte.
func (l *lenient) fill() {
	if l.given > 0 {
		l.end = copy(l.buf, l.buf[l.given:l.end])
		l.done -= l.given
		l.given = 0
	}
	for tries := 0; l.err == nil && l.end-l.done < ahead; tries++ {
		n, err := l.r.Read(l.buf[l.end:])
		if tries == 100 && n == 0 && err == nil {
			err = io.ErrNoProgress
		}
		if first := l.offset == 0 && l.done == 0; first && bytes.HasPrefix(l.buf[:l.end+n], byteOrderMark) {
			copy(l.buf, "   ")
		}
		l.end += n
		l.err = err
	}
}

// convert goes over what has been read, as far as decisions can be made.
func (l *lenient) convert() {
	stop := l.end
	if l.err == nil {
		stop -= ahead - 1
	}
	b := l.buf[:l.end]
	i := l.done
	for i < stop {
		c := b[i]
		if l.quoted {
			switch {
			case c == '"':
				l.quoted = false
			case c == '\\':
				if n := escape(b[i+1:]); n > 0 {
					i += n
				} else {
					b[i] = '/'
				}
			case c < ' ':
				b[i] = ' '
			}
			i++
			continue
		}
		switch c {
		case '"':
			l.quoted = true
		case 'n', 'N', 'i', 'I', '-':
			if n := noNumber(b[i:]); n > 0 {
				copy(b[i:], `""`)
				for k := 2; k < n; k++ {
					b[i+k] = ' '
				}
				i += n - 1
			}
		}
		i++
	}
	l.done = min(i, l.end)
}

// escape is the length of what may follow a backslash, 0 where it is no escape.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, c := range b[1:5] {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// noNumbers are the words that C++ and Python write in place of a number; the longest of each beginning first.
var noNumbers = [][]byte{
	[]byte("nan(ind)"), []byte("nan"), []byte("NaN"), []byte("N/A"), []byte("Infinity"), []byte("infinity"),
	[]byte("inf"), []byte("Inf"),
}

// noNumber is the length of such a word at the beginning of b, 0 if there is none.
func noNumber(b []byte) int {
	sign := 0
	if len(b) > 0 && b[0] == '-' {
		sign = 1
	}
	for _, word := range noNumbers {
		rest, ok := bytes.CutPrefix(b[sign:], word)
		if ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n,]}"), rest[0]) >= 0) {
			return sign + len(word)
		}
	}
	return 0
}
