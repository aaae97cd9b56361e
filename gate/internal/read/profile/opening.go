package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
)

const mode = "--profile"

func init() { confine.Register(mode, question.read) }

// question is what the child reads: a path as [Tools.Open] takes it, the files of one recording, or the tables in an
// archive.
type question struct {
	Tools  Tools
	Path   string
	Files  []string
	Tables bool
}

// answer is the recording, or with Tool that another program has to be run.
type answer struct {
	Recording Recording
	Tool      bool
}

// errTool is the error of a reader in the child that has to run another program.
var errTool = errors.New("reading it takes another program")

// Open reads a profile of any format, a directory of them, a baseline or a saved report, in a confined child. Reports
// and archives that another program or this one has to unpack are exported here, and the export is read in the child.
// An error that is no *model.Refusal says that there is nothing to read: no such file, a baseline or report that is
// damaged.
func (t Tools) Open(ctx context.Context, path string) (*Recording, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w; name a recording, or a directory that holds some", err)
	}
	r := &Recording{}
	err := t.ask(ctx, question{Path: path}, r)
	if err == errTool {
		t.exports = true
		*r = Recording{}
		err = t.open(ctx, path, r)
	}
	if err != nil {
		return nil, err
	}
	r.Source = path
	r.Warnings = append(r.Warnings, model.Doubts(r.Traces)...)
	return r, r.pure()
}

// ask adds what a confined child reads. Where the child has to run another program the error is errTool.
func (t Tools) ask(ctx context.Context, q question, to *Recording) error {
	q.Tools, q.Tools.exports = t, false
	paths := append([]string{q.Path}, q.Files...)
	tool := false
	err := confine.Ask(ctx, mode, confine.For(paths...), q, func(a answer) error {
		to.Add(&a.Recording)
		tool = a.Tool
		return nil
	})
	if err == nil && tool {
		return errTool
	}
	return confine.Refused(err, paths[len(paths)-1])
}

func (q question) read(ctx context.Context, send func(answer) error) error {
	var a answer
	var err error
	switch {
	case q.Path != "":
		err = q.Tools.open(ctx, q.Path, &a.Recording)
	case q.Tables:
		err = readTables(ctx, q.Tools, q.Files, &a.Recording)
	default:
		err = q.Tools.openFile(ctx, q.Files, &a.Recording)
	}
	if errors.Is(err, errTool) {
		a, err = answer{Tool: true}, nil
	}
	if err != nil {
		return err
	}
	return send(a)
}

// openFile adds the files of one recording.
func (t Tools) openFile(ctx context.Context, files []string, to *Recording) error {
	f, err := t.formatOf(files[0])
	if err == nil && f == nil {
		err = cmp.Or(unknownResults(files[0]), damaged(files[0]))
		switch {
		case err == nil && ends(files[0], ".gz", ".xz", ".zst", ".bz2"):
			err = refuse(model.Compressed, unpack, "%s is compressed")(ctx, t, files, to)
		case err == nil:
			err = model.Refuse(model.OtherFormat, readable, "%s is no profile that nsgate knows", files[0])
		}
	}
	if err != nil {
		return err
	}
	reading <- struct{}{}
	defer func() { <-reading }()
	return f.readFiles(ctx, t, files, to)
}

// readFiles adds the files of one recording. Beside a report that takes another program the others are read in a child
// each.
func (f *Format) readFiles(ctx context.Context, t Tools, files []string, to *Recording) error {
	if t.exports && !f.exports {
		return t.ask(ctx, question{Files: files}, to)
	}
	return f.read(ctx, t, files, to)
}
