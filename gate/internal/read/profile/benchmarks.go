package profile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
)

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
	const mostFiles = 10_000 // bounds the files and directories of one run that are looked at
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
			if !d.Type().IsRegular() || t.Rows == "" && !ends(name, benchmarkSuffixes...) || t.rendered(name) {
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

const (
	orRemove = "measure it again, or remove it"
	mostText = 64 << 20 // bytes of a file that is looked through
)

// numbers matches the part of names that tells the runs of a series apart.
var numbers = input.Pattern(`[0-9]+`)

func series(path string) string { return numbers().ReplaceAllString(path, "0") }

// meant refuses files of no format that were meant as recordings, beside those that were found: one of their series,
// and one with the name of their format that is empty or cannot be parsed. Other files are none of a run.
func meant(found []entry, unknown []string) error {
	like, known := map[string]string{}, map[*Format]bool{}
	for _, e := range found {
		known[e.format] = true
		for _, file := range e.files {
			like[series(file)] = file
		}
	}
	for _, file := range unknown {
		other, ok := like[series(file)]
		for f := range known {
			ok = ok || slices.ContainsFunc(f.Suffixes, func(s string) bool { return ends(file, filepath.Ext(s)) })
		}
		if !ok {
			continue
		}
		if err := damaged(file); err != nil {
			return err
		}
		if other != "" {
			return model.Refuse(model.NoMeasurement, orRemove, "%s holds no measurement, and %s beside it does", file,
				filepath.Base(other))
		}
	}
	return nil
}

// damaged is the refusal of a file of JSON, packed or not, or of XML that is not whole, or of an empty table; nil for
// any other file, and for a larger one.
func damaged(file string) error {
	if !ends(file, ".json", ".jsonl", ".json.gz", ".xml", ".csv") {
		return nil
	}
	text, err := input.Read(file, mostText)
	if err != nil {
		return nil
	}
	if ends(file, ".gz") && len(text) > 0 {
		unpack, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(unpack, mostText))
		}
		if err != nil {
			return model.Refuse(model.Damaged, orRemove, "%s cannot be unpacked: %v", file, err)
		}
	}
	if len(text) == mostText {
		return nil
	}
	return bench.Damaged(text, file)
}

// sameEnds refuses a table that ends within a line, where another does not: its last number may be cut.
func sameEnds(found []entry) error {
	whole := map[bool]string{} // a file, by whether its last line has an end
	for _, e := range found {
		for _, file := range e.files {
			if !ends(file, ".csv") {
				continue
			}
			if text, err := input.Read(file, mostText); err == nil {
				whole[bytes.HasSuffix(text, []byte("\n"))] = file
			}
		}
	}
	if len(whole) < 2 {
		return nil
	}
	return model.Refuse(model.Truncated, orRemove, "%s ends within a line, unlike %s: its last number may be cut",
		whole[false], filepath.Base(whole[true]))
}
