package app

import (
	"context"
	"errors"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/confine"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
)

// savedArg is the argument after [run.RunnerArg] that makes this binary read saved reports for [ReadSaved].
const savedArg = "--saved"

// savedFiles are saved reports, and with Benchmarks results of harnesses too.
type savedFiles struct {
	Files      []string
	Benchmarks bool
}

// savedFile is one of them: results of one process, or the JSON of a report as nsgate writes it.
type savedFile struct {
	Results *model.Session
	Report  string
}

// ReadSaved reads saved reports in a confined child, and with benchmarks results of harnesses too, and hands on one
// after the other.
func ReadSaved(ctx context.Context, files []string, benchmarks bool,
	each func(file string, results *model.Session, r *result.Report)) error {
	next := 0
	err := confine.Ask(ctx, []string{run.RunnerArg, savedArg}, confine.For(files...), savedFiles{files, benchmarks},
		savedFiles.read, func(x savedFile) (err error) {
			file, r := files[next], (*result.Report)(nil)
			if x.Results == nil {
				r, err = saved.Read(strings.NewReader(x.Report), file)
			}
			if err == nil {
				each(file, x.Results, r)
			}
			next++
			return err
		})
	if ended := (*confine.Ended)(nil); errors.As(err, &ended) {
		return ended.Refusal(files[min(next, len(files)-1)])
	}
	return err
}

// read sends what the files hold.
func (s savedFiles) read(send func(savedFile) error) error {
	for _, file := range s.Files {
		var x savedFile
		var err error
		if s.Benchmarks {
			x.Results, err = profile.Benchmarks(file)
		}
		if err == nil && x.Results == nil {
			x.Report, err = rewritten(file)
		}
		if err == nil {
			err = send(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewritten is the JSON of a saved report that is whole.
func rewritten(file string) (string, error) {
	f, err := input.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r, err := saved.Read(f, file)
	if err != nil {
		return "", err
	}
	return saved.JSON(saved.Lossless(r))
}
