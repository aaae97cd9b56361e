package report

import (
	"net/url"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// levels are the words of the formats for the severity of a remark.
var levels = [...]struct{ sarif, codeQuality, rdjson string }{
	story.NoVerdict: {"error", "major", "ERROR"},
	story.Fails:     {"error", "major", "ERROR"},
	story.Warns:     {"warning", "minor", "WARNING"},
	story.Undecided: {"note", "info", "INFO"},
	story.Noted:     {"note", "info", "INFO"},
}

// sarif writes one rule a metric and one result a cause, as GitHub reads SARIF 2.1.0: failing causes and a gate without
// a verdict as errors, other slower ones as warnings, undecided ones as notes. Several workloads are one run, because
// GitHub takes one run of a tool.
func sarif(v *story.Story) (string, error) {
	const helpPage = "https://github.com/nsgate/nsgate/blob/main/cmd/nsgate/docs/start.md"
	judged := !slices.ContainsFunc(v.Each, func(w *story.Story) bool { return w.Gate.Does == result.NoAnswer })
	rules, results, seen := []object{}, []object{}, map[string]bool{}
	unlinked := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)
	message := func(s string) object { return object{"text", unlinked.Replace(s)} }
	for _, i := range v.Remarks() {
		if !seen[i.Check] {
			seen[i.Check] = true
			short, help := about(i)
			rules = append(rules, object{"id", i.Check, "shortDescription", message(short),
				"fullDescription", message(short), "help", message(help), "helpUri", helpPage})
		}
		file, line := i.Place()
		place := object{"artifactLocation", object{"uri", (&url.URL{Path: file}).String(), "uriBaseId", "%SRCROOT%"},
			"region", object{"startLine", line}}
		// GitHub matches results of two runs by the fingerprint.
		results = append(results, object{"ruleId", i.Check, "level", levels[i.Class].sarif, "message", message(i.Brief),
			"locations", []object{{"physicalLocation", place}},
			"partialFingerprints", object{"primaryLocationLineHash", i.Fingerprint}})
	}
	driver := object{"name", "nsgate"}
	if v.Version != "" {
		driver = append(driver, "version", v.Version)
	}
	driver = append(driver, "informationUri", "https://github.com/nsgate/nsgate", "rules", rules)
	run := object{"tool", object{"driver", driver}, "invocations", []object{{"executionSuccessful", judged}},
		"results", results}
	return indented(object{"$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0",
		"runs", []object{run}})
}

// about describes a rule, and says what to do about its results.
func about(x story.Remark) (short, help string) {
	switch x.Check {
	case "nsgate/no-verdict", "nsgate/interrupted":
		return "The measurement carries no verdict.",
			"The gate cannot answer. The message says why, and the report names the next step."
	case "nsgate/fail":
		return "The gate fails as a whole.", "The message says why, and the report names the next step."
	}
	metric := measure.Metric{Name: x.About}.Title()
	return "The gate judges this metric: " + metric + ".",
		"The " + metric +
			" got worse than the policy allows. Mend it, or take it as the new baseline with nsgate accept."
}

// codeQuality writes remarks with the six fields that GitLab reads of a Code Climate issue, as its parser stops at one
// that lacks one: failing causes and a missing verdict as major, slower causes as minor, undecided ones as info.
func codeQuality(v *story.Story) (string, error) {
	issues := []object{}
	for _, x := range v.Remarks() {
		path, line := x.Place()
		issues = append(issues, object{"description", x.Brief, "check_name", x.Check, "fingerprint", x.Fingerprint,
			"severity", levels[x.Class].codeQuality, "location", object{"path", path, "lines", object{"begin", line}}})
	}
	return indented(issues)
}

// rdjson writes remarks for reviewdog (Reviewdog Diagnostic Format), which shows a message as Markdown.
func rdjson(v *story.Story) (string, error) {
	list := []object{}
	for _, x := range v.Remarks() {
		path, line := x.Place()
		list = append(list, object{"message", prose(x.Brief),
			"location", object{"path", path, "range", object{"start", object{"line", line}}},
			"severity", levels[x.Class].rdjson, "code", object{"value", x.Check}})
	}
	return indented(object{"source", object{"name", "nsgate", "url", "https://github.com/nsgate/nsgate"},
		"diagnostics", list})
}
