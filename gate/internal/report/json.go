package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/read/filter"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
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

// Filtered is what a filter of jq gives of the JSON of a report: texts as lines, other values as JSON. A child runs it.
func Filtered(ctx context.Context, program string, r *result.Report, o Options) (string, error) {
	var text, out, safe strings.Builder
	err := Render("json", &text, r, o)
	if err == nil {
		take := func(line string) error { _, err := out.WriteString(line); return err }
		err = confine.Ask(ctx, filterMode, confine.For(), filtering{program, text.String()}, take)
	}
	write(&safe, terminal.Data, out.String(), o)
	return safe.String(), err
}

const filterMode = "--filter"

func init() { confine.Register(filterMode, filtering.run) }

// filtering is a filter of jq, and the JSON of a report.
type filtering struct{ Program, Report string }

func (f filtering) run(_ context.Context, send func(string) error) error {
	var value any
	p, err := new(filter.Definitions).Parse(f.Program)
	if err != nil {
		return err
	}
	code, err := p.Compile()
	if err = cmp.Or(err, json.Unmarshal([]byte(f.Report), &value)); err != nil {
		return err
	}
	return code.Run(value, func(v any) bool {
		line, ok := v.(string)
		if !ok {
			line = filter.Text(v, math.MaxInt)
		}
		return send(line+"\n") == nil
	})
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
