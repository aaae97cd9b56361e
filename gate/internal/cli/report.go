package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type reportOptions struct {
	stored
	reported
	workload words `flag:"workload"`
	opens    bool  `flag:"open"`
}

func (v *reportOptions) run(_ context.Context, e *env, args arguments) error {
	x := publication{saved: len(args.own) == 0}
	r, file, err := e.savedReport(args)
	if err != nil {
		return err
	}
	share := float64(len(r.Each())) // of the chance of a false alarm: the workloads are one gate
	if len(v.workload) > 0 {
		chosen, err := chosen(r, v.workload, false)
		if err != nil {
			return err
		}
		if len(chosen) > 1 {
			return usageError("--workload names several workloads of the report: choose one")
		}
		r = chosen[0]
	}
	if slices.ContainsFunc(strings.Fields(policyNames), v.fs.Changed) {
		if r, err = v.again(e, r, share, file); err != nil {
			return err
		}
	} else {
		for _, w := range r.Each() {
			w.Append(result.Addition{Uncalled: true}) // its next steps have the calls
		}
	}
	v.policy = cmp.Or(v.policy, findPolicy())
	if v.patch != "" && offered(r) {
		p, err := v.load()
		if err != nil {
			return err
		}
		if x.ready, err = v.patchOf(e, r, "", filepath.Dir(p.File), p); err != nil {
			return noVerdict(e, "patched", fmt.Errorf("--patch: %w; leave it out to render the report alone", err))
		}
	}
	v.resume(e, r, x.saved)
	if v.opens {
		return v.open(e, r, x)
	}
	return v.publish(e, &v.judging, r, x)
}

func (v *reportOptions) resume(e *env, r *result.Report, saved bool) {
	file := strings.Join(e.args.own, "") // "" for the last report
	for _, w := range r.Each() {
		if len(w.HeadSessions) > 0 && (w.Basis == nil || w.Basis.Against != app.AgainstLocal) {
			offerAccept(w, file, &v.reported, saved, len(r.Workloads)+len(v.workload) > 0)
		}
		if w.Verdict == result.NoVerdict && len(w.Next) == 0 && !w.Undecided {
			w.Append(result.Addition{Next: []string{"check again: the report names no next step"}})
		}
	}
	r.Append(result.Addition{Reproduce: e.again("")})
}

// again judges a saved report by other limits, each workload under the policy that held with the given keys over it, or
// under that of --policy. Workloads that were not compared with anything stay as they are beside others.
func (v *reportOptions) again(e *env, r *result.Report, share float64, file string) (*result.Report, error) {
	var all []*result.Report
	var refused error
	given := slices.DeleteFunc(strings.Fields(policyNames), func(name string) bool { return !v.fs.Changed(name) })
	limits := "--" + strings.Join(given, " … --") + " …"
	for _, w := range r.Each() {
		if err := unjudged(w, file, limits); err != nil {
			if w.Verdict != result.NoVerdict || w.Undecided {
				return nil, err
			}
			refused = cmp.Or(refused, err)
			all = append(all, w)
			continue
		}
		policy := new(*w.Basis.Policy)
		err := v.lay(limitNames, policy.Set)
		if v.fs.Changed("policy") {
			var p *thresholds.Policy
			if p, err = v.load(); err == nil {
				policy = p.For(w.Workload)
			}
		}
		if err != nil {
			return nil, err
		}
		if v.fs.Changed("policy") || v.fs.Changed("alpha") {
			policy.Alpha /= share
		}
		v.loosened(policy, w.Basis.Policy, measured(w), measure.Either(len(r.Workloads) > 0, "workload "+w.Workload,
			"the policy"))
		judged, err := app.Again(e.ctx, w, policy)
		if err != nil {
			return nil, usageError("%s: %w", file, err)
		}
		judged.Append(result.Addition{Calls: w.Calls.Shown(v.limiting)})
		all = append(all, judged)
	}
	switch {
	case slices.Equal(all, r.Each()):
		return nil, refused
	case len(r.Workloads) == 0:
		verdict.Alone(all[0])
		showWays(all[0])
		return all[0], nil
	}
	several := verdict.Several(all)
	said := func(warning string) bool { return slices.Contains(several.Warnings, warning) }
	several.Append(result.Addition{Gate: r.Gate, Warnings: slices.DeleteFunc(slices.Clone(r.Warnings), said),
		Notes: r.Notes})
	showWays(several)
	return several, nil
}

// unjudged refuses to judge a saved report again, by the limits that flags give, that lacks what it was judged by.
func unjudged(w *result.Report, file, flags string) error {
	b, why, again := w.Basis, "", "check again with "
	switch {
	case len(w.HeadSessions) == 0:
		why = "%s holds no measured sessions to judge again: %s"
	case b != nil && b.Against == app.AgainstLocal:
		why = "%s was judged by a local baseline, which is not kept in it: %s"
	case b == nil || b.Policy == nil:
		why = "the policy of %s is not kept, as by an older nsgate: %s"
	case b.Against == app.AgainstBuild:
		why = "the base build of %s is not kept: %s"
	case w.Baseline == "":
		why, again = "%s names no baseline to be judged by again: %s", "nsgate compare BASE HEAD "
	default:
		return nil
	}
	return usageError(why, file, again+flags)
}

// open writes the page of a report beside the last report, shows it in a browser, and prints the verdict and the file.
func (v *reportOptions) open(e *env, r *result.Report, x publication) error {
	dir := filepath.Dir(lastFile(e.ctx))
	if dir == "." {
		return usageError("--open keeps the page in git's own directory, and here is no git repository, or " +
			".git/nsgate is a link: write it with --output page.html")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--open: %w; write the page with --output page.html", err)
	}
	page := filepath.Join(dir, "last.html")
	v.files, v.quiet = append(v.files, file{format: "html", name: page, flag: "--open"}), true
	verdict := v.publish(e, &v.judging, r, x)
	if _, err := os.Stat(page); err != nil {
		return verdict
	}
	fmt.Fprintln(e.Out, "wrote", page)
	if program, args := browser(runtime.GOOS, e.getenv); program != "" {
		if err := proc.Run(e.ctx, "", io.Discard, io.Discard, program, append(args, page)...); err != nil {
			fmt.Fprintf(e.Err, "nsgate: no browser was opened (%s: %v); open the file yourself\n", program, err)
		}
	}
	return verdict
}

// browser is the program that opens a file in the browser, "" where no screen is known.
func browser(system string, getenv func(string) string) (program string, args []string) {
	switch {
	case system == "darwin":
		return "open", nil
	case system == "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		return "xdg-open", nil
	}
	return "", nil
}

// The last report is kept in git's own directory, where it is never committed, for this user alone.

// lastFile is where the last report is kept, "" outside of a repository and where a link would lead it elsewhere.
func lastFile(ctx context.Context) string {
	dir := app.GitDir(ctx)
	info, err := os.Lstat(filepath.Join(dir, "nsgate"))
	return measure.Either(dir == "" || err == nil && !info.IsDir(), "", filepath.Join(dir, "nsgate", "last.json"))
}

// saveLast keeps a report for accept, and reports whether accept will find it. A repository may be read-only.
func saveLast(ctx context.Context, r *result.Report) bool {
	file := lastFile(ctx)
	if file == "" || len(r.HeadSessions) == 0 && len(r.Workloads) == 0 {
		return false
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return false
	}
	err := writeFile(file, func(w io.Writer) error {
		return report.Render("json", w, r.Shown(nil), report.Options{Verbose: true})
	})
	if err != nil {
		os.Remove(file)
		return false
	}
	return os.Chmod(file, 0o600) == nil
}

// savedReport reads the report that the arguments name, or the last one of this repository, without the commands in it.
func (e *env) savedReport(args arguments) (r *result.Report, file string, err error) {
	if len(args.own) > 0 {
		r, err = e.readReport(args.own[0])
		return r, args.own[0], err
	}
	file = lastFile(e.ctx)
	if file == "" {
		return nil, "", usageError("%s wants one saved report here: none is kept outside of a git repository, or "+
			"where .git/nsgate is a link", e.command.Name())
	}
	r, err = e.readReport(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = usageError("no report was kept in this repository; check first, or name a saved report")
	case err != nil:
		err = fmt.Errorf("%w; check again, or name a saved report", err)
	}
	return r, file, err
}

// harmlessStep matches a step of a file that may be shown: without addresses, and operators of a shell but in quotes.
var harmlessStep = input.Pattern(`^(?:"(?:[^"':$\x60\\\x00-\x1f]|:[^/"'])*"|[^"|&$<>\x60\\~*\x00-\x1f:]|:[^/"])*$`)

func (e *env) readReport(file string) (r *result.Report, err error) {
	err = app.ReadSaved(e.ctx, []string{file}, false, "", func(_ string, _ *model.Session, read *result.Report) {
		r = read
		r.Disarm(harmlessStep().MatchString, toAccept)
	})
	switch {
	case model.KindOf(err) != "":
		err = noVerdict(e, "read", err)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w; name a report that nsgate check --output report.json wrote", err)
	}
	return r, err
}

// writeFile writes a file whole or not at all. A pipe or device, such as /dev/stdout, is written to directly.
func writeFile(name string, write func(io.Writer) error) error {
	if !special(name) {
		return unwritten(name, output.Whole(name, 0o644, write))
	}
	f, err := output.Special(name)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	return unwritten(name, err)
}

func writeText(name, text string) error {
	return writeFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func special(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// writable is the error that [writeFile] would have, as far as it can be foreseen.
func writable(name string) error {
	if special(name) {
		return nil
	}
	if info, err := os.Stat(name); errors.Is(err, syscall.ENAMETOOLONG) {
		return unwritten(name, err)
	} else if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory; name a file", name)
	}
	return unwritten(name, output.Possible(filepath.Dir(name)))
}

// overwrites refuses a file that the call reads: an argument, policy or filter, a recording or session of a directory.
func (v *reported) overwrites(e *env, g *given, name string) error {
	policy := cmp.Or(g.value("policy"), findPolicy())
	read := append(slices.Clone(e.args.own), policy, g.value("from"), baselineRoot(g.value("baseline"), policy))
	for _, f := range v.files {
		if f.filter != "" {
			read = append(read, f.format)
		}
	}
	at, missing := os.Stat(name)
	for _, r := range read {
		info, err := os.Stat(r)
		if missing != nil || err != nil {
			continue
		}
		if os.SameFile(at, info) || info.IsDir() && git.Within(r, name) != "" && profile.Reads(name) {
			return fmt.Errorf("%s is read by this call: name another file", name)
		}
	}
	return nil
}

// unwritten names the file and the next step, where the system's error would name a temporary file; nil stays nil.
func unwritten(name string, err error) error {
	if err == nil {
		return nil
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		err = errno
	}
	next := cmp.Or(proc.Raise(err), "name another file, in a directory that can be written")
	_, missing := os.Stat(filepath.Dir(name))
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		next = fmt.Sprintf("make room in %s, or name a file elsewhere", filepath.Dir(name))
	case errors.Is(err, syscall.ENXIO):
		next = "start what reads this pipe first, or name a file"
	case missing != nil && errors.Is(err, fs.ErrNotExist):
		next = fmt.Sprintf("make the directory %s first", filepath.Dir(name))
	}
	return fmt.Errorf("%s cannot be written: %w; %s", name, err, next)
}
