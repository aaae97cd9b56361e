package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

const coarsest = 1e9 // ns: the clock of no harness shows a longer time as 0

// missingRows is why a gate cannot pass that lacks a row of the baseline's benchmark files, in the head or in one of
// its runs, and why one fails whose row failed in the head; each is nil where there is none. A rule that does not fail
// the gate says that the row may be missing.
func missingRows(t match.Sides, findings []result.Finding) (lacking, failing *result.Remark) {
	var missing, fresh, failed []string
	var slow *result.Finding // new, and 0 by the clock of the baseline
	first, ofBase, ofHead := "", clock(t.Base), clock(t.Head)
	for i := range findings {
		f := &findings[i]
		if f.Scope != measure.ScopeBenchmark || f.Severity != string(thresholds.Fail) {
			continue
		}
		name := f.Subject().Short()
		if f.Outcome == result.New || !f.Base.Known() && t.Base.LeftOut(f.Name, recorded.Zero) {
			if f.Outcome == result.New {
				fresh = append(fresh, name)
			}
			if slow == nil && t.Base.LeftOut(f.Name, model.UnderClock) && float64(f.Head) > ofBase {
				slow = f
			}
			continue
		}
		lacks, runs := missingRuns(t, f)
		rounded := t.Head.LeftOut(f.Name, model.UnderClock) && !(float64(f.Base) > ofHead)
		switch {
		case lacks == 0, rounded:
			continue
		case failedRow(t.Head, f.Name) != nil:
			name += *failedRow(t.Head, f.Name)
			in := fmt.Sprintf(" in %d of %s", lacks, measure.Count(runs, "run"))
			failed = append(failed, name+measure.Either(lacks < runs, in, ""))
			continue
		}
		missing, first = append(missing, missingAs(t, f, lacks, runs)), cmp.Or(first, f.Name)
	}
	if len(failed) > 0 {
		failing = result.Refuse(model.RowFailed, "mend the benchmark; the harness says in its output why it failed",
			"%s of the baseline failed in the head: %s", measure.Count(len(failed), "row"), result.Few(failed))
	}
	switch {
	case len(missing) == 0 && slow == nil:
		return nil, failing
	case len(missing) == 0:
		return result.Refuse(model.RowGone, "measure both sides with a clock that shows more digits", "the time of %s "+
			"is 0 in the baseline, and %s in the head", slow.Subject().Short(), slow.Head.In(slow.Unit)), failing
	}
	next := fmt.Sprintf("measure every row; where this is meant, write a rule%s: benchmark = %q, severity = %q",
		result.Given(strings.Join(missing[1:], ""), " for each"), selecting(first), thresholds.Ignore)
	return result.Refuse(model.RowGone, next, "the head lacks %s of the baseline: %s%s",
		measure.Count(len(missing), "row"), result.Few(missing),
		result.Given(result.Few(fresh), "; new in the head: ", result.Few(fresh))), failing
}

// missingAs names a row that the head lacks, in so many of its runs, and says why.
func missingAs(t match.Sides, f *result.Finding, lacks, runs int) string {
	name, zero := f.Subject().Short(), t.Head.LeftOut(f.Name, recorded.Zero)
	switch skipped := t.Head.LeftOut(f.Name, model.Skipped); {
	case f.Outcome != result.Gone && (f.Head.Known() || !zero):
		return name + fmt.Sprintf(" (in %d of %s)", lacks, measure.Count(runs, "run"))
	case skipped, zero:
		return name + measure.Either(skipped, " (skipped)", " (its value is 0)")
	case t.Head.Has(f.Subject()):
		return result.Title(f.Metric) + " of " + name
	}
	return name
}

// clock is the longest time that the sessions of a side which show one as 0 may show so: a hundred of the last digit of
// their other times.
func clock(side *recorded.Index) float64 {
	var times []float64
	rounded := func(x model.LeftOut) bool { return x.Why == model.UnderClock }
	for _, s := range side.Sessions {
		if !slices.ContainsFunc(s.LeftOut, rounded) {
			continue
		}
		for _, x := range s.Series {
			if x.Subject.Scope == measure.ScopeBenchmark && x.Metric.Unit == measure.Time.Unit {
				times = append(times, stats.Known(x.Values)...)
			}
		}
	}
	return math.Min(100*cmp.Or(stats.Resolution(times, true), coarsest), coarsest)
}

// missingDevices is why a gate cannot pass in which one side lacks a rank or a GPU of the other, whose times are then
// compared with nothing; nil where none does.
func missingDevices(t match.Sides, findings []result.Finding) *result.Remark {
	sides := map[result.Outcome][]string{}
	for i := range findings {
		f := &findings[i]
		ofSide := f.Outcome == result.New || f.Outcome == result.Gone
		if f.Scope != measure.ScopeDevice || f.Severity != string(thresholds.Fail) || !ofSide {
			continue
		}
		if lacks, _ := missingRuns(t, f); lacks > 0 || f.Outcome == result.New {
			sides[f.Outcome] = append(sides[f.Outcome], f.Subject().Short())
		}
	}
	gone, fresh := result.Few(sides[result.Gone]), result.Few(sides[result.New])
	if gone+fresh == "" {
		return nil
	}
	return result.Refuse(model.RankGone, "measure the same ranks and GPUs on both sides", "%s%s",
		result.Given(gone, "the head lacks ", gone, " of the baseline", result.Given(fresh, "; ")),
		result.Given(fresh, "the baseline lacks ", fresh, " of the head"))
}

// failedRow is what the harness says of a row that failed in a run, in brackets; nil for one that did not fail.
func failedRow(side *recorded.Index, name string) *string {
	for _, s := range side.Sessions {
		for _, x := range s.LeftOut {
			if message, failed := strings.CutPrefix(x.Why, model.Failed); failed && x.Name == name {
				return new(result.Given(message, " (", strings.TrimPrefix(message, ": "), ")"))
			}
		}
	}
	return nil
}

// missingRuns counts the runs of the head that lack a row, of all its runs. A row that only some runs of the baseline's
// newest session have may be in some of the head.
func missingRuns(t match.Sides, f *result.Finding) (lacks, runs int) {
	s := f.Subject()
	ofScope := func(x model.Series) bool { return x.Subject.Scope == s.Scope }
	at := len(t.Base.Sessions) - 1
	for at > 0 && !slices.ContainsFunc(t.Base.Sessions[at].Series, ofScope) {
		at-- // the accepted part of another measurement
	}
	metric := f.Metric
	if !t.Head.Has(s) { // the row as a whole
		metric = t.Base.Metrics(s)[0].Name
	}
	newest, values := t.Base.Values(s, metric)[at:at+1], stats.Pooled(t.Head.Values(s, metric))
	had := len(stats.Pooled(newest))
	runs = measure.Sum(t.Head.Values(s, metric), func(session []float64) int { return len(session) })
	if had == 0 || had < len(newest[0]) && len(values) > 0 {
		return 0, runs
	}
	return runs - len(values), runs
}

// selecting is the pattern of a name, which selects no other one that begins like it, without what no pattern may hold
// and no line of a report keeps.
func selecting(name string) string {
	odd := func(r rune) bool { return r == '*' || unicode.IsControl(r) }
	if strings.TrimSpace(name) != name || strings.Contains(name, "  ") {
		odd = func(r rune) bool { return r == '*' || unicode.IsControl(r) || r == ' ' }
	}
	return strings.Map(func(r rune) rune { return measure.Either(odd(r), '?', r) }, name)
}
