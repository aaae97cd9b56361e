package github

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

func regression(name string) result.Finding {
	return result.Finding{
		Kernel: name, Name: "void " + name + "<float>(int)", Scope: measure.ScopeKernel, Metric: "time", Unit: "ns",
		Outcome: result.Slower, Gates: true, Severity: "fail", Base: 21200, Head: 22260, Change: 0.05, Low: 0.046,
		High:  0.052,
		Limit: 0.03, Reason: "beyond the limit", Evidence: []string{"registers 32 → 255"},
	}
}

func annotate(t *testing.T, r *result.Report, o Options) []string {
	t.Helper()
	var b bytes.Buffer
	o.Writer = &b
	if err := Publish(r, "", o); err != nil {
		t.Fatal(err)
	}
	if b.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func TestAnnotations(t *testing.T) {
	saxpy, total, gone := regression("saxpy"), regression("saxpy"), regression("gone")
	total.Metric, total.Evidence = "total", nil
	warned := regression("small")
	warned.Gates = false
	open := regression("open")
	open.Outcome, open.Undecided = result.Undecided, true
	unchanged := regression("same")
	unchanged.Outcome = result.WithinLimit

	o := Options{
		Locate: func(f result.Finding) (string, int, bool) {
			if f.Kernel == "saxpy" {
				return "src/k.cu", 2, true
			}
			return "perf/a,b:c.csv", 7, f.Kernel == "gone"
		},
	}
	r := &result.Report{Verdict: result.Fail, Findings: []result.Finding{unchanged, warned, saxpy, open, total, gone}}
	title := func(name string) string {
		return "title=" + name + " 21.20 → 22.26 µs +5.0 %25 (+4.6 … +5.2 %25%2C limit 3 %25)::"
	}
	const registers = "registers 32 → 255%0A"
	do := insight.Do(insight.Failure{Report: r, Findings: []*result.Finding{&saxpy}}) + "%0A"
	want := []string{
		"::error file=src/k.cu,line=2," + title("saxpy") + registers + do + "void saxpy<float>(int)%0A" + story.Allow,
		"::error file=perf/a%2Cb%3Ac.csv,line=7," + title("gone") + registers + do + "void gone<float>(int)",
		"::warning " + title("small") + registers + "beyond the limit%0A" + do + "void small<float>(int)",
		"::warning " + title("open") + registers + "beyond the limit%0Avoid open<float>(int)",
	}
	if got := annotate(t, r, o); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	r = &result.Report{Verdict: result.NoVerdict, Reason: "the GPU\ndiffers", Next: []string{"record"},
		Findings: []result.Finding{open}}
	if got := annotate(t, r, o); len(got) != 2 || got[1] != want[3] ||
		got[0] != "::error title=nsgate%3A no verdict::the GPU differs%0Arecord" {
		t.Errorf("no verdict: %q", got)
	}
	r.Verdict, r.Gate.Way, o.Writer = result.Fail, result.Accepted, new(bytes.Buffer)
	if err := Publish(r, "", o); err != nil || strings.Contains(fmt.Sprint(o.Writer), "::error") {
		t.Errorf("accepted by a label: %v, %s", err, o.Writer)
	}
	if got := annotate(t, &result.Report{Verdict: result.Pass, Findings: []result.Finding{unchanged}}, o); got != nil {
		t.Errorf("pass: %q", got)
	}
}

// Where the time of the step went stands with the step, and with the reason of a report that judges nothing.
func TestAnnotationsOfTheStep(t *testing.T) {
	step := regression("workload")
	step.Name, step.Scope, step.Metric, step.Evidence = "", measure.ScopeWorkload, measure.StepTime.Name, nil
	own := result.Own{Base: 500e3, Head: 700e3, Change: 200e3, Low: 150e3, High: 250e3}
	r := &result.Report{Verdict: result.Fail, Findings: []result.Finding{step}, Waterfall: &result.Waterfall{Own: own,
		Parts: []result.WaterfallPart{{Class: "launch-starved", Idle: true, Where: "host code", Own: own}}}}
	const told = "%0Astep 21.20 → 22.26 µs (+5.00 %25)%0A+200.0 µs GPU idle: waiting for the CPU"
	if got := annotate(t, r, Options{}); len(got) != 1 || !strings.Contains(got[0], told) {
		t.Errorf("got %q, want %q in it", got, told)
	}
	r.Verdict, r.Reason, r.Findings[0].ReasonKey = result.NoVerdict, "1 run against 1", "not-judged"
	if got := annotate(t, r, Options{}); len(got) != 1 || !strings.Contains(got[0], "1 run against 1"+told) {
		t.Errorf("got %q, want %q in it, and no finding", got, told)
	}
}

func TestAnnotationsAreAtMostTen(t *testing.T) {
	for _, c := range []struct {
		errors, warnings int
		errorLines       int
		last             string
	}{
		{10, 0, 10, "::error title=k9"},
		{11, 0, 10, "::error title=nsgate%3A 2 more::2 more slower; see"},
		{30, 5, 10, "::error title=nsgate%3A 26 more::21 more slower and 5 more with a warning"},
		{9, 2, 9, "::warning title=nsgate%3A 2 more::2 more with a warning; see"},
		{3, 20, 3, "::warning title=nsgate%3A 14 more::"},
	} {
		r := &result.Report{Verdict: result.Fail}
		for i := range c.errors + c.warnings {
			f := regression(fmt.Sprintf("k%d", i))
			f.Gates = i < c.errors
			r.Findings = append(r.Findings, f)
		}
		got := annotate(t, r, Options{})
		if len(got) != 10 || strings.Count(strings.Join(got, "\n"), "::error ") != c.errorLines {
			t.Errorf("%d and %d: %d annotations: %q", c.errors, c.warnings, len(got), got)
		}
		if last := got[len(got)-1]; !strings.HasPrefix(last, c.last) {
			t.Errorf("%d and %d: the last is %q", c.errors, c.warnings, last)
		}
	}
}

// Whatever a kernel is called, an annotation is one line of bounded length that begins with its own command.
func FuzzAnnotation(f *testing.F) {
	for _, s := range []string{
		"saxpy", "a\n::error::b", "\r::set-output name=verdict::pass", "%0A::error::x", "##[error]x",
		"a,file=/etc/passwd:1",
		"\xff\x00\x1b[31m", strings.Repeat("é", 5000), "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x := regression(s)
		x.Name, x.Reason, x.Metric, x.Unit, x.Rule, x.Evidence = s+s, s, s, s, s, []string{s}
		for _, r := range []*result.Report{
			{Verdict: result.Fail, Findings: []result.Finding{x}},
			{Verdict: result.NoVerdict, Reason: s, Next: []string{s}},
		} {
			got := annotate(t, r, Options{})
			if len(got) != 1 || !strings.HasPrefix(got[0], "::error title=") || !utf8.ValidString(got[0]) {
				t.Fatalf("%q", got)
			}
			if strings.ContainsAny(got[0], "\r\x1b\x00") || strings.Contains(got[0], "##[") {
				t.Errorf("%q", got[0])
			}
			_, rest, _ := strings.Cut(got[0], "title=")
			title, msg, _ := strings.Cut(rest, "::")
			if strings.ContainsAny(title, ",:") {
				t.Errorf("the title sets other properties: %q", title)
			}
			msg = strings.NewReplacer("%0A", "\n", "%25", "%").Replace(msg)
			if len(msg) > maxMessage {
				t.Errorf("%d bytes of message", len(msg))
			}
		}
	})
}

func TestOutputsAndSummary(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{
		"GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"),
	}
	r := &result.Report{Verdict: result.Fail, Findings: []result.Finding{
		{Kernel: "a", Name: "a", Scope: "kernel", Outcome: result.Slower, Gates: true},
		{Kernel: "b", Name: "b", Scope: "kernel", Outcome: result.Faster},
		{Kernel: "c", Name: "c", Scope: "kernel", Outcome: result.Faster},
		{Kernel: "d", Name: "d", Scope: "kernel", Outcome: result.Undecided, Undecided: true}}}
	o := Options{Getenv: func(k string) string { return env[k] }}
	if err := Publish(r, "## fail\n", o); err != nil {
		t.Fatal(err)
	}
	output := read(t, env["GITHUB_OUTPUT"])
	const end = "_GitHubActionsFileCommandDelimeter_"
	for _, kv := range []string{"verdict=fail", "exit-code=1", "slower=1", "faster=2", "undecided=1"} {
		k, v, _ := strings.Cut(kv, "=")
		if want := k + "<<" + end + "\n" + v + "\n" + end + "\n"; !strings.Contains(output, want) {
			t.Errorf("no %s in %q", kv, output)
		}
	}
	if n := strings.Count(output, "<<"); n != 10 { // the first twice
		t.Errorf("%d outputs in %q", n, output)
	}
	if got := read(t, env["GITHUB_STEP_SUMMARY"]); got != "## fail\n\n" {
		t.Errorf("summary %q", got)
	}

	// The measured program appended a verdict of its own, and a value without an end.
	open := "verdict<<E\npass\nE\nx<<" + end + "\n"
	if err := os.WriteFile(env["GITHUB_OUTPUT"], []byte(open), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Publish(r, "", o); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(read(t, env["GITHUB_OUTPUT"]), open), end+"\n") // as GitHub reads it
	_, rest, _ = strings.Cut(rest, end+"\n")
	if !strings.HasPrefix(rest, "verdict<<"+end+"\nfail\n") {
		t.Errorf("behind an open value stands %q", rest)
	}

	// A verdict that a saved report made up cannot become an output.
	os.Remove(env["GITHUB_OUTPUT"])
	if err := Publish(&result.Report{Verdict: result.Verdict("x\n" + end + "\nverdict=pass")}, "", o); err != nil {
		t.Fatal(err)
	}
	if got := read(t, env["GITHUB_OUTPUT"]); !strings.Contains(got, "\nno-verdict\n") ||
		strings.Contains(got, "verdict=pass") {
		t.Errorf("outputs %q", got)
	}

	// Nor can a name or a file end the value of an output and begin another.
	os.Remove(env["GITHUB_OUTPUT"])
	forged := "x\n" + end + "\nverdict=pass\r\u2028" + end
	o.Files[0] = forged
	if err := Publish(&result.Report{Verdict: result.NoVerdict, Reason: forged, Workload: forged}, "", o); err != nil {
		t.Fatal(err)
	}
	output = read(t, env["GITHUB_OUTPUT"])
	if strings.Contains(output, "\nverdict=pass") || strings.Count(output, end) != 2*10 ||
		strings.ContainsAny(output, "\r\u2028") {
		t.Errorf("outputs %q", output)
	}

	os.Remove(env["GITHUB_STEP_SUMMARY"])
	if err := Publish(r, strings.Repeat("| row é |\n", 200_000), o); err != nil {
		t.Fatal(err)
	}
	got := read(t, env["GITHUB_STEP_SUMMARY"])
	if len(got) > 1<<20 || len(got) < maxSummary-100 || !utf8.ValidString(got) ||
		!strings.Contains(got, "é |\n\nThe rest") {
		t.Errorf("%d bytes of summary, ending in %q", len(got), got[max(len(got)-100, 0):])
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPublishError(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"GITHUB_OUTPUT": filepath.Join(dir, "output")}
	var b bytes.Buffer
	err := PublishError("nsgate.toml:3: unknown key\n::error::x", "nsgate.toml", 3, 2,
		Options{Writer: &b, Getenv: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(),
		"::error file=nsgate.toml,line=3,title=nsgate::nsgate.toml:3: unknown key ::error::x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := read(t, env["GITHUB_OUTPUT"]); !strings.HasPrefix(got, "exit-code<<") || !strings.Contains(got, "\n2\n") {
		t.Errorf("outputs %q", got)
	}
}

func TestNotices(t *testing.T) {
	o := Options{}
	for i := range 12 {
		o.Notices = append(o.Notices, Notice{Title: "nsgate", Message: fmt.Sprintf("edits %d rows\n::x", i),
			File: "a.csv", Line: 1})
	}
	got := annotate(t, &result.Report{Verdict: result.Pass}, o)
	if len(got) != maxAnnotations || got[0] != "::notice file=a.csv,line=1,title=nsgate::edits 0 rows ::x" {
		t.Errorf("%q", got)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("pipe closed") }

func TestPublishReturnsErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no", "such")
	err := Publish(&result.Report{Verdict: result.NoVerdict}, "x", Options{
		Writer: broken{}, Getenv: func(string) string { return missing },
	})
	for _, want := range []string{"annotations", "pipe closed", "outputs", "job summary", "no such file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), missing) {
		t.Errorf("the error names a path of the machine: %v", err)
	}
	if err := Publish(&result.Report{}, "x", Options{}); err != nil {
		t.Errorf("outside Actions: %v", err)
	}
}
