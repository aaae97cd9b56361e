// Package sqlitepage reads a SQLite database straight from its pages: schema, columns and rows, with texts in UTF-8. It
// runs no SQL, so nothing in the file is more than data. A page that breaks the rules of
// https://www.sqlite.org/fileformat2.html ends the reading with an error: a row is never left out in silence.
package sqlitepage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// ErrTruncated is the error for a file that is shorter than its header says.
var ErrTruncated = errors.New("truncated")

// Unsupported is the error for a database or table that may be sound, but is not of the kind that this package reads.
type Unsupported struct{ What string }

func (u *Unsupported) Error() string { return u.What }

// malformed is the error for a page that SQLite did not write so.
func malformed(page uint32, format string, args ...any) error {
	return fmt.Errorf("page %d: %s", page, fmt.Sprintf(format, args...))
}

// File is an open database file. Several goroutines may read it at the same time.
type File struct {
	f        *os.File
	pageSize int
	usable   int    // bytes of a page that hold content: extensions may reserve some at its end
	pages    uint32 // numbered from 1
	schema   []entry
}

const header = 100 // bytes, at the begin of the first page

// Open opens a database file and reads its schema. Changes in a journal or a write-ahead log beside it are not seen.
func Open(ctx context.Context, path string) (*File, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	file := &File{f: f}
	if err = file.readHeader(); err == nil {
		err = file.readSchema(ctx)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

func (f *File) readHeader() error {
	head := make([]byte, header)
	if _, err := f.f.ReadAt(head, 0); err != nil {
		return err
	}
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	f.pageSize = int(binary.BigEndian.Uint16(head[16:]))
	if f.pageSize == 1 {
		f.pageSize = 1 << 16
	}
	f.usable = f.pageSize - int(head[20])
	if !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) || f.pageSize < 512 || f.pageSize&(f.pageSize-1) != 0 ||
		f.usable < 480 {
		return malformed(1, "its header is not that of a database")
	}
	inFile := info.Size() / int64(f.pageSize)
	if inFile > 1<<32-2 {
		return malformed(1, "the file has %d pages", inFile)
	}
	f.pages = uint32(inFile)
	// The count in the header holds only if the program that last wrote the file kept it.
	if n := binary.BigEndian.Uint32(head[28:]); n > 0 && bytes.Equal(head[24:28], head[92:96]) {
		if n > f.pages {
			return fmt.Errorf("%w: %d bytes of %d", ErrTruncated, info.Size(), int64(n)*int64(f.pageSize))
		}
		f.pages = n
	}
	if version := head[19]; version != 1 && version != 2 || !bytes.Equal(head[21:24], []byte{64, 32, 32}) ||
		binary.BigEndian.Uint32(head[44:]) > 4 {
		return malformed(1, "its header is that of another version of the format")
	}
	switch encoding := binary.BigEndian.Uint32(head[56:]); encoding {
	case 0, 1: // none yet, UTF-8
	case 2, 3:
		return &Unsupported{"its text is in UTF-16"}
	default:
		return malformed(1, "an unknown encoding of text, %d", encoding)
	}
	return nil
}

// read reads n consecutive pages into a buffer that it may reuse.
func (f *File) read(buffer []byte, page uint32, n int) ([]byte, error) {
	if page < 1 || uint64(page)+uint64(n)-1 > uint64(f.pages) {
		return nil, malformed(page, "there is no such page")
	}
	if cap(buffer) < n*f.pageSize {
		buffer = make([]byte, n*f.pageSize)
	}
	buffer = buffer[:n*f.pageSize]
	if _, err := f.f.ReadAt(buffer, int64(page-1)*int64(f.pageSize)); err != nil {
		return nil, malformed(page, "it cannot be read: %v", err)
	}
	return buffer, nil
}

// varint reads a number of one to nine bytes; n is 0 if b ends inside it.
func varint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	for i := 0; i < 8 && i < len(b); i++ {
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return v<<8 | uint64(b[8]), 9
}
