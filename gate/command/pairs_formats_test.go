//go:build linux

package command_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// formatRule says of a format whether its text tells of a failure and of a pass. A format that cannot tell has none.
type formatRule struct {
	fails  *regexp.Regexp // text of a gate that exits with a code other than 0, and of no other gate
	always *regexp.Regexp // text of every report, nil for none
	never  *regexp.Regexp // text of no report
}

var formatRules = map[string]formatRule{
	"junit":       {fails: regexp.MustCompile(`<(failure|error)[ >]|<testsuites[^>]* (failures|errors)="[1-9]`)},
	"sarif":       {fails: regexp.MustCompile(`"level": "error"`)},
	"codequality": {fails: regexp.MustCompile(`"severity": "(major|critical|blocker)"`)},
	"rdjson":      {fails: regexp.MustCompile(`"severity": "ERROR"`)},
	"openmetrics": {always: regexp.MustCompile(`# EOF\n$`),
		never: regexp.MustCompile(`(?m)^# UNIT \S+ _*$|^# [A-Z]+ \w*_ `)},
	"markdown": {always: regexp.MustCompile(`nsgate`)},
}

// holdFormats: the exit code is what every format, comment and check run says. One more call judges with all of them.
func (b *bench) holdFormats(judged answer, value string) {
	if !settled(judged.code) {
		return
	}
	var more []string
	for _, f := range pairFormats {
		if f != "json" && f != "text" {
			more = append(more, "--report", f+"=judged."+f)
		}
	}
	more = append(more, "--format", b.shown)
	if b.review == "github" {
		b.host.log.Reset()
		more = append(more, "--comment", "true", "--check")
	}
	a := b.judge(b.source, value, more...)
	if b.mode != "measured" && a.code != judged.code {
		b.violation(a, 1, "code with formats", "exit %d, and %d with --format %s", judged.code, a.code, b.shown)
	}
	b.holdTexts(a)
	if b.review == "github" {
		b.holdHost(a)
	}
}

// way is why a gate exits with 0 although it found something.
func (b *bench) way() bool {
	return strings.HasPrefix(b.pass, "shadow") || strings.HasPrefix(b.pass, "no baseline")
}

func (b *bench) holdTexts(a answer) {
	j, _ := b.judged()
	text := func(format string) string {
		if format == "text" {
			return b.read(filepath.Join(b.cwd, "judged.txt"))
		}
		return b.read(filepath.Join(b.cwd, "judged."+format))
	}
	state := fmt.Sprintf("exit %d, pass: %s", a.code, b.pass)
	for _, format := range pairFormats {
		got, rule := text(format), formatRules[format]
		if got == "" && settled(a.code) && format != "dotenv" {
			b.violation(a, 1, format+" is empty", "%s writes nothing, %s", format, state)
			continue
		}
		if rule.fails != nil && rule.fails.MatchString(got) != (a.code != 0) {
			b.violation(a, 1, fmt.Sprintf("%s, exit %d, %s", format, a.code, b.pass), "%s: %s says %q", state, format,
				rule.fails.FindString(got))
		}
		if rule.always != nil && !rule.always.MatchString(got) {
			b.violation(a, 1, format+" always", "%s lacks %s", format, rule.always)
		}
		if rule.never != nil && rule.never.MatchString(got) {
			b.violation(a, 1, format+" never", "%s has %q", format, rule.never.FindString(got))
		}
	}
	if code := fmt.Sprintf("NSGATE_RESULT_EXIT_CODE=%d\n", a.code); !strings.Contains(text("dotenv"), code) {
		b.violation(a, 1, "dotenv, "+state, "not %s: %s", code, text("dotenv"))
	}
	if suite := regexp.MustCompile(`(?s)name="verdict"[^>]*>\s*<skipped`); a.code == 1 && len(j.Workloads) == 0 &&
		suite.MatchString(text("junit")) {
		b.violation(a, 1, "junit verdict of a red gate", "%s: the verdict's test is skipped", state)
	}
	headline := first(1, text("text"))
	bare := regexp.MustCompile(`^(FAIL|NO VERDICT|PASS)(, [A-Z ]+)?`).FindStringSubmatch(headline)
	switch {
	case bare == nil:
		b.violation(a, 1, "no headline", "%q", headline)
	case a.code == 0 && bare[1] == "FAIL" && bare[2] == "":
		b.violation(a, 1, "text, "+state, "headline %s", headline)
	case a.code == 1 && bare[1] != "FAIL" && !strings.HasPrefix(bare[2], ", FAILS"),
		a.code == 3 && bare[1] == "PASS" && bare[2] == "":
		b.violation(a, 1, "text, "+state, "headline %s", headline)
	}
	head := first(1, text("markdown"))
	if a.code != 0 && strings.Contains(head, "✅") || a.code == 0 && !b.way() && strings.Contains(head, "❌") {
		b.violation(a, 1, "markdown, "+state, "headline %s", head)
	}
	if pass := "nsgate_pass{"; a.code != 0 && len(j.Workloads) == 0 &&
		regexp.MustCompile(pass+`[^}]*} 1`).MatchString(text("openmetrics")) {
		b.violation(a, 1, "openmetrics, "+state, "it passed")
	}
	b.holdRows(a, j, text)
}

// holdRows: a format that lists numbers has every row that was judged, or says which it leaves out.
func (b *bench) holdRows(a answer, j judgement, text func(string) string) {
	for _, f := range j.Findings {
		if f.Scope != "benchmark" || f.Outcome == "gone" || j.Verdict == "no-verdict" {
			continue
		}
		for _, format := range []string{"csv", "bencher", "openmetrics", "junit", "customSmallerIsBetter"} {
			if !strings.Contains(text(format), f.Kernel) && !strings.Contains(a.err, f.Kernel) {
				b.violation(a, 1, format+" leaves out "+f.Metric, "%s has no %s (%s), and nothing says so\n%s", format,
					f.Kernel, f.Metric, first(3, text(format)))
			}
		}
	}
	for _, f := range j.Findings {
		if b.mode != "measured" && (f.Outcome == "gone" || f.Outcome == "new") && f.Scope == "benchmark" &&
			f.Metric == "total" {
			b.violation(a, 1, "metric of a row that is gone", "%s %s is listed by its %s, which a benchmark has not",
				f.Outcome, f.Kernel, f.Metric)
		}
		if f.Outcome == "gone" && a.code == 0 && f.Severity != "ignore" && b.pass != "ignore" && !b.way() &&
			b.pass != "warn" && f.Scope == "benchmark" && !strings.Contains(text("text"), f.Kernel) {
			b.violation(a, 1, "row that is gone", "%s is gone, and the text of a pass does not name it\n%s", f.Kernel,
				first(3, text("text")))
		}
	}
}

// holdHost: check runs and comments say what the exit code says.
func (b *bench) holdHost(a answer) {
	log := b.host.log.String()
	conclusion := regexp.MustCompile(`(?m)^  conclusion: (\w+)`).FindAllStringSubmatch(log, -1)
	fails := false
	for _, c := range conclusion {
		fails = fails || c[1] == "failure"
	}
	state := fmt.Sprintf("exit %d, pass: %s", a.code, b.pass)
	if len(conclusion) > 0 && fails != (a.code != 0) {
		b.violation(a, 1, "check run, "+state, "%s: %v", state, conclusion)
	}
	comment := regexp.MustCompile(`(?m)^\s+\| \*\*(\S+) nsgate: [^\n]*`).FindStringSubmatch(log)
	if comment != nil && (a.code != 0 && strings.Contains(comment[0], "✅") || a.code == 0 && !b.way() &&
		strings.Contains(comment[0], "❌")) {
		b.violation(a, 1, "comment, "+state, "%s", comment[0])
	}
}
