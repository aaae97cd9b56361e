package app

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Pair is the head of a check and another build, measured interleaved.
type Pair struct {
	Report *result.Report // after the last look

	check *Check
	base  Build
	all   Measurement
	taken int // runs a side
}

// Interleaved is a check of the head against another build alone: no baseline is read.
func (c *Check) Interleaved(base Build) *Pair {
	own := *c
	own.Base, own.Paired = &Base{Build: base}, true
	return &Pair{check: &own, base: base}
}

// UpTo measures until each side has so many runs, and judges them.
func (p *Pair) UpTo(ctx context.Context, runs int) (err error) {
	if err = p.check.measure(ctx, runs-p.taken, &p.base, &p.all); err != nil {
		return err
	}
	p.Report, err = p.check.look(ctx, &p.all, func(m *Measurement) ([]model.Session, []model.Session, error) {
		return m.sessions(ctx, p.check.Rule, nil)
	}, decide.Look{})
	p.taken = runs
	return err
}

// Explained is the report with the causes of what got slower.
func (p *Pair) Explained(ctx context.Context) (*result.Report, error) {
	return p.check.explained(ctx, p.Report, &p.base)
}
