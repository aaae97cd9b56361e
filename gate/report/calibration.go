package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

var calibrations = map[string]func(io.Writer, *gate.Calibration, Options) error{
	"json": calibrationJSON,
	"text": calibrationText,
}

// CalibrationFormats lists the names that [RenderCalibration] knows, sorted.
func CalibrationFormats() []string { return slices.Sorted(maps.Keys(calibrations)) }

// RenderCalibration writes the calibration in the named format, as [Render] does with a report.
func RenderCalibration(format string, w io.Writer, c *gate.Calibration, o Options) error {
	render, ok := calibrations[format]
	if !ok {
		return fmt.Errorf("unknown calibration format %q; the formats are %s", format, strings.Join(CalibrationFormats(), ", "))
	}
	return render(w, c, o)
}

// calibrationJSON writes the calibration without loss; unknown numbers are null.
func calibrationJSON(w io.Writer, c *gate.Calibration, _ Options) error {
	return writeJSON(w, "calibration", c)
}

// calibrationText writes the calibration for a person at a terminal: what the policy's limit takes, the noise, the
// false alarms, what can be found with how many runs, and the plan.
func calibrationText(w io.Writer, c *gate.Calibration, o Options) error {
	p := &page{width: max(cmp.Or(o.Width, 100), 40), color: o.Color}
	p.calibrated(c)
	if !o.Quiet {
		p.calibration(c, o.Verbose)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// calibrated writes the first line.
func (p *page) calibrated(c *gate.Calibration) {
	word, s, text := "CALIBRATED", green, ""
	i := slices.IndexFunc(c.Plan, func(x gate.Plan) bool { return x.Threshold == c.Threshold })
	switch {
	case !c.Sound:
		word, s, text = "NOT CALIBRATED", red, c.Reason
	case i >= 0 && c.Plan[i].Runs > 0:
		text = "to gate " + percent(c.Threshold) + " here: " + takes(c.Plan[i])
	case i >= 0:
		s, text = yellow, percent(c.Threshold)+" cannot be gated here: "+takes(c.Plan[i])
	}
	p.line(0, len(word)+2, span{bind(word) + nb + " ", s}, span{text, none})
}

// takes is a plan in words: "4 runs, 9 s".
func takes(p gate.Plan) string {
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
func seconds(n gate.Number) string {
	switch s := float64(n); {
	case !n.Known():
		return unknown
	case s < 1:
		return strconv.FormatFloat(s, 'f', 1, 64) + nb + "s"
	case s < 119.5:
		return strconv.FormatFloat(s, 'f', 0, 64) + nb + "s"
	default:
		return strconv.FormatFloat(s/60, 'f', 0, 64) + nb + "min"
	}
}

// calibration writes everything below the first line.
func (p *page) calibration(c *gate.Calibration, verbose bool) {
	if len(c.Noise) > 0 {
		p.noise(c, verbose)
	}
	if c.Sound {
		p.gates(c.Gates, c)
		p.foresight(c)
	}
	if len(c.Warnings) > 0 {
		p.title("Warnings")
		for _, s := range c.Warnings {
			p.line(2, 4, span{"! ", yellow}, span{s, none})
		}
	}
	if m := c.Measured; m.Runs > 0 {
		p.title("Measured")
		unit := "per run"
		if m.Step != "" {
			unit = fmt.Sprintf("per step %q", Clean(m.Step))
		}
		p.line(2, 4, span{join(Clean(m.Environment.GPU), Clean(m.Environment.Tool), count(m.Runs, "run"), unit,
			m.Skipped+" are warm-up"), none})
	}
	if len(c.Next) > 0 {
		p.title("Next")
		for _, s := range c.Next {
			p.line(2, 4, span{"- ", none}, span{s, none})
		}
	}
}

// noise writes how each kernel moves from run to run.
func (p *page) noise(c *gate.Calibration, verbose bool) {
	const most = 12
	rows := [][]string{{"", "GPU" + nb + "time", "launches", "typical", "sd", "MDE", "runs"}}
	right := []bool{false, true, true, true, true, true, false}
	within := slices.ContainsFunc(c.Noise, func(n gate.Noise) bool { return n.Within != nil })
	room := 76 // of the other columns
	if within {
		room += 8
		rows[0] = slices.Insert(rows[0], 5, "within")
		right = slices.Insert(right, 5, true)
	}
	var levels []string
	alike := make(map[string]int)
	for _, n := range c.Noise {
		alike[n.Kernel]++
	}
	shown := c.Noise
	if len(shown) > most && !verbose {
		shown = shown[:most]
	}
	for _, n := range shown {
		mde := fine(n.MDE)
		if !c.Sound {
			mde = unknown
		}
		name := named(n)
		if alike[n.Kernel] > 1 {
			name = Elide(name, 24) + " " + Clean(n.Grid+"/"+n.Block)
		}
		rows = append(rows, []string{name, part(n.Share), quantity(n.Launches, "count"), quantity(n.Typical, n.Unit),
			fine(n.SD), mde, bars(n.Runs, max(10, min(maxSpark, p.width-room)))})
		if within {
			spread := ""
			if n.Within != nil {
				spread = fine(*n.Within)
			}
			rows[len(rows)-1] = slices.Insert(rows[len(rows)-1], 5, spread)
		}
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
	p.grid(rows, right)
	if hidden := len(c.Noise) - len(shown); hidden > 0 {
		p.dim(2, fmt.Sprintf("… and %s that move less; --verbose shows all", count(hidden, "kernel")))
	}
	if c.Sound {
		p.dim(2, fmt.Sprintf("MDE: the smallest slowdown that %s a side find in 80 %% of cases. Launches are per %s.",
			count(c.Gates.Runs, "run"), per))
	}
	for _, l := range levels {
		p.line(2, 4, span{"! ", yellow}, span{l, none})
	}
}

func named(n gate.Noise) string {
	return subject(gate.Finding{Kernel: n.Kernel, Scope: cmp.Or(n.Scope, measure.ScopeKernel)})
}

// bars draws the last runs of one series; the scale spans at least 1 %, so that noise which hardly matters stays flat.
func bars(runs []gate.Number, most int) string {
	cut := ""
	if len(runs) > most {
		runs, cut = runs[len(runs)-most+1:], "…"
	}
	half := len(runs) / 2
	return cut + strings.Replace(spark(runs[:half], runs[half:], 0.01), nb+"→"+nb, "", 1)
}

// gates writes how often unchanged gates failed.
func (p *page) gates(g gate.UnchangedGates, c *gate.Calibration) {
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

// fine prints a small relative number with two digits after the point, so that a column of them is read at a glance.
func fine(n gate.Number) string {
	if !n.Known() {
		return unknown
	}
	return strconv.FormatFloat(100*float64(n), 'f', decimals(float64(n)), 64) + nb + "%"
}

// rate prints a bound of a share with two digits.
func rate(n gate.Number) string { return strconv.FormatFloat(100*float64(n), 'g', 2, 64) + nb + "%" }

// foresight writes what can be found with how many runs, and the plan.
func (p *page) foresight(c *gate.Calibration) {
	rows := [][]string{{"runs a side", "workload", "kernels ≥ 5 %", "with the limit"}}
	for _, m := range c.MDE {
		rows = append(rows, []string{strconv.Itoa(m.Runs), fine(m.Workload), fine(m.Kernels), fine(m.Limited)})
	}
	p.title("Smallest slowdown found in 80 % of cases")
	p.grid(rows, []bool{true, true, true, true})
	rows = [][]string{{"limit", "runs a side", "time", "hardest"}}
	for _, x := range c.Plan {
		runs := strconv.Itoa(x.Runs)
		if x.Runs == 0 {
			runs = "over 40"
		}
		rows = append(rows, []string{percent(x.Threshold), runs, seconds(x.Seconds), Elide(Clean(x.Hardest), 40)})
	}
	p.title("Plan: to find one and a half times the limit in 80 % of cases")
	p.grid(rows, []bool{true, true, true, false})
	p.dim(2, "For base and head of one session. A baseline from another host adds what hosts differ by.")
}

// grid writes rows in aligned columns, the first row as their titles. A column that is not right-aligned loses the
// middle of its cells where the page is too narrow.
func (p *page) grid(rows [][]string, right []bool) {
	const gap = 2
	widths := make([]int, len(right))
	total := 2 - gap
	for i := range right {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i] + gap
	}
	for i := range right {
		if over := total - p.width; over > 0 && !right[i] {
			was := widths[i]
			widths[i] = max(was-over, 8)
			total -= was - widths[i]
		}
	}
	for r, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(strings.Repeat(nb, gap))
			}
			cell = bind(Elide(cell, max(widths[i], 1)))
			if right[i] {
				line.WriteString(strings.Repeat(nb, max(widths[i]-utf8.RuneCountInString(cell), 0)) + cell)
			} else {
				line.WriteString(pad(cell, widths[i]))
			}
		}
		s := none
		if r == 0 {
			s = dim
		}
		p.line(2, 2, span{line.String(), s})
	}
}
