package decide_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// This file holds the classes of errors of the decision, each with cases whose truth is known: recorded sessions that
// are edited consistently, or made-up ones where no recording has the metric. One class alone:
//
//	go test ./gate/internal/judge/decide -run 'TestClasses/copies' -v

// expectation is a property of a verdict.
type expectation struct {
	name string
	met  func(*result.Report) bool
}

var (
	mustFail    = expectation{"fails", func(r *result.Report) bool { return r.Verdict == result.Fail }}
	mustPass    = expectation{"passes", func(r *result.Report) bool { return r.Verdict == result.Pass }}
	mustNotFail = expectation{"not red", func(r *result.Report) bool { return r.Verdict != result.Fail }}
	mustNotPass = expectation{"not green", func(r *result.Report) bool { return r.Verdict != result.Pass }}
	mustSay     = expectation{"not silent", func(r *result.Report) bool {
		return r.Verdict != result.Pass || r.Undecided
	}}
)

// classCase is gates of one kind, each drawn from a seed of its own.
type classCase struct {
	name   string
	policy string // text of a policy file
	wanted []expectation
	draw   func(r *rand.Rand) (base, head model.Session)
	gates  int // 0 for 5
	unmet  int // gates that may miss an expectation
	// given, if not nil, moves the head elsewhere: a gate counts only where the moved head fails.
	given func(head *model.Session)
}

// class is a row of the table of errors.
type class struct {
	name  string
	cases func(testing.TB) []classCase
}

var classes = []class{
	{"start-up", startupCases}, {"mean step", meanStepCases}, {"near and far", nearCases},
	{"small kernels between hosts", smallKernelCases},
	{"range with another meaning", rangeCases}, {"copies", copyCases}, {"rarely launched kernels", rareCases},
	{"outputs", outputCases},
	{"GPU metrics by rule", gpuMetricCases}, {"faster programs", fasterCases}, {"sections and the rest", sectionCases},
	{"excused parts", excusedCases}, {"forgiven parts", forgivenCases}, {"left-out runs", leftOutCases},
	{"phases", phaseCases}, {"counts from zero", countCases},
	{"cost", costCases}, {"thresholds", thresholdCases}, {"known board", knownBoardCases},
	{"false alarms", falseAlarmCases},
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			met, cases := 0, c.cases(t)
			for _, x := range cases {
				if t.Run(x.name, x.run) {
					met++
				}
			}
			t.Logf("%d of %d cases met", met, len(cases))
		})
	}
}

func (c classCase) run(t *testing.T) {
	policy, err := thresholds.Parse("nsgate.toml", []byte(c.policy))
	if err != nil {
		t.Fatal(err)
	}
	judge := func(base, head model.Session) *result.Report {
		for _, s := range []*model.Session{&base, &head} {
			if s.SortSeries(); s.Check() != nil {
				t.Fatal(s.Check())
			}
		}
		return insight.Judge(decide.Input{Baseline: []model.Session{base}, Head: []model.Session{head},
			Policy: policy.For("")}).Shown(nil)
	}
	gates := c.gates
	if gates == 0 {
		gates = 5
	}
	mayMiss := c.unmet
	if !full() {
		some := max(1, gates/10)
		mayMiss = (mayMiss*some + gates - 1) / gates
		gates = some
	}
	unmet, first := 0, ""
	for seed := range gates {
		base, head := c.draw(rand.New(rand.NewPCG(uint64(seed), 39)))
		if c.given != nil {
			moved := clone(head)
			if c.given(&moved); judge(base, moved).Verdict != result.Fail {
				continue
			}
		}
		r := judge(base, head)
		says := func() string { return fmt.Sprintf("gate %d: %s\n%s", seed, measured(base, head), said(r)) }
		if seed == 0 && testing.Verbose() {
			t.Log(says())
		}
		missed := slices.IndexFunc(c.wanted, func(x expectation) bool { return !x.met(r) })
		if missed < 0 {
			continue
		}
		if unmet++; first == "" {
			first = "want " + c.wanted[missed].name + ", " + says()
		}
	}
	if unmet > mayMiss {
		t.Errorf("%d of %d gates miss, %d may; %s", unmet, gates, mayMiss, first)
	}
}

// measured is by how much the medians of the runs differ, as the sessions have it.
func measured(base, head model.Session) string {
	var out []string
	of := func(s *model.Session, subjects []measure.Subject, m measure.Metric) (sum float64) {
		for _, x := range subjects {
			if v := values(s, x, m); v != nil {
				sum += stats.Median(stats.Known(v))
			}
		}
		return sum
	}
	whole := []measure.Subject{measure.Workload}
	for _, x := range []struct {
		name     string
		subjects []measure.Subject
		metric   measure.Metric
	}{
		{"GPU time", whole, measure.GPUTime}, {"step", whole, measure.StepTime}, {"mean step", whole, measure.MeanStep},
		{"run", measure.Sections, measure.Elapsed}, {"run's GPU time", measure.Sections, measure.GPUTime},
		{"output", []measure.Subject{tokensOutput.Subject()}, measure.Rate},
	} {
		if b, h := of(&base, x.subjects, x.metric), of(&head, x.subjects, x.metric); b > 0 {
			out = append(out, fmt.Sprintf("%s %+.2f %%", x.name, 100*(h/b-1)))
		}
	}
	return strings.Join(out, ", ")
}

// said is a verdict with its reason and the first findings that are slower or undecided.
func said(r *result.Report) string {
	out := fmt.Sprintf("  %s, undecided %v, %s: %s", r.Verdict, r.Undecided, r.ReasonKey, r.Reason)
	n := 0
	for _, f := range r.Findings {
		if n < 3 && (f.Outcome == result.Slower || f.Undecided) {
			n++
			out += fmt.Sprintf("\n  %s %s %+.2f %% (%.2f to %.2f, limit %.2f, share %.2f) %s, gates %v: %s", f.Kernel,
				f.Metric, 100*f.Change, 100*f.Low, 100*f.High, 100*f.Limit, 100*f.Share, f.Outcome, f.Gates, f.Reason)
		}
	}
	return out
}

// --- Recorded sessions.

const testdata = "../../../../testdata"

var sessions sync.Map // of recordings, by path

// recording is a copy of the newest session of a directory in testdata, its profiled runs alone. Nothing says when a
// run began.
func recording(tb testing.TB, path string) model.Session {
	tb.Helper()
	if s, ok := sessions.Load(path); ok {
		return duplicate(s.(model.Session))
	}
	dirs, err := filepath.Glob(filepath.Join(testdata, path, "*"))
	if err != nil || len(dirs) != 1 {
		tb.Fatal("no recording ", path, err)
	}
	all, err := baseline.Read(dirs[0])
	if err != nil {
		tb.Fatal(err)
	}
	s := all[len(all)-1]
	every := make([]int, s.Profiled())
	for i := range every {
		every[i] = i
	}
	s = some(s, every)
	s.Start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for i := range s.Runs {
		s.Runs[i].Start = time.Time{}
	}
	sessions.Store(path, s)
	return duplicate(s)
}

// duplicate shares no runs, series or values with a session.
func duplicate(s model.Session) model.Session {
	s.Runs, s.Series = slices.Clone(s.Runs), slices.Clone(s.Series)
	for i := range s.Series {
		s.Series[i].Values = slices.Clone(s.Series[i].Values)
	}
	return s
}

// some is a copy of some runs of a session.
func some(s model.Session, runs []int) model.Session {
	out := s
	out.ID, out.Runs, out.Series = "", nil, nil
	for _, i := range runs {
		out.Runs = append(out.Runs, s.Runs[i])
	}
	for _, x := range s.Series {
		all := x.Values
		x.Values = nil
		for _, i := range runs {
			x.Values = append(x.Values, all[i])
		}
		if len(stats.Known(x.Values)) > 0 {
			out.Series = append(out.Series, x)
		}
	}
	return out
}

func clone(s model.Session) model.Session {
	every := make([]int, len(s.Runs))
	for i := range every {
		every[i] = i
	}
	return some(s, every)
}

// source draws so many runs a side of one unchanged program.
type source func(r *rand.Rand, runs int) (base, head model.Session)

// oneSession draws both sides from one session, and moves the head.
func oneSession(s model.Session, move func(*model.Session)) source {
	return func(r *rand.Rand, runs int) (base, head model.Session) {
		order := r.Perm(len(s.Runs))
		runs = min(runs, len(order)/2)
		base, head = some(s, order[:runs]), some(s, order[runs:2*runs])
		move(&head)
		return base, head
	}
}

// twoHosts draws each side from a host of its own.
func twoHosts(hosts []model.Session) source {
	return func(r *rand.Rand, runs int) (base, head model.Session) {
		order := r.Perm(len(hosts))
		return pair(r, hosts[order[0]], hosts[order[1]], runs)
	}
}

func pair(r *rand.Rand, a, b model.Session, runs int) (base, head model.Session) {
	return some(a, r.Perm(len(a.Runs))[:min(runs, len(a.Runs))]), some(b, r.Perm(len(b.Runs))[:min(runs, len(b.Runs))])
}

func interleaved(*model.Session)            {}
func backToBack(s *model.Session)           { s.Start = s.Start.Add(20 * time.Minute) }
func anotherDay(s *model.Session)           { s.Start = s.Start.Add(24 * time.Hour) }
func movedElsewhere(s *model.Session)       { s.GPUHash = model.HashUUID("another GPU") }
func h200Sessions(names ...string) []string { return under("h200/sessions/", names) }
func h100Sessions(names ...string) []string { return under("h100/sessions/", names) }
func under(dir string, names []string) (out []string) {
	for _, name := range names {
		out = append(out, dir+name)
	}
	return out
}

func hostsOf(tb testing.TB, paths []string) (out []model.Session) {
	for _, path := range paths {
		out = append(out, recording(tb, path))
	}
	return out
}

// relation is how the sides of a gate were measured.
type relation struct {
	name string
	from source
	move func(head *model.Session) // nil for recorded hosts
}

// kernelRelations are those of the CUDA program of six kernels, pytorchRelations those of the transformer: draws of one
// recorded session, and recorded hosts.
func kernelRelations(tb testing.TB) []relation {
	return relations(recording(tb, "h200/sessions/kernels-a"),
		hostsOf(tb, h200Sessions("kernels-a", "kernels-b", "kernels-e", "kernels-f", "kernels-g")))
}

func pytorchRelations(tb testing.TB) []relation {
	return relations(recording(tb, "h200/sessions/transformer-b"), pytorchHosts(tb))
}

func pytorchHosts(tb testing.TB) []model.Session {
	return hostsOf(tb, h200Sessions("transformer-b", "transformer-e", "transformer-f", "transformer-g"))
}

func relations(one model.Session, hosts []model.Session) (out []relation) {
	for _, x := range []relation{{name: "interleaved", move: interleaved}, {name: "back to back", move: backToBack},
		{name: "another day", move: anotherDay}} {
		x.from = oneSession(one, x.move)
		out = append(out, x)
	}
	return append(out, relation{name: "another host", from: twoHosts(hosts)})
}

// onOneGPU are the relations without another host.
func onOneGPU(of []relation) []relation { return of[:3] }

// sessionEdit changes a side of a gate.
type sessionEdit func(r *rand.Rand, s *model.Session)

// drawsOf draws gates of a program whose head, and with always both sides, are edited.
func drawsOf(from source, runs int, head sessionEdit, always ...sessionEdit) func(*rand.Rand) (_, _ model.Session) {
	return func(r *rand.Rand) (_, _ model.Session) {
		b, h := from(r, runs)
		for _, e := range always {
			e(r, &b)
			e(r, &h)
		}
		if head != nil {
			head(r, &h)
		}
		return b, h
	}
}

// until draws until a change shows, which chance or the host must not hide.
func until(draw func(*rand.Rand) (_, _ model.Session), shows func(base, head *model.Session) bool) func(*rand.Rand) (_,
	_ model.Session) {
	return func(r *rand.Rand) (base, head model.Session) {
		for {
			base, head = draw(r)
			if shows(&base, &head) {
				return base, head
			}
		}
	}
}

// inAll are cases of one edit in all relations, with 3 and 5 runs a side.
func inAll(name, policy string, of []relation, wanted expectation, head sessionEdit,
	always ...sessionEdit) (out []classCase) {
	for _, x := range of {
		for _, runs := range []int{3, 5} {
			out = append(out, classCase{name: fmt.Sprintf("%s, %s, %d runs", name, x.name, runs), policy: policy,
				wanted: []expectation{wanted}, draw: drawsOf(x.from, runs, head, always...)})
		}
	}
	return out
}

// --- Edits. Each keeps the sums of a session consistent.

func values(s *model.Session, subject measure.Subject, m measure.Metric) model.Values {
	if x, ok := s.Find(subject, m.Name); ok {
		return x.Values
	}
	return nil
}

// put sets a series, and adds one that is not there.
func put(s *model.Session, subject measure.Subject, m measure.Metric, of func(run int) float64) {
	v := values(s, subject, m)
	if v == nil {
		v = make(model.Values, len(s.Runs))
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Values: v})
	}
	for i := range v {
		v[i] = of(i)
	}
}

// plus adds to a series that the session has. A value does not become negative.
func plus(s *model.Session, subject measure.Subject, m measure.Metric, ns func(run int) float64) {
	for i, v := range values(s, subject, m) {
		values(s, subject, m)[i] = math.Max(0, v+ns(i))
	}
}

func scale(s *model.Session, subject measure.Subject, m measure.Metric, by float64) {
	for i := range values(s, subject, m) {
		values(s, subject, m)[i] *= by
	}
}

// countOf is how many steps of a run count, skipped how many are warm-up.
func countOf(s *model.Session, run int) float64 {
	return float64(s.Runs[run].Total - s.Runs[run].Skipped)
}
func skipped(s *model.Session, run int) float64 { return float64(s.Runs[run].Skipped) }

// lengthened adds time of a subject to every step of a run, the warm-up's included.
func lengthened(s *model.Session, owner measure.Subject, ns func(run int) float64) {
	for _, m := range []measure.Metric{measure.StepTime, measure.MeanStep} {
		plus(s, measure.Workload, m, ns)
	}
	if typical, mean := values(s, measure.Workload, measure.StepTime),
		values(s, measure.Workload, measure.MeanStep); mean != nil {
		put(s, measure.Workload, measure.MeanToTypical, func(i int) float64 { return mean[i] / typical[i] })
	}
	if values(s, owner, measure.Owned) == nil && owner.Scope == measure.ScopeIdle {
		put(s, owner, measure.Owned, func(int) float64 { return 0 })
	}
	plus(s, owner, measure.Owned, ns)
	plus(s, measure.Steps, measure.Elapsed, func(i int) float64 { return ns(i) * countOf(s, i) })
	plus(s, measure.Warmup, measure.Elapsed, func(i int) float64 { return ns(i) * skipped(s, i) })
}

// slowedBy makes kernels take longer, and with them their ranges, the GPU time, the step and the run.
func slowedBy(s *model.Session, which func(measure.Subject) bool, by func(run int) float64) {
	for _, x := range slices.Clone(s.Series) {
		if x.Subject.Scope != measure.ScopeKernel || x.Metric != measure.Total || !which(x.Subject) {
			continue
		}
		more := make([]float64, len(x.Values))
		for i, v := range x.Values {
			more[i] = v * by(i)
			if math.IsNaN(v) {
				more[i] = 0
			}
		}
		ns := func(run int) float64 { return more[run] }
		for _, m := range []measure.Metric{measure.Time, measure.Total, measure.Spread} {
			v := values(s, x.Subject, m)
			for i := range v {
				v[i] *= 1 + by(i)
			}
		}
		plus(s, measure.Workload, measure.GPUTime, ns)
		for name := range strings.SplitSeq(x.Role, "/") {
			plus(s, measure.Subject{Scope: measure.ScopeRange, Name: name}, measure.GPUTime, ns)
		}
		plus(s, measure.Steps, measure.GPUTime, func(i int) float64 { return more[i] * countOf(s, i) })
		plus(s, measure.Warmup, measure.GPUTime, func(i int) float64 { return more[i] * skipped(s, i) })
		lengthened(s, x.Subject, ns)
	}
}

func inEveryRun(by float64) func(int) float64 { return func(int) float64 { return by } }

func every(measure.Subject) bool { return true }

// named selects kernels by their short names.
func named(names ...string) func(measure.Subject) bool {
	return func(s measure.Subject) bool { return slices.Contains(names, s.Short()) }
}

// slow is an edit that makes some kernels slower in all runs.
func slow(which func(measure.Subject) bool, by float64) sessionEdit {
	return func(_ *rand.Rand, s *model.Session) { slowedBy(s, which, inEveryRun(by)) }
}

// stepTo scales the steps by a part of their former time, by the time of an owner.
func stepTo(s *model.Session, before model.Values, part float64, owner measure.Subject) {
	now := slices.Clone(values(s, measure.Workload, measure.StepTime))
	lengthened(s, owner, func(i int) float64 { return before[i]*part - now[i] })
}

func copies(name string) measure.Subject {
	return measure.Subject{Scope: measure.ScopeWorkload, Name: name}
}

var hostToDevice = copies("memcpy HtoD")

// copyOf makes copies to the device take longer, and with them the step.
func copyOf(by float64) sessionEdit {
	return func(_ *rand.Rand, s *model.Session) {
		before := slices.Clone(values(s, hostToDevice, measure.CopyTime))
		scale(s, hostToDevice, measure.CopyTime, 1+by)
		lengthened(s, hostToDevice, func(i int) float64 { return before[i] * by })
	}
}

func bothEdited(edits ...sessionEdit) sessionEdit {
	return func(r *rand.Rand, s *model.Session) {
		for _, e := range edits {
			e(r, s)
		}
	}
}

var (
	gaps         = measure.IdleSubject("micro gaps", measure.Place{})
	starved      = measure.IdleSubject(measure.IdleLaunch, measure.ParsePlace("host code in forward"))
	tokensOutput = measure.Output{Name: "tokens/s", Better: measure.Higher}
)

// printing adds five unprofiled runs, or as many as there are rates, that print a rate.
func printing(s *model.Session, rates ...float64) {
	profiled := len(s.Runs)
	for range rates {
		s.Runs = append(s.Runs, model.Run{Unprofiled: true, Steady: true})
		for i := range s.Series {
			s.Series[i].Values = append(s.Series[i].Values, math.NaN())
		}
	}
	x := model.Series{Subject: tokensOutput.Subject(), Metric: tokensOutput.Metric()}
	for range profiled {
		x.Values = append(x.Values, math.NaN())
	}
	x.Values = append(x.Values, rates...)
	s.Series = append(s.Series, x)
}

// drawnRates are those of n runs around a mean.
func drawnRates(r *rand.Rand, n int, mean float64) (out []float64) {
	for range n {
		out = append(out, mean*math.Exp(0.003*r.NormFloat64()))
	}
	return out
}

// --- Classes.

// startupCases have a time before the steps that is longer by half, or twice as long.
func startupCases(tb testing.TB) (out []classCase) {
	late := func(by float64) sessionEdit {
		return func(_ *rand.Rand, s *model.Session) { scale(s, measure.Before, measure.Elapsed, 1+by) }
	}
	for name, of := range map[string][]relation{"six kernels": kernelRelations(tb), "PyTorch": pytorchRelations(tb)} {
		for _, by := range []float64{0.5, 1} {
			where := of
			if by < 1 {
				where = onOneGPU(of) // start-ups of two hosts differ by 35 %
			}
			cases := inAll(fmt.Sprintf("%s %+.0f %%", name, 100*by), "", where, mustSay, late(by))
			for i, c := range cases {
				cases[i].draw = until(c.draw, func(base, head *model.Session) bool { // nearly all draws
					before, after := values(base, measure.Before, measure.Elapsed),
						values(head, measure.Before, measure.Elapsed)
					return slices.Min(after) > 1.25*stats.Median(before) && slices.Min(after) > slices.Max(before)
				})
			}
			out = append(out, cases...)
		}
		out = append(out, inAll(name+" unchanged", "", of, mustNotFail, nil)...)
	}
	slices.SortStableFunc(out, func(a, b classCase) int { return strings.Compare(a.name, b.name) })
	return out
}

// meanStepCases are unchanged PyTorch programs on different hosts: as recorded, with the warm-up counted, and with
// stalls of a host's CPU.
func meanStepCases(tb testing.TB) (out []classCase) {
	pairs := func(name string, hosts []model.Session, edit func(r *rand.Rand, base, head *model.Session)) {
		for _, runs := range []int{2, 3, 5} {
			out = append(out, classCase{name: fmt.Sprintf("%s, %d runs", name, runs),
				wanted: []expectation{mustNotFail}, gates: 16,
				draw: func(r *rand.Rand) (base, head model.Session) {
					order := r.Perm(len(hosts))
					a, b := hosts[order[0]], hosts[order[1]]
					base, head = pair(r, a, b, runs)
					if edit != nil {
						edit(r, &base, &head)
					}
					return base, head
				}})
		}
	}
	pairs("H200", pytorchHosts(tb), nil)
	pairs("H100", hostsOf(tb, h100Sessions("transformer-a-0", "transformer-a-1", "transformer-b-0", "transformer-b-1",
		"transformer-c-0")), nil)
	// The mean covers all steps of a run, by the recorded sections.
	pairs("H200, --warmup 0", pytorchHosts(tb), func(_ *rand.Rand, base, head *model.Session) {
		for _, s := range []*model.Session{base, head} {
			s.Warmup = "0"
			for i := range s.Runs {
				s.Runs[i].Skipped = 0
			}
			for _, m := range []measure.Metric{measure.Elapsed, measure.GPUTime, measure.Launches} {
				first := slices.Clone(values(s, measure.Warmup, m))
				plus(s, measure.Steps, m, func(i int) float64 { return first[i] })
				scale(s, measure.Warmup, m, 0)
			}
			scale(s, measure.Warmup, measure.Repeats, 0)
			all, typical := values(s, measure.Steps, measure.Elapsed), values(s, measure.Workload, measure.StepTime)
			put(s, measure.Workload, measure.MeanStep, func(i int) float64 { return all[i] / float64(s.Runs[i].Total) })
			put(s, measure.Workload, measure.MeanToTypical,
				func(i int) float64 { return all[i] / float64(s.Runs[i].Total) / typical[i] })
		}
	})
	// As on H100 hosts: launch-bound steps, some of them stalled on one host; its typical step is 3.7 % shorter.
	pairs("stalls of one host", pytorchHosts(tb), func(r *rand.Rand, base, head *model.Session) {
		for _, s := range []*model.Session{base, head} {
			put(s, measure.Workload, measure.Sensitivity, inEveryRun(0.6))
			by := 0.15
			if s == head {
				by = 0.15 - 0.037*1.15
			}
			step := slices.Clone(values(s, measure.Workload, measure.StepTime))
			lengthened(s, starved, func(i int) float64 { return by * step[i] })
		}
		typical := values(head, measure.Workload, measure.StepTime)
		stall := make([]float64, len(typical))
		for i := range stall {
			stall[i] = typical[i] * (0.21 + 0.05*r.NormFloat64())
		}
		plus(head, measure.Workload, measure.MeanStep, func(i int) float64 { return stall[i] })
		plus(head, starved, measure.Owned, func(i int) float64 { return stall[i] })
		plus(head, measure.Steps, measure.Elapsed, func(i int) float64 { return stall[i] * countOf(head, i) })
		mean := values(head, measure.Workload, measure.MeanStep)
		put(head, measure.Workload, measure.MeanToTypical, func(i int) float64 { return mean[i] / typical[i] })
	})
	return out
}

// nearCases have a longer step, which one GPU shows no less surely than two hosts.
func nearCases(tb testing.TB) (out []classCase) {
	later := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		lengthened(s, gaps, func(i int) float64 { return 0.06 * step[i] })
	}
	near := onOneGPU(kernelRelations(tb))
	given := inAll("+6 % at 3 % where another host fails", `step_threshold = "3%"`, near, mustFail, later)
	for i := range given {
		given[i].gates, given[i].given = 20, movedElsewhere
	}
	out = append(out, given...)
	found := inAll("+6 % at 5 %", "", near, mustFail, later)
	for i := range found {
		found[i].gates, found[i].unmet = 20, 2
		if strings.HasSuffix(found[i].name, " 3 runs") {
			found[i].unmet = 5
		}
	}
	return append(out, found...)
}

// smallKernelCases have a kernel of PyTorch that is slower on another host: every run of the head lies beyond the
// limit.
func smallKernelCases(tb testing.TB) (out []classCase) {
	of := func(name string, from source, which func(measure.Subject) bool, by float64) {
		for _, runs := range []int{3, 5} {
			draw := drawsOf(from, runs, slow(which, by))
			out = append(out, classCase{name: fmt.Sprintf("%s %+.0f %%, %d runs", name, 100*by, runs),
				wanted: []expectation{mustSay}, gates: 12, unmet: 1,
				draw: until(draw, func(base, head *model.Session) bool { return allBeyond(base, head, which, 0.03) })})
		}
	}
	hosts := twoHosts(pytorchHosts(tb))
	// 2.9 % of the GPU time: +6 % costs 0.17 %.
	of("layer norm", hosts, named("vectorized_layer_norm_kernel"), 0.06)
	of("layer norm backward", hosts, named("GammaBetaBackwardCUDAKernelTemplate"), 0.05)
	b := recording(tb, "h200/sessions/transformer-b")
	for _, x := range b.Series { // the heaviest, 8 to 14 % of the GPU time
		if x.Subject.Scope == measure.ScopeKernel && x.Metric == measure.Total && stats.Median(x.Values) > 350e3 {
			share := stats.Median(x.Values) / stats.Median(values(&b, measure.Workload, measure.GPUTime))
			of(fmt.Sprintf("heavy kernel of %.1f %%", 100*share), hosts,
				func(s measure.Subject) bool { return s == x.Subject }, 0.05)
		}
	}
	of("saxpy, 21 % of six kernels", kernelRelations(tb)[3].from, named("saxpy"), 0.05)
	return out
}

// allBeyond reports whether every run of the head has the selected kernels slower than the baseline's median by more
// than a limit.
func allBeyond(base, head *model.Session, which func(measure.Subject) bool, limit float64) bool {
	for _, x := range base.Series {
		if x.Subject.Scope == measure.ScopeKernel && x.Metric == measure.Time && which(x.Subject) {
			if slices.Min(values(head, x.Subject, measure.Time)) <= stats.Median(x.Values)*(1+limit) {
				return false
			}
		}
	}
	return true
}

// halved is a program with steps around half as long as before: twice as many steps with half the work each.
func halved(_ *rand.Rand, s *model.Session) {
	for i := range s.Runs {
		s.Runs[i].Total *= 2
		s.Runs[i].Skipped *= 2
	}
	scale(s, measure.Warmup, measure.Repeats, 2)
	for i := range s.Series {
		x := &s.Series[i]
		switch x.Metric {
		case measure.Launches, measure.Total, measure.GPUTime, measure.CopyTime, measure.CopyBytes, measure.Copies,
			measure.SyncCalls,
			measure.Allocations, measure.PageableBytes, measure.SmallKernels, measure.StepTime, measure.MeanStep,
			measure.Owned:
			if x.Subject.Scope == measure.ScopeSection {
				continue
			}
			for j := range x.Values {
				x.Values[j] /= 2
			}
		}
	}
}

// rangeCases have a step range that stands around half of the former step.
func rangeCases(tb testing.TB) (out []classCase) {
	for _, x := range []struct {
		name string
		of   []relation
	}{{"six kernels", kernelRelations(tb)}, {"PyTorch", pytorchRelations(tb)}} {
		out = append(out, inAll(x.name+", twice the steps of half the work, all kernels +90 %", "", x.of, mustNotPass,
			bothEdited(slow(every, 0.9), halved))...)
		out = append(out, inAll(x.name+", twice the steps of half the work, unchanged", "", x.of, mustNotFail,
			halved)...)
	}
	return out
}

// copyCases are unchanged programs on hosts that copy more slowly, and copies four times as large.
func copyCases(tb testing.TB) (out []classCase) {
	quadruple := func(r *rand.Rand, s *model.Session) {
		copyOf(3)(r, s)
		scale(s, hostToDevice, measure.Copies, 4)
		scale(s, hostToDevice, measure.CopyBytes, 4)
	}
	h100Hosts := hostsOf(tb, h100Sessions("transformer-a-0", "transformer-b-0", "transformer-c-0"))
	hosts := []relation{{name: "H200 hosts", from: twoHosts(pytorchHosts(tb))},
		{name: "H100 hosts", from: twoHosts(h100Hosts)}}
	for _, by := range []float64{0.11, 0.15, 0.19} {
		cases := inAll(fmt.Sprintf("unchanged, the host copies %.0f %% slower", 100*by), "", hosts, mustNotFail,
			copyOf(by))
		for i := range cases {
			cases[i].gates = 12
		}
		out = append(out, cases...)
	}
	out = append(out, inAll("unchanged", "", hosts, mustNotFail, nil)...)
	out = append(out, inAll("six kernels, copies 4×", "", kernelRelations(tb), mustFail, quadruple)...)
	return append(out, inAll("PyTorch, copies 4×", "", pytorchRelations(tb), mustFail, quadruple)...)
}

// rareCases are unchanged programs without steps: one kernel of 1 to 3 launches a run, five of 60.
func rareCases(tb testing.TB) (out []classCase) {
	program := func(r *rand.Rand, runs int, launches, rare, batch float64) model.Session {
		s := model.Session{Warmup: "auto", Environment: model.Environment{GPU: "NVIDIA H200", GPUs: 1,
			GPUHash: model.HashUUID("a"), Tick: 32, Tool: "nsys 2025.3.2",
			Start: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}}
		for range runs {
			s.Runs = append(s.Runs, model.Run{Steady: true, Total: 300, Launches: 300})
		}
		whole, count := make(model.Values, runs), make(model.Values, runs)
		for _, k := range []struct {
			name               string
			time, launches, sd float64
		}{
			{"saxpy", 84550, 60, 0.0013}, {"reduce", 47515, 60, 0.0013}, {"transpose", 34550, 60, 0.0013},
			{"sgemm", 156160, 60, 0.0013},
			{"softmax", 73560, 60, 0.0013}, {"fill", 500e3 * math.Exp(batch*r.NormFloat64()), launches, rare},
		} {
			of := measure.Subject{Scope: measure.ScopeKernel, Name: k.name + "(float*)",
				Grid: measure.Dim3{X: 1056, Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
			times := make(model.Values, runs)
			for i := range times {
				times[i] = k.time * math.Exp(k.sd*r.NormFloat64())
				whole[i] += times[i] * k.launches
				count[i] += k.launches
			}
			put(&s, of, measure.Time, func(i int) float64 { return times[i] })
			put(&s, of, measure.Launches, inEveryRun(k.launches))
			put(&s, of, measure.Total, func(i int) float64 { return times[i] * k.launches })
		}
		put(&s, measure.Workload, measure.GPUTime, func(i int) float64 { return whole[i] })
		put(&s, measure.Workload, measure.Launches, func(i int) float64 { return count[i] })
		return s
	}
	for _, x := range []struct {
		name        string
		rare, batch float64 // sd of the rare kernel between runs, and between batches
		moves       []relation
	}{
		{"sd of 0.6 % between runs", 0.006, 0, kernelRelations(tb)[:3]},
		{"sd of 0.6 % between batches", 0.003, 0.006, kernelRelations(tb)[1:3]},
	} {
		for _, launches := range []float64{1, 2, 3} {
			for _, at := range x.moves {
				for _, runs := range []int{3, 5} {
					out = append(out, classCase{name: fmt.Sprintf("%s, %.0f launches a run, %s, %d runs", x.name,
						launches, at.name, runs),
						policy: `threshold = "1%"`, wanted: []expectation{mustNotFail}, gates: 200, unmet: 1,
						draw: func(r *rand.Rand) (base, head model.Session) {
							base, head = program(r, runs, launches, x.rare, x.batch),
								program(r, runs, launches, x.rare, x.batch)
							at.move(&head)
							return base, head
						}})
				}
			}
		}
	}
	return out
}

// outputCases have rates of unprofiled runs that the host or a clock explains, and one that an outlier run hides.
func outputCases(tb testing.TB) (out []classCase) {
	add := func(name string, of []relation, wanted []expectation, runs int,
		edit func(r *rand.Rand, base, head *model.Session)) {
		for _, x := range of {
			draw := drawsOf(x.from, 5, nil)
			out = append(out, classCase{name: fmt.Sprintf("%s, %s, %d runs", name, x.name, runs), wanted: wanted,
				draw: func(r *rand.Rand) (base, head model.Session) {
					base, head = draw(r)
					edit(r, &base, &head)
					return base, head
				}})
		}
	}
	apart := func(of []relation) []relation { return of[1:] }
	for _, runs := range []int{3, 5} {
		// A launch-bound program on a host that gives 30 % of its CPU away: the profiled steps are 25 % longer as well.
		add("-20 % by 30 % of CPU time denied", apart(pytorchRelations(tb)), []expectation{mustNotFail, mustSay}, runs,
			func(r *rand.Rand, base, head *model.Session) {
				for _, s := range []*model.Session{base, head} {
					put(s, measure.Workload, measure.Sensitivity, inEveryRun(0.95))
				}
				step := slices.Clone(values(head, measure.Workload, measure.StepTime))
				lengthened(head, starved, func(i int) float64 { return 0.25 * step[i] })
				head.Steal = 0.3
				printing(base, drawnRates(r, runs, 1000)...)
				printing(head, drawnRates(r, runs, 800)...)
			})
		add("-20 % by 30 % of CPU time denied, no steps known", apart(kernelRelations(tb)),
			[]expectation{mustNotFail, mustSay}, runs, func(r *rand.Rand, base, head *model.Session) {
				for _, s := range []*model.Session{base, head} { // nothing says that the GPU never waits for the CPU
					s.Series = slices.DeleteFunc(s.Series, func(x model.Series) bool {
						return x.Metric.OnHost() || x.Metric == measure.Sensitivity ||
							x.Metric == measure.ReplayError || x.Metric == measure.Owned
					})
				}
				head.Throttled = 0.3
				printing(base, drawnRates(r, runs, 1000)...)
				printing(head, drawnRates(r, runs, 800)...)
			})
		for name, clock := range map[string]int{"": 0, ", clocks known": 1868} {
			add("-5.7 % by a lower clock"+name, apart(kernelRelations(tb)), []expectation{mustNotFail}, runs,
				func(r *rand.Rand, base, head *model.Session) {
					head.ClockMHz = clock
					if clock > 0 {
						base.ClockMHz = 1980
					}
					// copies hide behind kernels, which then are 96 % of the step
					for _, s := range []*model.Session{base, head} {
						copy := slices.Clone(values(s, hostToDevice, measure.Owned))
						lengthened(s, hostToDevice, func(i int) float64 { return -copy[i] })
					}
					step := stats.Median(values(head, measure.Workload, measure.StepTime))
					slowedBy(head, every, inEveryRun(0.063))
					printing(base, drawnRates(r, runs, 1000)...)
					printing(head, drawnRates(r, runs, 1000*step/stats.Median(values(head, measure.Workload,
						measure.StepTime)))...)
				})
		}
	}
	add("one bad baseline run, all of the head -8 %", onOneGPU(kernelRelations(tb)), []expectation{mustSay}, 5,
		func(r *rand.Rand, base, head *model.Session) {
			bad := drawnRates(r, 5, 1000)
			bad[r.IntN(5)] *= 0.7
			printing(base, bad...)
			printing(head, drawnRates(r, 5, 920)...)
		})
	slices.SortStableFunc(out, func(a, b classCase) int { return strings.Compare(a.name, b.name) })
	return out
}

// gpuMetricCases are unchanged CPU-bound programs on a slower host, where the GPU is busy for a smaller part of the
// step.
func gpuMetricCases(tb testing.TB) (out []classCase) {
	const policy = "[[rule]]\nmetric = \"sm_active\"\nmax = \"5%\"\n"
	busy := func(_ *rand.Rand, s *model.Session) {
		gpu, step := values(s, measure.Workload, measure.GPUTime), values(s, measure.Workload, measure.StepTime)
		put(s, measure.Workload, measure.SMActive, func(i int) float64 { return 100 * gpu[i] / step[i] })
		put(s, measure.Workload, measure.SamplingPeriod, inEveryRun(1e5))
	}
	h100Hosts := []relation{{name: "H100 hosts", from: twoHosts(hostsOf(tb,
		h100Sessions("transformer-a-0", "transformer-a-1", "transformer-b-0", "transformer-b-1", "transformer-c-0")))}}
	cases := inAll("as recorded", policy, h100Hosts, mustNotFail, nil, busy)
	for i := range cases {
		cases[i].gates = 20
	}
	out = append(out, cases...)
	cpuBound := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		put(s, measure.Workload, measure.Sensitivity, inEveryRun(0.95))
		lengthened(s, starved, func(i int) float64 { return 0.2 * step[i] })
	}
	for _, by := range []float64{0.08, 0.13, 0.25} {
		slowHost := func(r *rand.Rand, s *model.Session) {
			step := slices.Clone(values(s, measure.Workload, measure.StepTime))
			lengthened(s, starved, func(i int) float64 { return by * step[i] })
			busy(r, s)
		}
		out = append(out, inAll(fmt.Sprintf("CPU-bound, host %.0f %% slower", 100*by), policy, pytorchRelations(tb)[3:],
			mustNotFail, slowHost, cpuBound, busy)...)
	}
	return out
}

// fasterCases are programs that are faster as a whole, with kernels that are slower.
func fasterCases(tb testing.TB) (out []classCase) {
	overlap := func(by, part float64, which func(measure.Subject) bool) sessionEdit {
		return func(r *rand.Rand, s *model.Session) {
			step := slices.Clone(values(s, measure.Workload, measure.StepTime))
			slowedBy(s, which, inEveryRun(by))
			stepTo(s, step, part, hostToDevice) // copies are hidden behind kernels
		}
	}
	heavy := func(s measure.Subject) bool { return strings.HasPrefix(s.Name, "nvjet") }
	// Runs that the CPU delayed would hide that the step is shorter.
	steady := func(s model.Session) model.Session {
		var runs []int
		step := values(&s, measure.Workload, measure.StepTime)
		for i, v := range step {
			if v < 1.01*stats.Median(step) {
				runs = append(runs, i)
			}
		}
		return some(s, runs)
	}
	var cudaHosts, torchHosts []model.Session
	for _, s := range hostsOf(tb, h200Sessions("kernels-a", "kernels-b", "kernels-e", "kernels-f", "kernels-g")) {
		cudaHosts = append(cudaHosts, steady(s))
	}
	for _, s := range pytorchHosts(tb) {
		torchHosts = append(torchHosts, steady(s))
	}
	kernelRelations, pytorchRelations := relations(cudaHosts[0], cudaHosts), relations(torchHosts[0], torchHosts)
	for _, x := range []struct{ by, step float64 }{{0.035, 0.975}, {0.04, 0.95}, {0.05, 0.921}} {
		name := fmt.Sprintf("kernels %+.1f %%, step %+.1f %%", 100*x.by, 100*(x.step-1))
		out = append(out, inAll("overlap, six kernels, "+name, "", kernelRelations, mustNotFail,
			overlap(x.by, x.step, named("sgemm", "softmax")))...)
		out = append(out, inAll("overlap, PyTorch, "+name, "", pytorchRelations, mustNotFail,
			overlap(x.by, x.step, heavy))...)
	}
	transposed := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		slowedBy(s, named("transpose"), inEveryRun(0.085))
		slowedBy(s, named("sgemm"), inEveryRun(-0.0443))
		stepTo(s, step, 0.988, gaps)
	}
	out = append(out, inAll("transpose +8.5 %, GPU time -1 %, step -1.2 %", "", kernelRelations[:1], mustPass,
		transposed)...)
	slight := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		slowedBy(s, named("sgemm"), inEveryRun(0.0034))
		slowedBy(s, named("softmax"), inEveryRun(-0.11))
		stepTo(s, step, 0.978, gaps)
	}
	return append(out, inAll("sgemm +0.34 % at 0.25 %, GPU time -1.9 %, step -2.2 %", `threshold = "0.25%"`,
		kernelRelations, mustNotFail, slight)...)
}

// sectionCases have a time after the steps that grows by the time saved in the steps: the run is not longer.
func sectionCases(tb testing.TB) (out []classCase) {
	tail := func(faster sessionEdit) sessionEdit {
		return func(r *rand.Rand, s *model.Session) {
			before := slices.Clone(values(s, measure.Steps, measure.Elapsed))
			faster(r, s)
			now := values(s, measure.Steps, measure.Elapsed)
			plus(s, measure.After, measure.Elapsed, func(i int) float64 { return 0.98 * (before[i] - now[i]) })
		}
	}
	fewer := func(_ *rand.Rand, s *model.Session) {
		for i := range s.Runs {
			part := 36 / countOf(s, i)
			s.Runs[i].Total = s.Runs[i].Skipped + 36
			s.Runs[i].Launches = int(float64(s.Runs[i].Launches) * part)
		}
		for _, m := range []measure.Metric{measure.Elapsed, measure.GPUTime, measure.Launches} {
			v := values(s, measure.Steps, m)
			for i := range v {
				v[i] *= 36.0 / 54
			}
		}
	}
	hidden := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		stepTo(s, step, 0.8, hostToDevice)
	}
	out = append(out, inAll("40 steps for 60", "", kernelRelations(tb), mustNotFail, tail(fewer))...)
	out = append(out, inAll("a fused kernel", "", kernelRelations(tb), mustNotFail,
		tail(slow(named("sgemm"), -0.4)))...)
	out = append(out, inAll("hidden copies", "", kernelRelations(tb), mustNotFail, tail(hidden))...)
	// Twice the GPU time after the steps, 2 % of that of the run, are no part of the work that the steps did before.
	tailOf := func(r *rand.Rand, s *model.Session) {
		steps := values(s, measure.Steps, measure.GPUTime)
		put(s, measure.After, measure.GPUTime, func(i int) float64 {
			return 0.02 * steps[i] * (1 + 0.001*r.NormFloat64())
		})
	}
	later := inAll("GPU time after the steps +90 %", "", kernelRelations(tb), mustFail,
		func(_ *rand.Rand, s *model.Session) { scale(s, measure.After, measure.GPUTime, 1.9) }, tailOf)
	for i := range later[len(later)-2:] { // of another host
		later[len(later)-1-i].wanted = []expectation{mustNotPass}
	}
	out = append(out, later...)
	// Shorter steps make up for a warm-up as far as its steps do what the others do.
	warm := func(by float64) sessionEdit {
		return func(_ *rand.Rand, s *model.Session) { scale(s, measure.Warmup, measure.GPUTime, 1+by) }
	}
	quarter := func(_ *rand.Rand, s *model.Session) { // of the steps is warm-up
		steps, n := values(s, measure.Workload, measure.GPUTime), s.Runs[0].Total/4
		for i := range s.Runs {
			s.Runs[i].Skipped = n
		}
		put(s, measure.Warmup, measure.GPUTime, func(i int) float64 { return steps[i] * float64(n) })
	}
	out = append(out, inAll("the first steps +50 %, sgemm −5 %", "", kernelRelations(tb), mustFail,
		bothEdited(slow(named("sgemm"), -0.05), warm(0.5)), quarter)...)
	shorter := inAll("saxpy +30 %, GPU time +6 %, the step −6 %", "", kernelRelations(tb)[:3], mustPass,
		func(_ *rand.Rand, s *model.Session) {
			step := slices.Clone(values(s, measure.Workload, measure.StepTime))
			slowedBy(s, named("saxpy"), inEveryRun(0.3))
			stepTo(s, step, 0.94, hostToDevice)
		}, quarter)
	for i := range shorter {
		shorter[i].unmet = 1 // a stray run of three leaves the mean step undecided
	}
	out = append(out, shorter...)
	// A loop is a part of the steps: its gain counts once.
	const loops = 0.5
	withLoop := func(_ *rand.Rand, s *model.Session) {
		steps := values(s, measure.Steps, measure.GPUTime)
		put(s, measure.Loop("saxpy"), measure.GPUTime, func(i int) float64 { return loops * steps[i] })
	}
	out = append(out, inAll("a loop −6 % of the steps, the end +9 %", "", kernelRelations(tb)[:3], mustFail,
		func(_ *rand.Rand, s *model.Session) {
			steps := slices.Clone(values(s, measure.Steps, measure.GPUTime))
			slowedBy(s, every, inEveryRun(-0.06))
			plus(s, measure.Loop("saxpy"), measure.GPUTime, func(i int) float64 { return -0.06 * steps[i] })
			plus(s, measure.After, measure.GPUTime, func(i int) float64 { return 0.09 * steps[i] })
		}, withLoop)...)
	return append(out, inAll("40 ms more after the steps", "", kernelRelations(tb)[:1], mustFail,
		func(_ *rand.Rand, s *model.Session) {
			plus(s, measure.After, measure.Elapsed, inEveryRun(40e6))
		})...)
}

// excusedCases have a rule that excuses a slower kernel, and so its part of the sums.
func excusedCases(tb testing.TB) (out []classCase) {
	for _, x := range []struct{ name, rule string }{
		{"ignored", `severity = "ignore"`}, {"warned", `severity = "warn"`}, {"10 % allowed", `max = "10%"`},
		{"under its floor", `floor = "20us"`},
	} {
		rule := "[[rule]]\nkernel = \"sgemm*\"\n" + x.rule + "\n"
		out = append(out, inAll("sgemm +5 %, "+x.name, rule, kernelRelations(tb), mustNotFail,
			slow(named("sgemm"), 0.05))...)
		out = append(out, inAll("sgemm +5 %, "+x.name+", at 1 %", "threshold = \"1%\"\n"+rule, kernelRelations(tb)[:2],
			mustNotFail, slow(named("sgemm"), 0.05))...)
	}
	// A rule that has the names of both kernels, before and after, and one of the new kernel.
	for _, name := range []string{"sgemm*", "sgemm_v2"} {
		rule := "[[rule]]\nkernel = \"" + name + "\"\nseverity = \"ignore\"\n"
		out = append(out, inAll("sgemm +10 % by another name, ignored as "+name, rule, kernelRelations(tb),
			mustNotFail, func(_ *rand.Rand, s *model.Session) {
				slowedBy(s, named("sgemm"), inEveryRun(0.1))
				for _, x := range s.Series {
					if x.Subject.Short() == "sgemm" {
						renamed(s, map[string]string{x.Subject.Name: "sgemm_v2"})
						break
					}
				}
			})...)
	}
	out = append(out, inAll("+50 % where 100 % is allowed", `threshold = "100%"`, kernelRelations(tb), mustNotFail,
		slow(every, 0.5))...)
	return append(out, inAll("PyTorch +50 % where 100 % is allowed", `threshold = "100%"`, pytorchRelations(tb),
		mustNotFail, slow(every, 0.5))...)
}

// leftOutCases have slow runs in the head alone, which may not be left out in silence.
func leftOutCases(tb testing.TB) (out []classCase) {
	for _, x := range kernelRelations(tb) {
		for _, n := range [][2]int{{2, 8}, {3, 12}} {
			out = append(out, classCase{name: fmt.Sprintf("%d of %d runs +30 %%, %s", n[0], n[1], x.name),
				wanted: []expectation{mustSay},
				draw: drawsOf(x.from, n[1], func(_ *rand.Rand, s *model.Session) {
					slowedBy(s, every, func(run int) float64 {
						if run%4 == 1 {
							return 0.3
						}
						return 0
					})
				})})
		}
	}
	return out
}

// phaseCases have a slower phase outside the counted steps that holds much of the GPU time.
func phaseCases(tb testing.TB) (out []classCase) {
	// The first 24 of 60 steps are longer than the others and count as warm-up.
	warming := func(times float64) sessionEdit {
		return func(_ *rand.Rand, s *model.Session) {
			gpu, step := values(s, measure.Workload, measure.GPUTime), values(s, measure.Workload, measure.StepTime)
			for i := range s.Runs {
				s.Runs[i].Skipped = 24
				s.Runs[i].Launches = 36 * 6
			}
			put(s, measure.Warmup, measure.Repeats, inEveryRun(24))
			put(s, measure.Warmup, measure.Launches, inEveryRun(24*6))
			put(s, measure.Warmup, measure.GPUTime, func(i int) float64 { return 24 * times * gpu[i] })
			put(s, measure.Warmup, measure.Elapsed, func(i int) float64 { return 24 * (step[i] + (times-1)*gpu[i]) })
			put(s, measure.Steps, measure.Launches, inEveryRun(36*6))
			put(s, measure.Steps, measure.GPUTime, func(i int) float64 { return 36 * gpu[i] })
			put(s, measure.Steps, measure.Elapsed, func(i int) float64 { return 36 * step[i] })
		}
	}
	more := func(section measure.Subject, by float64) sessionEdit {
		return func(_ *rand.Rand, s *model.Session) {
			gpu := slices.Clone(values(s, section, measure.GPUTime))
			scale(s, section, measure.GPUTime, 1+by)
			plus(s, section, measure.Elapsed, func(i int) float64 { return by * gpu[i] })
		}
	}
	evaluating := func(_ *rand.Rand, s *model.Session) {
		rest := make([]float64, len(s.Runs))
		for _, section := range measure.Sections {
			for i, v := range values(s, section, measure.GPUTime) {
				rest[i] += v
			}
		}
		put(s, measure.After, measure.GPUTime, func(i int) float64 { return rest[i] * 0.3 / 0.7 })
		put(s, measure.After, measure.Launches, inEveryRun(120))
		plus(s, measure.After, measure.Elapsed, func(i int) float64 { return rest[i] * 0.3 / 0.7 * 1.1 })
	}
	out = append(out, inAll("warm-up of 60 % of the GPU time +10 %", "", kernelRelations(tb), mustSay,
		more(measure.Warmup, 0.1), warming(2.25))...)
	out = append(out, inAll("warm-up of 73 % of the GPU time +10 %", "", kernelRelations(tb), mustSay,
		more(measure.Warmup, 0.1), warming(4))...)
	out = append(out, inAll("warm-up of 73 % of the GPU time unchanged", "", kernelRelations(tb), mustNotFail, nil,
		warming(4))...)
	// Slow steps do not leave the gate as warm-up: was: a pass, with a warning.
	out = append(out, inAll("24 steps +50 %, that only the head leaves out as warm-up", "", kernelRelations(tb),
		mustFail, warming(1.5))...)
	out = append(out, inAll("24 steps that only the head leaves out as warm-up", "", kernelRelations(tb), mustNotFail,
		warming(1))...)
	given := func(_ *rand.Rand, s *model.Session) { s.Warmup = "24" } // was: a pass, with a warning
	out = append(out, inAll("24 steps +50 %, that the head is told to leave out", "", kernelRelations(tb),
		mustFail, bothEdited(warming(1.5), given))...)
	out = append(out, inAll("24 steps that the head is told to leave out", "", kernelRelations(tb), mustNotFail,
		bothEdited(warming(1), given))...)
	out = append(out, inAll("evaluation of 30 % of the GPU time +20 %", "", kernelRelations(tb), mustSay,
		more(measure.After, 0.2), evaluating)...)
	return append(out, inAll("evaluation of 30 % of the GPU time unchanged", "", kernelRelations(tb), mustNotFail, nil,
		evaluating)...)
}

// countCases have a count that was zero in every run of the baseline.
func countCases(tb testing.TB) (out []classCase) {
	for _, m := range []measure.Metric{measure.SyncCalls, measure.Allocations, measure.PageableBytes} {
		rule := fmt.Sprintf("[[rule]]\nmetric = %q\nmax = \"0%%\"\n", m.Name)
		in := func(some int) sessionEdit {
			return func(_ *rand.Rand, s *model.Session) {
				put(s, measure.Workload, m, func(i int) float64 {
					if i < some {
						return 5000
					}
					return 0
				})
			}
		}
		for _, x := range kernelRelations(tb) {
			for _, some := range []int{1, 2, 5} {
				wanted := []expectation{mustSay, mustNotFail} // some runs are no certain change
				if some == 5 {
					wanted = []expectation{mustFail}
				}
				out = append(out, classCase{name: fmt.Sprintf("%s in %d of 5 runs, %s", m.Name, some, x.name),
					policy: rule, wanted: wanted, gates: 2, draw: drawsOf(x.from, 5, in(some), in(0))})
			}
		}
	}
	return out
}

// costCases have kernels of a small part of the GPU time.
func costCases(tb testing.TB) (out []classCase) {
	// The kernel takes 2.35 % of the GPU time.
	cheap := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		slowedBy(s, named("layer_norm_grad_input_kernel_vectorized"), inEveryRun(0.047))
		slowedBy(s, named("CatArrayBatchedCopy"), inEveryRun(-0.23))
		stepTo(s, step, 0.985, gaps)
	}
	out = append(out, inAll("+4.7 % of 2.3 %, GPU time -1 %, step -1.5 %", "", pytorchRelations(tb), mustNotFail,
		cheap)...)
	even := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		slowedBy(s, named("layer_norm_grad_input_kernel_vectorized"), inEveryRun(0.047))
		slowedBy(s, named("CatArrayBatchedCopy"), inEveryRun(-0.05))
		stepTo(s, step, 0.997, gaps)
	}
	out = append(out, inAll("+4.7 % of 2.3 %, GPU time -0.1 %, step -0.3 %", "", pytorchRelations(tb), mustNotFail,
		even)...)
	one := func(role string, least, most float64) func(measure.Subject) bool {
		s := recording(tb, "h200/sessions/transformer-b")
		whole := stats.Median(values(&s, measure.Workload, measure.GPUTime))
		i := slices.IndexFunc(s.Series, func(x model.Series) bool {
			part := stats.Median(x.Values) / whole
			return x.Subject.Scope == measure.ScopeKernel && x.Metric == measure.Total &&
				strings.HasSuffix(x.Role, role) && part > least && part < most
		})
		if i < 0 {
			tb.Fatal("no such kernel")
		}
		return func(x measure.Subject) bool { return x == s.Series[i].Subject }
	}
	out = append(out, inAll("0.3 % of the GPU time, twice as slow", "", pytorchRelations(tb), mustSay,
		slow(one("backward", 0.0025, 0.0045), 1))...)
	const rule = "[[rule]]\nkernel = \"convert_dq_to_16bits*\"\nmetric = \"time\"\nmax = \"3%\"\n"
	out = append(out, inAll("0.8 % of the GPU time +8 %, named by a rule", rule, onOneGPU(pytorchRelations(tb)),
		mustFail, slow(named("convert_dq_to_16bits"), 0.08))...)
	out = append(out, inAll("0.8 % of the GPU time +15 %, named by a rule", rule, pytorchRelations(tb)[3:], mustFail,
		slow(named("convert_dq_to_16bits"), 0.15))...)
	const tiny = "[[rule]]\nkernel = \"tiny*\"\nmetric = \"time\"\nmax = \"3%\"\n"
	return append(out, inAll("0.2 % of the GPU time +30 %, named by a rule", tiny, onOneGPU(kernelRelations(tb)),
		mustFail, slow(named("tiny"), 0.3))...)
}

// thresholdCases have copies of 27 % of the step that take 9 % longer: the step is 2.4 % longer.
func thresholdCases(tb testing.TB) (out []classCase) {
	return inAll("copies +9 % at 1 %", `threshold = "1%"`, onOneGPU(kernelRelations(tb)), mustSay, copyOf(0.09))
}

// knownBoardCases are two hosts with equal boards, one session each: runs of a recorded host, scaled to the medians of
// other hosts in testdata/h200/hosts.csv, where saxpy varies by 0.05 %.
func knownBoardCases(tb testing.TB) (out []classCase) {
	const board = "692-2G520-0282-001"
	f, err := os.Open(filepath.Join(testdata, "h200", "hosts.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	title := rows[0]
	rows = slices.DeleteFunc(rows[1:], func(row []string) bool { return row[0] != board })
	from := recording(tb, "h200/sessions/kernels-a")
	host := func(r *rand.Rand, row, runs int) model.Session {
		s := some(from, r.Perm(len(from.Runs))[:runs])
		s.GPUHash, s.Board = model.HashUUID(fmt.Sprint("host", row)), board
		for column, name := range title[1:] {
			ns := func(row int) float64 { v, _ := strconv.ParseFloat(rows[row][column+1], 64); return v }
			slowedBy(&s, named(strings.TrimSuffix(name, "_ns")), inEveryRun(ns(row)/ns(0)-1))
		}
		return s
	}
	draw := func(runs int, by float64, kernels ...string) func(*rand.Rand) (base, head model.Session) {
		if len(kernels) == 0 {
			kernels = []string{"saxpy"}
		}
		return func(r *rand.Rand) (base, head model.Session) {
			order := r.Perm(len(rows))
			base, head = host(r, order[0], runs), host(r, order[1], runs)
			slowedBy(&head, named(kernels[r.IntN(len(kernels))]), inEveryRun(by))
			return base, head
		}
	}
	for _, runs := range []int{3, 5} {
		// was: fail in 2 of 240
		out = append(out, classCase{name: fmt.Sprintf("one of five +2 %% at 1 %%, %d runs", runs),
			policy: `threshold = "1%"`, wanted: []expectation{mustFail}, gates: 100, unmet: 20,
			draw: draw(runs, 0.02, "saxpy", "reduce", "softmax", "transpose", "sgemm")})
		if runs == 5 {
			out = append(out, classCase{name: "saxpy +3.3 % at 3 %, 5 runs", wanted: []expectation{mustFail},
				gates: 100, unmet: 22, draw: draw(runs, 0.033)})
		}
		out = append(out, classCase{name: fmt.Sprintf("saxpy +4 %% at 3 %%, %d runs", runs),
			wanted: []expectation{mustFail}, gates: 50, unmet: 2, draw: draw(runs, 0.04)},
			classCase{name: fmt.Sprintf("unchanged at 1 %%, %d runs", runs), policy: `threshold = "1%"`,
				wanted: []expectation{mustNotFail}, gates: 100, draw: draw(runs, 0)})
	}
	return out
}

// falseAlarmCases are unchanged draws of one session.
func falseAlarmCases(tb testing.TB) (out []classCase) {
	for _, limit := range []string{"3%", "1%", "0.5%"} {
		for _, x := range onOneGPU(kernelRelations(tb)) {
			for _, runs := range []int{2, 3, 5} {
				out = append(out, classCase{name: fmt.Sprintf("%s, %s, %d runs", limit, x.name, runs),
					policy: fmt.Sprintf("threshold = %q", limit), wanted: []expectation{mustNotFail}, gates: 100,
					draw: drawsOf(x.from, runs, nil)})
			}
		}
	}
	return out
}
