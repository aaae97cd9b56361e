package nsys

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

const (
	magic        = "SQLite format 3\x00"
	journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	header       = 100 // bytes
)

// state is the part of a file's metadata that changes when a program writes to it.
type state struct {
	size, modified int64
	counter        [4]byte // SQLite's own count of changes
}

// inspect reads the first bytes of a file and refuses one that is not a SQLite database or still being written.
func inspect(file, name string) (s state, err error) {
	f, err := input.Open(file)
	if err != nil {
		return s, err
	}
	defer f.Close()
	s, head, err := look(f)
	switch {
	case err != nil:
		return s, fmt.Errorf("%s: %w", name, err)
	case len(head) == 0:
		return s, model.Refuse(model.EmptyFile, exportAgain, "%s is empty", name)
	case !bytes.HasPrefix(head, []byte(magic)) || len(head) < header:
		return s, refuseFormat(name, head)
	}
	if sign, next := unfinished(file, name, f); sign != "" {
		return s, model.Refuse(model.BeingWritten, next, "%s is being written: %s", name, sign)
	}
	return s, nil
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
	s = state{size: info.Size(), modified: info.ModTime().UnixNano()}
	if n >= header {
		copy(s.counter[:], head[24:28])
	}
	return s, head, nil
}

func changed(file string, before state) bool {
	f, err := input.Open(file)
	if err != nil {
		return true
	}
	defer f.Close()
	after, _, err := look(f)
	return err != nil || after != before
}

// unfinished gives the sign of another program writing to the database, "" for none, and the next step.
func unfinished(file, name string, f *os.File) (sign, next string) {
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return "unfinished changes lie in " + name + "-wal", "close the program that has the file open, merge them " +
			"with `sqlite3 FILE 'PRAGMA wal_checkpoint'`, or export the report again"
	}
	if journal, err := input.Open(file + "-journal"); err == nil {
		defer journal.Close()
		// A journal that was used and is kept begins with zeros.
		first := make([]byte, len(journalMagic))
		if n, _ := io.ReadFull(journal, first); n > 0 && first[0] != 0 {
			return "unfinished changes lie in " + name + "-journal", untilWritten
		}
	}
	if lockedForWriting(f) {
		return "another program holds a lock to write to it", untilWritten
	}
	return "", ""
}

var formats = []struct{ magic, next, what string }{
	{"NVIDIA Tegra Profiler Report", "name it with the suffix .nsys-rep, or export it with `nsys export --type sqlite`",
		"an nsys report, not its SQLite export"},
	{"\x89HDF", exportAgain, "an HDF5 file, not a SQLite export of nsys"},
	{"PAR1", exportAgain, "a Parquet file, not a SQLite export of nsys"},
	{"ARROW1", exportAgain, "an Arrow file, not a SQLite export of nsys"},
	{"\xff\xff\xff\xff", exportAgain, "an Arrow file, not a SQLite export of nsys"},
}

// compressed are the first bytes of files of gzip, xz, zstd, bzip2, zip and 7z.
var compressed = []string{"\x1f\x8b", "\xfd7zXZ", "\x28\xb5\x2f\xfd", "BZh", "PK\x03\x04", "7z\xbc\xaf\x27\x1c"}

var page = input.Pattern(`(?i)^<(!doctype html|html|head|body|\?xml)`)

// refuseFormat refuses a file that is not a SQLite database, and says which kind of file it seems to be.
func refuseFormat(name string, head []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return model.Refuse(model.OtherFormat, f.next, "%s is %s", name, f.what)
		}
	}
	switch {
	case slices.ContainsFunc(compressed, func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }):
		return model.Refuse(model.Compressed, "decompress it first", "%s is compressed", name)
	case bytes.HasPrefix([]byte(magic), head[:min(len(head), len(magic))]):
		return model.Refuse(model.Truncated, exportAgain,
			"%s is truncated: it ends inside the header of the SQLite database", name)
	case page().Match(text):
		return model.Refuse(model.OtherFormat,
			"download the file itself: where a site shows it, by its raw or download link",
			"%s is a web page, not the file itself", name)
	case len(bytes.Trim(head, "\x00")) == 0:
		return model.Refuse(model.EmptyFile, exportAgain,
			"%s begins with zeros only: it was not written to its end", name)
	}
	return model.Refuse(model.OtherFormat, exportAgain, "%s is no SQLite export of nsys", name)
}

// payloads puts the payloads of NVTX ranges into an export: the messages of NCCL, the stacks of Python.
const payloads = "--include-json=true"

// ExportArgs are the arguments of nsys in [Export].
func ExportArgs(report, output string) []string {
	return []string{"export", "--type", "sqlite", "-f", "true", "-q", "true", "--tables=" + strings.Join(exported, ","),
		payloads, "-o", output, report}
}

// Export turns a report (.nsys-rep) into a SQLite export of the tables that [Read] needs, and returns the export's
// path, a new file in dir, which must be private to the user: a report holds environment variables. nsys is a path or a
// name looked up in PATH. Where it is missing or fails, the error is a *model.Refusal and no file is left; when ctx
// ends, nsys and its children are killed.
func Export(ctx context.Context, nsys, report, dir string) (string, error) {
	name := filepath.Base(report)
	by, err := writtenBy(report)
	if err != nil {
		return "", err
	}
	program, err := exec.LookPath(nsys)
	if err != nil {
		return "", model.Refuse(model.NoProfiler, "export it yourself with `nsys export --type sqlite`, or install "+
			"nsys, of that release or a newer one (the package nsight-systems-cli of NVIDIA's apt repository), or say "+
			"where it is", "%s%s cannot be read: %s", name, by, proc.Missing(nsys, err))
	}
	f, err := output.Temporary(dir, strings.TrimSuffix(name, filepath.Ext(name))+"-*.sqlite")
	if err != nil {
		return "", err
	}
	f.Close()
	output := f.Name()
	var stdout, stderr proc.Output
	args := ExportArgs(report, output)
	// Files that nsys writes on the way are as private as the report.
	err = proc.Run(ctx, dir, &stdout, &stderr, program, args...)
	if said := stderr.String() + stdout.String(); err != nil &&
		strings.Contains(said, strings.TrimLeft(strings.TrimSuffix(payloads, "=true"), "-")) {
		// An nsys that does not know them names the option.
		stdout, stderr = proc.Output{}, proc.Output{}
		err = proc.Run(ctx, dir, &stdout, &stderr, program,
			slices.DeleteFunc(args, func(a string) bool { return a == payloads })...)
	}
	if err == nil {
		if info, stat := os.Stat(output); stat == nil && info.Size() > 0 {
			return output, nil
		}
		err = errors.New("it wrote no export")
	}
	os.Remove(output)
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: the export was interrupted: %w", name, ctx.Err())
	}
	kind, next := model.ExportFailed,
		"the report is damaged or was written by a newer nsys: record it again, or use the nsys of that release "+
			"(the package nsight-systems-cli of NVIDIA's apt repository)"
	for _, x := range exportFailures {
		if x.text().MatchString(stderr.String() + stdout.String()) {
			kind, next = x.kind, x.next
			break
		}
	}
	return "", model.Refuse(kind, next, "nsys could not export %s%s: %s", name, by,
		cmp.Or(proc.Said(stderr.String(), stdout.String()), err.Error()))
}

// written is the first line of a report: the release and build of the nsys that wrote it.
var written = input.Pattern(`^NVIDIA Tegra Profiler Report (20\d\d)@(\d+)@(\d+)@`)

// writtenBy names the nsys that wrote a report, "" if unknown.
func writtenBy(report string) (string, error) {
	f, err := input.Open(report)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, head, err := look(f)
	if err != nil {
		return "", err
	}
	m := written().FindSubmatch(head)
	if m == nil {
		return "", nil
	}
	return fmt.Sprintf(" (nsys %s.%s.%s wrote it)", m[1], m[2], m[3]), nil
}

var exportFailures = []struct {
	text func() *regexp.Regexp
	kind model.Kind
	next string
}{
	{input.Pattern("magic number mismatch"), model.Truncated,
		"the report is truncated or no report of nsys: record the workload again"},
	{input.Pattern("unrecogni[sz]ed option"), model.OldNsys,
		"this nsys cannot export single tables: update it to 2024.2 or later"},
	{input.Pattern("No space left"), model.NoRoom, "make room on the disk and try again"},
}
