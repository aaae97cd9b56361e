package plot

import (
	"math"
	"strconv"
	"strings"
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
	sum := 0
	for _, n := range g.Sessions {
		sum += n
	}
	if sum != len(g.Runs) {
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
	height := float64(axisHeight)
	for _, g := range groups {
		height += g.height()
	}
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
