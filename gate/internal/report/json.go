package report

import (
	"bytes"
	"encoding/json"

	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
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
