package insight

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/explain/code"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Failure is a reason for a failed gate with all that is known of it.
type Failure struct {
	Report   *result.Report
	Findings []*result.Finding // the one that names it first; none where the report fails without a comparison
	Part     string            // class of the part that is most of a longer step, "" for none
	Rank     bool              // a rank computes longer, or is late
	Loops    bool              // several kernels are launched more often, by one factor
}

//go:embed advice.txt
var adviceText string

// advice is a row of the table of advice: what failed, what is known of it, and what an engineer would say.
type advice struct{ fails, known, text string }

// advices are in their order: ranks, then what lies outside of kernels, then kernels by the strength of the evidence:
// counters, device code, names.
var advices = sync.OnceValue(func() (out []advice) {
	for row := range strings.Lines(adviceText) {
		cells := strings.Split(strings.TrimSpace(row), "\t")
		out = append(out, advice{cells[0], cells[1], cells[2]})
	}
	return out
})

// Do is the advice on a failure: that of the first row that applies. The last row of each class needs nothing but the
// class, and the last of all nothing.
func Do(f Failure) string {
	return advices()[slices.IndexFunc(advices(), func(a advice) bool { return a.applies(&f) })].text
}

// applies reports whether a row is of a failure. Counters name rules, idle time its class.
func (a advice) applies(f *Failure) bool {
	switch is := conditions[strings.TrimSuffix(a.fails+", "+a.known, ", ")]; {
	case is != nil:
		return is(f)
	case a.fails == "idle":
		return f.Part == a.known
	}
	return f.ruled(strings.Split(a.known, ", ")...)
}

// conditions are those of the other rows. What makes them is not inlined, which would add 30 kB to the binary.
var conditions = map[string]func(*Failure) bool{
	"rank, late":                             func(f *Failure) bool { return f.Rank && f.Report.Ranks.Straggler.Late },
	"rank, computes longer":                  func(f *Failure) bool { return f.Rank },
	"bound, no limit on a change":            anyOf(lead(bounded), keyed("bound-without-baseline")),
	"device code, a limit of the policy":     keyed("code-limit"),
	"drift, a limit of the policy":           keyed(result.KeyOverDrift),
	"copies, a few bytes to the host, often": scalar("DtoH"),
	"copies, a few bytes to the GPU, often":  scalar("HtoD"),
	"count, synchronising calls":             allOf(lead(whole), grows(measure.SyncCalls)),
	"copies, pageable memory": allOf(scoped(measure.ScopeWorkload),
		anyOf(grows(measure.PageableBytes), stated(unpinned))),
	"memset":                         copied("memset"),
	"copies, more of them":           allOf(copied(""), grows(measure.Copies)),
	"copies, more bytes":             allOf(copied(""), grows(measure.CopyBytes)),
	"copies, between GPUs or on one": anyOf(copied("DtoD"), copied("PtoP")),
	"copies, as many bytes":          copied(""),
	"count, allocations":             allOf(lead(whole), grows(measure.Allocations)),
	"memory":                         metric(measure.MemoryPeak),
	"output, memory":                 named(measure.ScopeOutput, "memory", "vram", "gib", "mib"),
	"server, latency": named(measure.ScopeOutput, "latency", "ttft", "tpot", "itl",
		"first token", "inter token"),
	"server, throughput":               named(measure.ScopeOutput, "req", "qps"),
	"output, no speed":                 of(measure.ScopeOutput, noSpeed),
	"output":                           scoped(measure.ScopeOutput),
	"benchmark row, server latency":    named(measure.ScopeBenchmark, "latency", "ttft", "tpot", "itl"),
	"benchmark row, server throughput": named(measure.ScopeBenchmark, "throughput", "req s", "qps"),
	"benchmark row, memory":            metric(measure.Memory),
	"benchmark row, profiled": of(measure.ScopeBenchmark,
		func(x *result.Finding) bool { return x.Cause != nil }),
	"benchmark row, ratio":           anyOf(metric(measure.Ratio), metric(measure.RateRatio)),
	"benchmark row, no speed":        of(measure.ScopeBenchmark, noSpeed),
	"benchmark row":                  scoped(measure.ScopeBenchmark),
	"section, start-up":              anyOf(metric(measure.StartupTime), metric(measure.InitTime)),
	"section":                        scoped(measure.ScopeSection),
	"device":                         scoped(measure.ScopeDevice),
	"counters, spills":               spilled(true),
	"counters, local array":          spilled(false),
	"code, spills":                   anyOf(attribute(measure.LocalMemory), attribute(measure.SpillBytes), spills),
	"code, more registers":           attribute(measure.Registers),
	"code, changed lines":            stated(func(r reason.ChangedLines) bool { return !r.Launch }),
	"code, changed lines, called":    fact[reason.ChangedLines],
	"kernel, same code, lower clock": stated(func(r reason.SameCode) bool { return r.HeadClock > 0 }),
	"kernel, same code":              fact[reason.SameCode],
	"kernel, other code, no line": stated(
		func(r reason.NoChangedLines) bool { return !r.Launch && !r.Definition }),
	"kernel, changed lines elsewhere": stated(
		func(r reason.NoChangedLines) bool { return r.Definition && len(r.Elsewhere) > 0 }),
	"kernel, changed lines elsewhere, called": stated(
		func(r reason.NoChangedLines) bool { return r.Launch && len(r.Elsewhere) > 0 }),
	"kernel, another operation":        fact[reason.OtherParts],
	"kernel, an operation more":        fact[reason.AddedOperation],
	"kernel, other code":               anyOf(fact[reason.CodeChangedHere], fact[reason.NoLines]),
	"kernels, more launches of all":    func(f *Failure) bool { return f.Loops },
	"kernel replaced, several for one": of(measure.ScopeKernel, unfused),
	"kernel replaced":                  of(measure.ScopeKernel, (*result.Finding).Replaces),
	"kernel, more launches":            grows(measure.Launches),
	"kernel, small kernels":            grows(measure.SmallKernels),
	"kernel, new": of(measure.ScopeKernel,
		func(x *result.Finding) bool { return x.Base == 0 || x.Outcome == result.New }),
	"kernel, another launch": anyOf(fact[reason.Geometry],
		lead(func(x *result.Finding) bool { return x.Match == "geometry" })),
	"kernel, collective": of(measure.ScopeKernel,
		func(x *result.Finding) bool { return attribution.Communicates(x.Name) }),
	"kernel, place":    of(measure.ScopeKernel, func(x *result.Finding) bool { return x.Origin.Known() }),
	"kernel, its time": scoped(measure.ScopeKernel),
	"range":            scoped(measure.ScopeRange),
	"step, profiler":   func(f *Failure) bool { return f.Part == "profiler" },
	"step, some steps": metric(measure.MeanStep),
	"step, one part":   allOf(metric(measure.StepTime), func(f *Failure) bool { return f.Part != "" }),
	"step, no cause":   anyOf(metric(measure.StepTime), metric(measure.RunTime)),
	"GPU time, whole runs": allOf(metric(measure.GPUTime), func(f *Failure) bool {
		return slices.ContainsFunc(f.Report.Doubts, result.Is[reason.OneStep])
	}),
	"GPU time, no kernel": metric(measure.GPUTime),
	"anything":            func(*Failure) bool { return true },
}

// keyed reports whether the reason of the verdict has a key.
func keyed(key string) func(*Failure) bool {
	return func(f *Failure) bool { return f.Report.ReasonKey == key }
}

//go:noinline
func anyOf(list ...func(*Failure) bool) func(*Failure) bool {
	return func(f *Failure) bool {
		return slices.ContainsFunc(list, func(is func(*Failure) bool) bool { return is(f) })
	}
}

//go:noinline
func allOf(one, other func(*Failure) bool) func(*Failure) bool {
	return func(f *Failure) bool { return one(f) && other(f) }
}

// lead is a condition on the comparison that names a failure.
//
//go:noinline
func lead(is func(*result.Finding) bool) func(*Failure) bool {
	return func(f *Failure) bool { return len(f.Findings) > 0 && is(f.Findings[0]) }
}

// of is a condition on a comparison of a scope that names a failure.
//
//go:noinline
func of(s measure.Scope, is func(*result.Finding) bool) func(*Failure) bool {
	return lead(func(x *result.Finding) bool { return x.Scope == s && is(x) })
}

// scoped reports whether the failure is of a scope.
//
//go:noinline
func scoped(s measure.Scope) func(*Failure) bool {
	return lead(func(x *result.Finding) bool { return x.Scope == s })
}

// whole reports whether a comparison is of the whole program.
func whole(x *result.Finding) bool { return x.Subject() == measure.Workload }

// noSpeed reports whether a number is no time or rate.
func noSpeed(x *result.Finding) bool { return !x.OfSpeed() }

// metric reports whether a metric names the failure.
//
//go:noinline
func metric(m measure.Metric) func(*Failure) bool {
	return lead(func(x *result.Finding) bool { return x.Metric == m.Name })
}

var spaced = strings.NewReplacer("_", " ", "-", " ", ".", " ", "/", " ", "=", " ", ":", " ")

// named reports whether the failure is of a scope, and a word of its name, metric or unit begins like one of these.
func named(s measure.Scope, words ...string) func(*Failure) bool {
	return of(s, func(x *result.Finding) bool {
		text := " " + spaced.Replace(strings.ToLower(x.Name+" "+x.Metric+" "+x.Unit))
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, " "+word) })
	})
}

// grows reports whether a metric of its subject, or a count that belongs to it, increased.
//
//go:noinline
func grows(m measure.Metric) func(*Failure) bool {
	return func(f *Failure) bool {
		return slices.ContainsFunc(f.Findings, func(x *result.Finding) bool {
			return x.Metric == m.Name && x.Head > x.Base && (x.Outcome == result.Slower || x.Increased())
		})
	}
}

// fact reports whether a fact of its comparisons is of a kind.
func fact[R result.Reason](f *Failure) bool { return stated(func(R) bool { return true })(f) }

// stated reports whether a fact of its comparisons meets a condition.
//
//go:noinline
func stated[R result.Reason](is func(R) bool) func(*Failure) bool {
	fact := func(x result.Remark) bool {
		said, ok := result.As[R](x)
		return ok && is(said)
	}
	return func(f *Failure) bool {
		return slices.ContainsFunc(f.Findings,
			func(x *result.Finding) bool { return slices.ContainsFunc(x.Facts, fact) })
	}
}

// attribute reports whether a property of the launch or of the code increased.
func attribute(m measure.Metric) func(*Failure) bool {
	return stated(func(r reason.Attribute) bool { return r.Metric == m.Name && r.Head > r.Base })
}

// spills reports whether the code of its kernel stores more to local memory.
func spills(f *Failure) bool {
	if !scoped(measure.ScopeKernel)(f) || f.Report.Code == nil {
		return false
	}
	c, changed := code.Of(f.Report.Code, f.Findings[0].Name)
	return changed && c.Head.SpillStores > c.Base.SpillStores
}

// cause is what counters say of its kernel, empty for nothing.
func (f *Failure) cause() (c result.Cause) {
	if i := slices.IndexFunc(f.Findings, func(x *result.Finding) bool { return x.Cause != nil }); i >= 0 {
		c = *f.Findings[i].Cause
	}
	return c
}

// ruled reports whether the first rule that explains its counters has one of some names.
func (f *Failure) ruled(names ...string) bool {
	guides := f.cause().Guides
	return len(guides) > 0 && slices.ContainsFunc(names,
		func(name string) bool { return why.GuideOf(name) == guides[0] })
}

// spilled reports whether its counters show more local memory, of registers that spill or of arrays.
func spilled(registers bool) func(*Failure) bool {
	more := func(m result.CauseMetric) bool { return m.Name == measure.Spills.Name && m.Head > m.Base }
	return func(f *Failure) bool {
		return f.ruled("local memory") && registers == slices.ContainsFunc(f.cause().Metrics, more)
	}
}

// unfused reports whether more kernels do the work of fewer.
func unfused(x *result.Finding) bool { return x.Replaces() && len(x.HeadNames) > len(x.BaseNames) }

// copied reports whether the failure is of copies whose kind has a name.
func copied(kind string) func(*Failure) bool {
	return of(measure.ScopeWorkload,
		func(x *result.Finding) bool { return x.Name != "" && strings.Contains(x.Name, kind) })
}

// find is the comparison of another metric of the first one's subject, nil for none.
func (f *Failure) find(m measure.Metric) *result.Finding {
	return measure.First(f.Report.Findings, func(x *result.Finding) bool {
		return x.Metric == m.Name && x.Subject() == f.Findings[0].Subject()
	})
}

// scalar reports whether copies of a few bytes are made more often.
func scalar(kind string) func(*Failure) bool {
	// The copies of scalars: at most so many bytes each, at least so many more of them a step.
	const scalarBytes, scalarCopies = 64, 5
	return func(f *Failure) bool {
		if !copied(kind)(f) {
			return false
		}
		n, bytes := f.find(measure.Copies), f.find(measure.CopyBytes)
		return n != nil && bytes != nil && n.Head-n.Base >= scalarCopies &&
			(bytes.Head-bytes.Base)/(n.Head-n.Base) <= scalarBytes
	}
}

// unpinned reports whether copies use pageable memory that did not.
func unpinned(r reason.Memory) bool { return reason.IsPageable(r.Head) && !reason.IsPageable(r.Base) }

// bounded reports whether an absolute bound is broken, and not by a certain change.
func bounded(x *result.Finding) bool {
	return x.Bounded() && !(x.Harm() > float64(x.Limit) || x.Low > 0 || x.High < 0)
}
