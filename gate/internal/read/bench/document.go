package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// A file is read up to so many nested objects, lists or elements, keys of an object or columns of a table, rows of a
// table, and timed tests.
const deepest, mostKeys, mostRows, mostTests = 100, 5_000, 20_000, 2 * model.MostSubjects

// bound is the error of a file that is whole, and too large or ambiguous to be read.
type bound string

func (b bound) Error() string { return string(b) }

var (
	errDeep = bound(fmt.Sprintf("it nests deeper than %d", deepest))
	errCut  = errors.New("unexpected end of JSON input")
)

// document is a file as a value of JSON, which filters read: of several values in a file a list, of a table a list of
// objects, of XML the outermost element, of another text a string.
type document struct {
	value   any
	columns []any  // names of the columns of a table, in order
	comma   string // between the cells of a table
	form    string // "JSON", "XML" or ""
	// err says where the file does not have its form; value is what stands before.
	err  error
	line int // 0 for an unknown one
}

// parse reads a text, of a cut one what is whole.
func parse(text []byte) (d document) {
	text = bytes.TrimSpace(text)
	switch {
	case bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")):
		d.json(text)
	case bytes.HasPrefix(text, []byte("<")):
		d.xml(text)
	case !d.table(text):
		d.value = string(text)
	}
	return d
}

// refusal is that of a file that is damaged, or no table.
func (d *document) refusal(file string, f *format) error {
	if d.line > 0 {
		file = fmt.Sprintf("%s:%d", file, d.line)
	}
	if d.columns != nil {
		return model.Refuse(model.BadTable, again, "%s: %v", file, d.err)
	}
	return model.Refuse(model.Damaged, again, "%s: the %s is not that of %s: %v", file, d.form, f.name, d.err)
}

// Damaged is the refusal of a file, named as JSON, XML or CSV, that is empty, or is none of JSON or XML.
func Damaged(text []byte, file string) error {
	const next = "write it again, or remove it"
	text = bytes.TrimSpace(cells.Text(text))
	var d document
	switch {
	case len(text) == 0:
		return model.Refuse(model.EmptyFile, next, "%s is empty", file)
	case strings.EqualFold(filepath.Ext(file), ".xml"):
		if d.xml(text); d.err == nil && d.value == nil {
			d.err = errors.New("it has no element")
		}
	case !strings.EqualFold(filepath.Ext(file), ".csv"):
		d.json(text)
	}
	if _, large := d.err.(bound); d.err == nil || large {
		return nil
	}
	return model.Refuse(model.Damaged, next, "%s:%d: the %s cannot be read: %v", file, d.line, d.form, d.err)
}

// noNumber matches the texts of JSON, and the bare NaN and Infinity of Python, which are read as texts.
var noNumber = input.Pattern(`"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)`)

func (d *document) json(text []byte) {
	if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity")) {
		text = noNumber().ReplaceAllFunc(text, func(part []byte) []byte {
			if part[0] == '"' {
				return part
			}
			return fmt.Appendf(nil, "%q", part)
		})
	}
	r := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(!utf8.Valid(text) ||
		bytes.Contains(text, []byte(`\ud`))))
	var all []any
	for d.err == nil {
		var v any
		if d.err = json.UnmarshalDecode(r, &v); v != nil {
			all = append(all, v)
			d.err = cmp.Or(d.err, bounds(v, deepest))
		}
	}
	at, syntax, number := int(r.InputOffset()), (*jsontext.SyntacticError)(nil), (*json.SemanticError)(nil)
	switch {
	case d.err == io.EOF:
		d.err = nil
	case errors.Is(d.err, io.ErrUnexpectedEOF):
		d.err, at = errCut, len(text)
	case errors.As(d.err, &syntax):
		if d.err, at = syntax.Err, int(syntax.ByteOffset); d.err == jsontext.ErrDuplicateName {
			d.err = bound("it has two values of " + measure.Quote(syntax.JSONPointer.LastToken()))
		}
	case errors.As(d.err, &number):
		d.err, at = errors.New(string(number.JSONValue)+" is out of range"), int(number.ByteOffset)
	}
	d.form, d.line = "JSON", 1+bytes.Count(text[:min(at, len(text))], []byte("\n"))
	d.value = all
	if len(all) == 1 {
		d.value = all[0]
	}
}

// bounds is the error of a value that nests deeper than this, or has an object with too many keys.
func bounds(v any, depth int) error {
	var err error
	switch v := v.(type) {
	case map[string]any:
		if len(v) > mostKeys {
			err = bound(fmt.Sprintf("an object has more than %d keys", mostKeys))
		}
		for _, inner := range v {
			err = cmp.Or(err, bounds(inner, depth-1))
		}
	case []any:
		for _, inner := range v {
			err = cmp.Or(err, bounds(inner, depth-1))
		}
	default:
		return nil
	}
	return measure.Either(depth == 0, error(errDeep), err)
}

// table reads a text whose first line has several cells, and whose other lines have as many.
func (d *document) table(text []byte) bool {
	head, _, _ := bytes.Cut(text, []byte("\n"))
	in := csv.NewReader(bytes.NewReader(text))
	for _, comma := range "\t,;" {
		if bytes.ContainsRune(head, comma) {
			in.Comma = comma
		}
	}
	names, err := in.Read()
	if err != nil || len(names) < 2 {
		return false
	}
	if len(names) > mostKeys {
		d.err, d.line = fmt.Errorf("it has more than %d columns", mostKeys), 1
		names = names[:mostKeys]
	}
	d.comma, d.columns = string(in.Comma), measure.Map(names, func(name string) any { return name })
	if twice := len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names); twice {
		d.err, d.line = errors.New("two columns have one name"), 1
	}
	list := []any{}
	for d.err == nil {
		row, err := in.Read()
		var at *csv.ParseError
		switch {
		case err == io.EOF:
			d.value = list
			if in.Comma != ',' {
				points(list, names[0])
			}
			return true
		case errors.As(err, &at):
			d.err, d.line = at.Err, at.Line
		case len(list) == mostRows:
			d.err = fmt.Errorf("it has more than %d rows", mostRows)
		default:
			object := make(map[string]any, len(names))
			for i, name := range names {
				object[name] = row[i]
			}
			list = append(list, object)
		}
	}
	d.value = list
	return true
}

// points puts points in place of the decimal commas of a table behind its labels, where no number has a point, and some
// a comma that is none of thousands.
func points(rows []any, labels string) {
	commas, certain := []func(){}, false
	for _, row := range rows {
		for name, v := range row.(map[string]any) {
			text, _, _ := strings.Cut(strings.ToLower(v.(string)), "e")
			switch _, form := cells.Parse(text); {
			case name == labels:
			case form == cells.Foreign && strings.Trim(text, "-+0123456789") == ",", form == cells.ThreeAfterComma:
				certain = certain || form == cells.Foreign
				pointed := strings.Replace(v.(string), ",", ".", 1)
				commas = append(commas, func() { row.(map[string]any)[name] = pointed })
			case form != cells.NoNumber && form != cells.Whole:
				return
			}
		}
	}
	for i := 0; i < len(commas) && certain; i++ {
		commas[i]()
	}
}

func (d *document) xml(text []byte) {
	in := xml.NewDecoder(bytes.NewReader(text))
	in.CharsetReader = func(_ string, from io.Reader) (io.Reader, error) {
		if utf8.Valid(text) {
			return from, nil
		}
		rest, err := io.ReadAll(from)
		return bytes.NewReader(cells.Latin(rest)), err
	}
	type element = map[string]any
	timed, open := 0, []element{{"elements": []any{}}}
	for d.err == nil {
		token, err := in.Token()
		last := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			attributes := make(map[string]any, len(t.Attr))
			for _, a := range t.Attr {
				attributes[a.Name.Local] = a.Value
			}
			line, _ := in.InputPos()
			e := element{"line": line, "name": t.Name.Local, "attributes": attributes, "elements": []any{}}
			last["elements"] = append(last["elements"].([]any), e)
			open = append(open, e)
			if time, _ := attributes["time"].(string); strings.Trim(time, "0.") != "" {
				timed++
			}
			switch {
			case len(open) > deepest:
				err = errDeep
			case timed > mostTests:
				err = bound(fmt.Sprintf("it has more than %d tests", mostTests))
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if s := strings.TrimSpace(string(t)); s != "" && last["text"] == nil {
				last["text"] = s
			}
		}
		d.err = err
	}
	if d.form = "XML"; d.err == io.EOF {
		d.err = nil
	}
	d.line, _ = in.InputPos()
	if outer := open[0]["elements"].([]any); len(outer) > 0 {
		d.value = outer[0]
	}
}
