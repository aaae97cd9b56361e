package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// genReport makes reports with unknown numbers and any valid text; infinite numbers are the one thing JSON loses.
func genReport(t *rapid.T) *result.Report {
	number := rapid.Custom(func(t *rapid.T) result.Number {
		if rapid.IntRange(0, 4).Draw(t, "unknown") == 0 {
			return result.Number(math.NaN())
		}
		return result.Number(rapid.Float64Range(-1e300, 1e300).Draw(t, "number"))
	})
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"saxpy", "##[error]", "<a>", `\##["`, "\u2028"}))
	numbers, texts := rapid.SliceOfN(number, 0, 4), rapid.SliceOfN(text, 0, 3)
	n := func(name string) result.Number { return number.Draw(t, name) }
	s := func(name string) string { return text.Draw(t, name) }
	r := &result.Report{
		Schema: result.Schema, Verdict: rapid.SampledFrom([]result.Verdict{result.Pass, result.Fail,
			result.NoVerdict}).Draw(t, "verdict"),
		Reason: s("reason"), Next: texts.Draw(t, "next"), Undecided: rapid.Bool().Draw(t, "undecided"),
		Alpha:    n("alpha"),
		Warnings: texts.Draw(t, "warnings"), Reproduce: s("reproduce"),
		Head: result.Side{Runs: 3, Environment: model.Environment{GPU: s("gpu"), Start: time.Unix(1e9, 5).UTC()}},
	}
	for range rapid.IntRange(0, 3).Draw(t, "findings") {
		r.Findings = append(r.Findings, result.Finding{
			Kernel: s("kernel"), Name: s("name"), Scope: measure.ScopeKernel, Metric: s("metric"), Unit: s("unit"),
			Outcome: rapid.SampledFrom([]result.Outcome{
				result.Slower, result.Faster, result.WithinLimit, result.Undecided, result.New, result.Gone,
			}).Draw(t, "outcome"),
			Base: n("base"), Head: n("head"), Change: n("change"), Low: n("low"), High: n("high"), P: n("p"),
			MDE:   n("mde"),
			Share: n("share"), Limit: n("limit"), Floor: n("floor"), BaseRuns: numbers.Draw(t, "runs"),
			HeadRuns: numbers.Draw(t, "runs"), Evidence: texts.Draw(t, "evidence"), BaseNames: texts.Draw(t, "names"),
			Gates: r.Verdict == result.Fail && rapid.Bool().Draw(t, "gates"), Reason: s("why"), ReasonKey: s("key"),
		})
		if last := len(r.Findings) - 1; last > 0 && rapid.Bool().Draw(t, "subject of the last") {
			f, was := &r.Findings[last], &r.Findings[last-1]
			f.Kernel, f.Name, f.Share = was.Kernel, was.Name, was.Share
			f.Reason, f.ReasonKey = was.Reason, was.ReasonKey
		}
		if f := &r.Findings[len(r.Findings)-1]; f.Base.Known() && f.Change.Known() {
			f.Change = result.Number(math.Mod(float64(f.Change), 10))
			f.Head = f.Base * (1 + f.Change)
		}
	}
	values := rapid.SliceOfN(rapid.OneOf(rapid.Just(math.NaN()), rapid.Float64Range(0, 1e12)), 0, 4).Draw(t, "values")
	r.HeadSessions = []model.Session{{
		ID: s("id"), Step: s("step"), Runs: []model.Run{{Skipped: 1, Total: 60, Steady: true}},
		Series: []model.Series{{
			Subject: measure.Subject{Scope: measure.ScopeKernel, Name: s("name"), Grid: measure.Dim3{X: 1, Y: 2, Z: 3}},
			Metric:  measure.Time, Values: values,
		}},
	}}
	return r
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genReport(t)
		var b bytes.Buffer
		if err := Render("json", &b, want, Options{}); err != nil {
			t.Fatal(err)
		}
		first := b.String()
		if strings.Contains(first, "##[") {
			t.Errorf("a CI runner would obey %s", first)
		}
		got, err := saved.Read(&b, "report.json")
		if err != nil {
			t.Fatal(err)
		}
		number := cmp.Comparer(func(a, b result.Number) bool { return a == b || !a.Known() && !b.Known() })
		if diff := cmp.Diff(want, got, number, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(),
			cmpopts.IgnoreFields(result.Report{}, "Counts", "Causes", "Next")); diff != "" {
			t.Errorf("JSON lost something (-want +got):\n%s", diff)
		}
		var again bytes.Buffer
		if err := Render("json", &again, got, Options{}); err != nil || again.String() != first {
			t.Errorf("a second pass differs: %v\n%s", err, cmp.Diff(first, again.String()))
		}
	})
}

func TestJSONHasNoNullLists(t *testing.T) {
	r := &result.Report{Verdict: result.Pass, Findings: []result.Finding{{Outcome: result.New}}}
	got := render(t, "json", r, Options{})
	for _, want := range []string{`"base_runs": []`, `"head_runs": []`, `"schema": "nsgate.report/2"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if got := render(t, "json", new(result.Report), Options{}); !strings.Contains(got, `"subjects": []`) {
		t.Errorf("no empty list of subjects: %s", got)
	}
	if r.Findings[0].BaseRuns != nil || r.Schema != "" {
		t.Error("rendering changed the report")
	}
}

func TestReadJSONErrors(t *testing.T) {
	finding := func(edit string) string {
		f := `{"share":0,"at":[0],"metrics":[{"outcome":"new","base":null,"head":1,"change":null,"low":null,` +
			`"high":null,"p":null,"mde":null,"limit":null,"floor":0}]}`
		from, to, _ := strings.Cut(edit, "=>")
		return `{"schema":"nsgate.report/2","verdict":"pass","counts":{"comparisons":1},` + "\n" + `"subjects":[` +
			strings.Replace(f, from, to, 1) + `]}`
	}
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", `r.json:1: not a JSON report: the file is empty; give a file`},
		{"not JSON", "SQLite format 3\x00", `r.json:1: not a JSON report: invalid character 'S'`},
		{"truncated", finding("")[:80], `r.json:2: not a JSON report: unexpected end of JSON input`},
		{"trailing", finding("") + "\n{}", `r.json:3: not a JSON report: invalid character '{' after top-level value`},
		{"list", "[]", `r.json: not a report`},
		{"null", "null", `r.json: no "schema"`},
		{"other JSON", `{"a":1}`, `r.json: no "schema": this is not a report; give a file`},
		{"older", `{"schema":"nsgate.report/1","findings":[]}`,
			`is "nsgate.report/1", this nsgate reads "nsgate.report/2"; use the nsgate that wrote the report`},
		{"newer", `{"schema":"nsgate.report/3"}`,
			`the schema is "nsgate.report/3", this nsgate reads "nsgate.report/2"; use`},
		{"verdict", `{"schema":"nsgate.report/2","verdict":"green"}`,
			`verdict "green" is not pass, fail or no-verdict`},
		{"no verdict field", `{"schema":"nsgate.report/2"}`, `verdict "" is not`},
		{"outcome", finding(`"new"=>"added"`), `finding 1 has no known outcome ("added")`},
		{"missing number", finding(`"head":1,=>`),
			`r.json:2: not a JSON report: a metric has no "head"; give a file`},
		{"missing share", finding(`"share":0,=>`), `a subject has no share, or 1 metrics at 1 places; give a file`},
		{"gap", finding(`"at":[0]=>"at":[1]`), `no metric has the place 0; give a file`},
		{"places", finding(`"at":[0]=>"at":[0,1]`), `1 metrics at 2 places; give a file`},
		{"no metrics", finding(`"metrics"=>"other"`), `0 metrics at 1 places; give a file`},
		{"text for a number", finding(`"head":1=>"head":"1"`),
			`r.json: not a report: "subjects.head" cannot be a string`},
		{"null finding", `{"schema":"nsgate.report/2","verdict":"pass","subjects":[null]}`,
			`a subject has no share`},
		{"huge number", finding(`"head":1=>"head":1e999`), `r.json: not a report: "subjects.head" cannot be a number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := saved.Read(strings.NewReader(c.in), "r.json")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	forged := func(verdict, counts, finding string) string {
		return `{"schema":"nsgate.report/2","verdict":"` + verdict + `","counts":{` + counts +
			`},"subjects":[{"share":0,"at":[0],"metrics":[{"outcome":"slower","low":null,"high":null,` +
			`"p":null,"mde":null,"limit":null,"floor":0,` + finding + `}]}]}`
	}
	slower := `"base":100,"head":110,"change":0.1,"gates":true`
	for _, c := range []struct{ in, want string }{
		{forged("fail", `"slower":1,"comparisons":1`, slower), ""},
		{forged("pass", `"slower":1,"comparisons":1`, slower),
			"its verdict is pass, and finding 1, which gates, is slower: the file was edited"},
		{forged("no-verdict", `"slower":1,"comparisons":1`, slower), "its verdict is no-verdict, and finding 1"},
		{forged("fail", ``, slower), "its counts are not those of its findings"},
		{forged("fail", `"slower":1,"comparisons":1`, strings.Replace(slower, "110", "886", 1)),
			"the change of finding 1 is not that of its values"},
		{forged("pass", `"comparisons":1`, strings.Replace(slower, "true", `false,"doubted":true`, 1)),
			"its verdict is pass, and finding 1 may be slower"},
		{`{"schema":"nsgate.report/2","verdict":"pass","workloads":[` +
			forged("fail", `"slower":1,"comparisons":1`, slower) + `]}`,
			"its verdict is pass, that of its workloads fail"},
	} {
		_, err := saved.Read(strings.NewReader(c.in), "r.json")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.in, err, c.want)
		}
	}
	if _, err := saved.Read(strings.NewReader(finding(`"base"=>"new_field":{},"base"`)), "r.json"); err != nil {
		t.Errorf("a field of a later nsgate: %v", err)
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, r := range reports(f) {
		var b bytes.Buffer
		if err := Render("json", &b, r, Options{}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := saved.Read(bytes.NewReader(data), "r.json")
		if err != nil {
			return
		}
		for _, format := range Formats(Report) {
			var b bytes.Buffer
			if err := Render(format, &b, r, Options{}); err != nil && format != "json" {
				t.Errorf("%s: %v", format, err)
			}
		}
	})
}
