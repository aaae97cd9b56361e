package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
)

type compareVerb struct {
	sampleFlags
	viewer
	policy policyFlags
	pages  string
}

func (v *compareVerb) bind(fs *pflag.FlagSet) {
	v.policy.bind(fs)
	v.sampleFlags.bind(fs)
	bindPages(fs, &v.pages)
	v.out.bind(fs)
	v.out.bindPost(fs)
}

func (v *compareVerb) run(ctx context.Context, e *env, args arguments) error {
	p, err := v.policy.load()
	if err != nil {
		return err
	}
	c := app.Compare{Base: args.own[0], Head: args.own[1], Policy: p, Home: policyDir(p.File), Draw: v.out.draws(), Observe: newProgress(e, false).event}
	c.Tools = v.tools(p)
	if c.Rule, err = v.rule(); err != nil {
		return err
	}
	if v.pages != "" {
		if c.Counters, err = bothPages(v.pages); err != nil {
			return err
		}
	}
	r, err := c.Run(ctx)
	if err != nil {
		return err
	}
	r.Reproduce = e.again("")
	return v.out.publish(e, r, basis{policy: p.File, looser: v.policy.looser})
}
