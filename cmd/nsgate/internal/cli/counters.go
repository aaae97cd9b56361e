package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/ncu"
)

// How a session under Nsight Compute is measured unless flags say otherwise. It replays each launch dozens of times, so
// that fewer runs are affordable, and fewer are needed: most of what it says is counted.
const (
	ncuRuns    = 3
	ncuTimeout = 10 * time.Minute
	// maxCounted bounds the kernels that record --ncu chooses, the heaviest ones.
	maxCounted = 10
)

// counterFlags say what to profile with Nsight Compute.
type counterFlags struct {
	kernels     []string
	skip, count int
	within      string
}

func (f *counterFlags) bind(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.kernels, "kernel", nil, "for ncu: profile and judge this kernel only, by its short name, repeatable (default those of the baseline)")
	fs.IntVar(&f.skip, "launch-skip", collect.NcuSkip, "for ncu: let the first launches of each kernel and geometry by")
	fs.IntVar(&f.count, "launch-count", collect.NcuCount, "for ncu: profile so many launches of each kernel and geometry")
	fs.StringVar(&f.within, "nvtx-range", "", `for ncu: only launches within this NVTX range, as ncu's --nvtx-include has it ("step/")`)
}

func (f *counterFlags) check(profiler string) error {
	switch {
	case f.skip < 0:
		return usageError("--launch-skip: %d is negative", f.skip)
	case f.count < 1:
		return usageError("--launch-count: at least one launch is profiled, not %d", f.count)
	case len(f.kernels) > 0 && profiler != "ncu":
		return usageError("--kernel says what ncu profiles; add --profiler ncu, or --ncu to record")
	case slices.Contains(f.kernels, ""):
		return usageError("--kernel is empty; leave it out to profile what the baseline has")
	}
	return nil
}

// plan profiles kernels of a job, all of them where there is no name.
func (f *counterFlags) plan(j *job, m *measureFlags, kernels []string) collect.NcuPlan {
	if len(f.kernels) > 0 {
		kernels = f.kernels
	}
	return collect.NcuPlan{
		Build: collect.Build{Command: j.command, Dir: j.dir}, Kernels: kernels, Timeout: max(j.timeout, ncuTimeout),
		Skip: f.skip, Count: f.count, Range: f.within, AllowBusy: m.busy,
	}
}

// count profiles a job, and the base build by turns with it where there is one, and adds what was counted.
func (m *measureFlags) count(ctx context.Context, e *env, plan collect.NcuPlan, runs int, base *collect.Build, quiet bool, to *measured) error {
	c, err := collect.Count(ctx, plan, base, runs, func(isBase bool, index, of int) {
		if !quiet {
			side := ""
			if base != nil {
				side = map[bool]string{true: " (base)", false: " (head)"}[isBase]
			}
			fmt.Fprintf(e.Err, "nsgate: run %d of %d under ncu%s\n", index+1, of, side)
		}
	})
	if err != nil {
		return err
	}
	to.base.profiles, to.head.profiles = append(to.base.profiles, c.Base...), append(to.head.profiles, c.Head...)
	if to.counted.Start.IsZero() {
		to.counted = c.Environment
	}
	to.warn(c.Warnings)
	return nil
}

// placed fills in what the pages of ncu do not say of a session that was measured here.
func placed(s *measure.Session, at measure.Environment) {
	if at.Tool != "" {
		s.Tool, s.Mode, s.Start, s.GPUHash, s.Driver = at.Tool, at.Mode, at.Start, at.GPUHash, at.Driver
	}
}

// namesOf lists the short names of the kernels that sessions have, each once.
func namesOf(sessions []measure.Session) []string {
	var names []string
	for _, s := range sessions {
		for _, x := range s.Series {
			if n := x.Subject.Short(); x.Subject.Scope == measure.ScopeKernel && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// only restricts sessions to kernels of these short names; to all where there are none.
func only(kernels []string, sessions []measure.Session) []measure.Session {
	if len(kernels) == 0 {
		return sessions
	}
	sessions = slices.Clone(sessions)
	for i := range sessions {
		sessions[i].Series = slices.DeleteFunc(slices.Clone(sessions[i].Series), func(x measure.Series) bool {
			return x.Subject.Scope == measure.ScopeKernel && !slices.Contains(kernels, x.Subject.Short())
		})
	}
	return sessions
}

// heaviest are the short names of the kernels with the most GPU time in a session of nsys that are worth a look, without
// those of NCCL, which wait for each other and hang under ncu, and those that are not launched often enough for the first
// launches to be skipped. The error is a *measure.Refusal where there is none.
func heaviest(s *measure.Session, impact float64, skip int) ([]string, error) {
	type kernel struct {
		name string
		ns   float64
	}
	var kernels []kernel
	whole := 0.0
	for _, x := range s.Series {
		if x.Subject.Scope != measure.ScopeKernel || x.Metric.Name != measure.Total.Name {
			continue
		}
		v := 0.0
		for _, run := range x.Values {
			if run > v { // not max: NaN, where the run has no such kernel, would spread
				v = run
			}
		}
		whole += v
		name := x.Subject.Short()
		if i := slices.IndexFunc(kernels, func(k kernel) bool { return k.name == name }); i >= 0 {
			kernels[i].ns += v
		} else {
			kernels = append(kernels, kernel{name, v})
		}
	}
	slices.SortStableFunc(kernels, func(a, b kernel) int { return cmp.Compare(b.ns, a.ns) })
	often := map[string]bool{} // launched more than skip times a run in one geometry
	for _, x := range s.Series {
		if x.Metric.Name == measure.Launches.Name && launched([]measure.Session{*s}, x.Subject) > skip {
			often[x.Subject.Short()] = true
		}
	}
	var names []string
	for _, k := range kernels {
		if k.ns >= impact*whole && !strings.HasPrefix(strings.ToLower(k.name), "nccl") && often[k.name] && len(names) < maxCounted {
			names = append(names, k.name)
		}
	}
	if len(names) == 0 {
		return nil, measure.Refuse(fmt.Sprintf("no kernel that matters is launched more than %d times a run, so ncu would profile none", skip),
			"lower --launch-skip, or let the workload run longer")
	}
	return names, nil
}

// profileOf is what a finished session of ncu still knows, as a profile; nil where there is none.
func profileOf(sessions []measure.Session) *ncu.Profile {
	if len(sessions) == 0 {
		return nil
	}
	s := &sessions[len(sessions)-1]
	p := &ncu.Profile{GPU: s.GPU}
	seen := map[measure.Subject]bool{}
	for _, x := range s.Series {
		if !seen[x.Subject] {
			seen[x.Subject] = true
			p.Records = append(p.Records, ncu.Records(s, x.Subject)...)
		}
	}
	return p
}

// explainCounted notes the cause with each finding of a gate on what ncu measured: that holds the counters already.
func explainCounted(r *gate.Report, base []measure.Session) {
	if r.Head.Environment.Profiler() != "ncu" || r.Verdict == gate.NoVerdict {
		return
	}
	attach(slower(r, true), profileOf(by("ncu", base)), profileOf(r.HeadSessions))
}
