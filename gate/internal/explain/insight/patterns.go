package insight

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Pattern is something that experts look for in the recording of a whole program. It is no mistake by itself, and never
// fails a gate.
type Pattern struct {
	// Key names the pattern in reports and summaries; it stays the same from release to release.
	Key string
	// Means is its description, and When says from where on it is named.
	Means, When string
	// find returns where a summary has the pattern, with the bounds of When scaled by line; no finding where it has
	// none, or is unknown.
	find func(x *result.Summary, line result.Number) []result.Remark
}

// The limits of the patterns, between values that experts name and values that they do not.
const (
	idleFrom     = 0.15    // of a step
	busyUnder    = 0.5     // of a step
	starvedFrom  = 0.1     // of a step
	dryFrom      = 0.15    // of a step
	copiesFrom   = 0.05    // of a step, by kind of copy
	copiesMany   = 10      // a step, by kind
	hiddenUnder  = 0.5     // of the copies' time
	hiddenFrom   = 100_000 // ns of copies a step
	smallUnder   = 10_000  // ns a launch
	smallMany    = 100     // launches a step
	exposedFrom  = 0.05    // of a step
	overlapUnder = 0.7     // of the communication's time
	overlapFrom  = 100_000 // ns of communication a step
)

// A pattern is there where more than mostRuns of the runs have it, and new where no more than fewRuns of the base's
// come near it: to this part of its line. Else what lies at its line would be new in every other head.
const mostRuns, fewRuns, nearLine = 0.5, 0.2, 0.8

// Patterns is every pattern, one row each, and behind it the tool that draws the line there. Without steps only
// patterns that need none are found.
var Patterns = []Pattern{
	{Key: "low-utilisation", Means: "nothing of the program runs on the GPU for half of the step",
		When: "under 50 % of the step busy", find: lowUtilisation}, // rule gpu_time_util of nsys
	{Key: "gpu-idle", Means: "the GPU is idle", When: "over 15 % of the step", find: gpuIdle}, // TraceLens
	{Key: "launch-starved", Means: "the host issues work later than the GPU could begin it",
		When: "from 10 % of the step on", find: launchStarved}, // TraceML
	{Key: "synchronising", Means: "the host waits for the GPU, and the GPU then for the host",
		When: "over 15 % of the step idle in and after synchronising calls", find: synchronising}, // nsys-ai
	{Key: "synchronising-calls", Means: "the host waits for a stream or for the whole GPU",
		When: "at least once a step", // rule cuda_api_sync of nsys
		find: callsOfKind(waitCall, func(c call) result.Reason { return SynchronisingCalls{c} })},
	{Key: "synchronous-copies", Means: "the host waits in a copy or memset that is not asynchronous",
		When: "at least once a step", // rule cuda_memcpy_sync of nsys
		find: callsOfKind(copyCall, func(c call) result.Reason { return SynchronousCopies{c} })},
	{Key: "copy-bottleneck", Means: "copies of one kind take a good part of the step",
		When: "over 5 % of the step, or of the GPU's work without steps", find: copyBottleneck}, // TraceLens
	{Key: "many-copies", Means: "copies of one kind that could be one",
		When: "over 10 a step", find: manyCopies}, // TraceLens
	{Key: "exposed-copies", Means: "copies that no kernel runs beside",
		// hidden_transfers of analysers for HIP
		When: "under 50 % hidden, of at least 100 µs a step", find: exposedCopies},
	{Key: "pageable-copies", Means: "copies from or to pageable memory, which keep the host waiting",
		When: "any", find: pageableCopies}, // rule cuda_memcpy_async of nsys
	{Key: "small-kernels", Means: "kernels that are over about as soon as they are launched",
		When: "at least 100 launches a step of kernels under 10 µs", find: smallKernels}, // nsys-ai
	{Key: "exposed-communication", Means: "communication that no kernel runs beside",
		// TraceLens
		When: "over 5 % of the step, under 70 % overlapped, of at least 100 µs", find: exposedCommunication},
}

// stepOf is the step without the profiler's part; unknown where its owners are not known.
func stepOf(x *result.Summary) result.Number {
	if len(x.Parts) == 0 {
		return result.Unknown
	}
	return x.Period - partOf(x, func(p result.SummaryPart) bool { return p.Class == attribution.Profiler.String() })
}

// partOf adds up parts of the step.
func partOf(x *result.Summary, these func(result.SummaryPart) bool) result.Number {
	return sumOf(x.Parts, these, func(p result.SummaryPart) result.Number { return p.Time })
}

// largestPart is the first of some parts, which stand largest first; the zero part where there is none.
func largestPart(x *result.Summary, these func(result.SummaryPart) bool) result.SummaryPart {
	if i := slices.IndexFunc(x.Parts, these); i >= 0 {
		return x.Parts[i]
	}
	return result.SummaryPart{}
}

func idling(p result.SummaryPart) bool   { return p.Idle }
func starving(p result.SummaryPart) bool { return p.Class == attribution.Starved.String() }

// drying reports whether the GPU has nothing to do because the host waited for it.
func drying(p result.SummaryPart) bool {
	return p.Class == attribution.Blocking.String() ||
		starving(p) && attribution.Synchronises(measure.ParsePlace(p.Where).CUDA())
}

func lowUtilisation(x *result.Summary, line result.Number) []result.Remark {
	share := 1 - partOf(x, idling)/stepOf(x)
	return result.SayIf(share < busyUnder/line, LowUtilisation{share})
}

func gpuIdle(x *result.Summary, line result.Number) []result.Remark {
	share := partOf(x, idling) / stepOf(x)
	p := largestPart(x, idling)
	return result.SayIf(share > idleFrom*line, GPUIdle{share, p.Class, p.Where})
}

func launchStarved(x *result.Summary, line result.Number) []result.Remark {
	share := partOf(x, starving) / stepOf(x)
	return result.SayIf(share >= starvedFrom*line, LaunchStarved{share, largestPart(x, starving).Where})
}

func synchronising(x *result.Summary, line result.Number) []result.Remark {
	share := partOf(x, drying) / stepOf(x)
	return result.SayIf(share > dryFrom*line, Synchronising{share, largestPart(x, drying).Where})
}

// Which calls wait for a stream or the whole GPU, and which copy. Waiting for an event is how streams are kept in step.
var (
	waitCall = input.Pattern(`^(?:cu|cuda|hip)(?:Device|Stream|Ctx|Context)Synchronize`)
	copyCall = input.Pattern(`^(?:cu|cuda|hip)Mem(?:cpy|set)`)
)

// callsOfKind finds the synchronising calls of a kind that every step makes, or so many of the steps.
func callsOfKind(kind func() *regexp.Regexp, reason func(call) result.Reason) func(*result.Summary,
	result.Number) []result.Remark {
	return func(x *result.Summary, most result.Number) (out []result.Remark) {
		for _, v := range x.Others {
			if x.Recorded.Step != "" && v.Scope == measure.ScopeCall && v.Metric == measure.SyncCalls.Name &&
				v.Value >= most && kind().MatchString(v.Name) {
				out = append(out, result.Say(reason(call{v.Name, v.Value, v.Role})))
			}
		}
		return out
	}
}

func isCopy(c result.SummaryCopy) bool { return c.Kind != model.Memset.String() }

func copyBottleneck(x *result.Summary, line result.Number) (out []result.Remark) {
	for _, c := range x.Copies {
		share := measure.Either(x.Recorded.Step != "" && x.Period > 0, c.Time/x.Devices/x.Period, c.Share)
		if isCopy(c) && share > copiesFrom*line {
			out = append(out, result.Say(CopyBottleneck{c.Kind, share, x.Recorded.Step, c.Rate}))
		}
	}
	return out
}

func manyCopies(x *result.Summary, line result.Number) []result.Remark {
	many := measure.Where(x.Copies, func(c result.SummaryCopy) bool {
		return isCopy(c) && x.Recorded.Step != "" && c.Count > copiesMany*line
	})
	say := func(c result.SummaryCopy) result.Remark { return result.Say(ManyCopies{c.Kind, c.Count}) }
	return measure.Map(many, say)
}

func exposedCopies(x *result.Summary, line result.Number) []result.Remark {
	time := sumOf(x.Copies, isCopy, func(c result.SummaryCopy) result.Number { return c.Time / x.Devices })
	hidden := 1 - sumOf(x.Copies, isCopy, func(c result.SummaryCopy) result.Number { return c.Owned })/time
	exposed := stepOf(x).Known() && time >= hiddenFrom*line && hidden < hiddenUnder/line
	return result.SayIf(exposed, ExposedCopies{max(hidden, 0), time, measure.CopyTime.Unit})
}

// pageableCopies names the kinds that copy mostly so. Sessions of older releases do not know how much that is in all.
func pageableCopies(x *result.Summary, _ result.Number) []result.Remark {
	kinds, bytes := []string{}, result.Number(0)
	for _, c := range x.Copies {
		if isCopy(c) && c.Bytes > 0 && slices.Contains(strings.Fields(c.Memory), model.Pageable.String()) {
			kinds, bytes = append(kinds, c.Kind+" at "+measure.Quantity(float64(c.Rate), measure.DRAMBandwidth.Unit)),
				bytes+c.Bytes
		}
	}
	if i := slices.IndexFunc(x.Others,
		func(v result.SummaryValue) bool { return v.Metric == measure.PageableBytes.Name }); i >= 0 {
		bytes = x.Others[i].Value
	}
	return result.SayIf(bytes > 0, PageableCopies{bytes, measure.PageableBytes.Unit, kinds, x.Recorded.Step})
}

func smallKernels(x *result.Summary, line result.Number) []result.Remark {
	small := func(k result.SummaryKernel) bool { return k.Time < smallUnder }
	launches := sumOf(x.Kernels, small, func(k result.SummaryKernel) result.Number { return k.Launches })
	return result.SayIf(x.Recorded.Step != "" && launches >= smallMany*line, SmallKernels{launches, x.Launches,
		sumOf(x.Kernels, small, func(k result.SummaryKernel) result.Number { return k.Share })})
}

func exposedCommunication(x *result.Summary, line result.Number) []result.Remark {
	moves := func(k result.SummaryKernel) bool { return k.Communicates }
	time := sumOf(x.Kernels, moves, func(k result.SummaryKernel) result.Number { return k.Total / x.Devices })
	exposed := sumOf(x.Kernels, moves, func(k result.SummaryKernel) result.Number { return k.Owned })
	overlap := max(1-exposed/time, 0)
	// of several ranks the time of a collective is without the waiting, which may be hidden as well
	if hidden := x.Hidden; hidden > 0 {
		time, overlap = exposed+hidden, hidden/(exposed+hidden)
	}
	return result.SayIf(time >= overlapFrom*line && exposed/stepOf(x) > exposedFrom*line && overlap < overlapUnder/line,
		ExposedCommunication{exposed / stepOf(x), overlap})
}

// seen is a pattern in the runs of one side.
type seen struct {
	remark  result.Remark // of the typical run, or where that has it not of the first that has
	typical bool          // the typical run has it
	runs    int           // that have it
	of      int
}

// patterns looks for every pattern, with its bounds scaled by line, in every run and in the typical one.
func (s *summarizer) patterns(line result.Number) []seen {
	runs := s.side.ProfiledRuns()
	var all []*result.Summary
	for run := range runs {
		all = append(all, s.of([]int{run}))
	}
	typical := s.of(s.all)
	var out []seen
	for _, p := range Patterns {
		begin := len(out)
		find := func(r result.Remark) *seen {
			i := slices.IndexFunc(out[begin:], func(p seen) bool { return sameThing(p.remark, r) })
			if i < 0 {
				i, out = len(out)-begin, append(out, seen{remark: r, of: runs})
			}
			return &out[begin+i]
		}
		for _, r := range p.find(typical, line) {
			find(r).typical = true
		}
		for _, x := range all {
			for _, r := range p.find(x, line) {
				find(r).runs++
			}
		}
	}
	return out
}

// sameThing reports whether two remarks say one pattern of one thing.
func sameThing(a, b result.Remark) bool { return a.Key == b.Key && a.Args["kind"] == b.Args["kind"] }

func most(patterns []seen) []result.Remark {
	often := measure.Where(patterns, func(p seen) bool { return float64(p.runs) > mostRuns*float64(p.of) })
	return measure.Map(often, func(p seen) result.Remark { return p.remark })
}

// NewPatterns are the patterns of most runs of the head that hardly any run of the base comes near, nor its typical
// run. The typical run counts because no single run has all of a partly accepted base. Sides have none if one is empty,
// or if they differ in step, profiler or GPU model. It judges nothing.
func NewPatterns(base, head []model.Session) []result.Remark {
	if len(head) == 0 {
		return nil
	}
	last := &head[len(head)-1]
	base, head = likeLast(base, last), likeLast(head, last)
	if len(base) == 0 {
		return nil
	}
	before := summaries(base).patterns(nearLine)
	return slices.DeleteFunc(most(summaries(head).patterns(1)), func(r result.Remark) bool {
		return slices.ContainsFunc(before, func(p seen) bool {
			return sameThing(p.remark, r) && (p.typical || float64(p.runs) > fewRuns*float64(p.of))
		})
	})
}
