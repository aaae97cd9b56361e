package report

import "github.com/nsgate/nsgate/gate/internal/report/story"

// codeIssue holds the six fields that GitLab reads of a Code Climate issue. Its parser stops at an issue that lacks
// one.
type codeIssue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// codeQuality writes remarks: failing causes and a missing verdict as major, slower causes as minor, undecided ones as
// info.
func codeQuality(v *story.Story) (string, error) {
	issues := []codeIssue{}
	for _, x := range v.Remarks() {
		severity := [...]string{story.NoVerdict: "major", story.Fails: "major", story.Warns: "minor",
			story.Undecided: "info", story.Noted: "info"}[x.Class]
		i := codeIssue{Description: x.Brief, CheckName: x.Check, Fingerprint: x.Fingerprint, Severity: severity}
		i.Location.Path, i.Location.Lines.Begin = x.Place()
		issues = append(issues, i)
	}
	return indented(issues)
}
