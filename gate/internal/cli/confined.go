package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/codehost"
	"github.com/nsgate/nsgate/gate/internal/confine"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// reads are the paths of others that a command reads, nil where it reads none, and the files that it writes. It then
// runs in a confined child, unless a file takes a profiler to read.
type reads func(e *env, v *flags, args arguments) (paths, files []string)

// confine runs the command of a reader in a child, with done true, or confines this process where it is the child.
func (e *env) confine(ctx context.Context, r reads, v *flags, args arguments) (done bool, err error) {
	paths, files := r(e, v, args)
	if len(paths) == 0 || !e.confined && !proc.Guarded() || profile.TakesTool(paths...) {
		return false, nil
	}
	if e.confined {
		l := confine.For(paths...)
		l.Files, l.Dirs = files, []string{os.TempDir()}
		confine.Self(l) // as far as the system can
		return false, nil
	}
	stdout, ok1 := e.std.Out.(*os.File)
	stderr, ok2 := e.std.Err.(*os.File)
	if !ok1 || !ok2 {
		return false, nil
	}
	e.follows.Store(true) // the child ends by itself
	code, err := e.runConfined(ctx, stdout, stderr)
	var ended *confine.Ended
	switch {
	case err == nil:
		return true, &exit{code: code, passed: true}
	case !errors.As(err, &ended): // no child could be started
		e.follows.Store(false)
		return false, nil
	}
	return true, noVerdict(e, "read", ended.Refusal(report.Clean(strings.Join(paths, ", "))))
}

// signal is the one that ended the context of the command.
func (e *env) signal() os.Signal {
	if stop := (interrupted{}); errors.As(context.Cause(e.ctx), &stop) {
		return stop.signal
	}
	return os.Interrupt
}

func (e *env) signalled() int { return 128 + int(e.signal().(syscall.Signal)) }

func (v *flags) written(e *env) []string {
	files := slices.Clone(v.outputs)
	for _, f := range v.reports {
		if _, name, ok := strings.Cut(f, "="); ok {
			files = append(files, name)
		}
	}
	for _, name := range []string{v.patch, e.getenv("GITHUB_OUTPUT"), e.getenv("GITHUB_STEP_SUMMARY"),
		e.getenv(handover)} {
		if name != "" {
			files = append(files, name)
		}
	}
	return files
}

// readsArguments are the reads of a command whose arguments are files.
func readsArguments(e *env, v *flags, args arguments) (paths, files []string) {
	return args.own, v.written(e)
}

// readsFrom are the reads of a check, which may be of finished profiles.
func readsFrom(e *env, v *flags, _ arguments) (paths, files []string) {
	if v.from == "" {
		return nil, nil
	}
	if files = v.written(e); app.GitDir(e.ctx) != "" {
		last := lastFile(e.ctx)
		os.MkdirAll(filepath.Dir(last), 0o700)
		files = append(files, last)
	}
	if commit, _ := app.DefaultCommit(e.ctx, e.getenv); commit != "" { // a gate in shadow keeps its score
		root := baselineRoot(v.baseline, cmp.Or(v.policy, findUp(policyFile)))
		files = append(files, filepath.Join(root, app.ShadowFile))
	}
	return []string{v.from}, files
}

// handover is the variable with the file in which a confined child leaves the post for its parent.
const handover = "NSGATE_HANDOVER"

const maxPost = 8 << 20

func (v *flags) posts() bool { return v.checkRun || v.comment != "false" && v.comment != "" }

// findHost finds the code host for a report that is posted, before any code of the change runs, and hides its tokens
// from that. An error is a warning: it changes no verdict.
func (e *env) findHost(v *flags) {
	if v.posts() || v.label != "" {
		e.event = codehost.ReviewOf(e.getenv)
	}
	if e.confined {
		return
	}
	os.Unsetenv(handover)
	token := proc.Secret(codehost.Descriptor)
	if !v.posts() {
		return
	}
	if token == "" && proc.Supported && proc.Guarded() && codehost.Token(e.getenv) != "" {
		token = codehost.Token(e.getenv)
		codehost.Hide(os.Unsetenv)
		err := proc.Again(codehost.Descriptor, token) // where it succeeds, the token comes back by the descriptor
		fmt.Fprintln(e.Err, "nsgate: programs of this job can read the token in its environment:", err)
	}
	if token != "" {
		codehost.Hand(os.Setenv, token)
	}
	host, err := codehost.New(e.getenv)
	codehost.Hide(os.Unsetenv)
	if err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
		return
	}
	host.ForFork = "nsgate init --fork-comments"
	e.host = host
}

// posted posts a report, or leaves it to the parent of this process, which has the network.
func (v *flags) posted(e *env, r *result.Report, options report.Options) {
	file := e.getenv(handover)
	if !v.posts() || e.host == nil && (!e.confined || file == "") {
		return
	}
	p := v.postOf(e, r, options)
	if e.host != nil {
		e.send(p)
		return
	}
	err := writeFile(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(p) })
	if err != nil {
		fmt.Fprintln(e.Err, "nsgate: the report was not posted:", err)
	}
}

func (v *flags) postOf(e *env, r *result.Report, options report.Options) codehost.Post {
	whole := report.Options{Locate: options.Locate, Source: options.Source}
	p := codehost.Post{Subject: r.Workload, GPU: v.gpu, Update: v.comment == "failures" && r.Gate.Code == ExitPass}
	if file := git.Within(app.Repository(), v.policy); file != policyFile {
		p.Policy = file
	}
	for _, w := range slices.Backward(r.Each()) {
		p.GPU = cmp.Or(w.Head.Environment.GPU, w.Base.Environment.GPU, p.GPU)
	}
	if v.comment != "false" {
		pages := report.Pages{Run: e.event.Run}
		for _, w := range r.Each() {
			pages.Accept = cmp.Or(pages.Accept, w.Accept)
		}
		if v.patch != "" && (pages.Accept != "" || r.Verdict != result.Fail || len(r.Workloads) > 0) {
			pages.Accept = v.apply()
		}
		p.Comment = report.Comment(r, whole, pages)
	}
	if !v.checkRun {
		return p
	}
	for _, w := range r.Each() {
		conclusion := "success"
		switch {
		case w.Gate.Code != ExitPass:
			conclusion = "failure"
		case w.Verdict != result.Pass && w.Gate.Way != result.Accepted:
			conclusion = "neutral"
		}
		var summary strings.Builder
		report.Render("markdown", &summary, w, whole) // a strings.Builder takes everything
		name := report.Elide(report.Clean(cmp.Or(w.Workload, "default")), 80)
		of := story.Join(", ", report.Elide(report.Clean(cmp.Or(w.Head.Environment.GPU, p.GPU)), 40),
			report.Elide(report.Clean(codehost.Job(e.getenv)), 80))
		p.Checks = append(p.Checks, codehost.Check{Name: "nsgate: " + name + story.Wrapped(" (", of, ")"),
			Conclusion: conclusion, Title: report.Headline(w, whole), Summary: summary.String()})
	}
	return p
}

// send posts, and warns about what was not posted. The verdict stays.
func (e *env) send(p codehost.Post) {
	for _, err := range e.host.Send(e.ctx, p) {
		fmt.Fprintln(e.Err, "nsgate:", report.Clean(err.Error()))
	}
}

// runConfined runs the command of a reader in a child without network, and sends the post that the child leaves.
func (e *env) runConfined(ctx context.Context, stdout, stderr *os.File) (code int, err error) {
	ran := false
	run := func() error {
		ran = true
		code, err = confine.Run(ctx, func() os.Signal { return e.signal() }, proc.HiddenArg, e.line, stdout, stderr)
		return err
	}
	if e.host == nil {
		return code, run()
	}
	private := proc.InPrivate(func(dir string) error {
		file := filepath.Join(dir, "post.json")
		if err := os.Setenv(handover, file); err != nil || run() != nil {
			return err
		}
		var p codehost.Post
		if text, err := input.Read(file, maxPost); err == nil && json.Unmarshal(text, &p) == nil {
			e.send(p)
		}
		return nil
	})
	if !ran {
		err = private
	}
	return code, err
}

// labelled is the label with which the pull request passes, and who has set it; "" where it has none.
func (v *flags) labelled(e *env) string {
	by, ok := e.event.Labelled(v.label)
	if v.label == "" || !ok {
		return ""
	}
	return "label " + v.label + story.Wrapped(" by ", by, "")
}
