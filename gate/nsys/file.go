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

var page = regexp.MustCompile(`(?i)^<(!doctype html|html|head|body|\?xml)`)

// refuseFormat says what a file without the SQLite magic seems to be.
func refuseFormat(name string, head []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	is := func(prefix string) bool { return bytes.HasPrefix(head, []byte(prefix)) }
	switch {
	case bytes.HasPrefix([]byte(magic), head):
		return refuse("truncated", name, "it ends inside the header of the SQLite database")
	case is("NVIDIA Tegra Profiler Report"):
		return refuse("report", name)
	case is("NVR\x00"):
		return refuse("ncu-report", name)
	case is("\x1f\x8b"):
		return refuse("compressed", name, "gzip")
	case is("\xfd7zXZ"):
		return refuse("compressed", name, "xz")
	case is("\x28\xb5\x2f\xfd"):
		return refuse("compressed", name, "zstd")
	case is("BZh"):
		return refuse("compressed", name, "bzip2")
	case is("PK\x03\x04"):
		return refuse("compressed", name, "zip")
	case is("7z\xbc\xaf\x27\x1c"):
		return refuse("compressed", name, "7z")
	case is("\x89HDF"):
		return refuse("other-format", name, "an HDF5 file")
	case is("PAR1"):
		return refuse("other-format", name, "a Parquet file")
	case is("ARROW1"), is("\xff\xff\xff\xff"):
		return refuse("other-format", name, "an Arrow file")
	case is("version https://git-lfs"):
		return refuse("git-lfs", name)
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
