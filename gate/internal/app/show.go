package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Show sums up what was recorded before, without a judgement; path is as [profile.Open] takes it. What cannot be used
// is a *model.Refusal; another error says that the path does not exist, or that a baseline or report there is damaged.
func Show(ctx context.Context, tools profile.Tools, rule profile.Rule, path string) (*result.Summary, error) {
	r, all, err := opened(ctx, tools, rule, path)
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		if path == "-" {
			return nil, errStandardInput
		}
		return nil, fmt.Errorf("there is no file or directory %s; name a recording, or a directory that holds some",
			path)
	}
	if err != nil {
		return nil, err
	}
	sessions := all
	if times := model.Timed(sessions); len(times) > 0 { // a baseline may hold counters as well
		sessions = times
	}
	out, err := insight.Summarize(sessions)
	if err != nil {
		return nil, err
	}
	out.Workload = filepath.Base(path)
	if len(out.Kernels) == 0 { // counters without a duration
		out.Kernels = untimed(sessions)
	}
	var recorded []map[measure.Subject]counters.Kernel // newest first
	for _, s := range slices.Backward(model.Counted(all)) {
		recorded = append(recorded, counters.Kernels(&s))
	}
	for i := range out.Kernels {
		out.Kernels[i].Counters = countersOf(out.Kernels[i].Subject(), recorded)
	}
	if text := unrelated(r.Traces); text != "" {
		out.Warnings = append(out.Warnings, text)
	}
	out.Warnings = append(out.Warnings, r.Warnings...)
	return out, nil
}

// unrelated says how many programs the processes are that share no kernel with each other, "" for one program. A
// process with few launches, such as one that asks for the properties of a device, belongs to any.
func unrelated(traces []model.Trace) string {
	const few = 50 // the largest launches so many times more
	most, processes := measure.Most(traces, func(t model.Trace) int { return len(t.Launches) }), 0
	var programs []map[string]bool
	for i := range traces {
		if len(traces[i].Launches)*few < most {
			continue
		}
		own := map[string]bool{}
		for _, k := range traces[i].Kernels {
			own[k.Subject.Short()] = true
		}
		processes++
		programs = slices.DeleteFunc(programs, func(p map[string]bool) bool {
			shared := slices.ContainsFunc(slices.Collect(maps.Keys(own)), func(name string) bool { return p[name] })
			if shared {
				maps.Copy(own, p)
			}
			return shared
		})
		programs = append(programs, own)
	}
	if len(programs) < 2 {
		return ""
	}
	return fmt.Sprintf("%d processes are %d programs that launch no kernel in common and do not belong together: show "+
		"the recordings of each program by themselves", processes, len(programs))
}

// countersOf are the counters of a kernel in the first session that has them, nil where none has.
func countersOf(kernel measure.Subject, sessions []map[measure.Subject]counters.Kernel) *result.SummaryCounters {
	for _, session := range sessions {
		counted, ok := session[kernel]
		if !ok {
			continue
		}
		get := func(metrics ...measure.Metric) result.Number {
			for _, m := range metrics {
				if v := counted.Values[m.Name]; len(v) > 0 {
					return result.Number(v[0])
				}
			}
			return result.Number(math.NaN())
		}
		c := &result.SummaryCounters{Registers: get(measure.Registers),
			Occupancy: get(measure.AchievedOccupancy, measure.TheoreticalOccupancy),
			DRAM:      get(measure.DRAMThroughput), SM: get(measure.SMThroughput), Bound: why.Bound(counted)}
		if c.Bound == "balanced" {
			c.Bound = "balanced between compute and memory"
		}
		if c.Registers.Known() || c.Occupancy.Known() || c.DRAM.Known() || c.SM.Known() {
			return c
		}
	}
	return nil
}

func untimed(sessions []model.Session) (out []result.SummaryKernel) {
	unknown := result.Number(math.NaN())
	seen := map[measure.Subject]bool{}
	for _, x := range sessions[len(sessions)-1].Series {
		if s := x.Subject; s.Scope == measure.ScopeKernel && !seen[s] {
			seen[s] = true
			out = append(out, result.SummaryKernel{Named: result.NewNamed(s), Share: unknown, Time: unknown,
				Launches: unknown, Total: unknown, Owned: unknown})
		}
	}
	return out
}

// Scrub writes the sessions of a recording as a baseline to a directory that holds nothing yet, since it is published:
// names of kernels and ranges, and no environment, command line, path or host name. Errors may be a *model.Refusal.
func Scrub(ctx context.Context, tools profile.Tools, rule profile.Rule, path, dir string) ([]model.Session, error) {
	if there, _ := os.ReadDir(dir); len(there) > 0 {
		return nil, fmt.Errorf("%s holds files already; name a directory that is not there yet", dir)
	}
	_, sessions, err := opened(ctx, tools, rule, path)
	if err != nil {
		return nil, err
	}
	_, err = baseline.Add(dir, func(*baseline.Baseline) ([]baseline.Entry, error) {
		var out []baseline.Entry
		for _, x := range sessions {
			if x.Commit == "" {
				x.Commit, _ = commit(ctx)
			}
			out = append(out, fresh(x))
		}
		if n := baseline.Kept(sessions); n < len(sessions) {
			return nil, model.Refuse(model.NotSeparable, "scrub the recordings of each session by themselves",
				"%s holds %d sessions; only %d can be separated", path, len(sessions), n)
		}
		return out, nil
	})
	return sessions, err
}

func opened(ctx context.Context, tools profile.Tools, rule profile.Rule, path string) (*profile.Recording,
	[]model.Session, error) {
	r, err := openNamed(ctx, tools, rule, path)
	if err != nil {
		return nil, nil, err
	}
	cut, err := profile.Cut(rule, r)
	if err != nil {
		return r, nil, err
	}
	return r, cut[0], nil
}
