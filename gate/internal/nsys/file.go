package nsys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

const (
	magic        = "SQLite format 3\x00"
	journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	header       = 100 // bytes
)

// state is the part of a file's metadata that changes when a program writes to it.
type state struct {
	size     int64
	modified time.Time
	counter  [4]byte // SQLite's own count of changes
}

// inspect reads the first bytes of a file and refuses one that is not a SQLite database, is truncated or still being written.
// It gives the state of the file and the size of its pages in bytes.
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
		return s, 0, model.Refuse(model.EmptyFile, exportAgain, "%s is empty", name)
	case !bytes.HasPrefix(head, []byte(magic)):
		return s, 0, refuseFormat(name, head)
	case len(head) < header:
		return s, 0, model.Refuse(model.Truncated, exportAgain, "%s is truncated: %s", name, "it ends inside the header of the SQLite database")
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
		return s, 0, model.Refuse(model.Truncated, exportAgain, "%s is truncated: %s", name, fmt.Sprintf("%d bytes of %d", s.size, pages))
	}
	if sign := unfinished(file, name, f); sign != "" {
		return s, 0, model.Refuse(model.BeingWritten, "wait until the export has ended, close the program that has the file open, or export the report again",
			"%s is being written: %s", name, sign)
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

// changed reports whether a file changed while it was read.
func changed(file string, before state) bool {
	f, err := os.Open(file)
	if err != nil {
		return true
	}
	defer f.Close()
	after, _, err := look(f)
	return err != nil || after.size != before.size || !after.modified.Equal(before.modified) || after.counter != before.counter
}

// unfinished gives the sign by which another program writes to the database, "" for none.
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

// formats lists the other kinds of files by their first bytes, with their refusals.
var formats = []struct {
	magic      string
	kind       model.Kind
	next, what string
}{
	{"NVIDIA Tegra Profiler Report", model.OtherFormat, "name it with the suffix .nsys-rep, or export it with `nsys export --type sqlite`", "an nsys report, not its SQLite export"},
	{"NVR\x00", model.OtherFormat, "record the workload with nsys", "a report of Nsight Compute (ncu)"},
	{"version https://git-lfs", model.GitLFS, "fetch it with `git lfs pull`", "a Git LFS pointer, not the file itself"},
	{"\x1f\x8b", model.Compressed, "decompress it first", "compressed (gzip)"},
	{"\xfd7zXZ", model.Compressed, "decompress it first", "compressed (xz)"},
	{"\x28\xb5\x2f\xfd", model.Compressed, "decompress it first", "compressed (zstd)"},
	{"BZh", model.Compressed, "decompress it first", "compressed (bzip2)"},
	{"PK\x03\x04", model.Compressed, "decompress it first", "compressed (zip)"},
	{"7z\xbc\xaf\x27\x1c", model.Compressed, "decompress it first", "compressed (7z)"},
	{"\x89HDF", model.OtherFormat, exportAgain, "an HDF5 file, not a SQLite export of nsys"},
	{"PAR1", model.OtherFormat, exportAgain, "a Parquet file, not a SQLite export of nsys"},
	{"ARROW1", model.OtherFormat, exportAgain, "an Arrow file, not a SQLite export of nsys"},
	{"\xff\xff\xff\xff", model.OtherFormat, exportAgain, "an Arrow file, not a SQLite export of nsys"},
}

var page = input.Pattern(`(?i)^<(!doctype html|html|head|body|\?xml)`)

// refuseFormat refuses a file that is not a SQLite database, and says which kind of file it seems to be.
func refuseFormat(name string, head []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return model.Refuse(f.kind, f.next, "%s is %s", name, f.what)
		}
	}
	switch {
	case bytes.HasPrefix([]byte(magic), head):
		return model.Refuse(model.Truncated, exportAgain, "%s is truncated: %s", name, "it ends inside the header of the SQLite database")
	case page().Match(text):
		return model.Refuse(model.OtherFormat, "download the file itself: where a site shows it, by its raw or download link",
			"%s is a web page, not the file itself", name)
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		return model.Refuse(model.OtherFormat, exportAgain, "%s is %s, not a SQLite export of nsys", name, "JSON")
	case len(bytes.Trim(head, "\x00")) == 0:
		return model.Refuse(model.EmptyFile, exportAgain,
			"%s begins with zeros only: it was not written to its end", name)
	case !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' && r != '\n' && r != '\f' }):
		return model.Refuse(model.OtherFormat, exportAgain, "%s is %s, not a SQLite export of nsys", name, "text")
	}
	return model.Refuse(model.OtherFormat, exportAgain, "%s is %s, not a SQLite export of nsys", name, "a file of another kind")
}
