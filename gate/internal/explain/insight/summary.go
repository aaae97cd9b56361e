// Package insight explains what was measured: summaries, the waterfall of a step, ranks, and patterns that experts look
// for.
package insight

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Summarize sums up the sessions of one workload, which stand oldest first. Those of another GPU model, profiler or
// step than the newest are left out, with a doubt. The summary is complete but for its sentences and warnings about the
// recording. The error is a *model.Refusal where a session cannot be used, or there is none.
func Summarize(sessions []model.Session) (*result.Summary, error) {
	for i := range sessions {
		if err := sessions[i].Check(); err != nil {
			return nil, model.Refuse(model.BadSession, "measure again", "the recording: %v", err)
		}
	}
	if len(sessions) == 0 {
		return nil, model.Refuse(model.NoSession, "measure it first", "the recording holds no session")
	}
	alike := likeLast(sessions, &sessions[len(sessions)-1])
	s := summaries(alike)
	out := s.of(s.all)
	out.Ranges = s.ranges(s.all, out)
	out.Label()
	out.Recorded, out.Run = Describe(alike), RunParts(alike)
	out.Patterns = most(s.patterns(1))
	out.Ranks = CompareRanks(nil, s.side, thresholds.Default().For(""))
	out.Warn(unmatchedCollectives(s.side)...)
	out.Warn(leftOut(alike)...)
	if len(alike) < len(sessions) {
		out.Warn(result.Say(UnlikeSessions{len(alike), len(sessions)}))
	}
	restless := measure.Sum(alike, func(x model.Session) int {
		return measure.HowMany(x.Runs, func(r model.Run) bool { return !r.Steady && !r.Unprofiled })
	})
	if restless > 0 {
		out.Warn(result.Say(Restless{restless, s.side.ProfiledRuns()}))
	}
	return out, nil
}

// place is a range while the tree of them grows.
type place struct {
	name  string
	time  result.Number // of the kernels at this place, and of those below
	below []*place
}

// under finds the place of a name below another. It creates and counts a missing one.
func (p *place) under(name string, places map[string]int) *place {
	for _, x := range p.below {
		if x.name == name {
			return x
		}
	}
	x := &place{name: name}
	p.below = append(p.below, x)
	places[name]++
	return x
}

// ranges puts the ranges into each other by the places of the kernels. A name that has one place has the kernel time
// that was measured of it; of a name in several places only that of the kernels is known that are most often launched
// there.
func (s *summarizer) ranges(runs []int, x *result.Summary) []result.SummaryRange {
	measured := map[string]result.Number{}
	if s.step != "" {
		measured[s.step] = x.GPUTime
	}
	for _, subject := range s.subjects {
		if subject.Scope == measure.ScopeRange {
			measured[subject.Name] = s.typical(runs, subject, measure.GPUTime)
		}
	}
	root := &place{}
	places := map[string]int{}
	for _, k := range x.Kernels {
		at := root
		for path := k.Role; path != ""; {
			var name string
			name, path = firstRange(path, measured)
			at = at.under(name, places)
			at.time += k.Total
		}
		if k.Role == "" {
			root.under("", places).time += k.Total
		}
	}
	if len(places)-places[""] == 0 && len(measured) == 0 {
		return nil
	}
	top := root
	if s.step != "" {
		top = root.under(s.step, places)
	}
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		if places[name] == 0 && name != s.step { // the kernels in it are launched elsewhere more often
			top.under(name, places)
		}
	}
	return root.ranges(measured, places, x.GPUTime)
}

// ranges are the ranges below a place.
func (p *place) ranges(measured map[string]result.Number, places map[string]int,
	whole result.Number) (out []result.SummaryRange) {
	for _, x := range p.below {
		r := result.SummaryRange{Name: x.name, Time: x.time, Share: result.Unknown,
			Ranges: x.ranges(measured, places, whole)}
		if n, ok := measured[x.name]; ok && places[x.name] < 2 {
			r.Time = n
		}
		if whole > 0 {
			r.Share = r.Time / whole
		}
		out = append(out, r)
	}
	measure.Sort(out, func(a, b result.SummaryRange) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// firstRange takes the first name off a path of ranges. Names may hold the slash that stands between them: the longest
// that was measured is meant.
func firstRange(path string, measured map[string]result.Number) (name, rest string) {
	name, rest, _ = strings.Cut(path, "/")
	for at := len(path); at > len(name); at = strings.LastIndexByte(path[:at], '/') {
		if _, ok := measured[path[:at]]; ok {
			return path[:at], strings.TrimPrefix(path[at:], "/")
		}
	}
	return name, rest
}
