package report

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// The elements and attributes of junit-10.xsd, which Jenkins' xUnit plugin validates and GitLab reads. GitLab shows the
// content of failure and skipped, other readers show their message.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Skipped int         `xml:"skipped,attr"`
	Cases   []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr,omitempty"` // seconds
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Skipped *junitResult `xml:"skipped"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",innerxml"` // escaped, with its line breaks as they are
}

// junit writes a test suite a workload, with a case for the verdict and one a comparison, named the same from run to
// run. The verdict and each cause that fails the gate are failures, no verdict is an error; other parts of a cause and
// undecided, new, gone and merely slower comparisons are skipped, with their reason, as is all where the gate passes.
func junit(v *story.Story) (string, error) {
	all := junitSuites{Name: "nsgate"}
	for _, w := range v.Each {
		s := newSuite(w)
		all.Suites = append(all.Suites, s)
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	return xml.Header + string(text) + "\n", err
}

// toldResult is the verdict with its causes.
func toldResult(v *story.Story) *junitResult {
	message, why := measure.Either(v.Judged(), story.Flat(v.Headline()), v.Reason), []string(nil)
	for _, c := range v.Causes {
		if c.Class == story.Failing {
			why = append(why, c.Why...)
		}
	}
	return &junitResult{story.Clean(message), v.Word, xmlLines(slices.Concat([]string{v.Reason}, why, v.Fall.Lines(),
		v.Steps()))}
}

func newSuite(v *story.Story) junitSuite {
	suite := junitSuite{Name: "nsgate: " + v.Workload}
	first := junitCase{Class: v.Workload, Name: "verdict"}
	suite.Tests = 1 + len(v.Rows)
	told := toldResult(v)
	switch {
	case v.Gate.Does == result.Fails:
		first.Failure = told
		suite.Failures++
	case v.Gate.Does == result.NoAnswer:
		first.Error = told
		suite.Errors++
	case v.Report.Verdict != result.Pass:
		first.Skipped = told
		suite.Skipped++
	}
	leads := v.Leads()
	suite.Cases = append(suite.Cases, first)
	names := map[string]int{first.Name: 1}
	for _, r := range v.Rows {
		c := junitCase{Class: v.Workload, Name: story.Clean(id(r.F) + " · " + r.Metric)}
		if r.F.Unit == "ns" && r.F.Head.Known() {
			c.Time = strconv.FormatFloat(measure.Round(float64(r.F.Head))/1e9, 'f', -1, 64)
		}
		// GitLab keeps the first of several cases with one name.
		if names[c.Name]++; names[c.Name] > 1 {
			c.Name += fmt.Sprintf(" (%d)", names[c.Name])
		}
		lines := append([]string{r.Metric + ": " + r.Describe(), r.Reason, r.Runs(), r.Match, r.Place()}, r.Evidence...)
		if file, line := v.Place(r.F); file != "" && r.Place() == "" {
			lines = append(lines, fmt.Sprintf("%s:%d", file, line))
		}
		if r.F.Metric == measure.StepTime.Name {
			lines = append(lines, v.Fall.Lines()...)
		}
		if r.F.Cause != nil {
			lines = append(lines, r.F.Cause.Summary)
		}
		said := &junitResult{r.Title(), string(r.F.Outcome), xmlLines(append(lines, story.Elide(r.FullName, 600)))}
		switch lead := leads[r.At]; {
		case r.Class == story.Failing && lead == "" && v.Gate.Does == result.Fails:
			suite.Failures++
			c.Failure = said
		case lead != "":
			suite.Skipped++
			said.Message += ", a part of " + lead
			c.Skipped = said
		case r.Class == story.Faster || r.Class == story.Within || r.Class == story.Increased:
		default:
			suite.Skipped++
			c.Skipped = said
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}

// id is a unique name of a finding's subject, the same in every run, as in the baseline's rows.
func id(f result.Finding) string {
	s := f.Subject()
	scope := measure.Either(s.Scope != measure.ScopeWorkload, story.Clean(string(s.Scope))+" ", "")
	return story.Elide(scope+story.Trimmed(s.ID()), 150)
}
