package profile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// Format is one kind of file that a recording comes in.
type Format struct {
	// Name is the name of the format, as the manual lists it.
	Name string
	// Suffixes end the names of such files. Where they are certain, a file of that name is of this format unless its
	// content is that of another.
	Suffixes []string
	// Needs is the program that reading takes, "" for none.
	Needs string
	// Gives names the measurements that it holds, "" for a format that is refused.
	Gives string

	certain bool
	// sniff reports from the first bytes of a file whether it is of this format; nil if only the name tells.
	sniff func(name string, head []byte) bool
	// begins are texts of a line that begins a table of this format, or replaces it in the program's output. Such a
	// line is looked for behind the output of the workload; none where the file begins as the format does.
	begins []string
	// read adds the content of the files of one recording, most often one file, or refuses it.
	read reader
	// exports is true for a format whose reader may run a program or unpack files, and asks a child to read these.
	exports bool
	// own is true for files that nsgate itself wrote.
	own bool
	// benchmarks is true for results of a benchmark harness; a run may have several.
	benchmarks bool
}

type reader func(ctx context.Context, t Tools, files []string, to *Recording) error

// refuse is the reader of a format that is not read; format is its sentence, with a verb in place of the file's name.
func refuse(kind model.Kind, next, format string) reader {
	return func(_ context.Context, _ Tools, files []string, _ *Recording) error {
		if err := damaged(files[0]); model.KindOf(err) == model.EmptyFile {
			return err
		}
		return model.Refuse(kind, next, format, files[0])
	}
}

// Formats lists the formats that can be read.
func Formats() []Format {
	return measure.Where(formats, func(f Format) bool { return f.Gives != "" })
}

const (
	// sniffed is the number of leading bytes that decide the format of a file.
	sniffed = 64 << 10
	// furthest is how much output of the workload may stand before a table.
	furthest = 256 << 20
	// mostSeeming is the largest number of lines that seem to begin a table and do not: reading them takes time.
	mostSeeming = 10_000
)

// formatOf finds the format of a file, nil if unknown. With a filter of the user, other files than recordings are
// benchmark files.
func (t Tools) formatOf(file string) (*Format, error) {
	f, err := formatOf(file)
	if err == nil && t.Rows != "" && (f == nil || f.benchmarks) {
		f = &formats[slices.IndexFunc(formats, func(f Format) bool { return f.benchmarks })]
	}
	return f, err
}

// formatOf finds the format of a file by its content and name, nil if unknown.
func formatOf(file string) (*Format, error) {
	f, err := input.Open(file)
	if errors.Is(err, input.ErrNoFile) {
		return nil, model.Refuse(model.NoFile, "name a profile or a directory of profiles", "%s is not a file", file)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	head = head[:n]
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	name := filepath.Base(file)
	for i := range formats {
		if f := &formats[i]; f.sniff != nil && f.sniff(name, head) {
			return f, nil
		}
	}
	if f := formatNamed(name); f != nil || len(head) < sniffed {
		return f, nil
	}
	return formatBehind(name, io.LimitReader(io.MultiReader(bytes.NewReader(head), f), furthest))
}

// formatBehind is the format of the first table behind text, such as output of the workload; nil for none, and for
// a binary file.
func formatBehind(name string, r io.Reader) (*Format, error) {
	in := bufio.NewReaderSize(cells.UTF8(r), sniffed)
	for seeming := 0; seeming < mostSeeming; {
		line, err := cells.Line(in)
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case strings.ContainsRune(line, 0):
			return nil, nil
		}
		for i := range formats {
			f := &formats[i]
			if !slices.ContainsFunc(f.begins, func(s string) bool { return strings.Contains(line, s) }) {
				continue
			}
			if f.sniff(name, []byte(line)) {
				return f, nil
			}
			seeming++
		}
		if err == io.EOF {
			break
		}
	}
	return nil, nil
}

// formatNamed is the format that the name of a file decides, nil for none.
func formatNamed(name string) *Format {
	return measure.First(formats, func(f *Format) bool { return f.certain && ends(name, f.Suffixes...) })
}

// reading bounds the number of files that are read at the same time, and with it the memory of readers.
var reading = make(chan struct{}, runtime.GOMAXPROCS(0))

func opened(file string, use func(*os.File) error) error {
	f, err := input.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return use(f)
}

func ends(name string, suffixes ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
