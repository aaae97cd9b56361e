package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// calibrated says what the policy's limit takes, the noise, the false alarms, what so many runs find, and the plan.
func calibrated(c *calibrate.Calibration, o story.Options) story.Document {
	d := story.Document{story.Verdict(calibration(c))}
	if len(c.Noise) > 0 {
		d = append(d, noise(c, o)...)
	}
	if c.Sound {
		d = append(d, gates(c), mdeTable(c), planTable(c), story.Lines{List: []story.Line{
			story.Note(1,
				"For baseline and head of one session. A baseline from another host adds what hosts differ by.")}})
	}
	host := measure.Map(c.Host, func(x result.Remark) string { return x.Sentence })
	d = append(d, story.List("This host", "-", story.Plain, host),
		story.List("Warnings", "!", story.Doubtful, c.Warnings))
	if m := c.Measured; m.Runs+m.Unprofiled > 0 {
		unit := measure.Either(m.Step != "", fmt.Sprintf("per step %q", story.Clean(m.Step)), "per run")
		d = append(d, said("Measured", story.Join(" · ", story.Clean(m.Environment.GPU),
			story.Clean(m.Environment.Tool), story.Count(runsOf(m), "run"), unit,
			story.Wrapped("", m.Skipped, " are warm-up"))))
	}
	return append(d, story.List("Next", "-", story.Plain, c.Next))
}

// said is one sentence under a title.
func said(title, text string) story.Lines {
	return story.Lines{Title: title, List: []story.Line{story.Paragraph(1, story.Plain.Of(text))}}
}

// runsOf is how many runs were judged: the profiled ones, or all where none was.
func runsOf(s result.Side) int { return cmp.Or(s.Runs, s.Unprofiled) }

// calibration is the verdict of a calibration with its reason.
func calibration(c *calibrate.Calibration) (word string, t story.Tone, reason string) {
	i := slices.IndexFunc(c.Plan, func(x calibrate.Plan) bool { return x.Threshold == c.Threshold })
	switch {
	case !c.Sound:
		return "NOT CALIBRATED", story.Bad, c.Reason
	case i >= 0 && c.Plan[i].Runs > 0:
		return "CALIBRATED", story.Good, "to gate " + story.Percent(c.Threshold) + " here: " + takes(c.Plan[i])
	case i >= 0:
		return "CALIBRATED", story.Doubtful, story.Percent(c.Threshold) + " cannot be gated here: " + takes(c.Plan[i])
	}
	return "CALIBRATED", story.Good, ""
}

// takes prints a plan: "4 runs, 9 s".
func takes(p calibrate.Plan) string {
	if p.Runs == 0 {
		return "not with 40 runs, because of " + story.Elide(story.Clean(p.Hardest), 60)
	}
	return story.Count(p.Runs, "run") + p.Seconds.Given(", "+story.Seconds(p.Seconds))
}

// NoiseTable prints how much the runs of a session vary, as a calibration does, with the smallest changes that gates of
// so many runs a side detect.
func NoiseTable(all []calibrate.Noise, step string, runs int, o story.Options) string {
	text, _ := text(noise(&calibrate.Calibration{Sound: true, Noise: all, Measured: result.Side{Step: step},
		Gates: calibrate.UnchangedGates{Runs: runs}}, o), o)
	return text
}

func noise(c *calibrate.Calibration, o story.Options) story.Document {
	most := measure.Either(o.Verbose, math.MaxInt, 12) // kernels
	inSessions := slices.ContainsFunc(c.Noise, func(n calibrate.Noise) bool { return n.Within != nil })
	bars := max(10, min(story.MaxSpark, o.Columns()-measure.Either(inSessions, 84, 76))) // of columns but for the runs
	t := &story.Table{Title: "Noise between runs", Columns: []story.Column{{Least: 8},
		{Title: "GPU time", Right: true, Optional: true}, {Title: "launches", Right: true, Optional: true},
		{Title: "typical", Right: true}, {Title: "sd", Right: true}, {Title: "within", Right: true, Optional: true},
		{Title: "detects", Right: true}, {Title: "runs", Least: 8}}}
	what, per := "kernel", fmt.Sprintf(" Launches are per %s.", story.UnitOf(c.Measured))
	for _, n := range c.Noise {
		within := ""
		share, launches := story.Share(n.Share), story.Quantity(n.Launches, "count")
		if n.Scope == measure.ScopeBenchmark {
			what, per, share, launches = "row", "", "", ""
		}
		if n.Within != nil {
			within = story.Deviation(*n.Within)
		}
		t.Add(story.Elide(named(n), story.MaxName), share, launches, story.Quantity(n.Typical, n.Unit),
			story.Deviation(n.SD), within, measure.Either(c.Sound, story.Detected(n.Detects), measure.Unknown),
			story.BarsOf(n.Runs, bars))
	}
	t.Most(most, func(left int) string { return fmt.Sprintf("… and %s that vary less", story.Count(left, what)) })
	t.Hint(o)
	var lines []story.Line
	if c.Sound {
		lines = append(lines, story.Note(1,
			fmt.Sprintf("detects: the smallest slowdown beyond the limit that %s a side find (80 %% power).%s",
				story.Count(c.Gates.Runs, "run"), per)))
	}
	for _, n := range c.Noise[:min(len(c.Noise), most)] {
		if l := n.Levels; l != nil {
			lines = append(lines, story.Marked(1, "!", story.Doubtful,
				fmt.Sprintf("%s is bimodal: %d of %s near %s, the others near %s; no number of runs makes one value "+
					"of it",
					named(n), l.Runs, story.Count(len(n.Runs), "run"), story.Quantity(l.Low, n.Unit),
					story.Quantity(l.High, n.Unit))))
		}
	}
	return story.Document{t, story.Lines{List: lines}}
}

func named(n calibrate.Noise) string {
	return story.Subject(cmp.Or(n.Scope, measure.ScopeKernel), n.Title())
}

func gates(c *calibrate.Calibration) story.Lines {
	g := c.Gates
	tone := measure.Either(float64(g.Alarms) > float64(g.Gates)*float64(c.Alpha), story.Bad, story.Plain)
	return story.Lines{Title: "Unchanged gates", List: []story.Line{
		story.Paragraph(1, tone.Of(fmt.Sprintf("measured false alarms %d of %d unchanged gates", g.Alarms, g.Gates)),
			story.Plain.Of(fmt.Sprintf(" (at most %s with 95%s%% confidence); before nsgate, your %s rule would "+
				"have failed %d of %d",
				rate(g.AlarmBound), story.NB, story.Percent(c.Threshold), g.FixedAlarms, g.Gates))),
		story.Paragraph(1, story.Plain.Of(fmt.Sprintf("%d undecided (at most %s)", g.Undecided,
			rate(g.UndecidedBound)))),
		story.Note(1, fmt.Sprintf("Each has %s a side, drawn from these %d, and the limit %s (%s). The rule compares "+
			"one run a side with the policy's limits. The bounds are about gates of these runs: another session may "+
			"be quieter or louder.", story.Count(g.Runs, "run"), runsOf(c.Measured), story.Percent(c.Threshold),
			story.Clean(c.Rule)))}}
}

// rate prints a bound of a share with two digits.
func rate(n result.Number) string {
	return strconv.FormatFloat(100*float64(n), 'g', 2+int(n+0.005), 64) + story.NB + "%" // 100 has three digits
}

func mdeTable(c *calibrate.Calibration) *story.Table {
	t := &story.Table{Title: "Smallest slowdown found in 80 % of cases",
		Columns: []story.Column{{Title: "runs a side", Right: true},
			{Title: "workload", Right: true, Optional: true}, {Title: "kernels ≥ 5 %", Right: true, Optional: true},
			{Title: "with the limit", Right: true}}}
	known := func(m calibrate.MDE) bool { return m.Workload.Known() || m.Kernels.Known() }
	ofKernels := slices.ContainsFunc(c.MDE, known)
	for _, m := range c.MDE {
		t.Add(strconv.Itoa(m.Runs), measure.Either(ofKernels, story.Deviation(m.Workload), ""), // none of rows
			measure.Either(ofKernels, story.Deviation(m.Kernels), ""), story.Deviation(m.Limited))
	}
	return t
}

func planTable(c *calibrate.Calibration) *story.Table {
	t := &story.Table{Title: "Plan: to find one and a half times the limit in 80 % of cases",
		Columns: []story.Column{{Title: "limit", Right: true}, {Title: "runs a side", Right: true},
			{Title: "time", Right: true}, {Title: "hardest", Least: 8}}}
	for _, x := range c.Plan {
		runs := measure.Either(x.Runs == 0, "over 40", strconv.Itoa(x.Runs))
		t.Add(story.Percent(x.Threshold), runs, story.Seconds(x.Seconds), story.Elide(story.Clean(x.Hardest), 40))
	}
	return t
}
