package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/result"
)

type reportVerb struct {
	policy policyFlags
	out    outputFlags
	limits []string // the flags of the policy
}

func (v *reportVerb) bind(fs *pflag.FlagSet) {
	v.limits = v.policy.bindTyped(fs)
	v.out.bind(fs)
	v.out.bindPatch(fs)
}

func (v *reportVerb) run(ctx context.Context, e *env, args arguments) error {
	if err := v.out.check(e); err != nil {
		return err
	}
	v.out.saved = len(args.own) == 0
	r, file, err := e.savedReport(args)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(v.limits, v.out.fs.Changed) {
		if r, err = again(ctx, e, r, file, &v.policy); err != nil {
			return err
		}
	}
	by := basis{policy: findUp(policyFile)}
	if v.out.patch != "" && offered(r) {
		p, err := v.policy.load()
		if err != nil {
			return err
		}
		if by.ready, err = v.out.patchOf(e, r, "", policyDir(p.File), p); err != nil {
			return noVerdict(e, "patched", fmt.Errorf("--patch: %w; leave it out to render the report alone", err))
		}
	}
	return v.out.publish(e, v.complete(e, r, args), by)
}

// complete is a report of a file with the commands that go on from here.
func (v *reportVerb) complete(e *env, r *result.Report, args arguments) *result.Report {
	file := ""
	if len(args.own) > 0 {
		file = args.own[0]
	}
	several := len(r.Workloads) > 0
	r = r.Map(func(_ int, w *result.Report) *result.Report {
		c := offerAccept(w, file, &v.out, v.out.saved, several)
		switch {
		case len(w.HeadSessions) == 0:
			c.Accept, c.Next = "", nil
		case w.Measured != nil:
			c.Next = append(c.Next, "take what was measured as the first baseline, if this is the code to compare with")
		}
		if w.Verdict == result.NoVerdict && len(c.Next) == 0 {
			c.Next = []string{"check again: a saved report names no next step"}
		}
		return w.In(c)
	})
	return r.In(result.Context{Reproduce: e.again("")})
}

// again judges a saved report by other limits, against its baseline as it is now.
func again(ctx context.Context, e *env, r *result.Report, file string, policy *policyFlags) (*result.Report, error) {
	switch {
	case len(r.Workloads) > 0:
		return nil, usageError("%s is on several workloads, and only a report on one is judged again: check again with --threshold …", file)
	case r.Paired:
		return nil, usageError("the base build of %s is not kept: check again with --threshold …", file)
	case r.Baseline == "":
		return nil, usageError("%s names no baseline to be judged by again: nsgate compare BASE HEAD --threshold …", file)
	}
	p, err := policy.load()
	if err != nil {
		return nil, err
	}
	c := app.Compare{Base: filepath.Join(policyDir(p.File), filepath.FromSlash(r.Baseline)), Head: file, Policy: p, Home: policyDir(p.File), Observe: newProgress(e, false).event}
	judged, err := c.Run(ctx)
	if err != nil {
		return nil, err
	}
	return judged.In(result.Context{Workload: r.Workload, Baseline: r.Baseline, Reproduce: e.again("")}), nil
}
