package report

import (
	"net/url"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// The objects of SARIF 2.1.0 that GitHub reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Info    string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Short   sarifMessage `json:"shortDescription"`
		Full    sarifMessage `json:"fullDescription"`
		Help    sarifMessage `json:"help"`
		HelpURI string       `json:"helpUri"`
	}
	sarifInvocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI  string `json:"uri"`
				Base string `json:"uriBaseId"`
			} `json:"artifactLocation"`
			Region struct {
				Line int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// sarif writes one rule a metric and one result a cause: failing causes and a gate without a verdict as errors, other
// slower ones as warnings, undecided ones as notes. Several workloads are one run, because GitHub takes one run of a
// tool.
func sarif(v *story.Story) (string, error) {
	judged := !slices.ContainsFunc(v.Each, func(w *story.Story) bool { return w.Gate.Does == result.NoAnswer })
	run := sarifRun{Invocations: []sarifInvocation{{judged}}, Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "nsgate", Version: v.Version, Info: "https://github.com/nsgate/nsgate",
		Rules: []sarifRule{}}
	rules := &run.Tool.Driver.Rules
	for _, i := range v.Remarks() {
		if !slices.ContainsFunc(*rules, func(r sarifRule) bool { return r.ID == i.Check }) {
			short, help := about(i)
			*rules = append(*rules, sarifRule{i.Check, sarifMessage{sarifText(short)}, sarifMessage{sarifText(short)},
				sarifMessage{sarifText(help)}, helpPage})
		}
		x := sarifResult{
			Rule: i.Check, Level: [...]string{story.NoVerdict: "error", story.Fails: "error", story.Warns: "warning",
				story.Undecided: "note", story.Noted: "note"}[i.Class],
			Message: sarifMessage{sarifText(i.Brief)},
			// GitHub matches results of two runs by this fingerprint.
			Fingerprints: map[string]string{"primaryLocationLineHash": i.Fingerprint},
			Locations:    make([]sarifLocation, 1),
		}
		at := &x.Locations[0].Physical
		file, line := i.Place()
		at.Artifact.URI, at.Artifact.Base, at.Region.Line = (&url.URL{Path: file}).String(), "%SRCROOT%", line
		run.Results = append(run.Results, x)
	}
	return indented(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// helpPage is the page of the manual on verdicts.
const helpPage = "https://github.com/nsgate/nsgate/blob/main/cmd/nsgate/docs/start.md"

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

// sarifText escapes brackets, which would become a link.
func sarifText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(s)
}
