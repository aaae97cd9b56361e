package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/counters"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/why"
)

// Show sums up what was recorded before, without a judgement; path is as [profile.Open] takes it. What cannot be used is a
// *model.Refusal; another error says that the path does not exist, or that a baseline or report there is damaged.
func Show(ctx context.Context, tools profile.Tools, rule profile.Rule, path string) (*result.Summary, error) {
	r, all, err := opened(ctx, tools, rule, path)
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file or directory %s", path)
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
	var recorded []map[measure.Subject][]counters.Record // newest first
	for i := range slices.Backward(all) {
		if s := &all[i]; s.Profiler().ByLaunch() {
			recorded = append(recorded, counters.Records(s))
		}
	}
	for i := range out.Kernels {
		out.Kernels[i].Counters = countersOf(out.Kernels[i].Subject(), recorded)
	}
	out.Warnings = append(out.Warnings, r.Warnings...)
	if rule != (profile.Rule{}) && (r.Whole() || len(r.Finished) > 0) {
		out.Warnings = append(out.Warnings, r.Source+" is summed up already: another step or warm-up changes nothing in it")
	}
	return out, nil
}

// countersOf are the counters of a kernel in the first session that has them, nil where none has.
func countersOf(kernel measure.Subject, sessions []map[measure.Subject][]counters.Record) *result.SummaryCounters {
	for _, session := range sessions {
		records := session[kernel]
		if len(records) == 0 {
			continue
		}
		get := func(metrics ...measure.Metric) result.Number {
			for _, m := range metrics {
				if v, ok := records[0].Metrics[m.Name]; ok {
					return result.Number(v)
				}
			}
			return result.Number(math.NaN())
		}
		c := &result.SummaryCounters{Registers: get(measure.Registers), Occupancy: get(measure.AchievedOccupancy, measure.TheoreticalOccupancy),
			DRAM: get(measure.DRAMThroughput), SM: get(measure.SMThroughput), Bound: why.Bound(records)}
		if c.Bound == "balanced" {
			c.Bound = "balanced between compute and memory"
		}
		if c.Registers.Known() || c.Occupancy.Known() || c.DRAM.Known() || c.SM.Known() {
			return c
		}
	}
	return nil
}

// untimed are the kernels of the newest session, without times.
func untimed(sessions []model.Session) (out []result.SummaryKernel) {
	unknown := result.Number(math.NaN())
	seen := map[measure.Subject]bool{}
	for _, x := range sessions[len(sessions)-1].Series {
		if s := x.Subject; s.Scope == measure.ScopeKernel && !seen[s] {
			seen[s] = true
			out = append(out, result.SummaryKernel{Named: result.NewNamed(s), Share: unknown, Time: unknown, Launches: unknown,
				Total: unknown, Owned: unknown})
		}
	}
	return out
}
