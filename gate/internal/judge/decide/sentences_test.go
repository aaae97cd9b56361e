package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// The sentences of a report hold of its numbers, whatever they are.
func TestSentencesAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := quiet()
		base.runs = rapid.IntRange(2, 8).Draw(t, "base runs")
		base.sd = rapid.SampledFrom([]float64{0, 0.001, 0.003, 0.01, 0.03}).Draw(t, "base sd")
		together := rapid.SampledFrom([]float64{1, 1, 1, 1.02, 1.1}).Draw(t, "common factor")
		grid := rapid.SampledFrom([]uint32{1, 1, 1, 2}).Draw(t, "grid")
		renamed := rapid.SampledFrom([]string{"", "", "", "other"}).Draw(t, "renamed")
		head := base.with(func(p *program) {
			p.seed = rapid.Uint64().Draw(t, "seed")
			p.runs = rapid.IntRange(2, 8).Draw(t, "head runs")
			p.sd = rapid.SampledFrom([]float64{0, 0.001, 0.003, 0.01, 0.03}).Draw(t, "head sd")
			p.host = rapid.SampledFrom([]string{base.host, "GPU-b"}).Draw(t, "host")
			p.start = p.start.Add(rapid.SampledFrom([]time.Duration{0, 10 * time.Minute, 48 * time.Hour}).Draw(t,
				"later"))
			for i := range p.kernels {
				p.kernels[i].time *= together * rapid.SampledFrom([]float64{1, 1, 0.9, 1.02, 1.1, 3}).Draw(t, "factor")
				p.kernels[i].launches += float64(rapid.IntRange(0, 9).Draw(t, "more") / 8)
			}
			p.kernels[1].grid = grid
			p.kernels[2].name += renamed
		})
		sides := [2][]model.Session{{base.session()}, {head.session()}}
		if rapid.Bool().Draw(t, "two hosts") {
			sides[0] = append([]model.Session{base.with(func(p *program) {
				p.host, p.start = "GPU-c", p.start.Add(-time.Hour*48)
				p.kernels[0].time *= rapid.SampledFrom([]float64{1, 1.002, 1.015}).Draw(t, "host's own")
			}).session()}, sides[0]...)
		}
		if rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "unmeasured") {
			for k := range sides[0][0].Series {
				sides[0][0].Series[k].Unmeasured = true
			}
		}
		ranks := rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "ranks")
		printed := rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "unprofiled runs at least")
		for i := range sides {
			for j := range sides[i] {
				disturb(t, &sides[i][j], ranks)
				if printed > 0 {
					printing(&sides[i][j], printedRates(t, printed)...)
				}
			}
		}
		policy := thresholds.Default()
		policy.Threshold = rapid.SampledFrom([]float64{0.005, 0.01, 0.03}).Draw(t, "limit")
		policy.Rules = rapid.SampledFrom([][]thresholds.Rule{nil,
			{{Kernel: "gemm", Metric: "time", AtMost: &measure.Amount{Value: 160000, Unit: "ns"}, Where: "x.toml:1"}},
			{{Kernel: "reduce", Severity: thresholds.Warn, Where: "x.toml:1"}},
			{{Kernel: "gone", Severity: thresholds.Warn, Where: "x.toml:1"}}}).Draw(t, "rules")
		r := evaluate(sides[0], sides[1], policy)
		if r.ReasonKey == "no-session" || r.Verdict == result.NoVerdict && len(r.Findings) == 0 {
			return
		}
		if wrong := untrue(sides[0], sides[1], policy, r); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// printedRates are those of some runs, or a few more, of which some are slow by one amount or by amounts of their own.
func printedRates(t *rapid.T, least int) (rates []float64) {
	sd := rapid.SampledFrom([]float64{0, 0.001, 0.01, 0.03}).Draw(t, "rates' sd")
	level := rapid.SampledFrom([]float64{100, 100, 99, 90, 110}).Draw(t, "rate")
	slow := rapid.SampledFrom([]float64{1, 1, 0.95, 0.7, 1.2}).Draw(t, "slow rate")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rates"), 1))
	part := rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(t, "slow part")
	for range least + rapid.IntRange(0, 4).Draw(t, "more unprofiled runs") {
		v := level * math.Exp(sd*r.NormFloat64())
		if r.Float64() < part {
			v *= slow
		}
		rates = append(rates, v)
	}
	return rates
}

// everSaid has the keys of the remarks of all reports that the tests judged.
var everSaid sync.Map

// record adds the remarks of a report to everSaid.
func record(r *result.Report) {
	keys := []string{r.ReasonKey}
	add := func(remarks ...result.Remark) {
		for _, x := range remarks {
			keys = append(keys, x.Key)
		}
	}
	add(slices.Concat(r.Doubts, r.Remarks)...)
	if r.Ranks != nil {
		add(r.Ranks.Remarks...)
	}
	for _, side := range []result.Side{r.Base, r.Head} {
		if side.Skip != nil {
			add(*side.Skip)
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		keys = append(keys, f.ReasonKey)
		add(slices.Concat(f.Also, f.Facts)...)
	}
	for _, key := range keys {
		everSaid.LoadOrStore(key, true)
	}
}

// neverSaid are the keys of claims that no test has said so far.
func neverSaid() (out []string) {
	for key := range claims {
		if _, ok := everSaid.Load(key); !ok {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// untrue is the first remark of a report whose numbers do not hold of the sessions, "" where all do.
func untrue(base, head []model.Session, policy *thresholds.Policy, r *result.Report) (wrong string) {
	of := claim{r: r, base: base, head: head, policy: policy}
	check := func(x result.Remark, f *result.Finding) {
		of.x, of.f = x, f
		holds, ok := claims[x.Key]
		for name, arg := range x.Args {
			switch arg.(type) {
			case result.Number:
				if !ok {
					wrong = x.Key + " has numbers and no claim"
				}
			case string, []string, bool:
			default:
				wrong = fmt.Sprintf("%s: the argument %s is %T", x.Key, name, arg)
			}
		}
		_, interval := x.Args["low"].(result.Number)
		if interval = interval && x.Args["high"] != nil && f != nil; ok &&
			(!holds(of) || interval && !(of.is("low", of.low()) && of.is("high", of.high()))) {
			wrong = fmt.Sprintf("%s %v is not so: %+v: %s", x.Key, x.Args, f, r.Reason)
		}
	}
	check(result.Remark{Key: r.ReasonKey, Args: r.ReasonArgs}, nil)
	for _, x := range slices.Concat(r.Doubts, r.Remarks) {
		check(x, nil)
	}
	if r.Ranks != nil {
		for _, x := range r.Ranks.Remarks {
			check(x, nil)
		}
	}
	for i, side := range []result.Side{r.Base, r.Head} {
		of.side = i
		if side.Skip != nil {
			check(*side.Skip, nil)
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, x := range slices.Concat([]result.Remark{{Key: f.ReasonKey, Args: f.ReasonArgs}}, f.Also, f.Facts) {
			check(x, f)
		}
	}
	return wrong
}

// disturb gives a session what programs and hosts do: slow runs of one kernel or of all, other registers, steps and
// boards.
func disturb(t *rapid.T, s *model.Session, ranks int) {
	n := len(s.Runs)
	slow := rapid.IntRange(0, n).Draw(t, "slow runs")
	whole := rapid.SampledFrom([]int{-1, -1, -1, 0}).Draw(t, "run that is off")
	registers := rapid.SampledFrom([]float64{32, 32, 40}).Draw(t, "registers")
	by := rapid.SampledFrom([]float64{1, 1, 1.05, 1.3}).Draw(t, "by")
	kernel := measure.Subject{Scope: measure.ScopeKernel, Name: "gemm(float*)", Grid: measure.Dim3{X: 1, Y: 1, Z: 1},
		Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
	for _, x := range s.Series {
		for run := range x.Values {
			switch {
			case x.Metric == measure.Registers:
				x.Values[run] = registers
			case x.Metric.Unit != measure.Time.Unit:
			case run == whole:
				x.Values[run] *= 1.1
			case run < slow && x.Subject == kernel:
				x.Values[run] *= by
			}
		}
	}
	period := rapid.SampledFrom([]float64{500000, 500000, 700000}).Draw(t, "step")
	add := func(subject measure.Subject, m measure.Metric, v float64) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m,
			Values: slices.Repeat(model.Values{v}, n)})
	}
	add(measure.Workload, measure.StepTime, period)
	compute := rapid.SampledFrom([]float64{300e3, 320e3, 450e3}).Draw(t, "compute")
	add(kernel, measure.Owned, compute)
	add(measure.IdleSubject(rapid.SampledFrom([]string{measure.IdleLaunch, measure.IdleDependency}).Draw(t, "idle"),
		measure.Place{}),
		measure.Owned, period-compute)
	syncs := rapid.SampledFrom([]float64{0, 0, 1, 3}).Draw(t, "synchronising calls")
	add(measure.Workload, measure.SyncCalls, syncs)
	if syncs > 0 {
		add(measure.Subject{Scope: measure.ScopeCall, Name: "cudaStreamSynchronize"}, measure.SyncCalls, syncs)
	}
	add(measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy DtoD"}, measure.CopyTime,
		rapid.SampledFrom([]float64{10e3, 10e3, 12e3, 30e3}).Draw(t, "copies"))
	rankedSession(t, s, kernel, ranks)
	s.SortSeries()
	total := rapid.SampledFrom([]int{60, 60, 50}).Draw(t, "steps")
	for i := range s.Runs {
		s.Runs[i].Skipped, s.Runs[i].Total = rapid.IntRange(3, 6).Draw(t, "skipped"), total
	}
	s.Board = rapid.SampledFrom([]string{"", "one", "one", "two"}).Draw(t, "board")
	s.Driver = rapid.SampledFrom([]string{"580.1", "580.2"}).Draw(t, "driver")
}

// claim is a remark and the data that proves it.
type claim struct {
	r          *result.Report
	base, head []model.Session
	policy     *thresholds.Policy
	side       int
	f          *result.Finding // nil for what is said of the whole
	x          result.Remark
}

const slack = 1e-9

func (c claim) number(key string) float64 { return float64(c.x.Args[key].(result.Number)) }
func (c claim) is(key string, want float64) bool {
	return math.Abs(c.number(key)-want) <= slack*math.Max(1, math.Abs(want))
}

// limit is the limit of the finding, relative.
func (c claim) limit() float64 {
	by, ok := c.f.ReasonArgs["by"]
	if !ok {
		by, ok = c.x.Args["by"]
	}
	switch {
	case !ok:
		return 0
	case by == "limit":
		return float64(c.f.ReasonArgs["size"].(result.Number))
	}
	return float64(c.f.Floor / c.f.Base)
}

func (c claim) low() float64    { return float64(c.f.Low) }
func (c claim) high() float64   { return float64(c.f.High) }
func (c claim) change() float64 { return float64(c.f.Change) }

// worst and least are the ends of the interval in the direction of harm.
func (c claim) worst() float64 {
	return measure.Either(c.f.Direction() == measure.Higher, -c.low(), c.high())
}

func (c claim) least() float64 {
	return measure.Either(c.f.Direction() == measure.Higher, -c.high(), c.low())
}

// sessions are those of a side that were judged.
func (c claim) sessions(side string) []model.Session {
	if side == "head" {
		return c.head
	}
	return slices.DeleteFunc(slices.Clone(c.base), func(s model.Session) bool {
		return c.r.Base.Sessions < len(c.base) && s.Board != c.head[0].Board
	})
}

// left takes the runs that were left out from values of all runs of a side.
func (c claim) left(side string, values []float64) []float64 {
	values = slices.Clone(values)
	for _, off := range c.r.OutlierRuns {
		at := off.Run
		for _, s := range c.sessions(side)[:off.Session] {
			at += s.Profiled()
		}
		if off.Side == side {
			values[at] = math.NaN()
		}
	}
	return slices.DeleteFunc(values, math.IsNaN)
}

// runs are the finding's values of a side, those that are known and were not left out.
func (c claim) runs(side string) []float64 {
	of := c.f.BaseRuns
	if side == "head" {
		of = c.f.HeadRuns
	}
	var values []float64
	for _, v := range of {
		values = append(values, float64(v))
	}
	if m, _ := measure.MetricByName(c.f.Metric); m.Exact || m.Unprofiled() {
		return slices.DeleteFunc(values, math.IsNaN)
	}
	return c.left(side, values)
}

// count counts findings.
func (c claim) count(is func(*result.Finding) bool) int {
	n := 0
	for i := range c.r.Findings {
		if is(&c.r.Findings[i]) {
			n++
		}
	}
	return n
}

// broken counts the head's runs that a bound forbids, of all: a run that is left out is not excused.
func broken(c claim) (some, all int) {
	for _, v := range c.f.HeadRuns {
		if v.Known() {
			all++
			if c.f.AtMost != nil && v > *c.f.AtMost || c.f.AtLeast != nil && v < *c.f.AtLeast {
				some++
			}
		}
	}
	return some, all
}

// claims check the remarks with numbers, by key.
var claims = map[string]func(c claim) bool{
	"straggler": stragglerHolds, "late-rank": lateHolds, "straggler-wait": waitHolds, "unmatched": unmatchedHolds,
	"undecided": func(c claim) bool {
		others := c.count(func(f *result.Finding) bool { return f.Undecided }) > 1
		return c.x.Args["others"] == others && c.r.Findings[int(c.number("finding"))].Undecided
	},
	"doubted": func(c claim) bool { return c.r.Findings[int(c.number("finding"))].Doubted },
	"other-cycle": func(c claim) bool {
		return c.number("base") != c.number("head") &&
			c.count(func(f *result.Finding) bool { return f.Metric == measure.StepTime.Name }) == 0
	},
	"none-slower": func(c claim) bool {
		return c.is("comparisons", float64(c.count(func(f *result.Finding) bool {
			return f.Outcome != result.New && f.Outcome != result.Gone && !f.NotJudged()
		}))) && c.count(func(f *result.Finding) bool {
			return f.Undecided || f.Gates && f.Outcome == result.Slower
		}) == 0
	},

	"beyond": func(c claim) bool {
		return math.Abs(c.change()) > c.limit()-slack && float64(c.f.P) < float64(c.r.Alpha)
	},
	"better": func(c claim) bool { return math.Abs(c.change()) > c.number("limit")-slack },
	"within": func(c claim) bool { return c.worst() <= c.limit()+slack },
	"open": func(c claim) bool {
		return c.least() <= c.limit()+slack && c.worst() >= c.limit()-slack
	},
	"uncertain": func(c claim) bool {
		return c.least() > c.limit()-slack &&
			(float64(c.f.P) >= float64(c.r.Alpha)/2-slack || c.x.Args["overlap"] == true)
	},
	"like-hosts": func(c claim) bool {
		return math.Abs(c.change()) > c.limit()-slack && math.Abs(c.change()) <= c.number("most")+slack &&
			!c.r.Paired && !c.r.Batches
	},
	"drifting": func(c claim) bool {
		return c.number("low") <= c.number("change") && c.number("change") <= c.number("high") && c.number("change") > 0
	},
	"not-judged": func(c claim) bool {
		return c.number("base") <= float64(len(c.runs("base"))) && c.number("head") <= float64(len(c.runs("head")))
	},
	"few-runs": func(c claim) bool {
		return c.number("base") == float64(c.r.Base.Runs+c.r.Base.Unprofiled) &&
			c.number("head") == float64(c.r.Head.Runs+c.r.Head.Unprofiled)
	},
	"unjudged":  func(c claim) bool { return c.r.Findings[int(c.number("finding"))].Undecided },
	"unbounded": func(c claim) bool { _, all := broken(c); return all == 0 },
	"profiled": func(c claim) bool {
		most := 0
		for _, s := range [][]model.Session{c.sessions("base"), c.head}[c.side] {
			for _, run := range s.Runs {
				most = max(most, run.Total)
			}
		}
		return c.is("launches", float64(most))
	},
	"same-runs": func(c claim) bool {
		profiled, all := 0, 0
		for i := range c.head {
			profiled, all = profiled+c.head[i].Profiled(), all+len(c.head[i].Runs)
		}
		return 0 < c.number("same") && c.number("same") <= c.number("runs") &&
			c.number("runs") == float64(measure.Either(profiled > 0, profiled, all))
	},
	"old-base": func(c claim) bool { return c.number("days") >= c.number("most") && c.number("most") > 0 },
	"other-command": func(c claim) bool {
		return c.base[len(c.base)-1].Command != c.head[len(c.head)-1].Command
	},
	"slow-runs": func(c claim) bool {
		return c.number("some") > 0 && c.number("some") <= c.number("all") &&
			(c.x.Args["faster"] == true) == (c.f.Change < 0)
	},
	"other-unit": func(c claim) bool {
		return c.change() < 0 && c.is("times", 1/(1+c.change())) || c.change() > 0 && c.is("times", 1+c.change())
	},
	"rows-together": func(c claim) bool {
		with := c.count(func(f *result.Finding) bool {
			by := math.Log1p(float64(f.Change)) / math.Log1p(c.change())
			return f.Scope == measure.ScopeBenchmark && math.Abs(by-1) < 0.5
		})
		return c.is("together", float64(with)) && c.is("change", c.change()) && c.number("rows") >= float64(with)
	},
	"under-cost": func(c claim) bool {
		return !c.f.Gates && c.is("cost", float64(c.f.Cost)) && c.number("cost") < c.number("least")+slack
	},
	"most-runs": func(c claim) bool {
		n, base, spared := 0, slices.Sorted(slices.Values(c.runs("base"))), int(c.number("spared"))
		middle := math.Exp(stats.Median(stats.Transform([][]float64{base}, math.Log)[0]))
		for _, run := range c.f.HeadRuns { // runs that are left out of the estimate are counted
			slower := float64(run) > middle*(1+c.limit())-slack && float64(run) > base[len(base)-1-spared]
			if c.f.Direction() == measure.Higher {
				slower = float64(run) < middle*(1-c.limit())+slack && float64(run) < base[spared]
			}
			if slower {
				n++
			}
		}
		some, all := int(c.number("some")), int(c.number("all"))
		// Several runs are enough of a step, in a mode, or as hardly ever by chance.
		sure := c.f.Metric == measure.StepTime.Name || c.f.Metric == measure.MeanStep.Name ||
			c.f.Mode != nil && c.f.Mode.Kind == "appeared" || stats.Fisher(some, all, 0, len(base)) <= 0.05+slack
		return n >= some && (2*some > all || sure && some > 1) && all <= len(c.f.HeadRuns)
	},
	"bounds-kept": func(c claim) bool {
		some, _ := broken(c)
		return some == 0 && (c.f.AtMost == nil || c.is("at_most", float64(*c.f.AtMost)))
	},
	"bounds-broken": func(c claim) bool {
		some, all := broken(c)
		return c.is("some", float64(some)) && c.is("all", float64(all)) && some > 0 && c.is("head", float64(c.f.Head))
	},

	"traded": func(c claim) bool {
		return !c.f.Gates && c.number("high") <= math.Max(float64(c.f.Limit), 0.005)+slack
	},
	"open-whole": func(c claim) bool {
		// A larger whole that is undecided does not let a smaller one forgive.
		i := slices.IndexFunc(c.r.Findings, func(f result.Finding) bool {
			return f.Metric == c.x.Args["metric"] && f.Title() == c.x.Args["kernel"]
		})
		device := c.f.Scope == measure.ScopeDevice || c.f.Metric == measure.Imbalance.Name // which may exchange times
		return c.f.Outcome == result.Undecided && c.f.Undecided && (device || c.f.Doubted &&
			(c.number("change") <= math.Max(float64(c.f.Limit), 0.005)+slack || i >= 0 && c.r.Findings[i].Outcome ==
				result.Undecided))
	},
	"excused": func(c claim) bool { return !c.f.Gates && c.number("change") <= float64(c.f.Limit)+slack },
	"with-all": func(c claim) bool {
		return !c.r.Paired && c.change()-c.number("shift") <= math.Max(c.limit(), float64(c.f.Floor/c.f.Base))+slack &&
			c.f.Outcome == result.Undecided
	},
	"two-levels": func(c claim) bool {
		runs := c.runs(c.x.Args["side"].(string))
		low := 0
		for _, v := range runs {
			if v < c.number("low")*(1+c.number("above")/2) {
				low++
			}
		}
		// Of several sessions it is said of one.
		return c.number("above") > 0 && c.number("some") < c.number("all") && int(c.number("all")) <= len(runs) &&
			low >= int(c.number("some"))
	},
	"outlier": func(c claim) bool {
		runs := c.runs(c.x.Args["side"].(string))
		return slices.ContainsFunc(runs,
			func(v float64) bool { return v < slices.Max(runs) == (c.number("change") < 0) || v == slices.Max(runs) })
	},
	"more-runs": func(c claim) bool {
		return int(c.number("runs")) > min(len(c.f.BaseRuns), len(c.f.HeadRuns)) && c.f.Outcome == result.Undecided
	},
	"too-many-runs": func(c claim) bool { return c.f.Outcome == result.Undecided },
	"too-fine": func(c claim) bool {
		return c.is("mde", float64(c.f.MDE)) && float64(c.f.MDE) > float64(c.f.Limit)
	},
	"other-host":  func(c claim) bool { return c.number("spread") > 0 && !c.r.Paired && !c.r.Batches },
	"other-batch": func(c claim) bool { return c.number("spread") > 0 && c.r.Batches },

	"attribute": func(c claim) bool { return c.number("base") != c.number("head") },

	"skipped": func(c claim) bool {
		least, most, total := math.MaxInt, 0, 0
		sessions := [][]model.Session{c.base, c.head}[c.side]
		for i := range sessions {
			for _, run := range sessions[i].Runs {
				least, most, total = min(least, run.Skipped), max(most, run.Skipped), max(total, run.Total)
			}
		}
		// The base's sessions of other boards may be left out.
		return c.number("least") >= float64(least) && c.number("most") <= float64(most) &&
			c.number("of") <= float64(total) && c.number("least") <= c.number("most")
	},
	"steps": func(c claim) bool {
		return c.number("base") != c.number("head") && c.is("head", float64(c.head[0].Runs[0].Total))
	},
	"on-board": func(c claim) bool {
		return c.is("kept", float64(c.r.Base.Sessions)) && c.is("all", float64(len(c.base))) &&
			c.number("kept") < c.number("all")
	},
	"outlier-run": func(c claim) bool {
		return slices.ContainsFunc(c.r.OutlierRuns, func(off result.OutlierRun) bool {
			return c.is("run", float64(off.Run+1)) && off.Side == c.x.Args["side"] &&
				c.is("change", float64(off.Change)) && math.Abs(float64(off.Change)) > 0.01-slack
		})
	},
	"outlier-values": func(c claim) bool {
		return c.count(func(f *result.Finding) bool {
			c.f = f
			centre := stats.Median(c.runs("head"))
			return f.Gates && slices.ContainsFunc(c.x.Args["runs"].([]string), func(run string) bool {
				bare, unprofiled := strings.CutPrefix(run, "unprofiled ")
				i, _ := strconv.Atoi(bare)
				m, _ := measure.MetricByName(f.Metric)
				return unprofiled == m.Unprofiled() && i <= len(f.HeadRuns) &&
					c.is("change", float64(f.HeadRuns[i-1])/centre-1)
			})
		}) > 0
	},
	"output-disagrees": func(c claim) bool {
		of := func(scope measure.Scope, metric string) *result.Finding {
			return &c.r.Findings[slices.IndexFunc(c.r.Findings, func(f result.Finding) bool {
				return f.Scope == scope && f.Metric == metric
			})]
		}
		step := of(measure.ScopeWorkload, measure.StepTime.Name)
		output := of(measure.ScopeOutput, tokensOutput.Metric().Name)
		return c.is("unprofiled", float64(output.Change)) && c.is("profiled", float64(step.Change)) &&
			(step.Outcome == result.Slower) == (c.x.Args["step_worse"] == true) &&
			(step.Outcome == result.Slower) != (output.Outcome == result.Slower)
	},
	"rule-idle": func(c claim) bool {
		judged := c.count(func(f *result.Finding) bool { return f.Rule == c.x.Args["rule"] })
		return c.number("of") >= 0 && (judged == 0 || c.x.Args["drift"] == true)
	},
	"not-replayed": func(c claim) bool { return !(c.number("error") <= 0.005) },
	"common-shift": func(c claim) bool {
		moved := c.count(func(f *result.Finding) bool {
			return f.Metric == measure.Time.Name && math.Abs(float64(f.Change)) >= 0.01 &&
				float64(f.Change)*c.number("change") > 0
		})
		kernels := c.count(func(f *result.Finding) bool { return f.Metric == measure.Time.Name })
		return moved >= int(c.number("moved")) && kernels >= int(c.number("kernels")) &&
			c.number("moved") <= c.number("kernels") && math.Abs(c.number("change")) >= 0.01
	},
	"step-part": func(c claim) bool {
		w := c.r.Waterfall
		return c.is("change", float64(w.Parts[0].Change)) && 2*c.number("change") > float64(w.Change) &&
			c.x.Args["class"] == w.Parts[0].Class
	},
	"calls": func(c claim) bool { return c.number("base") != c.number("head") },
}
