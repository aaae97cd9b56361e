package report

import "github.com/nsgate/nsgate/gate/internal/report/story"

// rdjson writes remarks for reviewdog (Reviewdog Diagnostic Format), which shows a message as Markdown.
func rdjson(v *story.Story) (string, error) {
	list := []object{}
	for _, x := range v.Remarks() {
		severity := [...]string{story.NoVerdict: "ERROR", story.Fails: "ERROR", story.Warns: "WARNING",
			story.Undecided: "INFO", story.Noted: "INFO"}[x.Class]
		path, line := x.Place()
		list = append(list, object{"message", prose(x.Brief),
			"location", object{"path", path, "range", object{"start", object{"line", line}}},
			"severity", severity, "code", object{"value", x.Check}})
	}
	return indented(object{"source", object{"name", "nsgate", "url", "https://github.com/nsgate/nsgate"},
		"diagnostics", list})
}
