package report

import "github.com/nsgate/nsgate/gate/internal/report/story"

// The objects of the Reviewdog Diagnostic Format (rdjson).
type (
	rdReport struct {
		Source      rdSource       `json:"source"`
		Diagnostics []rdDiagnostic `json:"diagnostics"`
	}
	rdSource struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	rdDiagnostic struct {
		Message  string     `json:"message"`
		Location rdLocation `json:"location"`
		Severity string     `json:"severity"`
		Code     struct {
			Value string `json:"value"`
		} `json:"code"`
	}
	rdLocation struct {
		Path  string `json:"path"`
		Range struct {
			Start struct {
				Line int `json:"line"`
			} `json:"start"`
		} `json:"range"`
	}
)

// rdjson writes remarks for reviewdog, which shows a message as Markdown.
func rdjson(v *story.Story) (string, error) {
	out := rdReport{rdSource{"nsgate", "https://github.com/nsgate/nsgate"}, []rdDiagnostic{}}
	for _, x := range v.Remarks() {
		d := rdDiagnostic{Message: prose(x.Brief), Severity: [...]string{story.NoVerdict: "ERROR", story.Fails: "ERROR",
			story.Warns: "WARNING", story.Undecided: "INFO", story.Noted: "INFO"}[x.Class]}
		d.Location.Path, d.Location.Range.Start.Line = x.Place()
		d.Code.Value = x.Check
		out.Diagnostics = append(out.Diagnostics, d)
	}
	return indented(out)
}
