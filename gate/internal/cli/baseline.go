package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/thresholds"
)

// store is the baselines that a command is about, and the policy.
type store struct {
	app.Store
	policy *thresholds.Policy
}

// inStore makes the function of a command of one that works on baselines.
func inStore(run func(ctx context.Context, e *env, v *flags, words []string, k store) error) func(context.Context, *env,
	*flags, arguments) error {
	return func(ctx context.Context, e *env, v *flags, args arguments) (err error) {
		var k store
		if k.policy, err = v.load(); err == nil {
			k.Root, err = v.baselines(k.policy)
		}
		if err == nil && v.one != "" {
			k.Workload, err = v.oneWorkload(k.policy, k.Root, "")
		}
		if err != nil {
			return err
		}
		return run(ctx, e, v, args.own, k)
	}
}

func listBaselines(ctx context.Context, e *env, v *flags, _ []string, k store) error {
	all, err := k.List(ctx)
	if err != nil {
		return err
	}
	if v.format == "json" {
		return e.encode(all)
	}
	for _, b := range all {
		if err := listBaseline(e, b, k.policy.MaxAge, time.Now(), v); err != nil {
			return err
		}
	}
	return nil
}

func showSession(ctx context.Context, e *env, v *flags, words []string, k store) error {
	summary, err := k.Session(ctx, words[0])
	if err != nil {
		return noVerdict(e, "shown", err)
	}
	return render(e, v, summary)
}

func diffSessions(ctx context.Context, e *env, v *flags, words []string, k store) error {
	r, err := k.Diff(ctx, words[0], words[1], func(dir string) *thresholds.Resolved {
		for _, w := range k.policy.Workloads {
			if filepath.Base(app.BaselinesOf("", w.Name)) == dir {
				dir = w.Name
			}
		}
		return v.resolved(k.policy, dir)
	})
	if err != nil {
		return err
	}
	return render(e, v, r.Report(nil))
}

func removeSession(ctx context.Context, e *env, v *flags, words []string, k store) error {
	if v.reason == "" {
		return usageError("--reason is needed: say why the session is removed, for those who review the baseline")
	}
	file, err := k.Remove(ctx, words[0], v.reason, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "wrote %s, which takes the session back; commit it\n", report.Clean(file))
	return nil
}

func renameBaselines(ctx context.Context, e *env, _ *flags, words []string, k store) error {
	before, after, err := k.Rename(ctx, words[0], words[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "renamed %s to %s; commit it, and use the name in nsgate.toml and CI\n", report.Clean(before),
		report.Clean(after))
	return nil
}

func listBaseline(e *env, b app.StoredBaseline, maxAge time.Duration, now time.Time, v *flags) error {
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
	age := ""
	if !s.Start.IsZero() {
		age = days(now.Sub(s.Start))
	}
	driver := s.Driver
	if driver != "" && newest.Driver != "" && driver != newest.Driver {
		driver += " (other)"
	}
	what, why := s.What, s.Reason
	if s.Anchor != "" {
		what += ", anchor"
		if s.Anchor != "yes" {
			what += " " + s.Anchor
		}
	}
	if s.Removes != "" {
		why += " (removes " + s.Removes + ")"
	}
	state := s.State
	if s.Unmeasured > 0 {
		state += ", unmeasured merge"
	}
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	return []string{s.ID, age, what, s.Commit, s.GPUHash, driver, count(s.Runs), count(s.Kernels), state, why}
}

func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return fmt.Sprintf("%dh", int(max(d, 0).Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}
