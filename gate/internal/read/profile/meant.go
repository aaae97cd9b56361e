package profile

import (
	"bytes"
	"compress/gzip"
	"io"
	"path/filepath"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
)

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
