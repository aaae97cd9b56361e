package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

func init() {
	register(Format{Name: "codequality", Suffix: ".codequality.json", About: "remarks in merge requests of GitLab", render: codeQuality,
		together: func(_ *view, each []*view, _ Options) (string, error) { return codeIssues(each) }})
}

// A codeIssue has the six fields that GitLab reads of a Code Climate issue, all of them required: its parser stops at
// the first issue that lacks one.
type codeIssue struct {
	Description string       `json:"description"`
	CheckName   string       `json:"check_name"`
	Fingerprint string       `json:"fingerprint"`
	Severity    string       `json:"severity"`
	Location    codeLocation `json:"location"`
}

type codeLocation struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// codeQuality writes what a reviewer should see: failing regressions as major, those that do not fail the gate as minor,
// what is undecided as info, a gate without a verdict as major. A fingerprint holds no measured value, so that an issue
// stays the same one from run to run.
func codeQuality(v *view, _ Options) (string, error) { return codeIssues([]*view{v}) }

func codeIssues(each []*view) (string, error) {
	issues, seen := []codeIssue{}, make(map[string]bool)
	for _, v := range each {
		for _, i := range newIssues(v) {
			if !seen[i.Fingerprint] { // GitLab shows one of several with the same
				seen[i.Fingerprint] = true
				issues = append(issues, i)
			}
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	err := enc.Encode(issues)
	return b.String(), err
}

func newIssues(v *view) (issues []codeIssue) {
	add := func(severity, check, description, key, file string, line int) {
		sum := sha256.Sum256([]byte(v.Workload + "\x00" + key))
		i := codeIssue{Description: Line(Elide(description, maxProse)), CheckName: check, Fingerprint: hex.EncodeToString(sum[:]), Severity: severity}
		i.Location.Path, i.Location.Lines.Begin = relative(file), max(line, 1)
		if file == "" {
			i.Location.Path = "nsgate.toml"
		}
		issues = append(issues, i)
	}
	if !v.judged() {
		add("major", "nsgate/no-verdict", "no verdict: "+v.Reason, "no-verdict", "", 1)
	}
	for _, r := range v.of(failing, warned, open) {
		what := r.title() + " — " + r.describe()
		if r.Class == open {
			what = "undecided: " + what
		}
		file, line := v.kept(r.F)
		f := r.F
		key := strings.Join([]string{string(f.Scope), f.Name, f.Grid, f.Block, f.Metric}, "\x00")
		add([...]string{failing: "major", warned: "minor", open: "info"}[r.Class], "nsgate/"+word(f.Metric), what, key, file, line)
	}
	return issues
}
