package app

import (
	"context"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
)

const savedMode = "--saved"

func init() { confine.Register(savedMode, savedFiles.read) }

// savedFiles are saved reports, and with Benchmarks results of harnesses too, whose rows a filter of jq may give.
type savedFiles struct {
	Files      []string
	Benchmarks bool
	Rows       string
}

// savedFile is one of them: results of one process, or the JSON of a report as nsgate writes it.
type savedFile struct {
	Results *model.Session
	Report  string
}

// ReadSaved reads saved reports in a confined child, and with benchmarks results of harnesses too, whose rows a filter
// of the user may give, and hands on one after the other.
func ReadSaved(ctx context.Context, files []string, benchmarks bool, rows string,
	each func(file string, results *model.Session, r *result.Report)) error {
	next := 0
	asked := savedFiles{files, benchmarks, rows}
	err := confine.Ask(ctx, savedMode, confine.Report(files...), asked, func(x savedFile) (err error) {
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
	if err == nil {
		return nil
	}
	return confine.Refused(err, files[min(next, len(files)-1)])
}

// read sends what the files hold.
func (s savedFiles) read(_ context.Context, send func(savedFile) error) error {
	for _, file := range s.Files {
		var x savedFile
		var err error
		if s.Benchmarks {
			x.Results, err = profile.Benchmarks(file, s.Rows)
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
