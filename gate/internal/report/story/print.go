package story

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const NS = "ns"

func Quantity(n result.Number, unit string) string {
	return measure.Either(n == 0 && unit == NS, "0"+NB+NS, Bind(measure.Quantity(float64(n), Clean(unit))))
}

func Percent(n result.Number) string   { return Bind(measure.Percent(float64(n))) }
func Deviation(n result.Number) string { return Bind(measure.Deviation(float64(n))) }
func Share(n result.Number) string     { return Bind(measure.Share(float64(n))) }
func Count(n int, thing string, more ...string) string {
	return Bind(measure.Count(n, thing, more...))
}

// Changed prints a relative change; bare leaves out the unit.
func Changed(n result.Number) string { return Bind(measure.Change(float64(n))) }
func Bare(n result.Number) string    { return measure.ScaleChange(float64(n)).Number }

// interval prints the ends of a change's interval, "" where there is none.
func interval(change, low, high result.Number) string {
	return Bind(measure.ChangeInterval(float64(change), float64(low), float64(high)))
}

// CellOf prints a number in a table, "" where it is unknown; shareOf prints a share.
func CellOf(n result.Number, unit string) string { return n.Given(Quantity(n, unit)) }
func shareOf(n result.Number) string             { return n.Given(Share(n)) }

// Signed prints a change of time with its sign, "" where it is unknown.
func Signed(n result.Number) string {
	return n.Given(measure.Either(n < 0, "-", "+") + Quantity(result.Number(math.Abs(float64(n))), NS))
}

// Metric is a metric in words: "total time".
func Metric(name string) string { return Clean(measure.Metric{Name: name}.Title()) }

// pair prints two values in at most so many digits, with one unit where both have the same: "571.2 → 829.8 µs".
func pair(base, head result.Number, unit string, digits int) string {
	a, b := measure.ScalePair(float64(base), float64(head), Clean(unit))
	a, b = a.Digits(digits), b.Digits(digits)
	if a.Unit == b.Unit {
		a.Unit = ""
	}
	return Bind(a.String() + " → " + b.String())
}

// significant prints a value in at most four digits.
func significant(n result.Number, unit string) string {
	return measure.Scale(float64(n), Clean(unit)).Digits(4).String()
}

// Values prints both values of a finding, or the only one.
func Values(f result.Finding) string {
	base, head := f.Base, f.Head
	switch {
	case !base.Known() && head.Known():
		return Quantity(head, f.Unit)
	case f.Outcome == result.Gone && !head.Known():
		return "was" + NB + Quantity(base, f.Unit)
	}
	if base != head && base.Known() && !f.Outcome.Kept() && significant(base, f.Unit) == significant(head, f.Unit) {
		return Bind(measure.Apart(float64(base), float64(head), Clean(f.Unit)))
	}
	return pair(base, head, f.Unit, 4)
}

// Seconds prints a wall time roughly: "0.4 s", "9 s", "3 min".
func Seconds(n result.Number) string {
	switch s := float64(n); {
	case !n.Known():
		return measure.Unknown
	case s < 1:
		return Bind(fmt.Sprintf("%.1f s", s))
	case s < 119.5:
		return Bind(fmt.Sprintf("%.0f s", s))
	default:
		return Bind(fmt.Sprintf("%.0f min", s/60))
	}
}

// ago prints the time between two sessions: "40 s", "12 minutes", "2 days".
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f"+NB+"s", max(d.Seconds(), 1))
	case d < 2*time.Hour:
		return measure.Count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return measure.Count(int(d.Hours()), "hour")
	}
	return measure.Count(int(d.Hours()/24), "day")
}

func Day(t time.Time) string {
	return measure.Either(t.IsZero(), "an unknown day", t.UTC().Format(time.DateOnly))
}

// machine prints GPU, board, driver, CUDA and profiler of an environment, "" for none.
func machine(e model.Environment) string {
	clock := measure.Either(e.ClockMHz > 0, strconv.Itoa(e.ClockMHz), "")
	return Join(", ", gpus(e), Wrapped("board ", e.Board, ""), Wrapped("driver ", e.Driver, ""),
		Wrapped("CUDA ", e.CUDA, ""), e.Tool, Wrapped("SM clock ", clock, " MHz"))
}

// hardware labels [machine], which is the tool alone where results of a harness name no GPU.
func hardware(e model.Environment) string {
	return measure.Either(machine(e) == e.Tool, "tool", "GPU")
}

// gpus is the number and the model of the GPUs.
func gpus(e model.Environment) string {
	if e.GPUs > 1 && e.Unlike() {
		return fmt.Sprintf("%d GPUs, %s", e.GPUs, e.GPU)
	}
	return measure.Either(e.GPUs > 1 && e.GPU != "", fmt.Sprintf("%d × %s", e.GPUs, e.GPU), e.GPU)
}

// side prints the runs, the step, the warm-up and the commit of a side.
func side(s result.Side) string {
	if s.Runs+s.Unprofiled == 0 {
		return "nothing that can be used"
	}
	runs := measure.Count(s.Unprofiled, "unprofiled run")
	if s.Runs != 0 {
		runs = measure.Count(s.Runs, "run") +
			measure.Either(s.Unprofiled > 0, fmt.Sprintf(" and %d unprofiled", s.Unprofiled), "")
	}
	steps := ""
	if s.Step != "" {
		steps = fmt.Sprintf("per step %q", Clean(s.Step))
	} else if s.Repeats > 0 {
		steps = "steps found by kernels, which repeat " + measure.Count(int(s.Repeats), "time")
	}
	return Join(", ", runs+measure.Either(s.Sessions > 0, " in "+measure.Count(s.Sessions, "session"), ""), steps,
		Join(": ", Wrapped("warm-up ", s.Warmup, ""), s.Skipped), Wrapped("commit ", CommitID(s.Commit, 24), ""))
}

// Known are the values that are known.
func Known(values []result.Number) []result.Number {
	return slices.DeleteFunc(slices.Clone(values), func(n result.Number) bool { return !n.Known() })
}

const (
	// MaxSpark is how many runs of a side a sparkline shows.
	MaxSpark  = 24
	sparkBars = "▁▂▃▄▅▆▇█"
)

// Wrapped puts words around a text that is not empty.
func Wrapped(before, text, after string) string {
	return result.Given(text, before, text, after)
}

// spark draws the runs of both sides as bars on one scale, "▁▂▁▁ → ▇█▇▇"; "" where either side has fewer than two. The
// scale spans at least the limit, so that noise within it stays flat.
func spark(base, head []result.Number, limit result.Number) string {
	all := slices.Concat(base, head)
	drawn := bars(base, all, limit, MaxSpark) + NB + "→" + NB + bars(head, all, limit, MaxSpark)
	return measure.Either(min(len(Known(base)), len(Known(head))) < 2, "", drawn)
}

// BarsOf draws the last runs of one series; the scale spans at least 1 %, so that noise which hardly matters stays
// flat.
func BarsOf(runs []result.Number, most int) string {
	return measure.Either(len(Known(runs)) < 2, "", bars(runs, runs[max(len(runs)-most, 0):], 0.01, most))
}

// bars draws the last of some runs on the scale of all of these, which spans at least the limit.
func bars(runs, all []result.Number, limit result.Number, most int) string {
	values := Known(all)
	if len(values) == 0 {
		return ""
	}
	low, high := slices.Min(values), slices.Max(values)
	span := high - low
	if limit.Known() {
		span = max(span, result.Number(math.Abs(float64(low)))*limit)
	}
	if !(span > 0) || math.IsInf(float64(span), 0) {
		span = 1
	}
	text := ""
	if len(runs) > most {
		text, runs = "…", runs[len(runs)-most+1:]
	}
	heights := []rune(sparkBars)
	for _, v := range runs {
		if !v.Known() {
			text += "·"
			continue
		}
		at := int((v - low) / span * result.Number(len(heights)-1))
		text += string(heights[min(max(at, 0), len(heights)-1)])
	}
	return text
}

// beginning cuts a list to so many texts, and adds how many are left out, with a hint at where they are.
func beginning(list []string, most int, hint string) []string {
	if left := len(list) - most; left > 0 {
		return append(list[:most:most], fmt.Sprintf("%d more", left)+hint)
	}
	return list
}

// Join joins the texts that are not empty.
func Join(between string, facts ...string) string {
	return strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == "" }), between)
}
