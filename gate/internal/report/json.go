package report

import (
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
