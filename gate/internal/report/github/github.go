// Package github hands a report to GitHub Actions: annotations, outputs and the job summary, within GitHub's limits.
package github

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// Limits of GitHub Actions. A step shows ten annotations of a kind; the runner cuts a message after 4,096 characters
// and drops a job summary above 1 MiB. The limits here are a little lower.
const (
	maxAnnotations = 10
	maxMessage     = 3900      // bytes
	maxSummary     = 900 << 10 // bytes
)

// Options says where Publish writes.
type Options struct {
	// Writer takes the annotations, nil for none. The runner reads standard output and standard error alike, so it is
	// standard error where standard output carries a report for machines.
	Writer io.Writer
	// Getenv finds GITHUB_OUTPUT and GITHUB_STEP_SUMMARY; outputs and summary are written where these are set.
	Getenv func(string) string
	// Locate finds the definition of a finding's kernel in the repository; nil for none.
	Locate story.Locator
	// Notices are annotations without a warning.
	Notices []Notice
	// Files are the JSON report, the page and the Markdown that were written, "" for none.
	Files [3]string
}

// Notice is an annotation for a reviewer. File is relative to the repository, "" for none.
type Notice struct {
	Title, Message, File string
	Line                 int
}

// Publish annotates failing and undecided causes, worst first; sets the outputs verdict, exit-code, headline, report,
// page, markdown, slower, faster and undecided; and adds summary (Markdown) to the job summary. It tries all three and
// returns the errors of those that could not be written.
func Publish(r *result.Report, summary string, o Options) error {
	v := story.Tell(r, story.Options{Locate: o.Locate})
	all := annotations(v)
	for _, n := range o.Notices[:min(len(o.Notices), maxAnnotations)] {
		all = append(all, annotation{(*githubactions.Action).Noticef,
			Notice{story.Clean(n.Title), message(n.Message), n.File, n.Line}})
	}
	outputs := [][2]string{
		{"verdict", string(v.Verdict())}, {"exit-code", strconv.Itoa(v.Gate.Code)},
		{"slower", strconv.Itoa(v.Counts.Slower)},
		{"faster", strconv.Itoa(v.Counts.Faster)}, {"undecided", strconv.Itoa(v.Counts.Undecided)},
		{"headline", oneLine(v.Headline())}, {"report", oneLine(o.Files[0])}, {"page", oneLine(o.Files[1])},
		{"markdown", oneLine(o.Files[2])},
	}
	return publish(all, outputs, summary, o)
}

// PublishError annotates wrong usage or a file that cannot be read, and sets the output exit-code. file and line are
// the place of the mistake, "" where it is unknown.
func PublishError(text, file string, line, exitCode int, o Options) error {
	return publish([]annotation{{levels[story.Fails], Notice{"nsgate", message(text), file, line}}},
		[][2]string{{"exit-code", strconv.Itoa(exitCode)}}, "", o)
}

// oneLine makes a text of others fit for an output: a single line that is not the library's constant delimiter.
func oneLine(s string) string {
	return strings.ReplaceAll(story.Trimmed(story.Flat(s)), "FileCommandDelimeter", "FileCommandDelimiter")
}

// publish takes outputs that are constants, numbers or texts of [oneLine]: lines of a value could set other outputs.
func publish(annotations []annotation, outputs [][2]string, summary string, o Options) error {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	action := githubactions.New(githubactions.WithGetenv(getenv),
		githubactions.WithWriter(cmp.Or(o.Writer, io.Discard)))
	errs := []error{guard("annotations", "", func() {
		for _, a := range annotations {
			fields := map[string]string{"title": terminal.Line(a.Title)}
			if a.File != "" {
				fields["file"], fields["line"] = terminal.Line(a.File), strconv.Itoa(max(a.Line, 1))
			}
			a.level(action.WithFieldsMap(fields), "%s", terminal.Line(a.Message))
		}
	})}
	if file := getenv("GITHUB_OUTPUT"); file != "" {
		errs = append(errs, guard("outputs", file, func() {
			// The first is set twice: a value that the measured program left open in the file swallows one.
			for _, o := range slices.Concat(outputs[:1], outputs) {
				action.SetOutput(o[0], o[1])
			}
		}))
	}
	if file := getenv("GITHUB_STEP_SUMMARY"); file != "" && summary != "" {
		errs = append(errs, guard("job summary", file, func() { action.AddStepSummary(fit(summary)) }))
	}
	return errors.Join(errs...)
}

// guard turns the library's panics on failed writes into errors, without the path of the file. A pipe in place of the
// file that nothing reads is one, too.
func guard(what, file string, write func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			if path, ok := errors.AsType[*fs.PathError](p); ok {
				p = path.Err
			}
			err = fmt.Errorf("cannot write the %s of GitHub Actions: %w", what, p)
		default:
			err = fmt.Errorf("cannot write the %s of GitHub Actions: %v", what, p)
		}
	}()
	if info, lost := os.Stat(file); lost == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		pipe, err := output.Special(file)
		if err != nil {
			panic(err)
		}
		defer pipe.Close()
	}
	write()
	return nil
}

// annotation is a notice with its level: githubactions.Action.Errorf, Warningf or Noticef.
type annotation struct {
	level level
	Notice
}

type level func(action *githubactions.Action, format string, args ...any)

// levels are the levels of remarks by their severity.
var levels = [...]level{story.NoVerdict: (*githubactions.Action).Errorf, story.Fails: (*githubactions.Action).Errorf,
	story.Warns: (*githubactions.Action).Warningf, story.Undecided: (*githubactions.Action).Warningf,
	story.Noted: (*githubactions.Action).Noticef}

// annotations makes at most ten: why there is no verdict, failing causes, then others. Of more, the tenth says how
// many.
func annotations(v *story.Story) []annotation {
	var out []annotation
	remarks := v.Remarks()
	shown := remarks
	if len(remarks) > maxAnnotations {
		shown = remarks[:maxAnnotations-1]
	}
	for _, x := range shown {
		title := measure.Either(x.Gate, "nsgate: ", "") + x.Title
		out = append(out, annotation{levels[x.Class], Notice{title, message(x.Lines...), x.File, x.Line}})
	}
	if rest := remarks[len(shown):]; len(rest) > 0 {
		failed := measure.HowMany(rest, func(x story.Remark) bool { return x.Class <= story.Fails })
		slower := measure.Either(failed > 0, fmt.Sprintf("%d more slower", failed), "")
		warned := measure.Either(failed < len(rest), fmt.Sprintf("%d more with a warning", len(rest)-failed), "")
		out = append(out, annotation{levels[rest[0].Class],
			Notice{Title: fmt.Sprintf("nsgate: %d more", len(rest)),
				Message: story.Join(" and ", slower, warned) + "; see the job summary"}})
	}
	return out
}

// message joins cleaned lines, cut to the length that GitHub shows.
func message(lines ...string) string {
	for i, l := range lines {
		lines[i] = story.Clean(l)
	}
	return story.Cut(strings.Join(lines, "\n"), maxMessage)
}

// fit cuts a summary to the size that GitHub accepts, at the end of a line.
func fit(summary string) string {
	if len(summary) <= maxSummary {
		return summary
	}
	const note = "\n\nThe rest of this summary is cut: GitHub shows no more than 1 MiB.\n"
	s := story.Cut(summary, maxSummary-len(note))
	if i := strings.LastIndexByte(s, '\n'); i > 0 {
		s = s[:i]
	}
	return s + note
}
