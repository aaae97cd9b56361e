package cli

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/app"
)

func compare(ctx context.Context, e *env, v *flags, args arguments) error {
	p, err := v.load()
	if err != nil {
		return err
	}
	c := app.Compare{Base: args.own[0], Head: args.own[1], Policy: p, Home: policyDir(p.File), Draw: v.draws(), Observe: newProgress(e, false).event}
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
	return v.publish(e, r, basis{policy: p.File, looser: v.looser})
}
