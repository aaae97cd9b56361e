package report

import "github.com/nsgate/nsgate/gate/internal/report/story"

// codeQuality writes remarks with the six fields that GitLab reads of a Code Climate issue, as its parser stops at one
// that lacks one: failing causes and a missing verdict as major, slower causes as minor, undecided ones as info.
func codeQuality(v *story.Story) (string, error) {
	issues := []object{}
	for _, x := range v.Remarks() {
		severity := [...]string{story.NoVerdict: "major", story.Fails: "major", story.Warns: "minor",
			story.Undecided: "info", story.Noted: "info"}[x.Class]
		path, line := x.Place()
		issues = append(issues, object{"description", x.Brief, "check_name", x.Check, "fingerprint", x.Fingerprint,
			"severity", severity, "location", object{"path", path, "lines", object{"begin", line}}})
	}
	return indented(issues)
}
