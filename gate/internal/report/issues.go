package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// An issue is what a code host shows beside the code: what failed, what warns, what is undecided, a gate without a verdict.
type issue struct {
	class class  // failing, warned or open; a gate without a verdict is failing
	check string // what was looked at, an identifier: "nsgate/step_time"
	text  string // one line, harmless for a CI runner
	file  string // relative to the repository's root
	line  int
	// fingerprint holds no measured value, so that an issue stays the same one from run to run.
	fingerprint string
}

// issues are those of a report, of each workload worst first, each fingerprint once: code hosts show one of several with the same.
func (v *view) issues() []issue {
	var out []issue
	seen := make(map[string]bool)
	for _, w := range v.each {
		of := ""
		if v.several() {
			of = w.Workload + ": "
		}
		for _, i := range w.ownIssues(of) {
			if !seen[i.fingerprint] {
				seen[i.fingerprint] = true
				out = append(out, i)
			}
		}
	}
	return out
}

// ownIssues are those of one workload; of goes before their texts.
func (v *view) ownIssues(of string) []issue {
	var out []issue
	add := func(class class, check, text, key, file string, line int) {
		sum := sha256.Sum256([]byte(v.Workload + "\x00" + key))
		i := issue{class, check, Line(Elide(of+text, maxProse)), relative(file), max(line, 1), hex.EncodeToString(sum[:])}
		if file == "" {
			i.file = "nsgate.toml"
		}
		out = append(out, i)
	}
	if !v.judged() {
		add(failing, "nsgate/no-verdict", "no verdict: "+v.Reason, "no-verdict", "", 1)
	}
	for _, r := range v.of(failing, warned, open) {
		what := r.title() + " — " + r.describe()
		if r.Class == open {
			what = "undecided: " + what
		}
		file, line := v.kept(r.F)
		f := r.F
		key := strings.Join([]string{string(f.Scope), f.Name, f.Grid, f.Block, f.Metric}, "\x00")
		add(r.Class, "nsgate/"+word(f.Metric), what, key, file, line)
	}
	return out
}
