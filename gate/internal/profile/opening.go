package profile

import (
	"context"
	"errors"
	"os"

	"github.com/nsgate/nsgate/gate/internal/confine"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Arg is the argument after [proc.HiddenArg] that makes this binary the child that reads for [Tools.Open].
const Arg = "--profile"

// question is what the child reads: a path as [Tools.Open] takes it, or the files of one recording.
type question struct {
	Tools Tools
	Path  string
	Kind  kind
	Files []string
}

// answer is the recording, or with Tool that another program has to be run.
type answer struct {
	Recording Recording
	Tool      bool
}

// kind says how files are read: by their format, as an export, or as the tables in an archive.
type kind string

const (
	byFormat kind = ""
	export   kind = "export"
	tables   kind = "tables"
)

// errTool is the error of a reader in the child that has to run another program.
var errTool = errors.New("reading it takes another program")

// Open reads a profile of any format, a directory of them, a baseline or a saved report, in a confined child. Reports and
// archives that another program or this one has to unpack are exported here, and the export is read in the child. An
// error that is no *model.Refusal says that there is nothing to read: no such file, a baseline or report that is
// damaged.
func (t Tools) Open(ctx context.Context, path string) (*Recording, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	r, err := &Recording{}, errTool
	if !takesTool(path) {
		err = t.ask(ctx, question{Path: path}, r)
	}
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
	err := confine.Ask(ctx, []string{proc.HiddenArg, Arg}, confine.For(paths...), q, answers,
		func(a answer) error {
			to.Add(&a.Recording)
			tool = a.Tool
			return nil
		})
	if ended := (*confine.Ended)(nil); errors.As(err, &ended) {
		return ended.Refusal(paths[len(paths)-1])
	}
	if err == nil && tool {
		return errTool
	}
	return err
}

// answers is question.read: formats are read by functions that ask for other formats, which an initialisation cannot
// refer to.
var answers func(q question, send func(answer) error) error

func init() { answers = question.read }

// Answer is the child that [Tools.Open] asks.
func Answer() int { return confine.Answer(question.read) }

func (q question) read(send func(answer) error) error {
	var a answer
	var err error
	switch {
	case q.Path != "":
		err = q.Tools.open(context.Background(), q.Path, &a.Recording)
	case q.Kind == export:
		err = readExport(context.Background(), q.Tools, q.Files, &a.Recording)
	case q.Kind == tables:
		err = readTables(context.Background(), q.Tools, q.Files, &a.Recording)
	default:
		err = q.Tools.openFile(context.Background(), q.Files, &a.Recording)
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
	f, err := formatOf(files[0])
	if err == nil && f == nil {
		if err = unknownResults(files[0]); err == nil {
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

// readFiles adds the files of one recording. Beside a report that takes another program the others are read in a child each.
func (f *Format) readFiles(ctx context.Context, t Tools, files []string, to *Recording) error {
	if !t.exports || f.exports {
		return f.read(ctx, t, files, to)
	}
	return t.ask(ctx, question{Files: files}, to)
}
