package nsys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

const (
	magic        = "SQLite format 3\x00"
	journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	header       = 100 // bytes
)

// state is what changes when a program writes to a database file.
type state struct {
	size     int64
	modified time.Time
	counter  [4]byte // SQLite's own count of changes
}

// inspect refuses by its first bytes what is no SQLite database, only a part of one, or still being written. It gives
// the state of the file and the bytes that its pages take.
func inspect(file, name string) (s state, pages int64, err error) {
	// Before the file is opened: opening a named pipe waits for its other end.
	info, err := os.Stat(file)
	if err != nil {
		return s, 0, err
	}
	if !info.Mode().IsRegular() {
		return s, 0, fmt.Errorf("%s: not a regular file; name the .sqlite file of an nsys export", name)
	}
	f, err := os.Open(file)
	if err != nil {
		return s, 0, err
	}
	defer f.Close()
	s, head, err := look(f)
	switch {
	case err != nil:
		return s, 0, fmt.Errorf("%s: %w", name, err)
	case len(head) == 0:
		return s, 0, refuse("empty", name)
	case !bytes.HasPrefix(head, []byte(magic)):
		return s, 0, refuseFormat(name, head)
	case len(head) < header:
		return s, 0, refuse("truncated", name, "it ends inside the header of the SQLite database")
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	pages = s.size
	// The page count holds only if the program that last wrote the file kept it (SQLite file format, 1.3.7).
	if bytes.Equal(head[24:28], head[92:96]) {
		pages = int64(binary.BigEndian.Uint32(head[28:])) * page
	}
	if pages > s.size {
		return s, 0, refuse("truncated", name, fmt.Sprintf("%d bytes of %d", s.size, pages))
	}
	if sign := unfinished(file, name, f); sign != "" {
		return s, 0, refuse("being-written", name, sign)
	}
	return s, pages, nil
}

// look reads the first bytes and the state of a file.
func look(f *os.File) (s state, head []byte, err error) {
	info, err := f.Stat()
	if err != nil {
		return s, nil, err
	}
	head = make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return s, nil, err
	}
	head = head[:n]
	s = state{size: info.Size(), modified: info.ModTime()}
	if n >= header {
		copy(s.counter[:], head[24:28])
	}
	return s, head, nil
}

// changed reports whether a file that was read is no longer what it was.
func changed(file string, before state) bool {
	f, err := os.Open(file)
	if err != nil {
		return true
	}
	defer f.Close()
	after, _, err := look(f)
	return err != nil || after.size != before.size || !after.modified.Equal(before.modified) || after.counter != before.counter
}

// unfinished says by what a program shows that it is writing to the database, "" where none does.
func unfinished(file, name string, f *os.File) string {
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return "unfinished changes lie in " + name + "-wal"
	}
	if journal, err := os.Open(file + "-journal"); err == nil {
		defer journal.Close()
		// A journal that was used and is kept begins with zeros.
		first := make([]byte, len(journalMagic))
		if n, _ := io.ReadFull(journal, first); n > 0 && first[0] != 0 {
			return "unfinished changes lie in " + name + "-journal"
		}
	}
	if lockedForWriting(f) {
		return "another program holds a lock to write to it"
	}
	return ""
}

// formats are what else a file may be, by its first bytes, with the refusals of them.
var formats = []struct {
	magic, key string
	details    []any
}{
	{"NVIDIA Tegra Profiler Report", "report", nil},
	{"NVR\x00", "ncu-report", nil},
	{"version https://git-lfs", "git-lfs", nil},
	{"\x1f\x8b", "compressed", []any{"gzip"}},
	{"\xfd7zXZ", "compressed", []any{"xz"}},
	{"\x28\xb5\x2f\xfd", "compressed", []any{"zstd"}},
	{"BZh", "compressed", []any{"bzip2"}},
	{"PK\x03\x04", "compressed", []any{"zip"}},
	{"7z\xbc\xaf\x27\x1c", "compressed", []any{"7z"}},
	{"\x89HDF", "other-format", []any{"an HDF5 file"}},
	{"PAR1", "other-format", []any{"a Parquet file"}},
	{"ARROW1", "other-format", []any{"an Arrow file"}},
	{"\xff\xff\xff\xff", "other-format", []any{"an Arrow file"}},
}

var page = regexp.MustCompile(`(?i)^<(!doctype html|html|head|body|\?xml)`)

// refuseFormat says what a file without the SQLite magic seems to be.
func refuseFormat(name string, head []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return refuse(f.key, name, f.details...)
		}
	}
	switch {
	case bytes.HasPrefix([]byte(magic), head):
		return refuse("truncated", name, "it ends inside the header of the SQLite database")
	case page.Match(text):
		return refuse("web-page", name)
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		return refuse("other-format", name, "JSON")
	case len(bytes.Trim(head, "\x00")) == 0:
		return refuse("unwritten", name)
	case !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' && r != '\n' && r != '\f' }):
		return refuse("other-format", name, "text")
	}
	return refuse("other-format", name, "a file of another kind")
}
