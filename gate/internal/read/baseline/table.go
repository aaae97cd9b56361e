package baseline

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

type placed struct {
	row   row
	cells cells
}

// conflict is the line of the first mark of a merge conflict, 0 for none.
func conflict(text []byte) int {
	line := 0
	for l := range bytes.Lines(text) {
		line++
		for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if bytes.HasPrefix(l, []byte(mark)) {
				return line
			}
		}
	}
	return 0
}

// table reads the rows of one file, whose columns are those of [row].
func table(file string, text []byte) ([]placed, error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	reader := csv.NewReader(bytes.NewReader(text))
	reader.ReuseRecord = true
	titles, err := reader.Read()
	if err != nil {
		return nil, syntax(file, err)
	}
	if want := []string{"scope", "subject", "key", "value", "unit", "role", "note"}; !slices.Equal(titles, want) {
		return nil, fmt.Errorf("%s:1: the columns are not %s; use the version of nsgate that wrote it", file,
			strings.Join(want, ", "))
	}
	rows := make([]placed, 0, min(maxRows, bytes.Count(text, []byte("\n"))))
	for {
		cell, err := reader.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, syntax(file, err)
		}
		line, _ := reader.FieldPos(0)
		if len(rows) == maxRows {
			return nil,
				fmt.Errorf("%s:%d: the file holds more than %d rows, the most that is read; restore it from version "+
					"control, or record fewer kernels", file, line, maxRows)
		}
		r := row{cell[0], cell[1], cell[2], cell[3], cell[4], cell[5], cell[6]}
		rows = append(rows, placed{r, cells{file: file, line: line}})
	}
}

func syntax(file string, err error) error {
	var pe *csv.ParseError
	switch {
	case errors.As(err, &pe):
		return fmt.Errorf("%s:%d: %w", file, pe.Line, pe.Err)
	case err == io.EOF:
		return fmt.Errorf("%s:1: the file is empty; restore it from version control, or remove the directory and "+
			"record again", file)
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
