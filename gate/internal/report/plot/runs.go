package plot

import (
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Group are the runs of one side, in the order of their start.
type Group struct {
	Name, Class string
	Runs        []float64
	Sessions    []int // runs of each session; taken as one session where they do not add up
	Typical     float64
}

const (
	// Heights in pixels: of a group of one session, of each further session, of a group at most, and of the margin of
	// dots.
	groupHeight, sessionHeight, mostHeight, groupEdge = 34.0, 12.0, 160.0, 7.0
	// apart is the distance between two sessions, in distances between two runs of a session.
	apart = 2.5
)

func (g Group) sessions() []int {
	if measure.Sum(g.Sessions, func(n int) int { return n }) != len(g.Runs) {
		return []int{len(g.Runs)}
	}
	return g.Sessions
}

func (g Group) height() float64 {
	return math.Min(groupHeight+sessionHeight*float64(len(g.sessions())-1), mostHeight)
}

// Runs draws every run as a dot, the first at the top of its band, with gaps between sessions, and the typical value of
// each side as a line. limit is the largest value that passes, NaN for none. label prints a value.
func Runs(title string, groups []Group, limit float64, label func(float64) string) SVG {
	values := []float64{limit}
	for _, g := range groups {
		values = append(append(values, g.Runs...), g.Typical)
	}
	scale := Around(0.08, values...)
	height := axisHeight + measure.Sum(groups, Group.height)
	s := begin("runs", height, title, about(groups, label))
	s.axis(scale, 4, height-axisHeight, label)
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

func about(groups []Group, label func(float64) string) string {
	var parts []string
	for _, g := range groups {
		n := measure.HowMany(g.Runs, func(v float64) bool { return !math.IsNaN(v) })
		in := ""
		if k := len(g.sessions()); k > 1 {
			in = " in " + strconv.Itoa(k) + " sessions"
		}
		parts = append(parts, g.Name+": "+strconv.Itoa(n)+" runs"+in+" around "+label(g.Typical))
	}
	return strings.Join(parts, "; ")
}

// Timeline describes the moments of a trend, by their indices.
type Timeline struct {
	Tips   []string // text under the pointer
	Marks  []string // labels of the axis
	Hosts  []int    // the first on another host
	Others []int    // the first with another driver, clock or the like
	Anchor int      // the anchor, -1 for none
}

// Trend draws a number over time: a dot for each moment, a line at each change of level, and behind them changes of the
// environment.
func Trend(title string, values []float64, changes []int, t Timeline, label func(float64) string) SVG {
	const band = 44
	scale := Around(0.15, values...)
	// The scale spans at least 1 %, so that noise stays flat.
	if middle := (scale.Low + scale.High) / 2; scale.High-scale.Low < 0.01*middle {
		scale = Scale{middle * 0.995, middle * 1.005}
	}
	last := math.Max(float64(len(values)-1), 1)
	at := func(i int) float64 { return 0.01 + 0.98*float64(i)/last }
	between := func(i int) float64 { return at(i) - 0.49/last }
	s := begin("trend", band+axisHeight, title, "")
	s.text("tick start", 0, band+axisHeight-4, t.Marks[0])
	s.text("tick end", 1, band+axisHeight-4, t.Marks[len(values)-1])
	for _, i := range t.Hosts {
		s.line("host", between(i), band-6, between(i), band)
	}
	for _, i := range t.Others {
		s.line("other", between(i), 0, between(i), band)
	}
	if t.Anchor >= 0 {
		s.line("anchor", at(t.Anchor), 0, at(t.Anchor), band)
	}
	for _, c := range changes {
		s.line("limit", between(c), 0, between(c), band)
	}
	path, pen := "", "M"
	for i, v := range values {
		if !math.IsNaN(v) {
			path += pen + strconv.Itoa(int(1000*at(i))) + " " + strconv.Itoa(int(1000*(1-scale.At(v))))
			pen = "L"
		}
	}
	s.shape("trace base", 0, band, path)
	for i, v := range values {
		if !math.IsNaN(v) {
			s.dot("run", at(i), band*(1-scale.At(v)), 3, t.Tips[i]+": "+label(v))
		}
	}
	return s.end()
}

// bins is how many columns a density has.
const bins = 60

// Spread draws how the times of launches are distributed, from evenly spaced quantiles: the baseline above the line,
// the head below.
func Spread(title string, base, head []int64, label func(float64) string) SVG {
	const band = 38
	var values []float64
	for _, q := range [][]int64{base, head} {
		if n := len(q); n > 2 {
			values = append(values, float64(q[1]), float64(q[n-2])) // the extremes are single launches
		}
	}
	scale := Around(0.06, values...)
	b, most := density(base, scale)
	h, mostOfHead := density(head, scale)
	most = math.Max(most, mostOfHead)
	s := begin("spread", 2*band+axisHeight, title, "")
	s.axis(scale, 4, 2*band, label)
	s.shape("area base", 0, band, area(b, func(v float64) float64 { return 1000 - 950*v/most }))
	s.shape("area head", band, band, area(h, func(v float64) float64 { return 950 * v / most }))
	s.line("zero", 0, band, 1, band)
	return s.end()
}

// density is the part of all launches in each bin, and the largest of these. Launches between two quantiles are spread
// evenly.
func density(quantiles []int64, scale Scale) (parts [bins]float64, most float64) {
	for i := 1; i < len(quantiles); i++ {
		low, high := float64(quantiles[i-1]), float64(quantiles[i])
		if high < scale.Low || low > scale.High {
			continue
		}
		first, last := min(int(scale.At(low)*bins), bins-1), min(int(scale.At(high)*bins), bins-1)
		for j := first; j <= last; j++ {
			parts[j] += 1 / float64(len(quantiles)-1) / float64(last-first+1)
			most = math.Max(most, parts[j])
		}
	}
	return parts, math.Max(most, 1e-9)
}

// area is the outline of a density; y is the height of a value in it.
func area(parts [bins]float64, y func(v float64) float64) string {
	point := func(x int, v float64) string { return strconv.Itoa(x) + " " + strconv.Itoa(int(y(v))) }
	var b strings.Builder
	b.WriteString("M" + point(0, 0))
	for i, v := range parts {
		b.WriteString("L" + point(1000*i/(bins-1), v))
	}
	return b.String() + "L" + point(1000, 0) + "Z"
}

// Span is a piece of a step.
type Span struct {
	Class, Label, Tip string
	Link              string // name on the page that a click leads to, "" for none
	Start, Length     float64
}

// Lane is a row of a step: spans that do not overlap.
type Lane struct {
	Name   string
	Height float64
	Spans  []Span
}

const (
	laneGap  = 3
	nameRoom = 13
	// seen is the least share of the width for a span to have a shape of its own.
	seen = 0.002
)

// Step draws the lanes of one step on a time scale of this length in ns.
func Step(title, about string, lanes []Lane, length float64, label func(float64) string) SVG {
	height := 0.0
	for _, l := range lanes {
		height += l.Height + laneGap
		if l.Name != "" {
			height += nameRoom
		}
	}
	s := begin("step", height+axisHeight, title, about)
	scale := Scale{0, length}
	s.axis(scale, 5, height, label)
	y := 0.0
	for _, l := range lanes {
		if l.Name != "" {
			s.text("lane", 0, y+nameRoom-3, l.Name)
			y += nameRoom
		}
		s.lane(l, y, scale)
		y += l.Height + laneGap
	}
	return s.end()
}

// lane draws each large span as a box, and the small spans of a class as one shape.
func (s *svg) lane(l Lane, y float64, scale Scale) {
	small := map[string]*strings.Builder{}
	var classes []string
	var until = map[string]float64{}
	for _, x := range l.Spans {
		from, to := scale.At(x.Start), scale.At(x.Start+x.Length)
		if to-from >= seen {
			s.rect(x.Class, from, to, y, l.Height, x.Tip, x.Link)
			if x.Label != "" && to-from > 0.03 {
				s.label("inside", from, to, y, l.Height, x.Label)
			}
			continue
		}
		b := small[x.Class]
		if b == nil {
			b = new(strings.Builder)
			small[x.Class] = b
			classes = append(classes, x.Class)
		}
		// Less than a thousandth of the width cannot be told apart.
		if a, e := math.Floor(from*1000), math.Ceil(to*1000); e > until[x.Class] {
			a = math.Max(a, until[x.Class])
			until[x.Class] = e
			b.WriteString("M" + strconv.Itoa(int(a)) + " 0h" + strconv.Itoa(int(e-a)) + "v1000h-" +
				strconv.Itoa(int(e-a)) + "z")
		}
	}
	for _, c := range classes {
		s.shape(c+" many", y, l.Height, small[c].String())
	}
}
