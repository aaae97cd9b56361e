package app

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/input"
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

// axes match what follows the name of a benchmark of nvbench in its row; axis is one that its option -a selects: one
// whose name may have had a space, or whose value looks like a list, is left out, and more rows are executed.
var (
	axes = input.Pattern(` (?:[^ =]+=.*|GPU [0-9]+$)`)
	axis = input.Pattern(` ([^ =_]+=[\w.+^-]+)`)
)

// filterOf puts the names of the benchmarks of rows in place of {} in arguments that select them, without parameters of
// asv. Harnesses that take a regular expression get one that matches every name, with characters quoted; others get the
// arguments once for each name. ["-b", "{}"] of nvbench gets the axes of each row too (docs/cli_help.md, --axis).
func filterOf(arguments []string, harness string, rows ...string) (out []string, err error) {
	const longestFilter = 64 << 10 // bounds the names in arguments in bytes: Linux takes arguments of up to 128 KiB
	if len(arguments) == 0 {
		return nil, nil
	}
	var names []string
	size, expression := 0, slices.Contains([]string{"asv", "criterion", "google-benchmark"}, harness)
	nvbench := harness == "nvbench"
	withAxes := nvbench && slices.Contains([]string{"-b {}", "--benchmark {}"}, strings.Join(arguments, " "))
	for _, row := range rows {
		name, rest := row, ""
		if at := axes().FindStringIndex(row); nvbench && at != nil {
			name, rest = row[:at[0]], row[at[0]:]
		} else if harness == "asv" {
			name, _, _ = strings.Cut(row, "(")
		}
		if expression {
			name = regexp.QuoteMeta(name)
		}
		size += len(name)
		if strings.HasPrefix(name, "-") || strings.ContainsFunc(row, unicode.IsControl) {
			return nil, model.Refuse(model.BadValue, "rename the benchmark, or leave filter out",
				"the name %s is no argument of a command", measure.Quote(name))
		} else if size > longestFilter {
			return nil, model.Refuse(model.TooLarge, "leave filter out", "the names of %s are too long for a command",
				measure.Count(len(rows), "row"))
		}
		for _, a := range axis().FindAllStringSubmatch(rest, -1) {
			if withAxes {
				name += "\x00-a\x00" + a[1]
				size += len(a[1])
			}
		}
		names = measure.Once(names, name)
	}
	if expression && len(names) > 1 {
		names = []string{"(" + strings.Join(names, "|") + ")"}
	}
	for _, name := range names {
		words := strings.Split(name, "\x00")
		named := func(a string) string { return strings.ReplaceAll(a, "{}", words[0]) }
		out = slices.Concat(out, measure.Map(arguments, named), words[1:])
	}
	return out, nil
}
