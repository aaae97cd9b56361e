package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/result"
)

func showReport(ctx context.Context, e *env, v *flags, args arguments) error {
	v.saved = len(args.own) == 0
	r, file, err := e.savedReport(args)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(strings.Fields(policyNames), v.fs.Changed) {
		if r, err = v.again(ctx, e, r, file); err != nil {
			return err
		}
	}
	v.policy = cmp.Or(v.policy, findUp(policyFile))
	if v.patch != "" && offered(r) {
		p, err := v.load()
		if err != nil {
			return err
		}
		if v.ready, err = v.patchOf(e, r, "", policyDir(p.File), p); err != nil {
			return noVerdict(e, "patched", fmt.Errorf("--patch: %w; leave it out to render the report alone", err))
		}
	}
	v.resume(e, r, args)
	if v.opens {
		return v.open(e, r)
	}
	return v.publish(e, r)
}

// resume adds the commands that go on from a report of a file.
func (v *flags) resume(e *env, r *result.Judgement, args arguments) {
	file := ""
	if len(args.own) > 0 {
		file = args.own[0]
	}
	for _, w := range r.Each() {
		own := len(w.Next) // of a report that was judged again
		offerAccept(w, file, v, v.saved, len(r.Workloads) > 0)
		switch {
		case len(w.HeadSessions) == 0:
			w.Accept, w.Next = "", w.Next[:own]
		case w.Measured != nil:
			w.Next = append(w.Next, "take what was measured as the first baseline, if this is the code to compare with")
		}
		if w.Verdict == result.NoVerdict && len(w.Next) == own {
			w.Next = append(w.Next, "check again: a saved report names no next step")
		}
	}
	r.Reproduce = e.again("")
}

// again judges a saved report by other limits, against its baseline as it is now.
func (v *flags) again(ctx context.Context, e *env, r *result.Judgement, file string) (*result.Judgement, error) {
	switch {
	case len(r.Workloads) > 0:
		return nil, usageError("%s is on several workloads, and only a report on one is judged again: check again with --threshold …", file)
	case r.Paired:
		return nil, usageError("the base build of %s is not kept: check again with --threshold …", file)
	case r.Baseline == "":
		return nil, usageError("%s names no baseline to be judged by again: nsgate compare BASE HEAD --threshold …", file)
	}
	p, err := v.load()
	if err != nil {
		return nil, err
	}
	c := app.Compare{Base: filepath.Join(policyDir(p.File), filepath.FromSlash(r.Baseline)), Head: file, Policy: p, Home: policyDir(p.File), Observe: newProgress(e, false).event}
	judged, err := c.Run(ctx)
	if err != nil {
		return nil, err
	}
	judged.Workload, judged.Baseline, judged.Shadow = r.Workload, r.Baseline, r.Shadow
	return judged, nil
}

// pageFile is where report --open writes its page, beside the last report.
func pageFile(e *env) (string, error) {
	last := lastFile(e.ctx)
	if last == "" {
		return "", usageError("--open keeps the page in git's own directory, and here is no git repository: write it with " +
			"--output page.html")
	}
	dir := filepath.Dir(last)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("--open: %w; write the page with --output page.html", err)
	}
	return filepath.Join(dir, "last.html"), nil
}

// open writes the page of a report, shows it in the browser where there is one, and prints the verdict and the file.
func (v *flags) open(e *env, r *result.Judgement) error {
	page, err := pageFile(e)
	if err != nil {
		return err
	}
	v.files = append(v.files, file{"html", page, "--open"})
	v.quiet = true
	verdict := v.publish(e, r)
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
