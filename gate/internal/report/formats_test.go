package report

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"io"
	"math"
	"net/url"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	sarifschema "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// junitSchema is the part of junit-10.xsd of Jenkins' xUnit plugin that is written: the attributes of each element.
var junitSchema = map[string][]string{
	"testsuites": {"name", "time", "tests", "failures", "errors"},
	"testsuite": {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id",
		"package", "file", "log", "url"},
	"testcase": {"name", "time", "classname", "group"},
	"failure":  {"type", "message"}, "error": {"type", "message"}, "skipped": {"type", "message"},
}

// checkJUnit holds the rules of the readers: counters that agree, a class and a name in every case, no name twice, an
// explanation in the content, and text of XML 1.0 only.
func checkJUnit(t *testing.T, text string) junitSuites {
	t.Helper()
	var all junitSuites
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("not XML: %v\n%s", err, text)
	}
	// The decoder is lenient where others are not.
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		known, ok := junitSchema[e.Name.Local]
		if !ok {
			t.Errorf("an element of its own: %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if !slices.Contains(known, a.Name.Local) {
				t.Errorf("junit-10.xsd has no attribute %s of %s", a.Name.Local, e.Name.Local)
			}
		}
	}
	var sum junitCounts
	for _, suite := range all.Suites {
		var n junitCounts
		skipped := 0
		names := make(map[string]bool)
		for _, c := range suite.Cases {
			n.Tests++
			if c.Class == "" || c.Name == "" || names[c.Name] {
				t.Errorf("case %q of class %q", c.Name, c.Class)
			}
			names[c.Name] = true
			if v, err := strconv.ParseFloat(c.Time, 64); c.Time != "" && (err != nil || v < 0) {
				t.Errorf("time %q", c.Time)
			}
			for result, count := range map[*junitResult]*int{c.Failure: &n.Failures, c.Error: &n.Errors,
				c.Skipped: &skipped} {
				if result == nil {
					continue
				}
				*count++
				if strings.TrimSpace(result.Text) == "" {
					t.Errorf("%s has no explanation", c.Name)
				}
			}
		}
		if n != suite.junitCounts || skipped != suite.Skipped {
			t.Errorf("counters %+v and %d skipped, counted %+v and %d", suite.junitCounts, suite.Skipped, n, skipped)
		}
		sum = junitCounts{sum.Tests + n.Tests, sum.Failures + n.Failures, sum.Errors + n.Errors}
	}
	if len(all.Suites) == 0 || sum != all.junitCounts {
		t.Errorf("counters %+v of %d suites, counted %+v", all.junitCounts, len(all.Suites), sum)
	}
	return all
}

// checkCodeQuality holds the rules of GitLab's parser, which reads six fields and stops at an issue without one.
func checkCodeQuality(t *testing.T, text string) []codeIssue {
	t.Helper()
	var raw []map[string]any
	if err := json.Unmarshal([]byte(text), &raw); err != nil || raw == nil {
		t.Fatalf("not an array: %v\n%s", err, text)
	}
	var issues []codeIssue
	if err := json.Unmarshal([]byte(text), &issues); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i, issue := range issues {
		p := issue.Location.Path
		if len(raw[i]) != 5 || strings.TrimSpace(issue.Description) == "" || issue.CheckName == "" ||
			issue.Location.Lines.Begin < 1 || p == "" || p != path.Clean(p) || path.IsAbs(p) ||
			strings.HasPrefix(p+"/", "../") {
			t.Errorf("issue %+v", issue)
		}
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(issue.Fingerprint) || seen[issue.Fingerprint] {
			t.Errorf("fingerprint %q", issue.Fingerprint)
		}
		seen[issue.Fingerprint] = true
		if !slices.Contains([]string{"info", "minor", "major", "critical", "blocker"}, issue.Severity) {
			t.Errorf("severity %q", issue.Severity)
		}
	}
	return issues
}

var (
	metricName   = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	metricSample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? (\S+)$`)
)

// checkOpenMetrics holds the rules of the text format of OpenMetrics 1.0 for gauges, and of GitLab's reader. It returns
// the values by name and labels.
func checkOpenMetrics(t *testing.T, text string) map[string]string {
	t.Helper()
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok || !utf8.ValidString(text) {
		t.Fatalf("no # EOF at the end of %q", text)
	}
	values, closed, current, sampled := make(map[string]string), make(map[string]bool), "", false
	for l := range strings.Lines(body) {
		l = strings.TrimSuffix(l, "\n")
		if rest, ok := strings.CutPrefix(l, "# "); ok {
			words := strings.SplitN(rest, " ", 3)
			if len(words) < 3 || !metricName.MatchString(words[1]) {
				t.Fatalf("descriptor %q", l)
			}
			if words[1] != current {
				closed[current] = true
				current, sampled = words[1], false
			}
			switch {
			case closed[current] || sampled:
				t.Errorf("family %s is torn apart", current)
			case words[0] == "TYPE" && words[2] == "gauge", words[0] == "HELP":
			case words[0] == "UNIT" && strings.HasSuffix(current, "_"+words[2]):
			default:
				t.Errorf("descriptor %q", l)
			}
			continue
		}
		m := metricSample.FindStringSubmatch(l)
		if m == nil || m[1] != current {
			t.Fatalf("sample %q in family %q", l, current)
		}
		sampled = true
		if _, err := strconv.ParseFloat(m[3], 64); err != nil {
			t.Errorf("value %q", m[3])
		}
		if _, twice := values[m[1]+m[2]]; twice {
			t.Errorf("%s%s is there twice", m[1], m[2])
		}
		values[m[1]+m[2]] = m[3]
		// GitLab strips what follows a # and splits the rest as a shell does.
		if strings.ContainsAny(l, "#'\\`") || strings.Count(l, `"`)%2 != 0 {
			t.Errorf("GitLab misreads %q", l)
		}
	}
	return values
}

func checkDotenv(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(text) > 5000 || len(lines) > 20 {
		t.Errorf("%d bytes, %d variables", len(text), len(lines))
	}
	for _, l := range lines {
		if !regexp.MustCompile(`^NSGATE_RESULT_[A-Z_]+=[a-z0-9-]+$`).MatchString(l) {
			t.Errorf("line %q", l)
		}
	}
}

// pageElements and pageAttributes are those that pages are made of.
var (
	pageElements = strings.Fields("html head body header main footer nav section article figure figcaption div p h1 " +
		"h2 h3 h4 span small strong code pre ul li dl dt dd a wbr table caption thead tbody tr th td details summary " +
		"label input button svg title desc rect line circle text path")
	pageAttributes = strings.Fields("class id lang scope data-v data-l data-o data-f data-up data-tip data-to " +
		"tabindex aria-label aria-hidden aria-pressed role for type placeholder " +
		"autocomplete width height x y x1 x2 y1 y2 cx cy r rx d viewBox preserveAspectRatio href rel")
	pageAttribute = regexp.MustCompile(`^ ([a-zA-Z0-9-]+)(?:="([^"<>]*)")?`)
)

// checkHTML wants the elements of the templates and no others, all of them closed, no attribute from outside, nothing
// that is loaded.
func checkHTML(t *testing.T, text string) {
	t.Helper()
	body := text[strings.Index(text, "</style>")+len("</style>"):]
	for range 2 { // the report inside, and the script
		before, rest, _ := strings.Cut(body, "<script")
		_, after, ok := strings.Cut(rest, "</script>")
		if !ok {
			t.Fatal("not two scripts")
		}
		body = before + after
	}
	open := []string{"html", "head"}
	for _, m := range regexp.MustCompile(`<(/?)([a-zA-Z0-9!]*)([^>]*)>`).FindAllStringSubmatch(body, -1) {
		name, attributes := m[2], strings.TrimSuffix(m[3], "/")
		if !slices.Contains(pageElements, name) {
			t.Fatalf("an element of its own: %q", m[0])
		}
		for attributes != "" {
			a := pageAttribute.FindStringSubmatch(attributes)
			if a == nil || !slices.Contains(pageAttributes, a[1]) {
				t.Fatalf("attributes of its own: %q", m[0])
			}
			if a[1] == "href" && !strings.HasPrefix(a[2], "#") && !strings.HasPrefix(a[2], "https://docs.nvidia.com/") {
				t.Errorf("leads elsewhere: %q", m[0])
			}
			attributes = attributes[len(a[0]):]
		}
		switch {
		case name == "input" || name == "wbr" || strings.HasSuffix(m[3], "/"):
		case m[1] == "":
			open = append(open, name)
		case len(open) > 0 && open[len(open)-1] == name:
			open = open[:len(open)-1]
		default:
			t.Fatalf("%s closes nothing; open are %v", m[0], open)
		}
	}
	if len(open) > 0 {
		t.Errorf("not closed: %v", open)
	}
	if strings.Contains(body, "<!--") {
		t.Error("a comment")
	}
}

// sarifSchema is the schema of the standard, which go-sarif carries in its source and does not export.
var sarifSchema = sync.OnceValue(func() string {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		panic(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)),
		"pkg/report/v210/sarif/schema.go"), nil, 0)
	if err != nil {
		panic(err)
	}
	schema := file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec).Values[0].(*ast.BasicLit)
	text, err := strconv.Unquote(schema.Value)
	if err != nil || !strings.Contains(text, "sarif-schema-2.1.0") {
		panic(fmt.Sprint("no schema: ", err))
	}
	return text
})

// checkSARIF holds the schema of SARIF 2.1.0, which allows no property of one's own, and the rules of GitHub: one run
// of a tool and category, a known rule and one place in the repository for each result.
func checkSARIF(t *testing.T, text string) []*sarifschema.Result {
	t.Helper()
	log := new(sarifschema.Report)
	strict := json.NewDecoder(strings.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(log); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	checkSchema(t, sarifSchema(), text)
	if len(log.Runs) != 1 {
		t.Fatalf("%d runs", len(log.Runs))
	}
	run, seen := log.Runs[0], make(map[string]bool)
	for _, r := range run.Results {
		if !slices.ContainsFunc(run.Tool.Driver.Rules,
			func(d *sarifschema.ReportingDescriptor) bool { return *d.ID == *r.RuleID }) {
			t.Errorf("rule %s is not declared", *r.RuleID)
		}
		at := r.Locations[0].PhysicalLocation
		uri, err := url.Parse(*at.ArtifactLocation.URI)
		if err != nil || uri.IsAbs() || uri.Host != "" || path.IsAbs(uri.Path) ||
			strings.HasPrefix(path.Clean(uri.Path)+"/", "../") || *at.Region.StartLine < 1 {
			t.Errorf("place %q", *at.ArtifactLocation.URI)
		}
		if f := r.PartialFingerprints["primaryLocationLineHash"]; f == "" || seen[f] {
			t.Errorf("fingerprint %q", f)
		} else {
			seen[f] = true
		}
	}
	return run.Results
}

// checkCSV wants rows of one length, known words and numbers, and no cell that a spreadsheet computes.
func checkCSV(t *testing.T, text string) (rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, cells := range all[1:] {
		row := make(map[string]string)
		for i, c := range cells {
			row[all[0][i]] = c
			_, number := strconv.ParseFloat(c, 64)
			if strings.IndexAny(c, "=+-@\t\r\n＝＋－＠") == 0 && number != nil || strings.ContainsAny(c, "\n\r\t") {
				t.Errorf("%s: %q", all[0][i], c)
			}
		}
		for _, name := range []string{"base", "head", "change", "low", "high", "p", "mde", "share", "limit"} {
			if _, err := strconv.ParseFloat(row[name], 64); row[name] != "" && err != nil {
				t.Errorf("%s is %q", name, row[name])
			}
		}
		rows = append(rows, row)
	}
	if rows[0]["scope"] != "gate" || rows[0]["outcome"] == "" {
		t.Errorf("the first row is %v", rows[0])
	}
	return rows
}

// bencherSchema is that of the Bencher Metric Format, https://bencher.dev/bmf.json, without room for anything else.
const bencherSchema = `{"type": "object", "additionalProperties": {"type": "object", "minProperties": 1, "additionalProperties": {
	"type": "object", "required": ["value"], "additionalProperties": false,
	"properties": {"value": {"type": "number"}, "lower_value": {"type": "number"}, "upper_value": {"type": "number"}}},
	"propertyNames": {"pattern": "^[a-z0-9][a-z0-9-]{0,63}$"}}, "propertyNames": {"minLength": 1, "maxLength": 1024, "not": {"pattern": "-bencher-ignore$"}}}`

var compiledSchemas sync.Map

// checkSchema wants JSON of a schema, and returns it.
func checkSchema(t *testing.T, schema, text string) any {
	t.Helper()
	compiled, ok := compiledSchemas.Load(schema)
	if !ok {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		c.AddResource("schema.json", doc)
		compiled = c.MustCompile("schema.json")
		compiledSchemas.Store(schema, compiled)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = compiled.(*jsonschema.Schema).Validate(value)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	return value
}

// TestTrends: each number of the head stands once in Bencher's input; a report without a verdict has none.
func TestTrends(t *testing.T) {
	for name, r := range reports(t) {
		want := 0
		for _, w := range r.Each() {
			for _, f := range w.Findings {
				if f.Head.Known() && w.Verdict != result.NoVerdict {
					want++
				}
			}
		}
		got := 0
		for _, of := range checkSchema(t, bencherSchema, render(t, "bencher", r, Options{})).(map[string]any) {
			got += len(of.(map[string]any))
		}
		if name != "hostile" && got != want {
			t.Errorf("%s: %d numbers, want %d", name, got, want)
		}
	}
	// Names that are cut stay apart.
	long := strings.Repeat("k", 1000)
	r := &result.Report{Verdict: result.Pass}
	for _, end := range []string{"a", "b"} {
		name := long + end + long
		r.Findings = append(r.Findings, result.Finding{Kernel: name, Name: name, Scope: measure.ScopeKernel,
			Metric: "time", Unit: "ns", Head: 1, Outcome: result.WithinLimit})
	}
	if n := len(checkSchema(t, bencherSchema, render(t, "bencher", r, Options{})).(map[string]any)); n != 2 {
		t.Errorf("%d benchmarks of two", n)
	}
}

// TestFormats checks the reports of testdata by the rules of their readers.
func TestFormats(t *testing.T) {
	for name, r := range reports(t) {
		t.Run(name, func(t *testing.T) {
			suites := checkJUnit(t, render(t, "junit", r, Options{}))
			issues := checkCodeQuality(t, render(t, "codequality", r, Options{}))
			values := checkOpenMetrics(t, render(t, "openmetrics", r, Options{}))
			env := render(t, "dotenv", r, Options{})
			checkDotenv(t, env)
			checkHTML(t, render(t, "html", r, Options{}))

			findings, noVerdict, failed, rows, of := 0, 0, 0, 0, make(map[story.Class]int)
			for _, w := range r.Each() {
				v := story.Tell(w, Options{})
				rows += v.Counts.Slower
				for _, c := range slices.Concat(v.Causes, v.Open) {
					of[c.Class]++
				}
				findings += len(w.Findings)
				want := "0"
				switch w.Verdict {
				case result.Pass:
					want = "1"
				case result.Fail:
					failed++
				case result.NoVerdict:
					noVerdict++
				}
				if got := values[fmt.Sprintf("nsgate_pass{workload=%q}", v.Workload)]; got != want {
					t.Errorf("nsgate_pass is %q", got)
				}
			}
			verdicts := len(r.Each())
			if suites.Failures != rows+failed || suites.Errors != noVerdict || suites.Tests != findings+verdicts {
				t.Errorf("JUnit counts %+v of %d failing in %d workloads", suites.junitCounts, rows, failed)
			}
			count := func(severity string) (n int) {
				for _, i := range issues {
					if i.Severity == severity {
						n++
					}
				}
				return n
			}
			if count("major") != of[story.Failing]+noVerdict || count("minor") != of[story.Warned] ||
				count("info") != of[story.Open] {
				t.Errorf("code quality has %d issues", len(issues))
			}
			if len(r.Workloads) > 0 {
				verdicts++ // that on all
			}
			results, table := checkSARIF(t, render(t, "sarif", r, Options{})),
				checkCSV(t, render(t, "csv", r, Options{}))
			if len(results) != len(issues) || len(table) != findings+verdicts {
				t.Errorf("SARIF has %d results for %d issues, CSV %d rows for %d findings", len(results), len(issues),
					len(table), findings)
			}
			if !strings.Contains(env, "NSGATE_RESULT_VERDICT="+string(r.Verdict)+"\n") {
				t.Errorf("dotenv %s", env)
			}
		})
	}
}

// Of several workloads each format tells whose a number or a finding is.
func TestSeveral(t *testing.T) {
	r := reports(t)["several"]
	for format, want := range map[string][]string{
		"sarif": {`"executionSuccessful": false`, `"text": "infer: no verdict: `, `"text": "kernels: step 571`,
			`"text": "train: undecided: `},
		"codequality": {`"description": "infer: no verdict: `, `"description": "kernels: step 571`},
		"csv": {"\n,fail,,gate,", "\nkernels,fail,,gate,", "\ntrain,\"pass, undecided\",,gate,",
			"\ninfer,no verdict,,gate,", "\nkernels,slower,true,"},
		"bencher": {`"workload (kernels)"`, `"kernel tiny#c269024b (train)"`},
	} {
		text := render(t, format, r, Options{})
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s has no %q:\n%s", format, w, text)
			}
		}
	}
	if text := render(t, "csv", r, Options{}); strings.Count(text, "workload,outcome") != 1 {
		t.Error(text)
	}
}

// TestSeveralSayAsMuch checks that a gate of several workloads says what each passing one says by itself: what is
// slower without failing it, increased, new, gone and left out, and its warnings, those in a comment as well.
func TestSeveralSayAsMuch(t *testing.T) {
	line := regexp.MustCompile(`(?m)^  (Slower|New|Besides|Omitted|!) +\S.*$`)
	tried := map[string]bool{}
	say := func(warned, drifts bool) {
		r := reports(t)["fail"]
		r.Workload, r.Verdict, r.Next = "app", result.Pass, nil
		r.Findings = slices.DeleteFunc(r.Findings, func(f result.Finding) bool {
			return !warned || f.Outcome != result.Slower
		})
		for i := range r.Findings {
			r.Findings[i].Gates, r.Findings[i].Severity = false, "warn"
		}
		r.Warnings, r.Remarks = nil, nil
		if drifts {
			r.Warnings = []string{"it drifts"}
		}
		passed := result.Say(reason.NoneSlower{Comparisons: 3, Listed: warned})
		r.Reason, r.ReasonKey, r.ReasonArgs = passed.Sentence, passed.Key, passed.Args
		other := reports(t)["pass"]
		other.Workload = "other"
		whole := verdict.Several([]*result.Report{r, other}).Shown(nil)
		text := render(t, "text", whole, Options{Width: 200})
		for _, said := range line.FindAllStringSubmatch(render(t, "text", r.Shown(nil), Options{Width: 200}), -1) {
			tried[said[1]] = true
			if !strings.Contains(text, said[0]) {
				t.Errorf("%q is not in\n%s", said[0], text)
			}
		}
		if strings.Contains(text, "none slower") == warned {
			t.Errorf("warned %v, and it says\n%s", warned, text)
		}
		if c := Comment(whole, Options{}, Pages{}); strings.Contains(c, "; it drifts\n") != drifts {
			t.Errorf("drifts %v, and the comment is\n%s", drifts, c)
		}
	}
	say(false, false)
	say(true, false)
	say(false, true)
	say(true, true)
	if !tried["Slower"] || !tried["!"] {
		t.Errorf("the lines say %v", tried)
	}
}

// Names of cases and fingerprints do not hang on what was measured; what GitLab compares as text does not move with
// noise.
func TestStableFromRunToRun(t *testing.T) {
	a := reports(t)["fail"]
	b := reports(t)["fail"]
	for i := range b.Findings {
		f := &b.Findings[i]
		for _, n := range []*result.Number{&f.Base, &f.Head, &f.Change, &f.Low, &f.High, &f.P} {
			*n *= 1.000001
		}
		f.Rule, f.Reason = "nsgate.toml:99", "another"
	}
	x, y := checkJUnit(t, render(t, "junit", a, Options{})), checkJUnit(t, render(t, "junit", b, Options{}))
	for i, c := range x.Suites[0].Cases {
		if d := y.Suites[0].Cases[i]; c.Name != d.Name || c.Class != d.Class {
			t.Errorf("case %q became %q", c.Name, d.Name)
		}
	}
	p, q := checkCodeQuality(t, render(t, "codequality", a, Options{})),
		checkCodeQuality(t, render(t, "codequality", b, Options{}))
	for i := range p {
		if p[i].Fingerprint != q[i].Fingerprint || p[i].CheckName != q[i].CheckName {
			t.Errorf("issue %+v became %+v", p[i], q[i])
		}
	}
	moved, before := 0, checkOpenMetrics(t, render(t, "openmetrics", a, Options{}))
	for name, v := range checkOpenMetrics(t, render(t, "openmetrics", b, Options{})) {
		if before[name] == "" {
			t.Errorf("new: %s", name)
		} else if before[name] != v {
			moved++
		}
	}
	if moved > 2 { // a value may stand on the edge between two roundings
		t.Errorf("%d of %d values moved with a change of 0.0001 %%", moved, len(before))
	}
}

func TestSignal(t *testing.T) {
	for _, c := range []struct {
		head, low, high, base float64
		unit, want            string
	}{
		{21234.5, 0.046, 0.052, 21234, "ns", "2.123e-05"}, // half an interval is 64 ns: four digits all the same
		{21234.5, -0.0001, 0.0001, 21234, "ns", "2.123e-05"},
		{21234.5, -0.9, 0.9, 21234, "ns", "2.123e-05"},
		{21234.5, math.NaN(), math.NaN(), 21234, "ns", "2.123e-05"},
		{4194308, 0, 0, 4194304, "B", "4.194308e+06"},
		{60, 0, 0, 60, "count", "60"},
		{0, 0, 0, 1, "ns", "0"},
	} {
		f := result.Finding{Head: result.Number(c.head), Low: result.Number(c.low), High: result.Number(c.high),
			Base: result.Number(c.base), Unit: c.unit}
		scale := 1.0
		if c.unit == "ns" {
			scale = 1e9
		}
		if got := signal(f, scale); got != c.want {
			t.Errorf("%v: %s, want %s", c, got, c.want)
		}
	}
}

func TestLocatePointsIntoTheRepository(t *testing.T) {
	r := reports(t)["fail"]
	o := Options{Locate: func(f result.Finding) (string, int, bool) {
		return "src/k.cu", 7, f.Kernel == "saxpy"
	}}
	if text := render(t, "junit", r, o); !strings.Contains(text, "src/k.cu:7\n") || strings.Contains(text, r.Baseline) {
		t.Error(text)
	}
	places := make(map[string]int)
	for _, i := range checkCodeQuality(t, render(t, "codequality", r, o)) {
		places[i.Location.Path] = i.Location.Lines.Begin
	}
	// Findings without a place in the source point to the limit, never into a file of the baseline.
	if len(places) != 2 || places["src/k.cu"] != 7 || places["nsgate.toml"] != 1 {
		t.Errorf("%v", places)
	}
	r.Findings[0].Rule = "../../../etc/x.toml:3"
	checkCodeQuality(t, render(t, "codequality", r, Options{}))
}

// checkFormats renders one hostile text in every field.
func checkFormats(t *testing.T, s string) {
	t.Helper()
	r := hostile(s)
	texts := map[string]string{}
	for _, format := range Formats(Report) {
		if slices.Contains([]string{"json", "text", "markdown"}, format) {
			continue
		}
		texts[format] = render(t, format, r, Options{})
		for _, l := range strings.Split(texts[format], "\n") {
			if strings.HasPrefix(strings.TrimSpace(l), "::") || strings.Contains(l, "##[") {
				t.Errorf("a CI runner would obey %q", l)
			}
			if strings.ContainsAny(l, "\x00\x1b\r\u202e") || !utf8.ValidString(l) {
				t.Errorf("%s: %q", format, l)
			}
		}
	}
	if suites := checkJUnit(t, texts["junit"]); suites.Tests != len(r.Findings)+1 {
		t.Errorf("%d cases", suites.Tests)
	}
	checkCodeQuality(t, texts["codequality"])
	checkOpenMetrics(t, texts["openmetrics"])
	checkDotenv(t, texts["dotenv"])
	checkHTML(t, texts["html"])
	inside, err := saved.Unpack([]byte(texts["html"]))
	var printed strings.Builder
	terminal.New(&printed, terminal.Form{Syntax: terminal.JSON}).Write(inside)
	if err != nil || printed.String() != render(t, "json", r, Options{}) {
		t.Errorf("the page holds another report (%v):\n%s", err, inside)
	}
	checkSARIF(t, texts["sarif"])
	checkCSV(t, texts["csv"])
	checkSchema(t, bencherSchema, texts["bencher"])
	checkReviewdog(t, texts["rdjson"])
	checkSmaller(t, texts["customSmallerIsBetter"])
	other := hostile(s)
	other.Workload, other.Verdict = s+"2", result.NoVerdict
	several := verdict.Several([]*result.Report{r, other}).Shown(nil)
	several.Reason = s
	if suites := checkJUnit(t, render(t, "junit", several, Options{})); len(suites.Suites) != 2 {
		t.Errorf("%d suites of two workloads", len(suites.Suites))
	}
	checkCodeQuality(t, render(t, "codequality", several, Options{}))
	checkSARIF(t, render(t, "sarif", several, Options{}))
	checkCSV(t, render(t, "csv", several, Options{}))
	checkSchema(t, bencherSchema, render(t, "bencher", several, Options{}))
	// A name is shown as it is, not only harmless.
	if name := strings.TrimSpace(story.Clean(s)); name != "" && len(name) < 50 && !strings.Contains(name, "##[") {
		if !strings.Contains(html.UnescapeString(texts["html"]), name) {
			t.Errorf("the page lost %q", name)
		}
	}
}

// checkReviewdog holds the rules of rdjson.proto: a message, a path, a line and a severity of the list in each
// diagnostic. reviewdog posts messages as Markdown.
func checkReviewdog(t *testing.T, text string) {
	t.Helper()
	var all rdReport
	d := json.NewDecoder(strings.NewReader(text))
	if d.DisallowUnknownFields(); d.Decode(&all) != nil || len(all.Diagnostics) == 0 {
		t.Fatalf("no diagnostics: %s", text)
	}
	for _, x := range all.Diagnostics {
		if x.Message == "" || x.Location.Path == "" || x.Location.Range.Start.Line < 1 ||
			!slices.Contains([]string{"ERROR", "WARNING", "INFO"}, x.Severity) {
			t.Errorf("%+v", x)
		}
		if strings.ContainsAny(x.Message, "<`@\n") {
			t.Errorf("markup in %q", x.Message)
		}
	}
}

// checkSmaller holds what github-action-benchmark needs: each name once, with a unit. It shows them in backticks in a
// cell of a table.
func checkSmaller(t *testing.T, text string) {
	t.Helper()
	var all []smallerValue
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range all {
		if seen[x.Name] || x.Unit == "" || strings.ContainsAny(x.Name+x.Unit, "|`\n") {
			t.Errorf("%+v", x)
		}
		seen[x.Name] = true
	}
}

// A number that is better the higher it is would be read as a regression where it rises. What one format leaves out is
// said, and the other has it.
func TestSmallerIsBetter(t *testing.T) {
	r := &result.Report{Verdict: result.Pass}
	for i, m := range []measure.Metric{measure.Rate, measure.Cost, {Name: "unheard_of"}} {
		r.Findings = append(r.Findings, result.Finding{Name: fmt.Sprint("o", i, "`|\n::x"), Scope: measure.ScopeOutput,
			Metric: m.Name, Unit: "a|b", Head: 1, Outcome: result.WithinLimit})
	}
	for format, want := range map[string]string{"customSmallerIsBetter": "o1", "customBiggerIsBetter": "o0"} {
		text, left := render(t, format, r, Options{}), LeftOut(format, r)
		checkSmaller(t, text)
		for _, name := range []string{"o0", "o1", "o2"} {
			if strings.Contains(text, name) != (name == want) || strings.Contains(left, name) != (name != want) {
				t.Errorf("%s has %s, and leaves out: %s", format, text, left)
			}
		}
	}
	if left := LeftOut("json", r); left != "" {
		t.Errorf("json leaves out: %s", left)
	}
}

func FuzzFormats(f *testing.F) {
	for _, s := range append(nasty, "=cmd()", "+1", strings.Repeat("k", 600), `"`, `"} 1`, "\n# EOF\n",
		"KEY=x\nNSGATE_RESULT_VERDICT=pass") {
		f.Add(s)
	}
	f.Fuzz(checkFormats)
}

// The page of an undecided report begins with the open comparisons and the calls that settle them, that of a failure
// with its cause.
func TestPageBegins(t *testing.T) {
	all := reports(t)
	for name, parts := range map[string][]string{"undecided": {"Open", "Settle"}, "fail": {"Why"}} {
		page := render(t, "html", all[name], Options{})
		at := 0
		for _, part := range parts {
			next := strings.Index(page[at:], ">"+part+"</h2>")
			if next < 0 {
				t.Errorf("%s: the page has no part %q behind %d", name, part, at)
				break
			}
			at += next
		}
	}
}

// codeIssue is what GitLab reads of a Code Climate issue.
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

// rdReport is the Reviewdog Diagnostic Format.
type rdReport struct {
	Source struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"source"`
	Diagnostics []struct {
		Message  string `json:"message"`
		Location struct {
			Path  string `json:"path"`
			Range struct {
				Start struct {
					Line int `json:"line"`
				} `json:"start"`
			} `json:"range"`
		} `json:"location"`
		Severity string `json:"severity"`
		Code     struct {
			Value string `json:"value"`
		} `json:"code"`
	} `json:"diagnostics"`
}

// smallerValue is a benchmark of a tool of github-action-benchmark.
type smallerValue struct {
	Name  string        `json:"name"`
	Unit  string        `json:"unit"`
	Value result.Number `json:"value"`
	Range string        `json:"range,omitempty"`
}
