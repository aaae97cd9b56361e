package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nsgate/nsgate/gate"
)

// JSON writes the report without loss: [ReadJSON] gives it back, except that infinite numbers become unknown, invalid
// UTF-8 becomes U+FFFD and empty lists are written as [], never null.
func JSON(w io.Writer, r *gate.Report, _ Options) error {
	out := *r
	if out.Schema == "" {
		out.Schema = gate.Schema
	}
	out.Findings = slices.Clone(r.Findings)
	if out.Findings == nil {
		out.Findings = []gate.Finding{}
	}
	for i := range out.Findings {
		f := &out.Findings[i]
		f.BaseRuns, f.HeadRuns = list(f.BaseRuns), list(f.HeadRuns)
	}
	return writeJSON(w, "report", out)
}

// writeJSON writes a value for people and programs to read; what names it in an error.
func writeJSON(w io.Writer, what string, value any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // kernel names are full of angle brackets
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("cannot write the %s as JSON: %w", what, err)
	}
	// GitHub's runner obeys "##[command]" anywhere in a log line; inside a string the escaped form means the same.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("##["), []byte(`\u0023#[`)))
	return err
}

func list(runs []gate.Number) []gate.Number {
	if runs == nil {
		return []gate.Number{}
	}
	return runs
}

// Fields of a finding that must stand in a file: a number that is missing would be read as zero.
var required = []string{"base", "head", "change", "low", "high", "p", "mde", "share", "limit", "floor"}

// ReadJSON reads a report that [JSON] wrote; name stands for the file in errors. Fields that a later nsgate added are
// ignored. Anything else that is not a report of this schema is an error: another schema, trailing data, a verdict,
// outcome or number that is missing or unknown.
func ReadJSON(rd io.Reader, name string) (*gate.Report, error) {
	data, err := io.ReadAll(rd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var head struct {
		Schema   *string
		Findings []map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, syntax(name, data, err)
	}
	switch {
	case head.Schema == nil:
		return nil, fmt.Errorf("%s: no \"schema\": this is not a report; give a file written by --report json=FILE", name)
	case *head.Schema != gate.Schema:
		return nil, fmt.Errorf("%s: the schema is %q, this nsgate reads %q; use the nsgate that wrote the report, "+
			"or check again", name, *head.Schema, gate.Schema)
	}
	r := new(gate.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, syntax(name, data, err)
	}
	switch r.Verdict {
	case gate.Pass, gate.Fail, gate.NoVerdict:
	default:
		return nil, fmt.Errorf("%s: verdict %q is not pass, fail or no-verdict; check again to write the report anew",
			name, r.Verdict)
	}
	for i, f := range r.Findings {
		switch f.Outcome {
		case gate.Regressed, gate.Improved, gate.Unchanged, gate.Inconclusive, gate.Added, gate.Removed:
		default:
			return nil, fmt.Errorf("%s: finding %d has no known outcome (%q); check again to write the report anew",
				name, i+1, f.Outcome)
		}
		for _, key := range required {
			if _, ok := head.Findings[i][key]; !ok {
				return nil, fmt.Errorf("%s: finding %d has no %q; check again to write the report anew", name, i+1, key)
			}
		}
	}
	return r, nil
}

// syntax says at which line or field a file stops being a report.
func syntax(name string, data []byte, err error) error {
	offset := int64(len(data))
	var bad *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		err = errors.New("the file is empty")
	case errors.As(err, &bad):
		offset = bad.Offset
	case errors.As(err, &kind):
		// The offset of such an error may be relative to a part of the file.
		return fmt.Errorf("%s: not a report: %q cannot be a %s; give a file written by --report json=FILE",
			name, kind.Field, kind.Value)
	}
	line := 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
	return fmt.Errorf("%s:%d: not a JSON report: %w; give a file written by --report json=FILE", name, line, err)
}
