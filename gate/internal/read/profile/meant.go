package profile

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
)

// numbers matches the part of names that tells the runs of a series apart.
var numbers = regexp.MustCompile(`[0-9]+`)

func series(path string) string { return numbers.ReplaceAllString(path, "0") }

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
			return model.Refuse(model.OtherFormat, "measure it again, or remove it",
				"%s is no profile that nsgate knows, and %s beside it is one", file, filepath.Base(other))
		}
	}
	return nil
}

// damaged is the refusal of a file of JSON, packed or not, or of XML that is not whole, or of an empty table; nil for
// any other file.
func damaged(file string) error {
	const largest = 64 << 20 // bytes
	if !ends(file, ".json", ".jsonl", ".json.gz", ".xml", ".csv") {
		return nil
	}
	text, err := input.Read(file, largest)
	if err != nil {
		return nil // it is larger
	}
	if ends(file, ".gz") && len(text) > 0 {
		unpack, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(unpack, largest))
		}
		if err != nil {
			return model.Refuse(model.Damaged, "write it again, or remove it", "%s cannot be unpacked: %v", file, err)
		}
		if len(text) == largest {
			return nil
		}
	}
	return bench.Damaged(text, file)
}

// sameEnds refuses a table that ends within a line, where another does not: its last number may be cut.
func sameEnds(found []entry) error {
	var whole, cut string
	for _, e := range found {
		for _, file := range e.files {
			if !ends(file, ".csv") {
				continue
			}
			err := opened(file, func(f *os.File) error {
				last := []byte{'\n'}
				if _, err := f.Seek(-1, io.SeekEnd); err != nil {
					return err
				}
				_, err := f.Read(last)
				if last[0] == '\n' {
					whole = file
				} else {
					cut = file
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	if whole == "" || cut == "" {
		return nil
	}
	return model.Refuse(model.Truncated, "write it again, or remove it",
		"%s ends within a line, unlike %s: its last number may be cut", cut, filepath.Base(whole))
}
