package baseline

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gocarina/gocsv"
)

// placed is a row with its file and line.
type placed struct {
	row   row
	cells cells
}

// table reads the rows of one file. Columns may stand in any order, but each must be there once, and no other.
func table(file string, text []byte) ([]placed, error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	line := 0
	for l := range bytes.Lines(text) {
		line++
		for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if bytes.HasPrefix(l, []byte(mark)) {
				return nil, fmt.Errorf("%s:%d: a merge conflict is not resolved, and rows of both sides are nothing that was measured; "+
					"take the file of one side whole, and record what was merged", file, line)
			}
		}
	}
	reader := csv.NewReader(bytes.NewReader(text))
	reader.ReuseRecord = true
	um, err := gocsv.NewUnmarshaller(reader, new(row))
	if err != nil {
		return nil, syntax(file, err)
	}
	sorted := slices.Sorted(slices.Values(um.Headers))
	for i := range sorted {
		if i > 0 && sorted[i] == sorted[i-1] {
			return nil, fmt.Errorf("%s:1: column %q is there twice; remove one", file, sorted[i])
		}
	}
	if len(um.MismatchedStructFields) > 0 {
		return nil, fmt.Errorf("%s:1: no column %q; restore the first line", file, um.MismatchedStructFields[0])
	}
	if len(um.MismatchedHeaders) > 0 {
		return nil, fmt.Errorf("%s:1: unknown column %q; remove it, or use the version of nsgate that wrote it", file, um.MismatchedHeaders[0])
	}
	rows := make([]placed, 0, line)
	for {
		cell, err := um.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, syntax(file, err)
		}
		line, _ := reader.FieldPos(0)
		rows = append(rows, placed{*cell.(*row), cells{file: file, line: line}})
	}
}

// syntax prefixes an error of the CSV reader with file and line.
func syntax(file string, err error) error {
	var pe *csv.ParseError
	switch {
	case errors.As(err, &pe):
		return fmt.Errorf("%s:%d: %w", file, pe.Line, pe.Err)
	case err == io.EOF:
		return fmt.Errorf("%s:1: the file is empty; restore it from version control, or remove the directory and record again", file)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// row is a row of a session's file. Every field is the text of its cell: gocsv maps columns to fields, and what a cell
// means is decided in one place below, since gocsv by itself reads an empty cell or a missing column as zero.
type row struct {
	Scope   string `csv:"scope"`
	Subject string `csv:"subject"`
	Key     string `csv:"key"`
	Value   string `csv:"value"`
	Unit    string `csv:"unit"`
	Role    string `csv:"role"`
	Note    string `csv:"note"`
}
