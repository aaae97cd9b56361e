package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

var (
	sgr  = regexp.MustCompile("\x1b\\[(0|2|31|32|33)m")
	tags = regexp.MustCompile(`</?(?:details|summary|code|pre|sub)>|<w?br>`)
)

// nasty are texts that break renderers: the seeds of the fuzz tests, which go test runs as well.
var nasty = []string{
	"", " ", "saxpy", "\x1b[31mred\x1b[0m", "a\nb", "a\r\nb", "\u202eevil", "\x00", "\xff\xfe", "\u009b31m", "\u2028x",
	"\u200b",
	"a|b", "a\\|b", "`", "``` ", "<script>alert(1)</script>", "</code></details>", "]]>", "@octocat", "org/x#1",
	"::error::x",
	"##[error]x", "##vso[task.complete]x", "##teamcity[buildStop]", ": :", "\u00a0::error::x", "| --- |", "- # x",
	"1. x", "[a](javascript:b)", "![a](b)", "&lt;script&gt;",
	"<!--", "$x$", "_a_", "*a*", "~~a~~", "https://x.example", strings.Repeat("long ", 200), strings.Repeat("é", 700),
	strings.Repeat("<|@", 400), "%s%d%!", "\t\t", "e\u0301", "\ufeff",
}

// hostile puts one text into every field that a workload or a saved report controls.
func hostile(s string) *result.Report {
	f := result.Finding{
		Kernel: s, Name: s, Scope: measure.ScopeKernel, Grid: s, Block: s, Metric: s, Unit: s, Gates: true,
		Severity: "fail", Base: 10, Head: 11, Change: 0.1, Low: 0.09, High: 0.11, MDE: 0.01, Share: 0.5, Limit: 0.03,
		Rule:   s,
		Reason: s, Match: "role", BaseNames: []string{s, s, s, s}, Role: s, Evidence: []string{s, s + "2"},
		BaseRuns: []result.Number{10, 10}, HeadRuns: []result.Number{11, 11},
		Cause: &result.Cause{Summary: s, Reasons: []string{s}, Base: s, Head: s, Note: s,
			Metrics: []result.CauseMetric{{Name: s, Unit: s, Base: 1, Head: 2},
				{Name: s, Unit: "%", Base: result.Number(math.NaN()), Head: 2}}},
	}
	r := &result.Report{
		Schema: result.Schema, Verdict: result.Fail, Reason: s, Next: []string{s, s}, Workload: s,
		Warnings: []string{s},
		Baseline: s, Reproduce: s, Accept: s, Family: 1, Alpha: 0.01,
	}
	env := model.Environment{GPU: s, Driver: s, CUDA: s, Tool: s, GPUs: 2}
	r.Base = result.Side{Runs: 2, Sessions: 1, Environment: env, Commit: s, Step: s, Warmup: s, Skipped: s}
	r.Head = result.Side{Runs: 2, Sessions: 1, Environment: model.Environment{GPU: s + s}, Commit: s, Skipped: s}
	own := result.Own{Base: 100, Head: 200, Change: 100, Low: 90, High: 110}
	r.Waterfall = &result.Waterfall{Own: own, Parts: []result.WaterfallPart{
		{Class: s, Where: s, Idle: true, Own: own, Owners: []result.WaterfallOwner{{Named: result.Named{Kernel: s,
			Name: s}, Own: own}}}}}
	f.ReasonKey = "not-judged"
	f.Outcome, f.Grid = result.Undecided, "alone"
	r.Findings = append(r.Findings, f)
	f.ReasonKey, f.Grid = "", s
	for i, o := range []result.Outcome{
		result.Slower, result.Faster, result.WithinLimit, result.Undecided, result.New, result.Gone, result.Slower,
	} {
		f.Outcome, f.Gates, f.Undecided = o, i < 6, o == result.Undecided
		r.Findings = append(r.Findings, f)
		f.Grid += "x" // the last is a subject of its own
	}
	return r
}

func checkLine(t *testing.T, l string) {
	t.Helper()
	if !utf8.ValidString(l) {
		t.Errorf("invalid UTF-8: %q", l)
	}
	for _, r := range l {
		if r != ' ' && !unicode.IsPrint(r) {
			t.Errorf("%U in %q", r, l)
		}
	}
	if strings.HasPrefix(strings.TrimSpace(l), "::") || strings.Contains(l, "##[") || strings.Contains(l, "##vso[") ||
		strings.Contains(l, "##teamcity[") {
		t.Errorf("a CI runner would obey %q", l)
	}
}

// Where the locale is C, text is ASCII, as wide as it may be.
func TestPlainASCII(t *testing.T) {
	for name, r := range reports(t) {
		r.Reproduce, r.Accept = "", ""
		for _, w := range r.Workloads {
			w.Reproduce, w.Accept = "", ""
		}
		for _, width := range []int{40, 80} {
			for l := range strings.Lines(render(t, "text", r, Options{Width: width, ASCII: true, Verbose: true})) {
				l = strings.TrimSuffix(l, "\n")
				if i := strings.IndexFunc(l, func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 ||
					len(l) > width {
					t.Errorf("%s at %d: %q", name, width, l)
				}
			}
		}
	}
}

func checkText(t *testing.T, s string) {
	t.Helper()
	r := hostile(s)
	lines := -1
	for _, o := range []Options{{Width: 80}, {Width: 80, Color: true}, {Width: 160, Verbose: true}, {Quiet: true}} {
		text := render(t, "text", r, o)
		if o.Color {
			if n := strings.Count(text, "\n"); n != lines {
				t.Errorf("%d lines with colour, %d without", n, lines)
			}
			text = sgr.ReplaceAllString(text, "")
		}
		lines = strings.Count(text, "\n")
		if !strings.HasPrefix(text, "FAIL  ") {
			t.Errorf("the verdict is not first: %q", text)
		}
		for _, l := range strings.Split(text, "\n") {
			checkLine(t, l)
		}
	}
}

func checkMarkdown(t *testing.T, s string) {
	t.Helper()
	r := hostile(s)
	md := render(t, "markdown", r, Options{})
	if rest := tags.ReplaceAllString(md, ""); strings.Contains(rest, "<") {
		t.Errorf("HTML of its own: %s", rest)
	}
	for _, tag := range []string{"details", "code", "pre", "sub", "summary"} {
		if a, b := strings.Count(md, "<"+tag+">"), strings.Count(md, "</"+tag+">"); a != b {
			t.Errorf("%d <%s>, %d closed", a, tag, b)
		}
	}
	rows, columns := 0, 0
	for _, l := range strings.Split(md, "\n") {
		checkLine(t, strings.ReplaceAll(l, story.NB, " "))
		if !strings.HasPrefix(l, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(strings.ReplaceAll(l, `\\`, ""), `\|`, ""), "|")
		if columns != 0 && n != columns {
			t.Errorf("%d cells instead of %d in %q", n-1, columns-1, l)
		}
		columns = n
		if n == 4 {
			rows++
		}
	}
	// Seven findings that changed under two lines of head.
	if want := 7 + 2; rows != want && len(s) < 1000 || rows > want { // the longest texts leave no room for all
		t.Errorf("%d rows instead of %d", rows, want)
	}
	if strings.Contains(md, "`") {
		t.Errorf("a backtick: %s", md)
	}
	for _, limit := range []int{1, 100, 1000, 5000, 20000} {
		cut := render(t, "markdown", r, Options{MaxBytes: limit})
		if len(cut) > limit || !utf8.ValidString(cut) {
			t.Errorf("%d bytes where %d are allowed", len(cut), limit)
		}
	}
}

// GitHub and GitLab make references of these in a comment, and tell those who follow what they name.
func TestReferences(t *testing.T) {
	for _, s := range []string{"@a", "#1", "o/x#1", "!1", "~bug", "$1", "&1", "%1", "%next", "x %1 y", "GH-1", "a gh-1",
		"www.a.b", "https://a.b"} {
		at := strings.IndexAny(s, "@#!~$&%-.:")
		if !strings.Contains(prose(s), "&#8203;"+s[at+1:]) {
			t.Errorf("%q becomes %q", s, prose(s))
		}
	}
}

// Links of a page lead to http, https or the page itself, whatever addresses a report or a remote holds.
func TestHref(t *testing.T) {
	for link, want := range map[string]string{
		"https://x.example/a b?c=1&d=\"'<>#e": `href="https://x.example/a%20b?c=1&amp;d=&#34;&#39;&lt;&gt;#e"`,
		"http://x.example":                    `href="http://x.example"`,
		"#saxpy":                              `href="#saxpy"`,
		`#"><script>`:                         `href="#%22%3E%3Cscript%3E"`,
	} {
		if got := fmt.Sprint(href(link)); got != " "+want {
			t.Errorf("%q: %s, want %s", link, got, want)
		}
	}
	for _, link := range []string{"", "javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)",
		"java\nscript:alert(1)", "\x01javascript:x", "javascript://x.example/%0aalert(1)", "vbscript:x",
		"data:text/html,<script>", "file:///etc/passwd", "//x.example", "/x", "x", "https:x", "https://[",
		"mailto:a@b"} {
		source, cells := sourceLink{"a", link}, []story.Cell{{Link: link}, {Link: link}}
		cause := &counters{Guides: []result.Guide{{Title: "a", Link: link}}}
		p := part{Findings: []finding{{ID: "f", Source: &source, Cause: cause}},
			Table: &story.Table{Columns: make([]story.Column, 2), Rows: []story.TableRow{{Cells: cells}}}}
		page, err := (&sheet{Source: []sourceLink{source}, Parts: []part{p}}).html("")
		got := regexp.MustCompile(`href="[^"]*"`).FindAllString(page, -1)
		if err != nil || len(got) != 1 || got[0] != `href="#f"` {
			t.Errorf("%q: %q, %v", link, got, err)
		}
	}
}

// Every text of a page is escaped, in elements and attributes.
func TestPageEscapes(t *testing.T) {
	for _, s := range append(nasty[1:], `"><img src=x onerror=alert(1)>`, `' onclick='x`, `" style="x`,
		"</style><script>", "</script>", "</title><b>") {
		x := story.Cell{Text: s, Note: s, Full: s, Sort: s, Class: s}
		linked := story.Cell{Text: s, Link: "#" + s}
		row := story.Row{Subject: s, FullName: s, Metric: s, Values: s, Change: s, Interval: s, Allowed: s, Reason: s}
		row.Parts = []story.Row{row}
		facts, about := []story.Fact{{Label: s, Text: s}}, &sourceLink{Text: s}
		columns := []story.Column{{Title: s}, {Title: s, Right: true, Sorted: true, Label: s, Class: s},
			{Title: s, Pic: true}, {Title: s, Wrap: true}}
		table := &story.Table{Title: s, About: s, Class: s, More: s, Columns: columns,
			Rows: []story.TableRow{{ID: s, Class: s, Cells: []story.Cell{linked, x, x, x}}}}
		pictures := []picture{{Title: s, About: s, Zoom: true}}
		all := part{ID: s, Title: s, About: s, Nav: s, Mark: s, Said: []string{s}, Facts: facts, Pictures: pictures,
			Legend: []meaning{{s, s}}, Table: table, Search: true,
			Findings: []finding{{Row: row, ID: s, Colour: s, Source: about, Said: []string{s}, Pictures: pictures,
				Cause: &counters{Summary: s, Limits: s, Guides: []result.Guide{{Title: s}}, Table: table}}},
			More: s, Commands: facts}
		page := &sheet{At: s, Title: s, Kicker: s, Source: []sourceLink{*about}, Word: s, Mark: s, Headline: s,
			Notes: []string{s}, Figures: []figure{{s, s, s, s, true}}, Parts: []part{all}}
		page.Sheets = []*sheet{{At: s + "2", Title: s, Parts: []part{all}}}
		text, err := page.html(s)
		if err != nil {
			t.Fatal(err)
		}
		checkHTML(t, text)
	}
}

// Markup that nothing escapes is a constant of the page or made by the functions named here.
func TestRaw(t *testing.T) {
	want := strings.Fields(`"\n" "\n" asset("search.html") breakable( saved.Pack(form) script string(p) style`)
	var got []string
	use := regexp.MustCompile(`g\.Raw.?\((?:"[^"]*"|asset\([^)]*\)|saved\.Pack\(form\)|string\(p\)|\w+\(?)`)
	names, _ := filepath.Glob("html*.go")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range use.FindAllString(string(text), -1) {
			got = append(got, strings.TrimPrefix(m, "g.Raw("))
		}
		if n := strings.Count(string(text), "g.Raw"); n > 0 && n != len(got) ||
			strings.Contains(string(text), "plot.SVG(") {
			t.Errorf("%s: %d uses of g.Raw, %d understood: %q; or a text that is made a picture", name, n, len(got),
				got)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("raw markup from %q, want %q", got, want)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range nasty {
		f.Add(s)
	}
	f.Fuzz(checkText)
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range nasty {
		f.Add(s)
	}
	f.Fuzz(checkMarkdown)
}

func TestMarkdownCountsWhatItCuts(t *testing.T) {
	r := &result.Report{Verdict: result.Fail, Reason: "many"}
	for i := range 2000 {
		f := result.Finding{Kernel: fmt.Sprintf("k%d", i), Scope: measure.ScopeKernel, Outcome: result.WithinLimit,
			Metric: "time", Unit: "ns"}
		if i < 70 {
			f.Outcome, f.Gates, f.Base, f.Head, f.Change = result.Slower, true, 100, 110, 0.1
		}
		r.Findings = append(r.Findings, f)
	}
	const limit = 30_000
	md := render(t, "markdown", r, Options{MaxBytes: limit})
	if len(md) > limit {
		t.Errorf("%d bytes", len(md))
	}
	if !strings.Contains(md, "\n20 more rows are cut here") || strings.Contains(md, "within limit") {
		t.Errorf("not 50 of 70 rows, and none within its limit, in\n%s", md)
	}
	// Whatever there is, a comment on GitHub takes it.
	for name, r := range reports(t) {
		if n := len(render(t, "markdown", r, Options{})); n > 60_000 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// A comment has its own markup only, whatever names hold, and at most 20 lines with the mark above it.
func TestComment(t *testing.T) {
	own := regexp.MustCompile(`</?(code|pre)>|<wbr>|<a href="https://ci.example/runs/7%22%3E%3Cb%3E">|</a>`)
	inert := regexp.MustCompile("<pre>[^<]*</pre>\n$") // nobody is mentioned in a block of code
	for _, s := range append(nasty, "--> x", "<!-- nsgate:0 -->", "a @octocat `b` ::error::c\n\n# d") {
		r := hostile(s)
		two := verdict.Several([]*result.Report{r, hostile(s + "2")}).Shown(nil)
		for _, r := range []*result.Report{r, two} {
			text := Comment(r, Options{}, Pages{Run: `https://ci.example/runs/7"><b>`, Accept: "git apply " + s})
			if rest := own.ReplaceAllString(inert.ReplaceAllString(text, ""), ""); strings.ContainsAny(rest, "<>`@") {
				t.Errorf("markup of its own in %q", text)
			}
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) > 19 || len(lines) < 3 || !strings.HasPrefix(lines[0], "**❌ nsgate: fail** · ") {
				t.Errorf("%d lines: %q", len(lines), text)
			}
			for _, l := range lines {
				checkLine(t, strings.ReplaceAll(l, story.NB, " "))
			}
			if head := Headline(r, Options{}); strings.ContainsAny(head, "\n\r\x1b") {
				t.Errorf("headline %q", head)
			}
		}
	}
	for name, r := range reports(t) {
		text := Comment(r, Options{}, Pages{Run: "javascript:x"})
		if strings.Contains(text, "<a") {
			t.Errorf("%s: a link to a script: %s", name, text)
		}
		if n := strings.Count(text, "\n"); name == "pass" && n != 1 {
			t.Errorf("%d lines where one says it: %s", n, text)
		}
	}
}
