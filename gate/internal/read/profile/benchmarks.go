package profile

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
)

// mostFiles bounds the files and directories of one run that are looked at.
const mostFiles = 10_000

// Benchmarks reads a file that a harness wrote in one process, or the rows that a filter gives of any file, nil for a
// report of nsgate. Others are refused.
func Benchmarks(file, rows string) (*model.Session, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil, model.Refuse(model.NoFile, "name the files in it", "%s is a directory", file)
	}
	f, err := Tools{Rows: rows}.formatOf(file)
	switch {
	case err != nil:
		return nil, err
	case f != nil && f.own || ends(file, ".html"):
		return nil, nil
	case f != nil && f.benchmarks:
		return bench.Open(rows, file)
	}
	return nil, cmp.Or(damaged(file), unknownResults(file), error(model.Refuse(model.OtherFormat,
		"name reports of nsgate, or results of the harnesses in `nsgate help benchmarks`",
		"%s is neither a saved report nor a result of a harness", file)))
}

// benchmarkRuns finds the results of harnesses in the directories of a directory: each is a run, and all the files
// below it are of its process. Links are not followed.
func (t Tools) benchmarkRuns(dir string) (runs []entry, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var unknown []string
	var full []entry // directories with results
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		run := entry{}
		seen := 0
		err := filepath.WalkDir(filepath.Join(dir, e.Name()), func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if seen++; seen > mostFiles {
				return model.Refuse(model.TooLarge, "name a directory that holds results only",
					"%s holds more than %d files", filepath.Join(dir, e.Name()), mostFiles)
			}
			// Criterion's earlier run, and its comparison
			if d.IsDir() && (d.Name() == "base" || d.Name() == "change") {
				return fs.SkipDir
			}
			if !d.Type().IsRegular() || t.Rows == "" && !ends(name, benchmarkSuffixes...) {
				return nil
			}
			format, err := t.formatOf(name)
			switch {
			case err == nil && format == nil:
				unknown = append(unknown, name)
			case err == nil && format.benchmarks:
				run.files, run.format = append(run.files, name), format
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		whole := filepath.Join(dir, e.Name())
		if len(run.files) > 0 {
			runs, full = append(runs, run), append(full, entry{[]string{whole}, run.format})
		} else {
			unknown = append(unknown, whole)
		}
	}
	if err := meant(slices.Concat(runs, full), unknown); err != nil {
		return nil, err
	}
	measure.Sort(runs, func(a, b entry) int { return slices.Compare(a.files, b.files) })
	return runs, nil
}

// unknownResults is the refusal of a file that seems to hold results, see [bench.Unknown].
func unknownResults(file string) error {
	text, err := input.Read(file, sniffed)
	if err != nil {
		return nil
	}
	return bench.Unknown(text, file)
}
