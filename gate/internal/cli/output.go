package cli

import (
	"cmp"
	"fmt"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type file struct{ format, name, flag string }

var autoAlwaysNever = []string{"auto", "always", "never"}

var shortNames = map[string]string{"md": "markdown", "htm": "html", "txt": "text", "xml": "junit", "prometheus": "openmetrics", "gitlab": "codequality"}

func (v *flags) known(source, format string) error {
	if slices.Contains(v.formats, format) {
		return nil
	}
	near := meant("", format, v.formats)
	if long := shortNames[format]; slices.Contains(v.formats, long) {
		near = "did you mean " + long + "? "
	}
	return usageError("%s: unknown format %q; %sknown are %s", source, format, near, strings.Join(v.formats, ", "))
}

// check refuses values that would only come to light after the measurement.
func (v *flags) check(e *env) error {
	switch {
	case v.onLine("json") && v.onLine("format") && v.json && v.format != "json":
		return usageError("--json and --format %s contradict each other", v.format)
	case v.json && (v.onLine("json") || !v.fs.Changed("format")):
		v.format = "json"
	}
	if err := v.known(source(v.fs, "format"), v.format); err != nil {
		return err
	}
	if v.format == "html" && e.Out.Columns() > 0 {
		return usageError("%s html: a page is for a browser, not for a terminal; write it with --output page.html, or "+
			"open the last one with nsgate report --open", source(v.fs, "format"))
	}
	for _, name := range v.outputs {
		format := report.FormatOf(name)
		if format == "" {
			return usageError("%s: the suffix of %q says no format; name it with --report FORMAT=FILE, of %s",
				source(v.fs, "output"), name, strings.Join(v.formats, ", "))
		}
		v.files = append(v.files, file{format, name, source(v.fs, "output")})
	}
	for _, f := range v.reports {
		flag := source(v.fs, "report")
		format, name, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return usageError("%s: %q is not FORMAT=FILE with a format of %s", flag, f, strings.Join(v.formats, ", "))
		}
		if err := v.known(flag, format); err != nil {
			return err
		}
		v.files = append(v.files, file{format, name, flag})
	}
	written := v.files
	if v.patch != "" {
		written = append(slices.Clone(written), file{name: v.patch, flag: source(v.fs, "patch")})
	}
	for _, f := range written {
		if err := cmp.Or(git.Outward(e.ctx, f.name), writable(f.name)); err != nil {
			return usageError("%s: %w", f.flag, err)
		}
	}
	return nil
}

func render[V report.Value](e *env, o *flags, value V) error {
	return report.Render(o.format, e.Out, value, o.options(e))
}

func (v *flags) draws() bool {
	return v.format == "html" || slices.ContainsFunc(v.files, func(f file) bool { return f.format == "html" })
}

func (v *flags) options(e *env) report.Options {
	o := report.Options{Width: width(e), Color: v.coloured(e), Verbose: v.verbose || e.getenv("RUNNER_DEBUG") == "1",
		Quiet: v.quiet, ASCII: ascii(e.getenv), ShowAll: "--verbose", Version: thisBuild().Version}
	if v.saved {
		o.Ways = [][2]string{{"Details", "nsgate report --verbose"}, {"Page", "nsgate report --open"}}
	}
	return o
}

// publish prints and writes the report and turns its verdict into the command's error.
// A file that cannot be written changes no verdict but a pass, which becomes exit code 2.
func (v *flags) publish(e *env, j *result.Judgement) error {
	notices := append(ownEdits(e, j, v.policy, v.root), v.eased(e, j)...)
	said := slices.Concat(v.looser, measure.Map(notices, func(n github.Notice) string { return n.Message }))
	for _, text := range said {
		if !slices.Contains(j.Warnings, text) { // a report of a file may say it already
			j.Warnings = append(j.Warnings, text)
		}
	}
	options := v.options(e)
	if e.Out.Columns() > 0 {
		options.Reproduce = v.reproduce
	}
	options.Locate, options.Source = locate(e), sourceHost(e)
	var failed error
	printed, stored := j.Report(nil), j.Report(e.elided().Replace)
	if e.Out.Columns() > 0 && v.calls != nil {
		printed.Calls = v.calls
	}
	shown := printed
	if v.format != "text" {
		shown = stored
	}
	if err := report.Render(v.format, e.Out, shown, options); err != nil {
		failed = err
	}
	failed = cmp.Or(failed, v.writeFiles(stored, options))
	for _, f := range append(v.files, file{format: v.format}) {
		if left := report.LeftOut(f.format, stored); left != "" {
			fmt.Fprintln(e.Err, "nsgate:", left)
		}
	}
	if v.patch != "" && offered(j) {
		err := error(nil)
		if v.ready == "" {
			v.ready, err = v.patchOf(e, j, v.root, policyDir(v.policy), nil)
		}
		if err == nil {
			err = writeText(v.patch, v.ready)
		}
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("%s: %w; leave it out to judge alone", source(v.fs, "patch"), err))
		}
	}
	verdict := &exit{code: printed.Gate.Code, err: failed}
	if err := v.annotate(e, printed, github.Options{Getenv: e.getenv, Locate: options.Locate,
		Notices: notices}); err != nil {
		verdict.err = cmp.Or(verdict.err, err)
	}
	v.posted(e, stored, options)
	switch passed := verdict.code == ExitPass; {
	case passed && verdict.err == nil:
		return nil
	case passed:
		verdict.code = ExitUsage
	}
	return verdict
}

// writeFiles writes the report to the files that were asked for, whole where it prints a part; the error is the first.
func (v *flags) writeFiles(stored *result.Report, printed report.Options) (failed error) {
	whole := report.Options{Verbose: true, Locate: printed.Locate, Source: printed.Source, Version: printed.Version}
	for _, f := range v.files {
		err := writeFile(f.name, func(w io.Writer) error { return report.Render(f.format, w, stored, whole) })
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("%s: %w", f.flag, err))
		}
	}
	return failed
}

func refused(kind string) int {
	if model.Kind(kind).Program() {
		return ExitProgram
	}
	return ExitNoVerdict
}

// annotate publishes the verdict in GitHub Actions: outputs, and annotations and job summary if they are asked for.
func (v *flags) annotate(e *env, r *result.Report, options github.Options) error {
	if v.silent || v.annotations != "always" && e.getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	var summary strings.Builder
	if v.summary {
		err := report.Render("markdown", &summary, r, report.Options{Locate: options.Locate, Source: sourceHost(e)})
		if err != nil {
			return err
		}
	}
	switch {
	case v.annotations == "never":
	case v.format == "text":
		options.Writer = e.Out.Raw()
	default:
		options.Writer = e.Err.Raw()
	}
	for i, format := range []string{"json", "html", "markdown"} {
		if at := slices.IndexFunc(v.files, func(f file) bool { return f.format == format }); at >= 0 {
			options.Files[i], _ = filepath.Abs(v.files[at].name)
		}
	}
	return github.Publish(r, summary.String(), options)
}

func (v *flags) apply() string { return thresholds.JoinCommand([]string{"git", "apply", v.patch}) }

// offered reports whether the baseline could take something of a report: a change, or its first session.
func offered(r *result.Judgement) bool {
	return slices.ContainsFunc(r.Each(), func(w *result.Judgement) bool { return app.Changed(w) || w.Measured != nil })
}

// patchOf is the patch of the baselines that accept would make. again is nil, or the policy to judge a report file
// again.
func (v *flags) patchOf(e *env, r *result.Judgement, root, home string, again *thresholds.Policy) (string, error) {
	var all strings.Builder
	for _, w := range r.Each() {
		a := app.Accept{Judgement: w, Reason: v.patchReason, Home: home, Own: again == nil}
		switch {
		case w.Measured != nil:
			a.Root = root
			a.Reason = cmp.Or(a.Reason, "the first baseline")
		case !app.Changed(w):
			continue
		}
		var err error
		if again != nil {
			if a, err = a.Again(e.ctx, again.For(w.Workload)); err != nil {
				return "", err
			}
		}
		a.Reason = cmp.Or(a.Reason, "no reason given; "+report.Elide(report.Clean(a.Judgement.Reason), 400))
		patch, err := a.Patch(e.ctx, app.Repository())
		if err != nil {
			return "", err
		}
		all.WriteString(patch)
	}
	return all.String(), nil
}

// locate finds the definition of a finding's kernel in the repository. Files are relative to the repository's root,
// which is the CI host's workspace or where .git is.
func locate(e *env) story.Locator {
	if top := cmp.Or(e.getenv("GITHUB_WORKSPACE"), e.getenv("CI_PROJECT_DIR"), app.Repository()); top != "" {
		return story.NewLocator(input.Tree(top))
	}
	return nil
}

// sourceHost is where the CI host shows the repository, or else where its remote lies.
func sourceHost(e *env) story.Source {
	if server, name := e.getenv("GITHUB_SERVER_URL"), e.getenv("GITHUB_REPOSITORY"); server != "" && name != "" {
		return story.Source{URL: server + "/" + name}
	}
	if project := e.getenv("CI_PROJECT_URL"); project != "" {
		return story.Source{URL: project, GitLab: true}
	}
	return story.SourceOf(app.Origin(e.ctx, app.Repository()))
}

func (v *flags) coloured(e *env) bool {
	forced := e.getenv("FORCE_COLOR")
	switch {
	case v.color != "auto":
		return v.color == "always"
	case e.getenv("NO_COLOR") != "" || forced == "0" || forced == "false":
		return false
	}
	return forced != "" || e.getenv("TERM") != "dumb" && e.Out.Columns() > 0
}
