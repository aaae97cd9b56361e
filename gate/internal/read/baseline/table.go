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

// placed is a row and its line.
type placed struct {
	row
	line int
}

// titles are the names of the columns of [row].
var titles = []string{"scope", "subject", "key", "value", "unit", "role", "note"}

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

// table reads the rows of one file, whose columns are those of [row]. Lines are split without encoding/csv, up to the
// first that [split] cannot. The rows are put into the memory of others, which may be none.
func table(file string, text []byte, memory []placed) ([]placed, error) {
	rest := string(bytes.TrimPrefix(text, []byte("\uFEFF")))
	rows, lines := slices.Grow(memory[:0], min(maxRows, strings.Count(rest, "\n"))), 0
	titled := false
	add := func(cell []string, line int) error {
		switch {
		case !titled && slices.Equal(cell, titles):
			titled = true
			return nil
		case !titled:
			return fmt.Errorf("%s:1: the columns are not %s; use the version of nsgate that wrote it", file,
				strings.Join(titles, ", "))
		case len(rows) == maxRows:
			return fmt.Errorf("%s:%d: the file holds more than %d rows, the most that is read; restore it from "+
				"version control, or record fewer kernels", file, line, maxRows)
		}
		rows = append(rows, placed{row{cell[0], cell[1], cell[2], cell[3], cell[4], cell[5], cell[6]}, line})
		return nil
	}
	cells := make([]string, len(titles))
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		if !split(strings.TrimSuffix(line, "\r"), cells) {
			break
		}
		lines, rest = lines+1, after
		if err := add(cells, lines); err != nil {
			return nil, err
		}
	}
	if rest == "" && titled {
		return rows, nil
	}
	reader := csv.NewReader(strings.NewReader(rest))
	reader.ReuseRecord = true
	reader.FieldsPerRecord = len(titles) * min(lines, 1)
	for {
		cell, err := reader.Read()
		if err == io.EOF && titled {
			return rows, nil
		}
		if err != nil {
			return nil, syntax(file, lines, err)
		}
		line, _ := reader.FieldPos(0)
		if err := add(cell, lines+line); err != nil {
			return nil, err
		}
	}
}

// split cuts a line into cells; false where it has another number of them, or quotes that encoding/csv must judge.
func split(line string, cells []string) bool {
	for i := range cells {
		if quoted, is := strings.CutPrefix(line, `"`); is {
			end := strings.Index(quoted, `",`)
			if end < 0 && strings.HasSuffix(quoted, `"`) {
				end = len(quoted) - 1
			}
			if end < 0 || strings.Contains(strings.ReplaceAll(quoted[:end], `""`, ""), `"`) {
				return false
			}
			cells[i], line = strings.ReplaceAll(quoted[:end], `""`, `"`), quoted[end+1:]
		} else {
			end := strings.IndexByte(line, ',')
			if end < 0 {
				end = len(line)
			}
			cells[i], line = line[:end], line[end:]
			if strings.IndexByte(cells[i], '"') >= 0 {
				return false
			}
		}
		var more bool
		line, more = strings.CutPrefix(line, ",")
		if more == (i == len(cells)-1) {
			return false
		}
	}
	return line == ""
}

// syntax is an error of encoding/csv in a file behind so many lines.
func syntax(file string, lines int, err error) error {
	var pe *csv.ParseError
	switch {
	case errors.As(err, &pe):
		return fmt.Errorf("%s:%d: %w", file, lines+pe.Line, pe.Err)
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
