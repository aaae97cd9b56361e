package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// The elements that GitLab, Jenkins and others read. There is no schema; the common ground is described at
// github.com/testmoapp/junitxml. GitLab shows the content of failure and skipped, others their message.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr,omitempty"` // seconds
	File    string       `xml:"file,attr,omitempty"`
	Line    int          `xml:"line,attr,omitempty"`
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Skipped *junitResult `xml:"skipped"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",innerxml"` // escaped, with its line breaks as they are
}

// JUnit writes the report as JUnit XML: one test case a comparison, whose name stays the same from run to run, and
// one for the verdict. What fails the gate is a failure, a gate without a verdict an error; what is undecided, added,
// removed or slower without failing the gate is skipped, with the reason.
func JUnit(w io.Writer, r *gate.Report, o Options) error {
	class := workload(r)
	verdictWord, reason := verdict(r)
	suite := junitSuite{Name: "nsgate: " + class}
	first := junitCase{Class: class, Name: "verdict"}
	if r.Verdict != gate.Pass && r.Verdict != gate.Fail {
		lines := append([]string{reason}, r.Next...)
		first.Error = &junitResult{Message: oneLine(reason), Type: verdictWord, Text: lineByLine(lines)}
	}
	suite.Cases = append(suite.Cases, first)
	names := map[string]int{first.Name: 1}
	for _, f := range r.Findings {
		c := junitCase{Class: class, Name: oneLine(id(f) + " · " + Metric(f)), Time: elapsed(f)}
		// GitLab keeps the first of several cases with one name.
		if names[c.Name]++; names[c.Name] > 1 {
			c.Name += fmt.Sprintf(" (%d)", names[c.Name])
		}
		if file, line, ok := o.locate(r, f); ok {
			c.File, c.Line = oneLine(file), line
		}
		result := &junitResult{Message: oneLine(Title(f)), Type: string(f.Outcome), Text: explain(f)}
		switch {
		case f.Outcome == gate.Regressed && f.Gates:
			c.Failure = result
		case f.Outcome == gate.Regressed && f.Severity == "ignore":
		case f.Outcome != gate.Improved && f.Outcome != gate.Unchanged:
			c.Skipped = result
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, c := range suite.Cases {
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	all := junitSuites{Name: "nsgate", junitCounts: suite.junitCounts, Suites: []junitSuite{suite}}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the report as JUnit XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// workload is the name of what was judged.
func workload(r *gate.Report) string {
	if name := strings.TrimSpace(oneLine(r.Workload)); name != "" {
		return Elide(name, 100)
	}
	return "default"
}

// id names a finding's subject the same way in every run, and no two subjects alike: as the baseline's rows do.
func id(f gate.Finding) string {
	s := f.Subject()
	name := strings.TrimSpace(Clean(s.ID()))
	if s.Scope != measure.ScopeWorkload {
		name = Clean(string(s.Scope)) + " " + name
	}
	return Elide(name, 150)
}

// elapsed is the head's value in seconds where it is a time, else "".
func elapsed(f gate.Finding) string {
	if f.Unit != "ns" || !f.Head.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(f.Head)/1e9, 'f', -1, 64)
}

// explain is everything that there is to say of a finding, a line each.
func explain(f gate.Finding) string {
	lines := []string{Metric(f) + ": " + Describe(f), f.Reason, unbind(spark(f.BaseRuns, f.HeadRuns, f.Limit)), unbind(match(f))}
	lines = append(lines, f.Evidence...)
	if f.Cause != nil {
		lines = append(lines, told(f.Cause))
	}
	if f.Name != f.Kernel {
		lines = append(lines, Elide(Clean(f.Name), 600))
	}
	return lineByLine(lines)
}

// oneLine makes text fit for one line of any log.
func oneLine(s string) string { return defuse(unbind(Clean(s))) }

// lineByLine puts each text that is not empty on a line of its own, escaped for XML.
func lineByLine(texts []string) string {
	var b strings.Builder
	for _, t := range texts {
		if t = oneLine(t); strings.TrimSpace(t) != "" {
			b.WriteByte('\n')
			xml.EscapeText(&b, []byte(t)) // a strings.Builder takes everything
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// locate finds where a finding is written down: what Options knows, else the baseline's samples.
func (o Options) locate(r *gate.Report, f gate.Finding) (file string, line int, ok bool) {
	if o.Locate != nil {
		if file, line, ok = o.Locate(f); ok {
			return file, line, true
		}
	}
	if r.Baseline == "" {
		return "", 0, false
	}
	return path.Join(r.Baseline, "samples.csv"), 1, true
}
