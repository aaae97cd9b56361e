package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/calibrate"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// noiseSheet is the page of a calibration.
type noiseSheet struct {
	Word, Mark, Reason, Kicker string
	Figures                    []figure
	Noise                      []noiseRow
	Untold                     int
	Curve                      plot.SVG
	MDE                        [][]string
	Plan                       [][]string
	Gates                      string
	Host, Warnings, Next       []string
	Facts                      []fact
}

// noiseRow is how one kernel moves between runs.
type noiseRow struct {
	Subject, In, Share, Typical, SD, Within, MDE, Levels string
	SortSD                                               string // to sort by
	Runs                                                 plot.SVG
}

// maxNoise is how many kernels a page of noise shows, the noisiest.
const maxNoise = 120

func htmlCalibration(c *calibrate.Calibration, _ Options) (string, error) {
	saved, err := jsonText(c)
	if err != nil {
		return "", err
	}
	word, tone, reason := calibrated(c)
	name := Elide(strings.TrimSpace(Line(c.Workload)), 100)
	s := &noiseSheet{Word: word, Mark: toneClass(tone), Reason: trimmed(reason), Kicker: join(" · ", "nsgate calibrate", name, trimmed(c.Measured.Environment.GPU)),
		Warnings: nonempty(c.Warnings...), Next: nonempty(c.Next...)}
	for _, x := range c.Host {
		s.Host = append(s.Host, nonempty(x.Sentence)...)
	}
	for _, f := range []fact{{"workload", c.Workload}, {"GPU", machine(c.Measured.Environment)}, {"measured", side(c.Measured)}} {
		if f.Text = trimmed(f.Text); f.Text != "" {
			s.Facts = append(s.Facts, f)
		}
	}
	s.noise(c)
	if c.Sound {
		s.foresight(c)
	}
	return htmlPage(join(" · ", "nsgate: "+strings.ToLower(word), name), saved, s.page()...)
}

// noise lists the kernels with their runs.
func (s *noiseSheet) noise(c *calibrate.Calibration) {
	for i, n := range c.Noise {
		if i == maxNoise {
			s.Untold = len(c.Noise) - i
			break
		}
		r := noiseRow{Subject: Elide(named(n), maxName), In: Elide(Clean(n.Role), maxName), Share: shareCell(n.Share), Typical: quantity(n.Typical, n.Unit), SD: deviation(n.SD), SortSD: brief(n.SD), MDE: measure.Unknown}
		if c.Sound {
			r.MDE = deviation(n.MDE)
		}
		if n.Within != nil {
			r.Within = deviation(*n.Within)
		}
		if l := n.Levels; l != nil {
			r.Levels = fmt.Sprintf("jumps between two levels: %d of %s near %s, the others near %s", l.Runs, count(len(n.Runs), "run"), quantity(l.Low, n.Unit), quantity(l.High, n.Unit))
		}
		var runs []float64
		for _, v := range n.Runs {
			if !v.Known() {
				v = result.Number(math.NaN())
			}
			runs = append(runs, float64(v))
		}
		r.Runs = plot.Strip(runs, float64(n.Typical), tick(n.Unit))
		s.Noise = append(s.Noise, r)
	}
}

// foresight is what can be found with how many runs.
func (s *noiseSheet) foresight(c *calibrate.Calibration) {
	var at []int
	lines := []plot.Series{{Class: "head"}, {Class: "better"}, {Class: "worse"}}
	number := func(n result.Number) float64 {
		if !n.Known() {
			return math.NaN()
		}
		return float64(n)
	}
	for _, m := range c.MDE {
		at = append(at, m.Runs)
		for i, v := range []result.Number{m.Workload, m.Kernels, m.Limited} {
			lines[i].Values = append(lines[i].Values, number(v))
		}
		s.MDE = append(s.MDE, []string{strconv.Itoa(m.Runs), deviation(m.Workload), deviation(m.Kernels), deviation(m.Limited)})
	}
	s.Curve = plot.Curve("The smallest slowdown found in 80 % of cases, by the runs a side", at, lines, func(v float64) string { return tidy(measure.Percent(v)) })
	for _, x := range c.Plan {
		runs := strconv.Itoa(x.Runs)
		if x.Runs == 0 {
			runs = "over 40"
		}
		s.Plan = append(s.Plan, []string{percent(x.Threshold), runs, seconds(x.Seconds), Elide(Clean(x.Hardest), 60)})
	}
	g := c.Gates
	s.Gates = fmt.Sprintf("Of %d gates between random runs of this unchanged program, %s a side, %d failed (with 95%s%% confidence under %s of such gates) and %d could not decide (under %s).",
		g.Gates, count(g.Runs, "run"), g.Alarms, nb, rate(g.AlarmBound), g.Undecided, rate(g.UndecidedBound))
	if i := slices.IndexFunc(c.Plan, func(x calibrate.Plan) bool { return x.Threshold == c.Threshold }); i >= 0 {
		runs := takes(c.Plan[i])
		s.Figures = append(s.Figures, figure{"to gate " + percent(c.Threshold), runs, "runs a side, base and head of one session", "", true})
	}
	for _, n := range c.Noise {
		if n.Scope == measure.ScopeWorkload && len(s.Figures) < 3 {
			s.Figures = append(s.Figures, figure{metric(n.Metric), quantity(n.Typical, n.Unit), deviation(n.SD) + " between runs (sd)", "", true})
		}
	}
	class := "better"
	if float64(g.Alarms) > float64(g.Gates)*float64(c.Alpha) {
		class = "worse"
	}
	s.Figures = append(s.Figures, figure{"false alarms", fmt.Sprintf("%d of %d", g.Alarms, g.Gates), "gates of unchanged runs", class, true})
}
