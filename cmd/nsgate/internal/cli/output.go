package cli

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/gate/report/github"
)

// outputFlags say where a report goes.
type outputFlags struct {
	format      string
	files       []string
	annotations string
	color       string
	patch       string
	patchReason string
	verbose     bool
	quiet       bool
}

// outputOnly are flags that change nothing about a verdict.
var outputOnly = []string{"format", "report", "annotations", "color", "verbose", "quiet", "patch", "patch-reason", "keep-profiles"}

var autoAlwaysNever = []string{"auto", "always", "never"}

func (o *outputFlags) bind(fs *pflag.FlagSet) {
	o.bindShown(fs, report.Formats())
	fs.StringArrayVar(&o.files, "report", nil, "write the report to a file as well: FORMAT=FILE, repeatable")
	fs.StringVar(&o.patch, "patch", "", "where the gate fails, write a git patch to this file that accepts the change into the baseline")
	fs.StringVar(&o.patchReason, "patch-reason", "", "the reason that --patch records (default: what changed)")
	fs.StringVar(&o.annotations, "annotations", "auto", "GitHub annotations, job summary and outputs: auto, always or never")
}

// bindShown declares what says how something is printed.
func (o *outputFlags) bindShown(fs *pflag.FlagSet, formats []string) {
	fs.StringVar(&o.format, "format", "text", "what is printed: "+strings.Join(formats, ", "))
	fs.StringVar(&o.color, "color", "auto", "colour in text: auto, always or never")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "show all, and full names")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print the verdict only")
}

// oneOf refuses a flag's value that is none of the words.
func oneOf(flag, value string, words ...string) error {
	switch {
	case slices.Contains(words, value):
		return nil
	case len(words) == 2:
		return usageError("--%s: %q is neither %s nor %s", flag, value, words[0], words[1])
	}
	return usageError("--%s: %q is none of %s", flag, value, strings.Join(words, ", "))
}

// check refuses values that would only come to light after the measurement.
func (o *outputFlags) check(formats []string) error {
	if !slices.Contains(formats, o.format) {
		return usageError("--format: %q is none of %s", o.format, strings.Join(formats, ", "))
	}
	for _, f := range o.files {
		format, file, ok := strings.Cut(f, "=")
		if !ok || file == "" || !slices.Contains(formats, format) {
			return usageError("--report: %q is not FORMAT=FILE with a format of %s", f, strings.Join(formats, ", "))
		}
		if err := writable(file); err != nil {
			return usageError("--report: %w", err)
		}
	}
	if o.patch != "" {
		if err := writable(o.patch); err != nil {
			return usageError("--patch: %w", err)
		}
	}
	return errors.Join(oneOf("annotations", cmp.Or(o.annotations, "auto"), autoAlwaysNever...), oneOf("color", o.color, autoAlwaysNever...))
}

// options are how a report looks on standard output.
func (o *outputFlags) options(e *env) report.Options {
	return report.Options{Width: width(e), Color: o.coloured(e), Verbose: o.verbose || e.getenv("RUNNER_DEBUG") == "1", Quiet: o.quiet}
}

// publish prints and writes the report and turns its verdict into the command's error. rows is true where the report's
// baseline lies here, so that findings have rows in it; policy is the file that was judged by.
func (o *outputFlags) publish(e *env, r *gate.Report, rows bool, policy string) error {
	code := map[gate.Verdict]int{gate.Pass: ExitPass, gate.Fail: ExitFail, gate.NoVerdict: ExitNoVerdict}[r.Verdict]
	notices := ownEdits(e, r, policy)
	for _, n := range notices {
		r.Warnings = append(r.Warnings, n.Message)
	}
	options := o.options(e)
	options.Locate = locate(e, r, rows)
	if err := report.Render(o.format, e.Out, r, options); err != nil {
		return err
	}
	for _, f := range o.files {
		format, file, _ := strings.Cut(f, "=")
		if err := writeFile(file, func(w io.Writer) error {
			return report.Render(format, w, r, report.Options{Verbose: true, Locate: options.Locate})
		}); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if o.patch != "" && r.Verdict == gate.Fail {
		if err := o.writePatch(r); err != nil {
			return fmt.Errorf("--patch: %w", err)
		}
	}
	if o.annotations == "always" || o.annotations == "auto" && e.getenv("GITHUB_ACTIONS") == "true" {
		var summary strings.Builder
		if err := report.Render("markdown", &summary, r, report.Options{}); err != nil {
			return err
		}
		to := e.Out
		if o.format != "text" {
			to = e.Err
		}
		err := github.Publish(r, summary.String(), code,
			github.Options{Writer: to, Getenv: e.getenv, Locate: options.Locate, Notices: notices})
		if err != nil {
			return err
		}
	}
	if code == ExitPass {
		return nil
	}
	return &exit{code: code, quiet: true}
}

// writePatch writes what accept would do to the baseline.
func (o *outputFlags) writePatch(r *gate.Report) error {
	reason := cmp.Or(o.patchReason, "accepted: "+report.Elide(report.Clean(r.Reason), 400))
	patch, err := check.Accept{Report: r, Reason: reason}.Patch(check.Repository())
	if err != nil {
		return err
	}
	return writeFile(o.patch, func(w io.Writer) error {
		_, err := io.WriteString(w, patch)
		return err
	})
}

// ownEdits says whether the change under review edits the baseline or the policy that it is judged by. Outside a pull
// or merge request it says nothing.
func ownEdits(e *env, r *gate.Report, policy string) []github.Notice {
	branch, commit := e.getenv("GITHUB_BASE_REF"), e.getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA")
	root := check.Repository()
	if branch == "" && commit == "" || root == "" {
		return nil
	}
	const title = "nsgate: the change edits what it is judged by"
	policies := []string{cmp.Or(policy, policyFile)}
	if policy == "" || filepath.Base(policy) == policyFile {
		policies = append(policies, filepath.Join(root, policyFile))
	}
	edits, known := check.Edits(root, branch, commit, r.Baseline, policies)
	if !known {
		return []github.Notice{{
			Title:   title,
			Message: "cannot tell whether this change edits its own baseline or policy: check out the base too (fetch-depth: 2)",
		}}
	}
	var notices []github.Notice
	for _, x := range edits {
		notices = append(notices, github.Notice{
			Title: title, File: x.File, Line: 1,
			Message: fmt.Sprintf("this change edits the %s that it is judged by: %s of %s", x.What, measure.Count(x.Lines, "line"), x.File),
		})
	}
	return notices
}

// locate finds the place of a finding in the repository: the kernel's definition, else its row in the baseline. Files
// are relative to the repository's root, which is the CI host's workspace or where .git is.
func locate(e *env, r *gate.Report, rows bool) report.Locator {
	root := cmp.Or(e.getenv("GITHUB_WORKSPACE"), e.getenv("CI_PROJECT_DIR"), check.Repository())
	var files fs.FS
	if root != "" {
		files = os.DirFS(root)
	}
	return report.NewLocator(files, func(f gate.Finding) (string, int, bool) {
		if !rows {
			return "", 0, false
		}
		file, line, ok := check.Row(r, f)
		if ok {
			file = check.Within(root, file)
		}
		return file, line, ok && file != ""
	})
}

func (o *outputFlags) coloured(e *env) bool {
	switch {
	case o.color == "always":
		return true
	case o.color == "never" || e.getenv("NO_COLOR") != "" || e.getenv("TERM") == "dumb":
		return false
	}
	return columns(e.Out) > 0
}

// width is the terminal's width; COLUMNS, then 100 where there is none.
func width(e *env) int {
	if n := columns(e.Out); n > 0 {
		return n
	}
	if n, err := strconv.Atoi(e.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 100
}

// columns is the width of the terminal that w writes to, 0 where it is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 1)
}

// stopCommands keeps GitHub from taking commands out of what is printed until the returned function is called.
func stopCommands(e *env) (resume func()) {
	if e.getenv("GITHUB_ACTIONS") != "true" {
		return func() {}
	}
	token := rand.Text()
	fmt.Fprintf(e.Err, "::stop-commands::%s\n", token)
	return func() { fmt.Fprintf(e.Err, "::%s::\n", token) }
}

// complain says on standard error why there is nothing to judge, and on GitHub beside the line that is to blame.
func (e *env) complain(err error, code int) {
	fmt.Fprintln(e.Err, "nsgate:", err)
	if e.getenv("GITHUB_ACTIONS") != "true" || e.getenv("NSGATE_ANNOTATIONS") == "never" {
		return
	}
	file, line := "", 0
	if at := (*measure.PlaceError)(nil); errors.As(err, &at) {
		file, line = check.Within(e.getenv("GITHUB_WORKSPACE"), at.File), at.Line
	}
	if err := github.PublishError(report.Clean(err.Error()), file, line, code, github.Options{Writer: e.Err, Getenv: e.getenv}); err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
	}
}

// reproduce is the command line that repeats this command. The workload's own command line is shown only where the
// user asked for it: it may hold secrets. Flags that say only where output goes are left out.
func (e *env) reproduce(workload []string) string {
	words := []string{"nsgate"}
	value := false
	for _, w := range e.line {
		name, _, joined := strings.Cut(strings.TrimLeft(w, "-"), "=")
		switch flag := strings.HasPrefix(w, "-"); {
		case value:
			value = false
			continue
		case w == "-q", w == "-v", flag && slices.Contains(outputOnly, name):
			value = !joined && !slices.Contains([]string{"q", "v", "quiet", "verbose"}, name)
			continue
		case w == "--" && workload != nil:
			return strings.Join(append(words, "-- WORKLOAD…"), " ")
		}
		words = append(words, quote(w))
	}
	return strings.Join(words, " ")
}

// commandFlags hold command lines, which may hold secrets.
var commandFlags = []string{"--base-cmd", "--build"}

// withoutCommands is a command line without what [commandFlags] were given, and without arguments of nsys that may be
// variables of the workload (--env-var).
func withoutCommands(line []string) []string {
	line = slices.Clone(line)
	for i := 0; i < len(line) && line[i] != "--"; i++ {
		name, value, joined := strings.Cut(line[i], "=")
		at := i
		if !joined && i+1 < len(line) {
			at, value = i+1, line[i+1]
		}
		instead := ""
		switch {
		case slices.Contains(commandFlags, name):
			instead = "COMMAND"
		case name == "--nsys-arg" && (!strings.HasPrefix(value, "--") || strings.HasPrefix(value, "--env-var")):
			instead = "ARGUMENT"
		default:
			continue
		}
		if joined {
			instead = name + "=" + instead
		}
		line[at] = instead
		i = at
	}
	return line
}

// quote writes a word as a POSIX shell reads it back.
func quote(s string) string {
	plain := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+") == ""
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}
