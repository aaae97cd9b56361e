package cli

import (
	"context"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/demo"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/verdict"
	"github.com/nsgate/nsgate/thresholds"
)

func compare(ctx context.Context, e *env, v *flags, args arguments) error {
	p, err := v.load()
	if err != nil {
		return err
	}
	c := app.Compare{Base: args.own[0], Head: args.own[1], Policy: v.resolved(p, ""), Home: policyDir(p.File),
		Draw: v.draws(), Observe: newProgress(e, false).event}
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
	verdict.Alone(r)
	r.Reproduce = e.again("")
	r.Calls = v.settling(e, r.Reproduce, p.For(""), "")
	offerAccept(r, "", v, false, false)
	showWays(r)
	return v.publish(e, r)
}

func runDemo(ctx context.Context, e *env, v *flags, _ arguments) error {
	files, err := demo.Files()
	if err != nil {
		return err
	}
	var r *result.Judgement
	err = proc.InPrivate(func(dir string) error {
		if err := output.Tree(dir, files); err != nil {
			return err
		}
		c := app.Compare{Base: filepath.Join(dir, demo.Base), Head: filepath.Join(dir, demo.Head),
			Policy: thresholds.Default().For(""), Draw: v.draws(), Observe: newProgress(e, true).event}
		var err error
		r, err = c.Run(ctx)
		return err
	})
	if err != nil {
		return err
	}
	r.Workload, r.Reproduce = "demo", e.again("")
	r.Next = append(r.Next, "see the page of this report: nsgate demo --output page.html",
		"in your repository, on a machine with a GPU: nsgate init")
	r.Gate.Way, v.silent = result.OfDemo, true
	return v.publish(e, r)
}
