package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
)

type compareVerb struct {
	sampleFlags
	policy   policyFlags
	out      outputFlags
	ncuPages string
}

func (v *compareVerb) bind(fs *pflag.FlagSet) {
	v.policy.bind(fs)
	v.sampleFlags.bind(fs)
	const pages = "ncu-pages"
	fs.StringVar(&v.ncuPages, pages, "", "say why kernels got slower from output of ncu --csv --page raw: BASE.csv,HEAD.csv")
	old := *fs.Lookup(pages)
	old.Name, old.Shorthand, old.Hidden = "explain", "", true
	fs.AddFlag(&old)
	v.out.bind(fs)
}

func (v *compareVerb) run(ctx context.Context, e *env, args arguments) error {
	if err := v.out.check(e); err != nil {
		return err
	}
	p, err := v.policy.load()
	if err != nil {
		return err
	}
	c := app.Compare{Base: args.own[0], Head: args.own[1], Policy: p, Home: policyDir(p.File), Draw: v.out.draws(), Observe: newProgress(e, false).event}
	c.Tools.Nsys, c.Tools.Metrics = v.nsys, p.NcuMetrics()
	if c.Rule, err = v.rule(); err != nil {
		return err
	}
	if v.ncuPages != "" && !slices.Contains(autoAlwaysNever, v.ncuPages) { // NSGATE_EXPLAIN is for nsgate check
		pages := strings.Split(v.ncuPages, ",")
		if len(pages) != 2 || pages[0] == "" || pages[1] == "" {
			return usageError("--ncu-pages: %q is not BASE.csv,HEAD.csv, two files that ncu --csv --page raw printed", v.ncuPages)
		}
		c.Counters = [2]string(pages)
	}
	r, err := c.Run(ctx)
	if err != nil {
		return err
	}
	r.Reproduce = e.again("")
	return v.out.publish(e, r, basis{policy: p.File, looser: v.policy.looser})
}
