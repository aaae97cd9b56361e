// Package saved holds reports in files: written as JSON, packed into a page, read back and checked.
package saved

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// longest is the size in bytes up to which JSON is indented: half of a long report would be blanks.
const longest = 256 << 10

// JSON writes a value for people and programs to read, a long one on one line.
func JSON(value any) (string, error) {
	var b, indented bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // kernel names are full of angle brackets
	err := enc.Encode(value)
	if err != nil || b.Len() > longest {
		return b.String(), err
	}
	err = json.Indent(&indented, b.Bytes(), "", "  ")
	return indented.String(), err
}

// Lossless is a copy that [JSON] writes without loss: [Read] gives it back, except that infinite numbers become
// unknown, invalid UTF-8 becomes U+FFFD and empty lists are written as [], never null.
func Lossless(r *result.Report) *result.Report {
	out := *r
	out.Schema = cmp.Or(out.Schema, result.Schema)
	out.Findings = append(result.Findings{}, out.Findings...)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.BaseRuns, f.HeadRuns = append([]result.Number{}, f.BaseRuns...), append([]result.Number{}, f.HeadRuns...)
	}
	out.Workloads = measure.Map(r.Workloads, Lossless)
	return &out
}

const (
	packedBegin = `<script type="application/gzip" id="report">`
	packedEnd   = `</script>`
)

// Pack puts a JSON form, compressed, into an element that a browser does not run.
func Pack(saved string) string {
	var b bytes.Buffer // which takes everything
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	io.WriteString(z, saved)
	z.Close()
	return packedBegin + base64.StdEncoding.EncodeToString(b.Bytes()) + packedEnd
}

// maxReport bounds the file of a report and the JSON that a page unpacks to, in bytes. 10,000 kernels take 29 MB.
var maxReport int64 = 128 << 20

// Unpack returns the JSON form in a page, or data itself where it is no page.
func Unpack(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 64)])), []byte("<!doctype html")) {
		return data, nil
	}
	_, rest, ok := bytes.Cut(data, []byte(packedBegin))
	body, _, closed := bytes.Cut(rest, []byte(packedEnd))
	if !ok || !closed {
		return nil, errors.New("no report is in this page; give one that nsgate wrote as html, whole")
	}
	var out []byte
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.TrimSpace(body))))
	if err == nil {
		out, err = input.All(z, maxReport)
	}
	if err != nil {
		return nil, fmt.Errorf("the report in this page is damaged: %w; give the page as nsgate wrote it", err)
	}
	return out, nil
}

// Read reads a report that nsgate wrote as JSON or HTML; name is the file in errors. Fields of a later nsgate are
// ignored. Another schema, trailing data, and a missing or unknown verdict, outcome or number are errors.
func Read(rd io.Reader, name string) (*result.Report, error) {
	data, err := input.All(rd, maxReport)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if data, err = Unpack(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var head struct{ Schema *string }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, syntax(name, data, err)
	}
	switch {
	case head.Schema == nil:
		return nil, fmt.Errorf("%s: no \"schema\": this is not a report; give a file that nsgate wrote as JSON", name)
	case *head.Schema != result.Schema:
		return nil, fmt.Errorf("%s: the schema is %q, this nsgate reads %q; use the nsgate that wrote the report, "+
			"or check again", name, *head.Schema, result.Schema)
	}
	r := new(result.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, syntax(name, data, err)
	}
	return r, check(r, name)
}

// check says which part of a report is missing or unknown; name is the file.
func check(r *result.Report, name string) error {
	for i, w := range r.Workloads {
		if w == nil || len(w.Workloads) > 0 {
			return fmt.Errorf("%s: workload %d is no report of its own; check again to write the report anew", name,
				i+1)
		}
		if err := check(w, name); err != nil {
			return err
		}
	}
	if !slices.Contains([]result.Verdict{result.Pass, result.Fail, result.NoVerdict}, r.Verdict) {
		return fmt.Errorf("%s: verdict %q is not pass, fail or no-verdict; check again to write the report anew",
			name, r.Verdict)
	}
	if b := r.Basis; b != nil && b.Policy != nil && b.Policy.Check() != nil {
		return fmt.Errorf("%s: %w: the file was edited; check again to write the report anew", name, b.Policy.Check())
	}
	if why := contradiction(r); why != "" {
		return fmt.Errorf("%s: %s: the file was edited; check again to write the report anew", name, why)
	}
	return nil
}

// contradiction says where the verdict, the counts or a change of a report do not follow from its findings, "" where
// they do.
func contradiction(r *result.Report) string {
	parts := result.Pass
	for _, w := range r.Workloads {
		if w.Verdict == result.Fail || w.Verdict == result.NoVerdict && parts == result.Pass {
			parts = w.Verdict
		}
	}
	switch {
	case len(r.Workloads) > 0 && r.Verdict != parts:
		return fmt.Sprintf("its verdict is %s, that of its workloads %s", r.Verdict, parts)
	case len(r.Workloads) == 0 && (r.Counts.Comparisons != len(r.Findings) ||
		r.Counts.Slower > 0 != slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Fails() })):
		return "its counts are not those of its findings"
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case !slices.Contains(result.Outcomes, f.Outcome):
			return fmt.Sprintf("finding %d has no known outcome (%q)", i+1, f.Outcome)
		case f.Outcome == result.Slower && f.Gates && r.Verdict != result.Fail:
			return fmt.Sprintf("its verdict is %s, and finding %d, which gates, is slower", r.Verdict, i+1)
		case f.Doubted && r.Verdict == result.Pass:
			return fmt.Sprintf("its verdict is pass, and finding %d may be slower", i+1)
		case !computes(f):
			return fmt.Sprintf("the change of finding %d is not that of its values", i+1)
		}
	}
	return ""
}

// computes reports whether the change of a finding is that of its values, as far as all are known.
func computes(f *result.Finding) bool {
	const slack = 1e-6
	if !f.Change.Known() || !f.Base.Known() || !f.Head.Known() || f.Base == 0 {
		return true
	}
	off := math.Abs(float64(f.Base*(1+f.Change) - f.Head))
	return off <= slack*math.Abs(float64(f.Head))+slack*math.Abs(float64(f.Base))
}

// syntax names the line or field at which a file is no report.
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
		return fmt.Errorf("%s: not a report: %q cannot be a %s; give a file that nsgate wrote as JSON",
			name, kind.Field, kind.Value)
	}
	line := 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
	return &measure.PlaceError{File: name, Line: line,
		Err: fmt.Errorf("not a JSON report: %w; give a file that nsgate wrote as JSON", err)}
}
