package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/read/filter"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

func jsonForm(value any, _ story.Options) (string, error) { return saved.JSON(value) }

func jsonReport(v *story.Story) (string, error) { return saved.JSON(counted(v)) }

// counted is a copy of the report with its causes and their counts.
func counted(v *story.Story) *result.Report {
	r := saved.Lossless(v.Report)
	r.Counts, r.Causes = v.Counts, v.Groups()
	r.Next = v.Next
	if v.Several() {
		r.Causes = nil
		for i, w := range v.Each {
			r.Workloads[i] = counted(w)
		}
	}
	return r
}

// Filtered is what a filter of jq gives of the JSON of a report: texts as lines, other values as JSON.
func Filtered(program string, r *result.Report, o Options) (string, error) {
	var text, out, safe strings.Builder
	var value any
	p, err := new(filter.Definitions).Parse(program)
	if err == nil {
		err = Render("json", &text, r, o)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text.String()), &value)
	}
	if err != nil {
		return "", err
	}
	code, err := p.Compile()
	if err == nil {
		err = code.Run(value, func(v any) bool {
			line, ok := v.(string)
			if !ok {
				line = filter.Text(v, math.MaxInt)
			}
			out.WriteString(line + "\n")
			return true
		})
	}
	write(&safe, terminal.Data, out.String(), o)
	return safe.String(), err
}

// indented writes a value for other programs, with <, > and & escaped.
func indented(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text) + "\n", err
}

// object is an object of JSON: names and values by turns, in this order.
type object []any

func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, v := range o {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(append(out, text...), ":,"[i%2])
	}
	return append(bytes.TrimSuffix(out, []byte{','}), '}'), nil
}
