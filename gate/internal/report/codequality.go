package report

// codeIssue holds the six fields that GitLab reads of a Code Climate issue. Its parser stops at an issue that lacks one.
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

// codeQuality writes remarks: failing causes and a missing verdict as major, slower causes as minor, undecided ones as info.
func codeQuality(v *view) (string, error) {
	issues := []codeIssue{}
	for _, x := range v.remarks() {
		severity := [...]string{NoVerdict: "major", Fails: "major", Warns: "minor", Undecided: "info"}[x.Class]
		i := codeIssue{Description: x.brief, CheckName: x.Check, Fingerprint: x.Fingerprint, Severity: severity}
		i.Location.Path, i.Location.Lines.Begin = x.place()
		issues = append(issues, i)
	}
	return indented(issues)
}
