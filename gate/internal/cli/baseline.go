package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/thresholds"
)

// storeFlags choose baselines and how they are printed.
type storeFlags struct {
	app.Store
	printed
	policy policyFlags
}

func (k *storeFlags) bindStore(fs *pflag.FlagSet) {
	fs.StringVar(&k.Root, "baseline", "", baselineUsage)
	fs.StringVarP(&k.Workload, "workload", "w", "", "only the baselines of this workload")
	k.policy.bindFile(fs)
}

func (k *storeFlags) bind(fs *pflag.FlagSet) {
	k.bindStore(fs)
	k.out.bindLook(fs, []string{"text", "json"})
}

// load reads the policy and finds the baselines beside it.
func (k *storeFlags) load() (*thresholds.Policy, error) {
	p, err := k.policy.load()
	if err == nil {
		k.Root = baselineRoot(k.Root, p.File)
	}
	return p, err
}

type baselineList struct{ storeFlags }

func (l *baselineList) run(ctx context.Context, e *env, _ arguments) error {
	p, err := l.load()
	if err != nil {
		return err
	}
	all, err := l.List(ctx)
	if err != nil {
		return err
	}
	if l.out.format == "json" {
		return e.encode(all)
	}
	for _, b := range all {
		if err := listBaseline(e, b, p.MaxAge, time.Now(), &l.out); err != nil {
			return err
		}
	}
	return nil
}

type baselineShow struct{ storeFlags }

func (s *baselineShow) run(ctx context.Context, e *env, args arguments) error {
	if _, err := s.load(); err != nil {
		return err
	}
	summary, err := s.Session(ctx, args.own[0])
	if err != nil {
		return noVerdict(e, "shown", err)
	}
	return report.Render(s.out.format, e.Out, summary, s.out.options(e))
}

type baselineDiff struct{ storeFlags }

func (d *baselineDiff) run(ctx context.Context, e *env, args arguments) error {
	p, err := d.load()
	if err != nil {
		return err
	}
	r, err := d.Diff(ctx, args.own[0], args.own[1], p)
	if err != nil {
		return err
	}
	return report.Render(d.out.format, e.Out, r.Report(nil), d.out.options(e))
}

type baselineRemove struct {
	storeFlags
	reason string
}

func (r *baselineRemove) bind(fs *pflag.FlagSet) {
	r.bindStore(fs)
	fs.StringVar(&r.reason, "reason", "", "why the session is removed, for those who review the baseline (required)")
}

func (r *baselineRemove) run(ctx context.Context, e *env, args arguments) error {
	if r.reason == "" {
		return usageError("--reason is needed: say why the session is removed, for those who review the baseline")
	}
	if _, err := r.load(); err != nil {
		return err
	}
	file, err := r.Remove(ctx, args.own[0], r.reason, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "wrote %s, which takes the session back; commit it\n", report.Clean(file))
	return nil
}

func listBaseline(e *env, b app.StoredBaseline, maxAge time.Duration, now time.Time, out *outputFlags) error {
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
	if err := report.List(e.Out, title, titles, rows, out.options(e)); err != nil {
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

type baselineRename struct{ storeFlags }

func (r *baselineRename) bind(fs *pflag.FlagSet) {
	fs.StringVar(&r.Root, "baseline", "", baselineUsage)
	r.policy.bindFile(fs)
}

func (r *baselineRename) run(ctx context.Context, e *env, args arguments) error {
	if _, err := r.load(); err != nil {
		return err
	}
	before, after, err := r.Rename(ctx, args.own[0], args.own[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "renamed %s to %s; commit it, and use the name in nsgate.toml and CI\n", report.Clean(before),
		report.Clean(after))
	return nil
}
