// Package github hands a report to GitHub Actions: annotations, outputs and the job summary, within the limits that
// GitHub sets them.
package github

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sethvargo/go-githubactions"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
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
	// Root is the repository, searched for the definitions of kernels; nil to leave that out.
	Root fs.FS
	// BaselineFile finds the row of a finding in the committed baseline, for findings whose kernel is not found; nil
	// where there is none.
	BaselineFile func(gate.Finding) (file string, line int, ok bool)
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

// annotation is one error or warning beside the code.
type annotation struct {
	isError        bool
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
	if a.isError {
		action.Errorf("%s", a.message)
	} else {
		action.Warningf("%s", a.message)
	}
}

// annotations makes at most ten: why there is no verdict, then one for each kernel, range or workload that failed, then
// for those that warn. Where there are more, the tenth says how many.
func annotations(r *gate.Report, o Options) []annotation {
	var out []annotation
	if verdict(r.Verdict) == string(gate.NoVerdict) {
		lines := append([]string{r.Reason}, r.Next...)
		out = append(out, annotation{isError: true, title: "nsgate: no verdict", message: message(lines)})
	}
	failing := report.Group(report.Failing(r))
	groups := append(failing, report.Group(append(report.Warned(r), report.Open(r)...))...)
	shown := groups
	if room := maxAnnotations - len(out); len(groups) > room {
		shown = groups[:room-1]
	}
	var kernels definitions
	if o.Root != nil && anyKernel(shown) {
		kernels = find(o.Root)
	}
	for i, g := range shown {
		a := annotation{isError: i < len(failing), title: inert(report.Title(g[0])), message: describe(g)}
		file, line, ok := kernels.locate(g[0])
		if !ok && o.BaselineFile != nil {
			file, line, ok = o.BaselineFile(g[0])
		}
		if ok {
			a.file, a.line = file, line
		}
		out = append(out, a)
	}
	if more := len(groups) - len(shown); more > 0 {
		failed := max(len(failing)-len(shown), 0)
		out = append(out, annotation{
			isError: failed > 0,
			title:   fmt.Sprintf("nsgate: %d more", more),
			message: fmt.Sprintf("%d more regressed and %d more with a warning; see the job summary", failed, more-failed),
		})
	}
	return out
}

func anyKernel(groups [][]gate.Finding) bool {
	for _, g := range groups {
		if g[0].Scope == measure.ScopeKernel {
			return true
		}
	}
	return false
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
