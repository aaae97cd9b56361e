package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// storeOptions are those of the commands that show or change what the baseline holds.
type storeOptions struct {
	stored
	one string `flag:"workload,single"`
}

// open finds the baselines, of one workload where --workload names it, and the policy.
func (v *storeOptions) open() (k app.Store, p *thresholds.Policy, err error) {
	if p, err = v.load(); err == nil {
		k.Root, err = v.baselines(p)
	}
	if err == nil && v.one != "" {
		k.Workload, err = v.oneWorkload(p, k.Root, v.one, "")
	}
	return k, p, err
}

type listOptions struct {
	storeOptions
	printed
}

func (v *listOptions) run(ctx context.Context, e *env, _ arguments) error {
	k, p, err := v.open()
	if err != nil {
		return err
	}
	if kept := app.Kept(); len(kept) > 0 && v.format == "text" {
		fmt.Fprintf(e.Out, "local, for nsgate check --against: %s\n", report.Clean(strings.Join(kept, ", ")))
	}
	all, err := k.List(ctx)
	if err != nil && len(app.Kept()) > 0 && v.one == "" && len(app.WorkloadsIn(k.Root)) == 0 {
		fmt.Fprintln(e.Err, "nsgate:", report.Clean(err.Error()))
		all, err = []app.StoredBaseline{}, v.missing()
	}
	if err != nil {
		return err
	}
	if v.format == "json" {
		return e.encode(all)
	}
	for _, b := range all {
		if err := listBaseline(e, b, p.MaxAge, time.Now(), &v.printed); err != nil {
			return err
		}
	}
	return nil
}

// local adds to an error about names which of them is a local baseline.
func local(err error, names []string) error {
	for _, name := range names {
		if root, wrong := app.KeptRoot(name); wrong == nil && slices.Contains(app.Kept(), name) {
			return fmt.Errorf("%w; %q is a local baseline: nsgate baseline --baseline %s lists its sessions", err, name,
				commandWord(root))
		}
	}
	return err
}

type sessionOptions struct{ listOptions }

func (v *sessionOptions) run(ctx context.Context, e *env, args arguments) error {
	k, _, err := v.open()
	if err != nil {
		return err
	}
	summary, err := k.Session(ctx, args.own[0])
	if err != nil {
		return noVerdict(e, "shown", local(err, args.own))
	}
	return render(e, &v.printed, summary)
}

type diffOptions struct{ listOptions }

func (v *diffOptions) run(ctx context.Context, e *env, args arguments) error {
	k, p, err := v.open()
	if err != nil {
		return err
	}
	r, err := k.Diff(ctx, args.own[0], args.own[1], func(dir string) *thresholds.Resolved {
		for _, w := range p.Workloads {
			if filepath.Base(app.BaselinesOf("", w.Name)) == dir {
				dir = w.Name
			}
		}
		return v.resolved(p, dir)
	})
	if err != nil {
		return local(err, args.own)
	}
	return render(e, &v.printed, r.Shown(nil))
}

type removeOptions struct {
	storeOptions
	reason string `flag:"reason"`
}

func (v *removeOptions) run(ctx context.Context, e *env, args arguments) error {
	k, _, err := v.open()
	if err != nil {
		return err
	}
	if name := args.own[0]; slices.Contains(app.Kept(), name) {
		if v.one != "" {
			return usageError("%s does nothing with a local baseline, which is removed whole: leave it out",
				source(v.fs, "workload"))
		}
		root, err := app.KeptRoot(name)
		if err = cmp.Or(err, os.RemoveAll(root)); err == nil {
			fmt.Fprintf(e.Out, "removed the local baseline %s\n", name)
		}
		return err
	}
	if v.reason == "" {
		return usageError("--reason is needed: say why the session is removed, for those who review the baseline")
	}
	file, err := k.Remove(ctx, args.own[0], v.reason, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "wrote %s, which takes the session back; commit it\n", report.Clean(file))
	return nil
}

type renameOptions struct{ storeOptions }

func (v *renameOptions) run(ctx context.Context, e *env, args arguments) error {
	k, _, err := v.open()
	if err != nil {
		return err
	}
	before, after, err := k.Rename(ctx, args.own[0], args.own[1])
	if err != nil {
		return local(err, args.own[:1])
	}
	fmt.Fprintf(e.Out, "renamed %s to %s; commit it, and use the name in nsgate.toml and CI\n", report.Clean(before),
		report.Clean(after))
	return nil
}

func listBaseline(e *env, b app.StoredBaseline, maxAge time.Duration, now time.Time, v *printed) error {
	titles := []string{"session", "age", "what", "commit", "host", "driver", "runs", "kernels", "state", "reason"}
	var rows [][]string
	var newest app.StoredSession
	unmeasured := 0
	for _, s := range slices.Backward(b.Sessions) {
		if s.Removes == "" && s.State != "removed" && s.State != "replaced" {
			newest = cmp.Or(newest, s)
			unmeasured += s.Unmeasured
		}
		rows = append(rows, sessionRow(s, newest, now))
	}
	title := fmt.Sprintf("%s  %s, %s", b.Dir, b.GPU, measure.Count(len(b.Sessions), "file"))
	if err := report.List(e.Out, title, titles, rows, v.options(e)); err != nil {
		return err
	}
	warn := func(format string, args ...any) {
		fmt.Fprintln(e.Out, "  ! "+report.Clean(fmt.Sprintf(format, args...)))
	}
	if age := now.Sub(newest.Start); !newest.Start.IsZero() && maxAge > 0 && age > maxAge {
		warn("the newest session in effect is %s old, more than max_age: record it anew", days(age))
	}
	if unmeasured > 0 {
		warn("two branches changed the same: nobody measured the merge; record the merged code on the default branch")
	}
	return nil
}

// sessionRow is a session as a row; another driver than that of the newest is marked.
func sessionRow(s, newest app.StoredSession, now time.Time) []string {
	age := measure.Either(s.Start.IsZero(), "", days(now.Sub(s.Start)))
	isOther := s.Driver != "" && newest.Driver != "" && s.Driver != newest.Driver
	driver := s.Driver + measure.Either(isOther, " (other)", "")
	what := s.What + measure.Either(s.Anchor == "yes", ", anchor", result.Given(s.Anchor, ", anchor ", s.Anchor))
	why := s.Reason + result.Given(s.Removes, " (removes ", s.Removes, ")")
	state := s.State + measure.Either(s.Unmeasured > 0, ", unmeasured merge", "")
	count := func(n int) string { return measure.Either(n == 0, "", fmt.Sprint(n)) }
	return []string{s.ID, age, what, s.Commit, s.GPUHash, driver, count(s.Runs), count(s.Kernels), state, why}
}

func days(d time.Duration) string {
	const day = 24 * time.Hour
	return measure.Either(d < 2*day, fmt.Sprintf("%dh", int(max(d, 0).Hours())), fmt.Sprintf("%dd", int(d/day)))
}
