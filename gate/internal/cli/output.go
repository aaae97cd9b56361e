package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
	"github.com/nsgate/nsgate/thresholds"
)

// printed are the options of a command that prints in several formats.
type printed struct {
	format  string `flag:"format" default:"text"`
	json    bool   `flag:"json"`
	color   string `flag:"color" words:"auto always never"`
	verbose bool   `flag:"verbose"`
	quiet   bool   `flag:"quiet"`
}

// reported are the options of a command that publishes reports.
type reported struct {
	printed
	outputs     []string `flag:"output"`
	reports     []string `flag:"report"` // FORMAT=FILE
	annotations string   `flag:"annotations" words:"auto always never"`
	summary     bool     `flag:"summary" default:"true"`
	comment     string   `flag:"comment" words:"false true always failures"`
	checkRun    bool     `flag:"check"`
	patch       string   `flag:"patch"`
	patchReason string   `flag:"patch-reason"`
	label       string   `flag:"accept-label"`
	files       []file   // of outputs and reports
	told        string   // of the report, before it was explained
}

// publication is what a command knows of the report that it publishes.
type publication struct {
	root      string        // of the baselines, where the first one goes
	ready     string        // the patch of a report from a file, whose sessions were judged again
	gpu       string        // model of this machine
	reproduce string        // on a terminal, "" for what the report says
	calls     *result.Calls // likewise
	saved     bool          // nsgate report finds the report again
	silent    bool          // in GitHub Actions
}

// file is one to write, in a format or by a filter.
type file struct{ format, name, flag, filter string }

var shortNames = map[string]string{"md": "markdown", "htm": "html", "txt": "text", "xml": "junit",
	"prometheus": "openmetrics", "gitlab": "codequality"}

func (v *given) known(source, format string) error {
	if slices.Contains(v.formats, format) {
		return nil
	}
	near := meant("", format, v.formats)
	if long := shortNames[format]; slices.Contains(v.formats, long) {
		near = "did you mean " + long + "? "
	}
	if filepath.Ext(format) == ".jq" && v.fs.Lookup("report") != nil {
		near = "a filter writes a file: --report " + format + "=FILE; "
	}
	return usageError("%s: unknown format %q; %sknown are %s", source, format, near, strings.Join(v.formats, ", "))
}

// check refuses values that would only come to light after the measurement.
func (v *printed) check(e *env, g *given) error {
	flag := source(g.fs, "format")
	switch {
	case g.onLine("json") && g.onLine("format") && v.json && v.format != "json":
		return usageError("--json and --format %s contradict each other", v.format)
	case v.json && (g.onLine("json") || !g.fs.Changed("format")):
		v.format = "json"
	}
	if err := g.known(flag, v.format); err != nil {
		return err
	}
	if v.format == "html" && e.Out.Columns() > 0 {
		return usageError("%s html: a page is for a browser, not for a terminal; write it with --output page.html, or "+
			"open the last one with nsgate report --open", flag)
	}
	return nil
}

func (v *reported) check(e *env, g *given) error {
	if err := v.printed.check(e, g); err != nil {
		return err
	}
	for _, name := range v.outputs {
		format := report.FormatOf(name)
		if format == "" {
			return usageError("%s: the suffix of %q says no format; name it with --report FORMAT=FILE, of %s",
				source(g.fs, "output"), name, strings.Join(g.formats, ", "))
		}
		v.files = append(v.files, file{format: format, name: name, flag: source(g.fs, "output")})
	}
	for _, f := range v.reports {
		flag := source(g.fs, "report")
		format, name, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return usageError("%s: %q is not FORMAT=FILE with a format of %s", flag, f, strings.Join(g.formats, ", "))
		}
		f := file{format: format, name: name, flag: flag}
		if filter.IsFile(format) {
			var err error
			if f.filter, err = filterOf("", format); err != nil {
				return usageError("%s: %w", flag, err)
			}
		} else if err := g.known(flag, format); err != nil {
			return err
		}
		v.files = append(v.files, f)
	}
	written := v.files
	if v.patch != "" {
		written = append(slices.Clone(written), file{name: v.patch, flag: source(g.fs, "patch")})
	}
	for i, f := range written {
		same := func(o file) bool { return filepath.Clean(o.name) == filepath.Clean(f.name) && !special(f.name) }
		if slices.ContainsFunc(written[:i], same) {
			return usageError("%s: %s is written twice; name another file", f.flag, f.name)
		}
		if err := cmp.Or(git.Outward(e.ctx, f.name), writable(f.name), v.overwrites(e, g, f.name)); err != nil {
			return usageError("%s: %w", f.flag, err)
		}
	}
	return nil
}

func render[V report.Value](e *env, o *printed, value V) error {
	return report.Render(o.format, e.Out, value, o.options(e))
}

func (v *reported) draws() bool {
	return v.format == "html" || slices.ContainsFunc(v.files, func(f file) bool { return f.format == "html" })
}

func (v *printed) options(e *env) report.Options {
	return report.Options{Width: width(e), Color: v.coloured(e), Verbose: v.verbose || e.getenv("RUNNER_DEBUG") == "1",
		Quiet: v.quiet, ASCII: ascii(e.getenv), ShowAll: "--verbose", Version: thisBuild().Version}
}

// publish prints and writes the report and turns its verdict into the command's error.
// A file that cannot be written changes no verdict but a pass, which becomes exit code 2.
func (v *reported) publish(e *env, by *judging, j *result.Report, x publication) error {
	notices := append(ownEdits(e, j, append(policiesOf(by.policy), by.filterFiles()...), x.root), by.eased(e, j)...)
	said := slices.Concat(by.looser, measure.Map(notices, func(n github.Notice) string { return n.Message }))
	for _, text := range said {
		if !slices.Contains(j.Warnings, text) { // a report of a file may say it already
			warn(j, text)
		}
	}
	options := v.options(e)
	if e.Out.Columns() > 0 {
		options.Reproduce = x.reproduce
	}
	if x.saved {
		options.Ways = [][2]string{{"Details", "nsgate report --verbose"}, {"Page", "nsgate report --open"}}
	}
	if top := cmp.Or(e.getenv("GITHUB_WORKSPACE"), e.getenv("CI_PROJECT_DIR"), app.Repository()); top != "" {
		options.Locate = app.Definitions(e.ctx, top)
	}
	options.Source = sourceHost(e)
	printed, stored := j.Shown(nil), j.Shown(e.elided().Replace)
	if e.Out.Columns() > 0 && x.calls != nil {
		printed.Append(result.Addition{Calls: x.calls})
	}
	shown := measure.Either(v.format != "text", stored, printed)
	failed := cmp.Or(v.print(e, shown, options), v.writeFiles(stored, options))
	for _, f := range append(v.files, file{format: v.format}) {
		if left := report.LeftOut(f.format, stored); left != "" {
			fmt.Fprintln(e.Err, "nsgate:", left)
		}
	}
	if v.patch != "" && offered(j) {
		failed = cmp.Or(failed, v.writePatch(e, by, j, x))
	}
	verdict := &exit{code: printed.Gate.Code, err: failed}
	if !x.silent {
		err := v.annotate(e, printed, github.Options{Getenv: e.getenv, Locate: options.Locate, Notices: notices})
		verdict.err = cmp.Or(verdict.err, err)
	}
	if e.host != nil {
		for _, err := range e.host.Send(e.ctx, v.postOf(e, stored, options, by.policy, x.gpu)) { // the verdict stays
			fmt.Fprintln(e.Err, "nsgate:", report.Clean(err.Error()))
		}
	}
	if verdict.code == ExitPass && verdict.err == nil {
		return nil
	}
	verdict.code = cmp.Or(verdict.code, ExitUsage)
	return verdict
}

// writePatch writes the patch that takes what was measured into the baseline, unless it is written already.
func (v *reported) writePatch(e *env, by *judging, j *result.Report, x publication) error {
	patch, err := x.ready, error(nil)
	if patch == "" {
		patch, err = v.patchOf(e, j, x.root, filepath.Dir(by.policy), nil)
	}
	if err == nil {
		err = writeText(v.patch, patch)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; leave it out to judge alone", source(by.fs, "patch"), err)
	}
	return nil
}

// decided shows the headline of a verdict that is about to be explained: on a terminal as the beginning of the report,
// else as progress. Until stop a signal ends the context alone.
func (v *reported) decided(ctx context.Context, e *env, j *result.Report, part bool) (context.Context, func()) {
	here := v.format == "text" && e.Out.Columns() > 0 && !part
	options := v.options(e)
	options.Quiet, options.Color = true, options.Color && here
	var line strings.Builder
	err := report.Render("text", &line, j.Shown(nil), options)
	switch {
	case err != nil:
	case here:
		v.told = line.String()
		io.WriteString(printer(e, options), v.told)
	case !v.quiet:
		fmt.Fprintln(e.Err, "nsgate:", strings.TrimSpace(line.String()))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	e.explaining.Store(&cancel)
	return ctx, func() { e.explaining.Store(nil); cancel(nil) }
}

// print prints the report without the lines that the terminal shows already.
func (v *reported) print(e *env, shown *result.Report, options report.Options) error {
	if v.told == "" {
		return report.Render(v.format, e.Out, shown, options)
	}
	var whole strings.Builder
	if err := report.Render(v.format, &whole, shown, options); err != nil {
		return err
	}
	_, err := io.WriteString(printer(e, options), strings.TrimPrefix(whole.String(), v.told))
	return err
}

// printer prints a rendered text.
func printer(e *env, o report.Options) io.Writer {
	return terminal.New(e.Out, terminal.Form{ASCII: o.ASCII, Colour: o.Color})
}

// writeFiles writes the report to the files that were asked for, whole where it prints a part; the error is the first.
func (v *reported) writeFiles(stored *result.Report, printed report.Options) (failed error) {
	whole := report.Options{Verbose: true, Locate: printed.Locate, Source: printed.Source, Version: printed.Version}
	for _, f := range v.files {
		var err error
		if f.filter == "" {
			err = writeFile(f.name, func(w io.Writer) error { return report.Render(f.format, w, stored, whole) })
		} else if text, wrong := report.Filtered(context.Background(), f.filter, stored, whole); wrong != nil {
			err = fmt.Errorf("%s: %w; mend the filter", f.format, wrong)
		} else {
			err = writeText(f.name, text)
		}
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("%s: %w", f.flag, err))
		}
	}
	return failed
}

func refused(kind string) int {
	return measure.Either(model.Kind(kind).Program(), ExitProgram, ExitNoVerdict)
}

// annotate publishes the verdict in GitHub Actions: outputs, and annotations and job summary if they are asked for.
func (v *reported) annotate(e *env, r *result.Report, options github.Options) error {
	if v.annotations != "always" && e.getenv("GITHUB_ACTIONS") != "true" {
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

func (v *reported) apply() string { return thresholds.JoinCommand([]string{"git", "apply", v.patch}) }

// offered reports whether the baseline could take something of a report: a change, or its first session.
func offered(r *result.Report) bool {
	return slices.ContainsFunc(r.Each(), func(w *result.Report) bool { return app.Changed(w) || w.Measured != nil })
}

// patchOf is the patch of the baselines that accept would make. again, if not nil, is the policy for a report file.
func (v *reported) patchOf(e *env, r *result.Report, root, home string, again *thresholds.Policy) (string, error) {
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

// sourceHost is where the CI host shows the repository, or else where its remote lies.
func sourceHost(e *env) codehost.Source {
	if server, name := e.getenv("GITHUB_SERVER_URL"), e.getenv("GITHUB_REPOSITORY"); server != "" && name != "" {
		return codehost.Source{URL: server + "/" + name}
	}
	if project := e.getenv("CI_PROJECT_URL"); project != "" {
		return codehost.Source{URL: project, GitLab: true}
	}
	return codehost.SourceOf(app.Origin(e.ctx, app.Repository()))
}

func (v *printed) coloured(e *env) bool {
	forced := e.getenv("FORCE_COLOR")
	switch {
	case v.color != "auto":
		return v.color == "always"
	case e.getenv("NO_COLOR") != "" || forced == "0" || forced == "false":
		return false
	}
	return forced != "" || e.getenv("TERM") != "dumb" && e.Out.Columns() > 0
}
