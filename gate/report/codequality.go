package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/nsgate/nsgate/gate"
)

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

// CodeQuality writes what a reviewer should see as GitLab's code quality report: failing regressions as major, those
// that do not fail the gate as minor, what is undecided as info, a gate without a verdict as major. A fingerprint
// holds no measured value, so that an issue stays the same one from run to run.
func CodeQuality(w io.Writer, r *gate.Report, o Options) error {
	issues, seen := []codeIssue{}, make(map[string]bool)
	add := func(severity, check, description, key, file string, line int) {
		sum := sha256.Sum256([]byte(workload(r) + "\x00" + key))
		i := codeIssue{Description: oneLine(description), CheckName: check, Fingerprint: hex.EncodeToString(sum[:]), Severity: severity}
		i.Location.Path, i.Location.Lines.Begin = file, max(line, 1)
		if !seen[i.Fingerprint] { // GitLab shows one of several with the same
			seen[i.Fingerprint] = true
			issues = append(issues, i)
		}
	}
	if r.Verdict != gate.Pass && r.Verdict != gate.Fail {
		_, reason := verdict(r)
		add("major", "nsgate/no-verdict", "no verdict: "+Elide(reason, maxProse), "no-verdict", relative("nsgate.toml"), 1)
	}
	for _, x := range []struct {
		severity string
		findings []gate.Finding
	}{{"major", Failing(r)}, {"minor", Warned(r)}, {"info", Open(r)}} {
		for _, f := range x.findings {
			file, line, ok := o.locate(r, f)
			if !ok {
				file, line = "nsgate.toml", 1
			}
			what := Title(f) + " — " + Describe(f)
			if x.severity == "info" {
				what = "undecided: " + what
			}
			key := strings.Join([]string{string(f.Scope), f.Name, f.Grid, f.Block, f.Metric}, "\x00")
			add(x.severity, "nsgate/"+word(f.Metric), Elide(what, maxProse), key, relative(file), line)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(issues); err != nil {
		return fmt.Errorf("cannot write the report as code quality: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// relative makes a path one that begins at the repository's root and stays in it.
func relative(file string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(oneLine(file), `\`, "/")), "/")
}

// word keeps the letters, digits and underscores of an identifier.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 60)]
}
