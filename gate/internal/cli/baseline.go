package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

func baselineCommand() *command {
	return &command{
		name:    "baseline",
		usage:   "[flags] [list | show ID | diff ID ID | remove ID]",
		summary: "list the committed sessions, show, compare and remove them",
		own:     3, optional: true,
		wants: "at most a word and two sessions",
		words: []string{"list", "show", "diff", "remove"},
		bind: func(fs *pflag.FlagSet) action {
			var k app.Keep
			var policy policyFlags
			var out outputFlags
			var why string
			fs.StringVar(&k.Root, "baseline", app.DefaultRoot, "directory of the committed baselines")
			fs.StringVar(&k.Workload, "workload", "", "only the baselines of this workload")
			fs.StringVar(&why, "reason", "", "why a session is removed (required for that)")
			policy.bindFile(fs)
			out.bindLook(fs, []string{"text", "json"})
			return func(_ context.Context, e *env, args arguments) error {
				if err := out.check([]string{"text", "json"}); err != nil {
					return err
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				return keep(e, k, args.own, why, p, &out)
			}
		},
	}
}

// keep does what the words of the command say.
func keep(e *env, k app.Keep, words []string, why string, p *thresholds.Policy, out *outputFlags) error {
	if len(words) == 0 {
		words = []string{"list"}
	}
	wants := map[string]int{"list": 0, "show": 1, "diff": 2, "remove": 1}
	n, known := wants[words[0]]
	switch {
	case !known:
		return usageError("nsgate baseline does not know %q; it knows list, show, diff and remove", words[0])
	case len(words) != n+1:
		return usageError("nsgate baseline %s wants %s and got %d", words[0], measure.Count(n, "session"), len(words)-1)
	case words[0] == "remove" && why == "":
		return usageError("--reason is needed: say why the session is removed, for those who review the baseline")
	}
	switch words[0] {
	case "show":
		s, err := k.Session(words[1])
		if err != nil {
			return noVerdict(e, "shown", err)
		}
		return report.RenderSummary(out.format, e.Out, s, out.options(e))
	case "diff":
		r, err := k.Diff(words[1], words[2], p)
		if err != nil {
			return err
		}
		return report.Render(out.format, e.Out, r, out.options(e))
	case "remove":
		file, err := k.Remove(words[1], why, time.Now())
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Out, "wrote %s, which takes the session back; commit it\n", file)
		return nil
	}
	all, err := k.List()
	if err != nil {
		return err
	}
	if out.format == "json" {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	for _, b := range all {
		listBaseline(e, b, p.MaxAge, time.Now(), out)
	}
	return nil
}

// listBaseline prints the sessions of one baseline, newest first, and what is to be said of them.
func listBaseline(e *env, b app.KeptBaseline, maxAge time.Duration, now time.Time, out *outputFlags) {
	titles := []string{"session", "age", "what", "commit", "host", "driver", "runs", "kernels", "state", "reason"}
	var rows [][]string
	var newest app.KeptSession
	unmerged := 0
	for _, s := range slices.Backward(b.Sessions) {
		if s.Removes == "" && s.State != "removed" && s.State != "replaced" {
			newest = cmp.Or(newest, s)
			unmerged += s.Unmerged
		}
		rows = append(rows, sessionRow(s, newest, now))
	}
	fmt.Fprint(e.Out, report.List(fmt.Sprintf("%s  %s, %s", b.Dir, b.GPU, measure.Count(len(b.Sessions), "file")), titles, rows, out.options(e)))
	warn := func(format string, args ...any) {
		fmt.Fprintln(e.Out, "  ! "+report.Clean(fmt.Sprintf(format, args...)))
	}
	if age := now.Sub(newest.Start); !newest.Start.IsZero() && maxAge > 0 && age > maxAge {
		warn("the newest session in effect is %s old, more than max_age: record it anew", days(age))
	}
	if unmerged > 0 {
		warn("two branches changed the same: nobody measured the merge; record the merged code on the default branch")
	}
}

// sessionRow is a session as a row; another driver than that of the newest is marked.
func sessionRow(s, newest app.KeptSession, now time.Time) []string {
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
	if s.Unmerged > 0 {
		state += ", unmerged"
	}
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	return []string{s.ID, age, what, s.Commit, s.GPUHash, driver, count(s.Runs), count(s.Kernels), state, why}
}

// days is an age as people say it.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "0h"
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}
