package baseline

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
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
		if slices.Contains([]string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}, string(l[:min(len(l), 7)])) {
			return line
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

// codeScope is that of rows about device code: the subject is the mangled name of a kernel, the key its architecture.
const codeScope = "code"

// codeForm is the value of such a row: registers, stack, spill, shared, constant, barriers, code and hash.
const codeForm = "%d %d %d %d %d %d %d %s"

func codeRows(kernels []devicecode.Kernel) []row {
	return measure.Map(kernels, func(k devicecode.Kernel) row {
		return row{Scope: codeScope, Subject: escape(k.Name), Key: escape(k.Arch), Note: escape(k.File),
			Value: fmt.Sprintf(codeForm, k.Registers, k.Stack, k.SpillStores, k.Shared, k.Constant, k.Barriers, k.Code,
				k.Hash)}
	})
}

func (r *row) kernel(c *cells) devicecode.Kernel {
	k := devicecode.Kernel{Name: parse(c, "subject", r.Subject, unescape), Arch: parse(c, "key", r.Key, unescape),
		File: parse(c, "note", r.Note, unescape)}
	if n, err := fmt.Sscanf(r.Value, codeForm, &k.Registers, &k.Stack, &k.SpillStores, &k.Shared, &k.Constant,
		&k.Barriers, &k.Code, &k.Hash); err != nil || n != 8 || len(strings.Fields(r.Value)) != 8 ||
		!codeHash().MatchString(k.Hash) {
		c.fail("value", "%q is no device code (seven numbers and a hash); restore the file from version control",
			r.Value)
	}
	return k
}

// operationScope is that of rows about operations of XLA: the subject is the short name of a kernel, the key its path,
// the note the file relative to the repository, the value the line, the role the function and the unit what is fused
// into it. The order is the program's.
const operationScope = "operation"

func operationRows(all []model.Operation) []row {
	return measure.Map(all, func(x model.Operation) row {
		return row{Scope: operationScope, Subject: escape(x.Kernel), Key: escape(x.Path), Value: strconv.Itoa(x.Line),
			Note: escape(x.File), Role: escape(x.Function), Unit: escape(x.Parts)}
	})
}

func (r *row) operation(c *cells) model.Operation {
	return model.Operation{Kernel: parse(c, "subject", r.Subject, unescape), Path: parse(c, "key", r.Key, unescape),
		File: parse(c, "note", r.Note, unescape), Line: parse(c, "value", r.Value, strconv.Atoi),
		Function: parse(c, "role", r.Role, unescape), Parts: parse(c, "unit", r.Unit, unescape)}
}

// codeHash is the form of a hash as [devicecode.Kernel] holds it.
var codeHash = input.Pattern(`^[0-9a-f]{16}$`)
