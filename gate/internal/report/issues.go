package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// An issue is what a code host shows beside the code: a cause that failed, warns or is undecided, or a gate without a verdict.
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

// ownIssues are those of one workload, one a cause; of goes before their texts.
func (v *view) ownIssues(of string) []issue {
	var out []issue
	add := func(class class, check, text, key, file string, line int) {
		sum := sha256.Sum256([]byte(v.Workload + "\x00" + key))
		out = append(out, issue{class, check, Line(Elide(flat(of+text), maxProse)), relative(file), max(line, 1), hex.EncodeToString(sum[:])})
	}
	if !v.judged() {
		add(failing, "nsgate/no-verdict", "no verdict: "+v.Reason, "no-verdict", "nsgate.toml", 1)
	}
	for _, list := range [][]cause{v.Causes, v.Open} {
		for _, c := range list {
			if c.Class != failing && c.Class != warned && c.Class != open {
				continue
			}
			lead := c.lead()
			what := v.effectLine(&lead, 200, false)
			if c.Class == open {
				what = "undecided: " + what
			}
			said := c.Why
			if len(said) > 0 && !c.rank && c.idle == nil && len(lead.Parts) == 0 {
				said = append([]string{wrapped("in range ", Clean(lead.F.Role), "")}, said[1:]...) // the numbers are said
			}
			what = join("; ", append([]string{what}, said[:min(len(said), 3)]...)...)
			file, line := v.at(c)
			if file == "" {
				file, line = limitAt(lead.F)
			}
			f := lead.F
			add(c.Class, "nsgate/"+word(f.Metric), what, strings.Join([]string{string(f.Scope), f.Name, f.Grid, f.Block, f.Metric}, "\x00"), file, line)
		}
	}
	return out
}

// limitAt is the line of the policy that a finding's limit comes from, where nothing is known of the source: code hosts want a place.
func limitAt(f result.Finding) (file string, line int) {
	file, number, ok := strings.Cut(f.Rule, ":")
	if n, err := strconv.Atoi(number); ok && err == nil && strings.HasSuffix(file, ".toml") && n > 0 && relative(file) != "" {
		return file, n
	}
	return "nsgate.toml", 1
}
