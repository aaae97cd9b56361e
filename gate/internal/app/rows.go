package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// further is how runs are taken after the look r, nil before the first. Beside a base build, whose runs do the same,
// they execute the undecided rows of benchmark files alone, if the harness has a filter. Where that fails, all rows.
func (c *Check) further(r *result.Report) func(context.Context, int, *Build) (*Measurement, error) {
	rows, all := c.undecidedRows(r)
	if len(rows) == 0 {
		return c.Measurer.Measure
	}
	return func(ctx context.Context, runs int, base *Build) (*Measurement, error) {
		if base == nil || c.allRows {
			return c.Measurer.Measure(ctx, runs, base)
		}
		out, err := c.filtered(ctx, runs, base, r.Head.Environment.Tool, rows)
		switch {
		case err == nil:
			out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d rows were undecided and have %s a side: %s",
				len(rows), all, measure.Count(runs, "further run"), result.Few(measure.Map(rows, measure.Quote))))
			return out, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		c.hint("the filter of the results does not select the undecided rows, so further runs execute all: " +
			err.Error())
		c.allRows = true
		return c.Measurer.Measure(ctx, runs, base)
	}
}

// filtered takes runs in which the harness executes these rows alone.
func (c *Check) filtered(ctx context.Context, runs int, base *Build, harness string, rows []string) (*Measurement,
	error) {
	arguments, err := filterOf(c.Live.Filter, harness, rows...)
	if err != nil {
		return nil, err
	}
	head := c.Live.Head
	c.Live.Head = *head.With(arguments)
	defer func() { c.Live.Head = head }()
	out, err := c.Live.Measure(ctx, runs, base.With(arguments))
	if err == nil {
		err = only(rows, out.Base.Unprofiled, out.Head.Unprofiled)
	}
	return out, err
}

// undecidedRows are the names of the rows of benchmark files that further runs may decide, and the number of all rows;
// none where further runs may decide something else too, or all rows.
func (c *Check) undecidedRows(r *result.Report) (rows []string, of int) {
	if way := c.Way(); r == nil || c.allRows || !way.Unprofiled || !way.Local || len(c.Live.Filter) == 0 {
		return nil, 0
	}
	all := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		isOpen := verdict.OpenToRuns(*f)
		if isOpen && f.Scope != measure.ScopeBenchmark {
			return nil, 0
		}
		for _, row := range c.executed(f) {
			all[row] = true
			if isOpen && !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) == len(all) {
		return nil, 0
	}
	return rows, len(all)
}

// executed are the rows that a harness executes for a finding, both of a ratio; none where it is about no row.
func (c *Check) executed(f *result.Finding) []string {
	if f.Scope != measure.ScopeBenchmark {
		return nil
	}
	if i := slices.IndexFunc(c.Policy.Ratios, func(r thresholds.Ratio) bool { return r.Name == f.Name }); i >= 0 {
		return []string{c.Policy.Ratios[i].Of, c.Policy.Ratios[i].Over}
	}
	return []string{f.Name}
}

// only leaves of runs the results of rows. The time of such a run is no measure. A run that lacks a row is an error.
func only(rows []string, sides ...[]model.Unprofiled) error {
	for _, x := range slices.Concat(sides...) {
		for _, row := range rows {
			if !slices.ContainsFunc(x.Results, func(s model.Series) bool { return s.Subject == bench.Row(row) }) {
				return fmt.Errorf("a run lacks %s", measure.Quote(row))
			}
		}
	}
	for _, side := range sides {
		for i := range side {
			x := &side[i]
			x.Overlapped = true
			x.Results = slices.DeleteFunc(x.Results, func(s model.Series) bool {
				return !slices.Contains(rows, s.Subject.Name)
			})
		}
	}
	return nil
}
