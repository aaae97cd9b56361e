package cli

import (
	"cmp"
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

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// outputFlags say where a report goes.
type outputFlags struct {
	format      string
	json        bool     // for --format json
	files       []string // FORMAT=FILE
	outputs     []string
	annotations string
	color       string
	patch       string
	patchReason string
	verbose     bool
	quiet       bool
	reproduce   string // on a terminal, "" for what the report says
	passes      bool   // whatever the verdict is, the exit code is 0
}

var autoAlwaysNever = []string{"auto", "always", "never"}

func (o *outputFlags) bind(fs *pflag.FlagSet) {
	o.bindShown(fs, report.Formats())
	fs.StringArrayVarP(&o.outputs, "output", "o", nil, "write the report to this file as well, in the format of its suffix, repeatable: report.json, summary.md, report.html")
	fs.StringArrayVar(&o.files, "report", nil, "write the report to a file as well: FORMAT=FILE, repeatable")
	fs.StringVar(&o.patch, "patch", "", "where the gate fails, or there is no baseline yet, write a git patch to this file that takes what was measured into the baseline")
	fs.StringVar(&o.patchReason, "patch-reason", "", "the reason that --patch records (default: what changed)")
	fs.StringVar(&o.annotations, "annotations", "auto", "GitHub annotations, job summary and outputs: auto, always or never")
}

// bindShown declares what says how something is printed.
func (o *outputFlags) bindShown(fs *pflag.FlagSet, formats []string) {
	o.bindLook(fs, formats)
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print the verdict only")
}

// bindLook declares the same of what has no verdict.
func (o *outputFlags) bindLook(fs *pflag.FlagSet, formats []string) {
	fs.StringVar(&o.format, "format", "text", "what is printed: "+strings.Join(formats, ", "))
	fs.BoolVar(&o.json, "json", false, "short for --format json")
	fs.StringVar(&o.color, "color", "auto", "colour in text: auto, always or never")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "show all, and full names")
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
	if o.json {
		if o.format != "text" && o.format != "json" {
			return usageError("--json and --format %s contradict each other", o.format)
		}
		o.format = "json"
	}
	if o.quiet && o.verbose {
		return usageError("--quiet and --verbose contradict each other")
	}
	for _, file := range o.outputs {
		format := report.FormatOf(file)
		if format == "" {
			return usageError("--output: the suffix of %q says no format; name it with --report FORMAT=FILE, of %s", file, strings.Join(formats, ", "))
		}
		o.files = append(o.files, format+"="+file)
	}
	o.outputs = nil
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
	return cmp.Or(oneOf("annotations", cmp.Or(o.annotations, "auto"), autoAlwaysNever...), oneOf("color", o.color, autoAlwaysNever...))
}

// draws reports whether a page with pictures is asked for.
func (o *outputFlags) draws() bool {
	return o.format == "html" || slices.ContainsFunc(o.files, func(f string) bool { return strings.HasPrefix(f, "html=") })
}

// options are how a report looks on standard output.
func (o *outputFlags) options(e *env) report.Options {
	return report.Options{Width: width(e), Color: o.coloured(e), Verbose: o.verbose || e.getenv("RUNNER_DEBUG") == "1", Quiet: o.quiet, ShowAll: "--verbose"}
}

// publish prints and writes the report and turns its verdict into the command's error. rows is true where the report's
// baseline lies here, so that findings have rows in it; policy is the file that was judged by, root where the first baseline goes.
func (o *outputFlags) publish(e *env, r *result.Report, rows bool, policy, root string) error {
	for _, w := range r.Each() {
		showWay(w.ReasonKey, w.Next)
	}
	home := home(policy)
	notices := ownEdits(e, r, policy)
	for _, n := range notices {
		r.Warnings = append(r.Warnings, n.Message)
	}
	options := o.options(e)
	if columns(e.Out) > 0 {
		options.Reproduce = o.reproduce
	}
	options.Locate = locate(e, home, rows)
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
	if o.patch != "" && offered(r) {
		if err := o.writePatch(r, root, home); err != nil {
			return fmt.Errorf("--patch: %w; leave it out to judge alone", err)
		}
	}
	verdict := &exit{code: map[result.Verdict]int{result.Pass: ExitPass, result.Fail: ExitFail, result.NoVerdict: ExitNoVerdict}[r.Verdict]}
	if o.annotations == "always" || o.annotations == "auto" && e.getenv("GITHUB_ACTIONS") == "true" {
		var summary strings.Builder
		if err := report.Render("markdown", &summary, r, report.Options{}); err != nil {
			return err
		}
		to := e.Out
		if o.format != "text" {
			to = e.Err
		}
		if err := github.Publish(r, summary.String(), verdict.code,
			github.Options{Writer: to, Getenv: e.getenv, Locate: options.Locate, Notices: notices}); err != nil {
			return err
		}
	}
	if verdict.code == ExitPass || o.passes {
		return nil
	}
	return verdict
}

// offered reports whether a report holds something that the baseline could take: a change, or what could be the first.
func offered(r *result.Report) bool {
	return slices.ContainsFunc(r.Each(), func(w *result.Report) bool { return w.Verdict == result.Fail || w.Measured != nil })
}

// writePatch writes what accept would do to the baselines.
func (o *outputFlags) writePatch(r *result.Report, root, home string) error {
	var all strings.Builder
	for _, w := range r.Each() {
		a := app.Accept{Report: w, Reason: o.patchReason, Home: home}
		switch {
		case w.Measured != nil:
			a.Root = root
			a.Reason = cmp.Or(a.Reason, "the first baseline")
		case w.Verdict == result.Fail:
			a.Reason = cmp.Or(a.Reason, "accepted: "+report.Elide(report.Clean(w.Reason), 400))
		default:
			continue
		}
		patch, err := a.Patch(app.Repository())
		if err != nil {
			return err
		}
		all.WriteString(patch)
	}
	return writeFile(o.patch, func(w io.Writer) error {
		_, err := io.WriteString(w, all.String())
		return err
	})
}

// ownEdits says whether the change under review edits the baseline or the policy that it is judged by. Outside a pull
// or merge request it says nothing.
func ownEdits(e *env, r *result.Report, policy string) []github.Notice {
	branch, commit := e.getenv("GITHUB_BASE_REF"), e.getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA")
	root := app.Repository()
	if branch == "" && commit == "" || root == "" {
		return nil
	}
	const title = "nsgate: the change edits what it is judged by"
	policies := []string{policy}
	if policy == "" || filepath.Base(policy) == policyFile {
		policies = []string{policy, policyFile, filepath.Join(root, policyFile)}
	}
	var baselines []string
	for _, w := range r.Each() {
		if w.Baseline != "" {
			baselines = append(baselines, filepath.Join(home(policy), w.Baseline))
		}
	}
	edits, known := app.Edits(root, branch, commit, baselines, policies)
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
func locate(e *env, home string, rows bool) report.Locator {
	top := cmp.Or(e.getenv("GITHUB_WORKSPACE"), e.getenv("CI_PROJECT_DIR"), app.Repository())
	var files fs.FS
	if top != "" {
		files = os.DirFS(top)
	}
	var row report.Locator
	if rows {
		rows := map[*result.Report]func(result.Finding) (string, int, bool){}
		row = func(r *result.Report, f result.Finding) (string, int, bool) {
			if rows[r] == nil {
				rows[r] = app.Rows(top, home, r)
			}
			return rows[r](f)
		}
	}
	return report.NewLocator(files, row)
}

func (o *outputFlags) coloured(e *env) bool {
	forced := e.getenv("FORCE_COLOR")
	switch {
	case o.color != "auto":
		return o.color == "always"
	case e.getenv("NO_COLOR") != "" || forced == "0" || forced == "false":
		return false
	}
	return forced != "" || e.getenv("TERM") != "dumb" && columns(e.Out) > 0
}

// width is the terminal's width; COLUMNS, then 100 where there is none.
func width(e *env) int {
	given, _ := strconv.Atoi(e.getenv("COLUMNS"))
	return cmp.Or(columns(e.Out), max(given, 0), 100)
}

// columns is the width of the terminal that w writes to, 0 where it is none.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return max(width, 1)
		}
	}
	return 0
}

// complain says on standard error why there is nothing to judge, and on GitHub beside the line that is to blame.
func (e *env) complain(err error, code int) {
	fmt.Fprintln(e.Err, "nsgate:", err)
	if e.getenv("GITHUB_ACTIONS") != "true" || e.getenv("NSGATE_ANNOTATIONS") == "never" {
		return
	}
	file, line := "", 0
	if at := (*measure.PlaceError)(nil); errors.As(err, &at) {
		file, line = app.Within(e.getenv("GITHUB_WORKSPACE"), at.File), at.Line
	}
	if err := github.PublishError(report.Clean(err.Error()), file, line, code, github.Options{Writer: e.Err, Getenv: e.getenv}); err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
	}
}
