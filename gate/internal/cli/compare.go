package cli

import (
	"context"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/demo"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type compareOptions struct {
	judging
	reading
	filtered
	paged
	reported
}

func (v *compareOptions) run(ctx context.Context, e *env, args arguments) error {
	p, err := v.load()
	if err != nil {
		return err
	}
	c := app.Compare{Base: args.own[0], Head: args.own[1], Policy: v.resolved(p, ""), Home: filepath.Dir(p.File),
		Draw: v.draws(), Observe: newProgress(e, false).event}
	c.Tools = v.tools(p)
	if c.Tools.Rows, err = filterOf(".", v.rows); err != nil {
		return usageError("--rows: %v", err)
	}
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
	for _, w := range p.Workloads {
		if w.Threshold != nil && !v.fs.Changed("threshold") {
			warn(r, w.Where+": its threshold does not hold in compare (--threshold)")
		}
	}
	line := e.again("")
	r.Append(result.Addition{Reproduce: line, Calls: v.settling(e, line, p.For(""), "")})
	offerAccept(r, "", &v.reported, false, false)
	showWays(r)
	return v.publish(e, &v.judging, r, publication{})
}

type demoOptions struct {
	judging
	reported
}

func (v *demoOptions) run(ctx context.Context, e *env, _ arguments) error {
	files, err := demo.Files()
	if err != nil {
		return err
	}
	var r *result.Report
	err = proc.InPrivate(func(dir string) (err error) {
		c := app.Compare{Base: filepath.Join(dir, demo.Base), Head: filepath.Join(dir, demo.Head),
			Policy: thresholds.Default().For(""), Draw: v.draws(), Observe: newProgress(e, true).event}
		if err = output.Tree(dir, files); err == nil {
			r, err = c.Run(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.Append(result.Addition{Workload: "demo", Reproduce: e.again(""), Gate: result.Gate{Way: result.OfDemo},
		Next: []string{"see the page of this report: nsgate demo --output page.html",
			"in your repository, on a machine with a GPU: nsgate init"}})
	return v.publish(e, &v.judging, r, publication{silent: true})
}
