package decide

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/trace"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// SummarySchema is the version of the JSON form of a Summary. Fields are only ever added to it.
const SummarySchema = "nsgate.summary/1"

// Summary is what was recorded of a workload, without a judgement. Times are in ns. Amounts are per step, per run where there
// are no steps (the Step of Recorded is ""), and of Nsight Compute per launch; they are medians over the runs, those of the step's
// parts means, which add up. Shares are fractions. What was not measured is unknown.
type Summary struct {
	Schema   string `json:"schema"`
	Recorded Side   `json:"recorded"`
	// Period is that of the typical step on the GPU, from its first operation to that of the next.
	Period Number `json:"period"`
	// Parts are who owns the step, the largest first; none where that is not known. They add up to Period.
	Parts []SummaryPart `json:"parts,omitempty"`
	// GPUTime is the time of all kernels, Launches how many there are.
	GPUTime  Number          `json:"gpu_time"`
	Launches Number          `json:"launches"`
	Kernels  []SummaryKernel `json:"kernels"` // those that cost most first
	// Ranges are the NVTX ranges as they lie in each other, those with the most kernel time first.
	Ranges []SummaryRange `json:"ranges,omitempty"`
	Copies []SummaryCopy  `json:"copies,omitempty"` // and memsets, by kind, those that take longest first
	// Others are what else was measured of the whole workload: numbers that it prints, counts, its peak of memory, what was
	// sampled of the GPU; and how often it calls what synchronises.
	Others []SummaryValue `json:"others,omitempty"`
	// Ranks is how the ranks of a job compare with one another, nil where there are not several.
	Ranks *Ranks `json:"ranks,omitempty"`
	// Patterns are those of [Patterns] that most of the runs have.
	Patterns []Remark `json:"patterns,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Doubts   []Remark `json:"doubts,omitempty"` // those warnings that the summary itself made, as data

	devices Number // over which the step's parts are means
	hidden  Number // communication behind kernels that compute
}

// SummaryPart is a class of owners of the step, or a cause of idle time.
type SummaryPart struct {
	Class string `json:"class"` // as of a [WaterfallPart]
	Idle  bool   `json:"idle,omitempty"`
	Where string `json:"where,omitempty"` // likewise
	Time  Number `json:"time"`
	Share Number `json:"share"` // of the step
}

// SummaryKernel is a kernel with its geometry.
type SummaryKernel struct {
	Kernel   string `json:"kernel"` // short name
	Name     string `json:"name"`
	Label    string `json:"label,omitempty"` // as of a [Finding]
	Grid     string `json:"grid,omitempty"`
	Block    string `json:"block,omitempty"`
	Role     string `json:"role,omitempty"` // path of ranges around most of its launches
	Share    Number `json:"share"`          // of the kernel time of the workload
	Time     Number `json:"time"`           // of one launch
	Launches Number `json:"launches"`
	Total    Number `json:"total"`
	Owned    Number `json:"owned"` // of the step's period
	// Communicates is true for kernels that move data between GPUs.
	Communicates bool `json:"communicates,omitempty"`
	// Collective is what else is known of these, nil of others.
	Collective *SummaryCollective `json:"collective,omitempty"`
}

// SummaryCollective is a kernel that moves data between GPUs. Its times above are without the waiting, where its counterparts in
// the other ranks are known.
type SummaryCollective struct {
	Operation string `json:"operation"` // "AllReduce"
	Wait      Number `json:"wait"`      // for the rank that came last, the mean over ranks
	Bytes     Number `json:"bytes"`     // of its messages as the caller gave them
	Rate      Number `json:"rate"`      // algorithm bandwidth: Bytes over the total time, in B/s
}

// SummaryRange is an NVTX range in its place.
type SummaryRange struct {
	// Name is "" for what was launched outside of all ranges.
	Name  string `json:"name"`
	Time  Number `json:"time"`  // of the kernels launched in it and in the ranges below
	Share Number `json:"share"` // of the kernel time of the workload
	// Ranges are those directly below.
	Ranges []SummaryRange `json:"ranges,omitempty"`
}

// SummaryCopy is one kind of copies, or the memsets.
type SummaryCopy struct {
	Kind   string `json:"kind"` // "memcpy HtoD"
	Count  Number `json:"count"`
	Bytes  Number `json:"bytes"`
	Time   Number `json:"time"`
	Rate   Number `json:"rate"`  // B/s
	Share  Number `json:"share"` // of the time of all kernels and copies
	Owned  Number `json:"owned"` // of the step's period: what nothing hides
	Memory string `json:"memory,omitempty"`
}

// SummaryValue is one metric.
type SummaryValue struct {
	Scope  measure.Scope `json:"scope"`
	Name   string        `json:"name,omitempty"` // of an output, a call or a part of the workload, "" for the whole
	Role   string        `json:"role,omitempty"` // path of ranges around most of the calls
	Metric string        `json:"metric"`
	Unit   string        `json:"unit"`
	Value  Number        `json:"value"`
}

// Summarize sums up the sessions of one workload, which stand oldest first. Those of another GPU model, profiler or step than the
// newest are left out, with a doubt. The summary is complete but for its sentences and warnings about the recording. The error
// is a *model.Refusal where a session cannot be used, or there is none.
func Summarize(sessions []model.Session) (*Summary, error) {
	for i := range sessions {
		if err := sessions[i].Check(); err != nil {
			return nil, Reasons.Refuse("bad-session", "the recording", err.Error())
		}
	}
	if len(sessions) == 0 {
		return nil, Reasons.Refuse("no-session", "recording")
	}
	alike := likeLast(sessions, &sessions[len(sessions)-1])
	s := summaries(alike)
	out := s.of(s.all())
	out.Ranges = s.ranges(s.all(), out)
	out.label()
	out.Recorded = Describe(alike)
	out.Patterns = most(s.patterns(1))
	out.Ranks = ranks(nil, s.side, thresholds.Default())
	out.Doubts = append(out.Doubts, unmatched(s.side)...)
	if len(alike) < len(sessions) {
		out.Doubts = append(out.Doubts, remark("unlike-sessions", Args{"shown": Number(len(alike)), "sessions": Number(len(sessions))}))
	}
	restless := 0
	for _, x := range alike {
		for _, r := range x.Runs {
			if !r.Steady && !r.Unprofiled {
				restless++
			}
		}
	}
	if restless > 0 {
		out.Doubts = append(out.Doubts, remark("restless", Args{"some": Number(restless), "runs": Number(s.side.runs())}))
	}
	return out, nil
}

// likeLast keeps the sessions of the GPU model, profiler and step of another.
func likeLast(sessions []model.Session, last *model.Session) []model.Session {
	return slices.DeleteFunc(slices.Clone(sessions), func(s model.Session) bool {
		return s.GPU != last.GPU || s.Profiler() != last.Profiler() || s.Step != last.Step
	})
}

// own adds what a subject has of the step to its part.
func (x *Summary) own(subject measure.Subject, time Number) {
	if !time.Known() {
		return
	}
	class, where := subject.Idle()
	p := SummaryPart{Class: cmp.Or(class, classOf(subject)), Where: where}
	p.Idle = class != "" && class != trace.Profiler.String()
	i := slices.IndexFunc(x.Parts, func(o SummaryPart) bool { return o.Class == p.Class && o.Where == p.Where })
	if i < 0 {
		i = len(x.Parts)
		x.Parts = append(x.Parts, p)
	}
	x.Parts[i].Time += time
}

// settle fills in the shares and puts the largest first.
func (x *Summary) settle() {
	part := func(n, of Number) Number {
		if !(of > 0) {
			return unknown
		}
		return n / of
	}
	if len(x.Parts) > 0 {
		x.Period = 0
		for _, p := range x.Parts {
			x.Period += p.Time
		}
	}
	for i := range x.Parts {
		x.Parts[i].Share = part(x.Parts[i].Time, x.Period)
	}
	whole, work := x.GPUTime, Number(0)
	if !whole.Known() { // one launch of each kernel stands for the workload
		whole = 0
		for _, k := range x.Kernels {
			whole += k.Total
		}
	}
	for i := range x.Kernels {
		x.Kernels[i].Share = part(x.Kernels[i].Total, whole)
	}
	for _, c := range x.Copies {
		if c.Time.Known() {
			work += c.Time
		}
	}
	for i := range x.Copies {
		x.Copies[i].Share = part(x.Copies[i].Time, whole+work)
	}
	falling := func(a, b Number) int { return cmp.Compare(b, a) }
	large.Sort(x.Parts, func(a, b SummaryPart) int { return falling(a.Time, b.Time) })
	large.By(x.Kernels, func(k *SummaryKernel) float64 { return -float64(k.Total) })
	large.Sort(x.Copies, func(a, b SummaryCopy) int { return falling(a.Time, b.Time) })
}

// place is a range while the tree of them grows.
type place struct {
	name  string
	time  Number // of the kernels whose place it is, and of those below
	below []*place
}

// under finds the place of a name below another, which it makes and counts where there is none.
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

// ranges puts the ranges into each other by the places of the kernels. A name that has one place has the kernel time that was
// measured of it; of a name in several places only that of the kernels is known that are most often launched there.
func (s *summarizer) ranges(runs []int, x *Summary) []SummaryRange {
	measured := map[string]Number{}
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

// ranges is what lies below a place.
func (p *place) ranges(measured map[string]Number, places map[string]int, whole Number) (out []SummaryRange) {
	for _, x := range p.below {
		r := SummaryRange{Name: x.name, Time: x.time, Share: unknown, Ranges: x.ranges(measured, places, whole)}
		if n, ok := measured[x.name]; ok && places[x.name] < 2 {
			r.Time = n
		}
		if whole > 0 {
			r.Share = r.Time / whole
		}
		out = append(out, r)
	}
	large.Sort(out, func(a, b SummaryRange) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// firstRange takes the first name off a path of ranges. Names may hold the slash that stands between them: the longest that was
// measured is meant.
func firstRange(path string, measured map[string]Number) (name, rest string) {
	name, rest, _ = strings.Cut(path, "/")
	for at := len(path); at > len(name); at = strings.LastIndexByte(path[:at], '/') {
		if _, ok := measured[path[:at]]; ok {
			return path[:at], strings.TrimPrefix(path[at:], "/")
		}
	}
	return name, rest
}

// sumOf adds up what is known.
func sumOf[T any](list []T, value func(T) Number) Number {
	sum := 0.0
	for _, x := range list {
		if v := float64(value(x)); !math.IsNaN(v) {
			sum += v
		}
	}
	return Number(sum)
}
