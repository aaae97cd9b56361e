// Package github hands a report to GitHub Actions: annotations, outputs and the job summary, within the limits that
// GitHub sets them.
package github

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sethvargo/go-githubactions"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/report"
)

// Limits of GitHub Actions. A step shows ten annotations of a kind; the runner cuts a message after 4,096 characters
// and drops a job summary above 1 MiB. Each limit here keeps a distance.
const (
	maxAnnotations = 10
	maxMessage     = 3900      // bytes
	maxSummary     = 900 << 10 // bytes
)

// Options says where a report goes to.
type Options struct {
	// Writer takes the annotations, nil for none. The runner reads standard output and standard error alike, so it is
	// standard error where standard output carries a report for machines.
	Writer io.Writer
	// Getenv finds GITHUB_OUTPUT and GITHUB_STEP_SUMMARY; what is not set is not written.
	Getenv func(string) string
	// Locate finds where in the repository a finding is written down, for its annotation; nil where that is unknown.
	Locate func(gate.Finding) (file string, line int, ok bool)
	// Notices are annotations that say something without warning.
	Notices []Notice
}

// Notice is something that a reviewer should know. File is relative to the repository, "" for none.
type Notice struct {
	Title, Message, File string
	Line                 int
}

// Publish annotates what failed and what is open, worst first; sets the outputs verdict, exit-code, regressed,
// improved and undecided; and adds summary (Markdown) to the job summary. It tries all three and returns the errors
// of those that could not be written.
func Publish(r *gate.Report, summary string, exitCode int, o Options) error {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	options := []githubactions.Option{githubactions.WithGetenv(getenv)}
	if o.Writer != nil {
		options = append(options, githubactions.WithWriter(o.Writer))
	}
	action := githubactions.New(options...)
	var errs []error
	if o.Writer != nil {
		errs = append(errs, guard("annotations", func() {
			for _, a := range annotations(r, o) {
				a.issue(action)
			}
			for _, n := range o.Notices[:min(len(o.Notices), maxAnnotations)] {
				annotation{notice, inert(report.Clean(n.Title)), message([]string{n.Message}), n.File, n.Line}.issue(action)
			}
		}))
	}
	if getenv("GITHUB_OUTPUT") != "" {
		errs = append(errs, guard("outputs", func() {
			// Only words and numbers made here: the library's delimiter of values is constant, so that a kernel
			// name could set outputs of its own.
			action.SetOutput("verdict", verdict(r.Verdict))
			action.SetOutput("exit-code", strconv.Itoa(exitCode))
			action.SetOutput("regressed", strconv.Itoa(r.Counts.Regressed))
			action.SetOutput("improved", strconv.Itoa(r.Counts.Improved))
			action.SetOutput("undecided", strconv.Itoa(r.Counts.Inconclusive))
		}))
	}
	if getenv("GITHUB_STEP_SUMMARY") != "" && summary != "" {
		errs = append(errs, guard("job summary", func() { action.AddStepSummary(fit(summary)) }))
	}
	return errors.Join(errs...)
}

// guard turns the panics by which the library reports failed writes into errors, without the path of the file.
func guard(what string, write func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			var path *fs.PathError
			if errors.As(p, &path) {
				p = path.Err
			}
			err = fmt.Errorf("cannot write the %s of GitHub Actions: %w", what, p)
		default:
			err = fmt.Errorf("cannot write the %s of GitHub Actions: %v", what, p)
		}
	}()
	write()
	return nil
}

// verdict is one of three constant words, whatever a saved report says.
func verdict(v gate.Verdict) string {
	switch v {
	case gate.Pass, gate.Fail:
		return string(v)
	}
	return string(gate.NoVerdict)
}

// PublishError annotates why a gate was not even tried, wrong usage or a file that cannot be read, and sets the output
// exit-code. file and line are where the mistake is, "" where that is unknown.
func PublishError(text, file string, line, exitCode int, o Options) error {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	action := githubactions.New(githubactions.WithGetenv(getenv), githubactions.WithWriter(cmp.Or(o.Writer, io.Discard)))
	errs := []error{guard("annotations", func() {
		annotation{failure, "nsgate", message([]string{text}), file, line}.issue(action)
	})}
	if getenv("GITHUB_OUTPUT") != "" {
		errs = append(errs, guard("outputs", func() {
			action.SetOutput("exit-code", strconv.Itoa(exitCode))
		}))
	}
	return errors.Join(errs...)
}

// level is the kind of an annotation.
type level int

const (
	failure level = iota
	warning
	notice
)

// annotation is one remark beside the code.
type annotation struct {
	level          level
	title, message string
	file           string // relative to the repository, "" for none
	line           int
}

func (a annotation) issue(action *githubactions.Action) {
	fields := map[string]string{"title": a.title}
	if a.file != "" {
		fields["file"] = a.file
		fields["line"] = strconv.Itoa(max(a.line, 1))
	}
	action = action.WithFieldsMap(fields)
	switch a.level {
	case failure:
		action.Errorf("%s", a.message)
	case warning:
		action.Warningf("%s", a.message)
	case notice:
		action.Noticef("%s", a.message)
	}
}

// annotations makes at most ten: why there is no verdict, then one for each kernel, range or workload that failed, then
// for those that warn. Where there are more, the tenth says how many.
func annotations(r *gate.Report, o Options) []annotation {
	var out []annotation
	if verdict(r.Verdict) == string(gate.NoVerdict) {
		lines := append([]string{r.Reason}, r.Next...)
		out = append(out, annotation{title: "nsgate: no verdict", message: message(lines)})
	}
	failing := report.Group(report.Failing(r))
	groups := append(failing, report.Group(append(report.Warned(r), report.Open(r)...))...)
	shown := groups
	if room := maxAnnotations - len(out); len(groups) > room {
		shown = groups[:room-1]
	}
	of := func(failed bool) level {
		if failed {
			return failure
		}
		return warning
	}
	for i, g := range shown {
		a := annotation{level: of(i < len(failing)), title: inert(report.Title(g[0])), message: describe(g)}
		if o.Locate != nil {
			if file, line, ok := o.Locate(g[0]); ok {
				a.file, a.line = file, line
			}
		}
		out = append(out, a)
	}
	if more := len(groups) - len(shown); more > 0 {
		failed := max(len(failing)-len(shown), 0)
		out = append(out, annotation{
			level:   of(failed > 0),
			title:   fmt.Sprintf("nsgate: %d more", more),
			message: fmt.Sprintf("%d more regressed and %d more with a warning; see the job summary", failed, more-failed),
		})
	}
	return out
}

// describe puts the findings on one subject into a message.
func describe(g []gate.Finding) string {
	var lines []string
	for _, f := range g {
		lines = append(lines, report.Metric(f)+": "+report.Describe(f))
		if f.Reason != "" {
			lines = append(lines, f.Reason)
		}
	}
	for _, f := range g {
		lines = append(lines, f.Evidence...)
		if f.Cause != nil {
			lines = append(lines, f.Cause.Summary)
		}
	}
	if g[0].Name != g[0].Kernel && g[0].Name != "" {
		lines = append(lines, report.Elide(report.Clean(g[0].Name), 600))
	}
	return message(lines)
}

// inert breaks the one form of the runner's commands that it obeys in the middle of a line.
func inert(s string) string { return strings.ReplaceAll(s, "##[", "♯#[") }

// message joins lines, cleaned, and cuts them to the length that GitHub shows.
func message(lines []string) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(inert(report.Clean(l)))
	}
	return cut(b.String(), maxMessage)
}

// cut shortens a text to n bytes, at the end of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// fit shortens a summary to what GitHub accepts, at the end of a line.
func fit(summary string) string {
	if len(summary) <= maxSummary {
		return summary
	}
	const note = "\n\nThe rest of this summary is cut: GitHub shows no more than 1 MiB.\n"
	s := cut(summary, maxSummary-len(note))
	if i := strings.LastIndexByte(s, '\n'); i > 0 {
		s = s[:i]
	}
	return s + note
}
