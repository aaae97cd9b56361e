package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/calibrate"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// calibrationText writes the calibration for a person at a terminal: what the policy's limit takes, the noise, the
// false alarms, what can be found with how many runs, and the plan.
func calibrationText(c *calibrate.Calibration, o Options) (string, error) {
	p := newPage(o)
	word, tone, reason := calibrated(c)
	s := styles[tone]
	p.verdict(word, s, reason)
	if !o.Quiet {
		p.calibration(c, o)
	}
	return p.b.String(), nil
}

// calibrated is what a calibration says in a word and a sentence.
func calibrated(c *calibrate.Calibration) (word string, t tone, reason string) {
	i := slices.IndexFunc(c.Plan, func(x calibrate.Plan) bool { return x.Threshold == c.Threshold })
	switch {
	case !c.Sound:
		return "NOT CALIBRATED", bad, c.Reason
	case i >= 0 && c.Plan[i].Runs > 0:
		return "CALIBRATED", good, "to gate " + percent(c.Threshold) + " here: " + takes(c.Plan[i])
	case i >= 0:
		return "CALIBRATED", doubtful, percent(c.Threshold) + " cannot be gated here: " + takes(c.Plan[i])
	}
	return "CALIBRATED", good, ""
}

// takes is a plan in words: "4 runs, 9 s".
func takes(p calibrate.Plan) string {
	if p.Runs == 0 {
		return "not with 40 runs, because of " + Elide(Clean(p.Hardest), 60)
	}
	text := count(p.Runs, "run")
	if p.Seconds.Known() {
		text += ", " + seconds(p.Seconds)
	}
	return text
}

// seconds prints a wall time as a person plans with it: "0.4 s", "9 s", "3 min".
func seconds(n result.Number) string {
	switch s := float64(n); {
	case !n.Known():
		return measure.Unknown
	case s < 1:
		return bind(fmt.Sprintf("%.1f s", s))
	case s < 119.5:
		return bind(fmt.Sprintf("%.0f s", s))
	default:
		return bind(fmt.Sprintf("%.0f min", s/60))
	}
}

// calibration writes everything below the first line.
func (p *page) calibration(c *calibrate.Calibration, o Options) {
	if len(c.Noise) > 0 {
		p.noise(c, o)
	}
	if c.Sound {
		p.gates(c.Gates, c)
		p.foresight(c)
	}
	var host []string
	for _, x := range c.Host {
		host = append(host, x.Sentence)
	}
	p.list("This host", "-", none, host)
	p.warnings(c.Warnings)
	if m := c.Measured; m.Runs > 0 {
		p.title("Measured")
		unit := "per run"
		if m.Step != "" {
			unit = fmt.Sprintf("per step %q", Clean(m.Step))
		}
		p.line(2, 4, span{join(" · ", Clean(m.Environment.GPU), Clean(m.Environment.Tool), count(m.Runs, "run"), unit,
			m.Skipped+" are warm-up"), none})
	}
	p.next(c.Next)
}

// NoiseTable is how much the runs of a session move, as a calibration shows it: by step, and with the MDE of gates of so many runs a
// side.
func NoiseTable(noise []calibrate.Noise, step string, runs int, o Options) string {
	p := newPage(o)
	p.noise(&calibrate.Calibration{Sound: true, Noise: noise, Measured: result.Side{Step: step}, Gates: calibrate.UnchangedGates{Runs: runs}}, o)
	return p.b.String()
}

// noise writes how each kernel moves from run to run.
func (p *page) noise(c *calibrate.Calibration, o Options) {
	const most = 12
	titles := []column{{least: 8}, {title: "GPU time", right: true}, {title: "launches", right: true}, {title: "typical", right: true},
		{title: "sd", right: true}, {title: "within", right: true, optional: true}, {title: "MDE", right: true}, {title: "runs", least: 8}}
	within := slices.ContainsFunc(c.Noise, func(n calibrate.Noise) bool { return n.Within != nil })
	room := 76 // of the other columns
	if within {
		room += 8
	}
	var rows [][]string
	var levels []string
	shown := c.Noise
	if len(shown) > most && !o.Verbose {
		shown = shown[:most]
	}
	for _, n := range shown {
		mde := deviation(n.MDE)
		if !c.Sound {
			mde = measure.Unknown
		}
		name := named(n)
		spread := ""
		if n.Within != nil {
			spread = deviation(*n.Within)
		}
		rows = append(rows, []string{name, share(n.Share), quantity(n.Launches, "count"), quantity(n.Typical, n.Unit),
			deviation(n.SD), spread, mde, bars(n.Runs, max(10, min(maxSpark, p.width-room)))})
		if l := n.Levels; l != nil {
			levels = append(levels, fmt.Sprintf("%s jumps between two levels: %d of %s near %s, the others near %s; "+
				"no number of runs makes one value of it", named(n), l.Runs, count(len(n.Runs), "run"), quantity(l.Low, n.Unit), quantity(l.High, n.Unit)))
		}
	}
	per := "run"
	if c.Measured.Step != "" {
		per = "step"
	}
	p.title("Noise between runs")
	p.table(titles, rows, nil)
	if hidden := len(c.Noise) - len(shown); hidden > 0 {
		more := fmt.Sprintf("… and %s that move less", count(hidden, "kernel"))
		if o.ShowAll != "" {
			more += "; " + o.ShowAll + " shows all"
		}
		p.dim(2, more)
	}
	if c.Sound {
		p.dim(2, fmt.Sprintf("MDE: the smallest slowdown that %s a side find in 80 %% of cases. Launches are per %s.",
			count(c.Gates.Runs, "run"), per))
	}
	for _, l := range levels {
		p.line(2, 4, span{"! ", yellow}, span{l, none})
	}
}

func named(n calibrate.Noise) string {
	return subject(cmp.Or(n.Scope, measure.ScopeKernel), n.Title())
}

// bars draws the last runs of one series; the scale spans at least 1 %, so that noise which hardly matters stays flat.
func bars(runs []result.Number, most int) string {
	cut := ""
	if len(runs) > most {
		runs, cut = runs[len(runs)-most+1:], "…"
	}
	if len(known(runs)) < 2 {
		return ""
	}
	return cut + barsFor(runs, 0.01)(runs)
}

// gates writes how often unchanged gates failed.
func (p *page) gates(g calibrate.UnchangedGates, c *calibrate.Calibration) {
	p.title("Unchanged gates")
	s := none
	if float64(g.Alarms) > float64(g.Gates)*float64(c.Alpha) {
		s = red
	}
	p.line(2, 4, span{fmt.Sprintf("%d of %d failed", g.Alarms, g.Gates), s},
		span{fmt.Sprintf(" (under %s), %d undecided (under %s)",
			rate(g.AlarmBound), g.Undecided, rate(g.UndecidedBound)), none})
	p.line(2, 2, span{fmt.Sprintf("Each has %s a side, drawn from these %d, and the limit %s (%s). The bounds, of 95%s%% "+
		"confidence, are about gates of these runs: another session may be quieter or louder.", count(g.Runs, "run"), c.Measured.Runs, percent(c.Threshold), Clean(c.Rule), nb), dim})
}

func deviation(n result.Number) string { return bind(measure.Deviation(float64(n))) }

// rate prints a bound of a share with two digits.
func rate(n result.Number) string { return strconv.FormatFloat(100*float64(n), 'g', 2, 64) + nb + "%" }

// foresight writes what can be found with how many runs, and the plan.
func (p *page) foresight(c *calibrate.Calibration) {
	var rows [][]string
	for _, m := range c.MDE {
		rows = append(rows, []string{strconv.Itoa(m.Runs), deviation(m.Workload), deviation(m.Kernels), deviation(m.Limited)})
	}
	p.title("Smallest slowdown found in 80 % of cases")
	p.table([]column{{title: "runs a side", right: true}, {title: "workload", right: true}, {title: "kernels ≥ 5 %", right: true},
		{title: "with the limit", right: true}}, rows, nil)
	rows = nil
	for _, x := range c.Plan {
		runs := strconv.Itoa(x.Runs)
		if x.Runs == 0 {
			runs = "over 40"
		}
		rows = append(rows, []string{percent(x.Threshold), runs, seconds(x.Seconds), Elide(Clean(x.Hardest), 40)})
	}
	p.title("Plan: to find one and a half times the limit in 80 % of cases")
	p.table([]column{{title: "limit", right: true}, {title: "runs a side", right: true}, {title: "time", right: true},
		{title: "hardest", least: 8}}, rows, nil)
	p.dim(2, "For base and head of one session. A baseline from another host adds what hosts differ by.")
}
