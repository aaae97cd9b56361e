package plot

import (
	"math"
	"strconv"
	"strings"
)

// Group is the runs of one side, in the order in which they ran.
type Group struct {
	Name, Class string
	Runs        []float64
	Sessions    []int // how many of the runs each session has; where that does not add up, all are one
	Typical     float64
}

const (
	axisHeight = 18
	// Pixels: what a group of one session takes, each further one, and all at most; and what dots leave free above and below.
	groupHeight, sessionHeight, mostHeight, groupEdge = 34.0, 12.0, 160.0, 7.0
	// apart is the distance of the last run of a session from the first of the next, in those of runs of one session.
	apart = 2.5
)

// sessions are how many runs each session has.
func (g Group) sessions() []int {
	sum := 0
	for _, n := range g.Sessions {
		sum += n
	}
	if sum != len(g.Runs) {
		return []int{len(g.Runs)}
	}
	return g.Sessions
}

// height is that of the group's band.
func (g Group) height() float64 {
	return math.Min(groupHeight+sessionHeight*float64(len(g.sessions())-1), mostHeight)
}

// Runs draws every run as a dot, in order from the top of its band to the bottom, those of one session apart from those of the next,
// with the typical value of each side. limit is the
// value from which on a change is beyond what is allowed, NaN for none. label prints a value.
func Runs(title string, groups []Group, limit float64, label func(float64) string) SVG {
	values := []float64{limit}
	for _, g := range groups {
		values = append(append(values, g.Runs...), g.Typical)
	}
	scale := Around(0.08, values...)
	height := float64(axisHeight)
	for _, g := range groups {
		height += g.height()
	}
	s := begin("runs", height, title, about(groups, label))
	for _, t := range scale.Ticks(4) {
		x := scale.At(t)
		s.line("grid", x, 0, x, height-axisHeight)
		s.text(anchor(x), x, height-4, label(t))
	}
	if !math.IsNaN(limit) {
		s.line("limit", scale.At(limit), 0, scale.At(limit), height-axisHeight)
	}
	top := 0.0
	for _, g := range groups {
		if !math.IsNaN(g.Typical) {
			s.line("typical "+g.Class, scale.At(g.Typical), top+3, scale.At(g.Typical), top+g.height()-3)
		}
		s.group(g, top, scale, label)
		top += g.height()
	}
	return s.end()
}

// group draws the runs of one side below top.
func (s *svg) group(g Group, top float64, scale Scale, label func(float64) string) {
	sessions, runs := g.sessions(), g.Runs
	gap := 0.0
	if gaps := float64(len(runs)-len(sessions)) + apart*float64(len(sessions)-1); gaps > 0 {
		gap = (g.height() - 2*groupEdge) / gaps
	} else {
		top += g.height()/2 - groupEdge
	}
	y := top + groupEdge
	for i, n := range sessions {
		name := g.Name
		if len(sessions) > 1 {
			name += ", session " + strconv.Itoa(i+1)
		}
		if i > 0 {
			y += (apart - 1) * gap
			s.line("session", 0, y-apart*gap/2, 1, y-apart*gap/2)
		}
		for j, v := range runs[:n] {
			if !math.IsNaN(v) {
				s.dot("run "+g.Class, scale.At(v), y, 3.5, name+", run "+strconv.Itoa(j+1)+": "+label(v))
			}
			y += gap
		}
		runs = runs[n:]
	}
}

// about says what the dots say.
func about(groups []Group, label func(float64) string) string {
	var parts []string
	for _, g := range groups {
		n := 0
		for _, v := range g.Runs {
			if !math.IsNaN(v) {
				n++
			}
		}
		in := ""
		if k := len(g.sessions()); k > 1 {
			in = " in " + strconv.Itoa(k) + " sessions"
		}
		parts = append(parts, g.Name+": "+strconv.Itoa(n)+" runs"+in+" around "+label(g.Typical))
	}
	return strings.Join(parts, "; ")
}

// Spread draws how launches spread, from quantiles that are evenly spaced: the base above the line, the head below.
func Spread(title string, base, head []int64, label func(float64) string) SVG {
	const band = 38
	var values []float64
	for _, q := range [][]int64{base, head} {
		if n := len(q); n > 2 {
			values = append(values, float64(q[1]), float64(q[n-2])) // the extremes are single launches
		}
	}
	scale := Around(0.06, values...)
	b, h := density(base, scale), density(head, scale)
	most := 0.0
	for i := range b {
		most = math.Max(most, math.Max(b[i], h[i]))
	}
	s := begin("spread", 2*band+axisHeight, title, "")
	for _, t := range scale.Ticks(4) {
		x := scale.At(t)
		s.line("grid", x, 0, x, 2*band)
		s.text(anchor(x), x, 2*band+axisHeight-4, label(t))
	}
	s.shape("area base", 0, band, area(b, most, true))
	s.shape("area head", band, band, area(h, most, false))
	s.line("zero", 0, band, 1, band)
	return s.end()
}

// bins is how many columns a density has.
const bins = 80

// density is how much of all lies in each bin, smoothed a little; between two quantiles launches are taken to lie evenly.
func density(quantiles []int64, scale Scale) []float64 {
	raw := make([]float64, bins)
	if len(quantiles) < 2 {
		return raw
	}
	part := 1 / float64(len(quantiles)-1)
	for i := 1; i < len(quantiles); i++ {
		a, b := float64(quantiles[i-1]), float64(quantiles[i])
		if b < scale.Low || a > scale.High {
			continue
		}
		from, to := scale.At(a)*bins, scale.At(b)*bins
		first, last := min(int(from), bins-1), min(int(to), bins-1)
		for j := first; j <= last; j++ {
			raw[j] += part / float64(last-first+1)
		}
	}
	out := make([]float64, bins)
	for i := range out {
		weight := 0.0
		for d := -2; d <= 2; d++ {
			if j := i + d; j >= 0 && j < bins {
				w := float64(3 - max(d, -d))
				out[i] += w * raw[j]
				weight += w
			}
		}
		out[i] /= weight
	}
	return out
}

// area is the outline of a density, standing on the lower edge of its band or hanging from the upper one.
func area(values []float64, most float64, up bool) string {
	if !(most > 0) {
		return "M0 0"
	}
	y := func(v float64) string {
		v = 950 * v / most
		if up {
			v = 1000 - v
		}
		return strconv.Itoa(int(v))
	}
	var b strings.Builder
	b.WriteString("M0 " + y(0))
	for i, v := range values {
		b.WriteString("L" + strconv.Itoa(1000*i/(len(values)-1)) + " " + y(v))
	}
	b.WriteString("L1000 " + y(0) + "Z")
	return b.String()
}

// Series is one line over steps.
type Series struct {
	Class  string
	Values []float64
}

// Over draws values over steps, every so many of them one; the first skipped steps are warm-up and shaded.
func Over(title string, series []Series, every, skipped int, label func(float64) string) SVG {
	const band = 76
	var all []float64
	n := 0
	for _, x := range series {
		for i, v := range x.Values {
			if i*every >= skipped {
				all = append(all, v)
			}
		}
		n = max(n, len(x.Values))
	}
	scale := Around(0.25, all...)
	s := begin("over", band+axisHeight, title, "")
	last := math.Max(float64(n-1), 1)
	if skipped > 0 {
		s.rect("warmup", 0, math.Min(float64(skipped)/float64(every)/last, 1), 0, band, "warm-up: the first "+strconv.Itoa(skipped)+" steps are left out")
	}
	for i, t := range scale.Ticks(2) {
		y := band * (1 - scale.At(t))
		s.line("grid", 0, y, 1, y)
		if i < 3 {
			s.above(y, label(t))
		}
	}
	for _, x := range series {
		var b strings.Builder
		for i, v := range x.Values {
			b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + strconv.Itoa(int(1000*float64(i)/last)) + " " + strconv.Itoa(int(1000*(1-scale.At(v)))))
		}
		s.shape("trace "+x.Class, 0, band, b.String())
	}
	s.text("tick start", 0, band+axisHeight-4, "step 1")
	s.text("tick end", 1, band+axisHeight-4, "step "+strconv.Itoa((n-1)*every+1))
	return s.end()
}
