package trace

import (
	"flag"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// TestMain checks each property a fifth as often under go test: all of it where $NSGATE_TEST_FULL is set, as in CI.
func TestMain(m *testing.M) {
	if os.Getenv("NSGATE_TEST_FULL") == "" {
		flag.Set("rapid.checks", "20")
	}
	os.Exit(m.Run())
}

// fragments are those of traces.
func fragments(t rapid.TB, traces []model.Trace, o Options) (out []model.Trace) {
	t.Helper()
	for _, x := range traces {
		d, ok := Fragment(x, o)
		if !ok || d.Check() != nil || len(d.Launches)+len(d.Ranges) > 0 {
			t.Fatalf("%s rank %d has no fragment, or it does not fit: %v", x.Job, x.Rank, d.Check())
		}
		out = append(out, d)
	}
	return out
}

// A job has the same sessions from fragments as from traces, to the last digit: with any waiting, communicators,
// settling and warm-up, for some ranks or all.
func TestFragmentProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var traces []model.Trace
		for job := range rapid.IntRange(1, 2).Draw(t, "jobs") {
			compute := rapid.SliceOfN(rapid.Int64Range(50, 400), 2, 2).Draw(t, "compute")
			file := []string{"run.000.rank%d.sqlite", "run.001.rank%d.sqlite"}[job]
			traces = append(traces, jobOf(file, int64(100*job), compute...)...)
		}
		warm := rapid.IntRange(0, 20).Draw(t, "warm")
		for i := range traces {
			x := &traces[i]
			x.Messages, x.MemoryPeak = map[int32]model.Message{}, 100
			for l := range x.Launches {
				k := &x.Launches[l]
				if k.Kernel == 1 {
					k.End += 32 * rapid.Int64Range(0, 300).Draw(t, "longer")
					if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
						x.Messages[k.Range] = model.Message{Communicator: uint64(1 + l%2)}
					}
				} else if l < 2*warm {
					k.End += int64(100 * (2*warm - l))
				}
				if rapid.IntRange(0, 40).Draw(t, "without a range") == 0 {
					k.Range = -1
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "lacks") == 0 {
				x.Launches = x.Launches[:len(x.Launches)-1]
			}
		}
		o := Options{Warmup: rapid.SampledFrom([]string{Auto, "0", "3", "17"}).Draw(t, "warm-up"),
			Step: rapid.SampledFrom([]string{"", "step"}).Draw(t, "step")}
		want, err := Sessions(slices.Clone(traces), o)
		if err != nil {
			t.Fatal(err)
		}
		some := fragments(t, traces, o)
		for i := range some {
			if rapid.IntRange(0, 3).Draw(t, "kept") == 0 {
				some[i] = traces[i]
			}
		}
		got, err := Sessions(some, o)
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// A fragment that lacks something is refused with the next step; a trace that no fragment can replace has none.
func TestFragmentLacks(t *testing.T) {
	job := jobOf("run.000.rank%d.sqlite", 1, 200, 220)
	of := fragments(t, job, Options{})
	values := func(change func([]float64) []float64) func(*model.Trace) {
		return func(t *model.Trace) {
			t.Fragment.Warmups = slices.Clone(t.Fragment.Warmups)
			for i := range t.Fragment.Warmups {
				var of []float64
				_ = unpack(t.Fragment.Warmups[i].Values, &of)
				t.Fragment.Warmups[i].Values, _ = pack(change(of))
			}
		}
	}
	for name, x := range map[string]struct {
		o      Options
		change func(*model.Trace)
		want   string
	}{
		"another step": {Options{Step: "epoch"}, nil, `run.000.rank0.sqlite is a fragment by the step "step", ` +
			`and the job is judged by "epoch"; name the step when the job is measured, or keep its exports with ` +
			"`nsgate rank --keep`"},
		"no step":     {Options{Step: NoStep}, nil, `judged by "none"`},
		"a capture":   {Options{Warmup: Capture}, nil, "never called cudaProfilerStart"},
		"other steps": {Options{}, func(t *model.Trace) { t.Fragment.Candidates = nil }, `judged by "none"`},
		"a warm-up": {Options{}, func(t *model.Trace) { t.Fragment.Warmups = t.Fragment.Warmups[:2] },
			"is a fragment without a warm-up of 4 of its 40 steps; leave out 3, the nearest that it has; give the " +
				"warm-up when the job is measured"},
		"an early warm-up": {Options{Warmup: "1"}, nil, "is a fragment without a warm-up of 1 of its 40 steps"},
		"its rows": {Options{}, func(t *model.Trace) { t.Fragment.Rows = t.Fragment.Rows[:20] },
			"run.000.rank0.sqlite is damaged: unexpected EOF"},
		"its samples": {Options{}, values(func(v []float64) []float64 { return nil }), "samples are missing"},
		"a sample":    {Options{}, values(func(v []float64) []float64 { return v[1:] }), "samples are missing"},
		"an infinite sample": {Options{}, values(func(v []float64) []float64 { return append(v[1:], math.Inf(1)) }),
			"a sample is infinite"},
		"another metric": {Options{}, func(t *model.Trace) {
			var rows []model.Series
			_ = unpack([]byte(t.Fragment.Rows), &rows)
			rows[0].Metric.Unit = "furlong"
			packed, _ := pack(rows)
			t.Fragment.Rows = model.Shared(packed)
		}, "a metric"},
		"the same twice": {Options{}, func(t *model.Trace) { t.Fragment.Hash = of[1].Fragment.Hash },
			"are the same recording"},
	} {
		changed := slices.Clone(of)
		f := *of[0].Fragment
		changed[0].Fragment = &f
		if x.change != nil {
			x.change(&changed[0])
		}
		if _, err := Sessions(changed, x.o); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	for name, change := range map[string]func(*model.Trace){
		"a capture":    func(t *model.Trace) { t.Captures = []model.Interval{{Start: 1, End: 2}} },
		"call stacks":  func(t *model.Trace) { t.Callers = []model.Caller{{Kernel: -1}} },
		"samples":      func(t *model.Trace) { t.Sampling = &model.Sampling{} },
		"no steps":     func(t *model.Trace) { t.Ranges = nil },
		"a fragment":   func(t *model.Trace) { t.Fragment = of[0].Fragment },
		"another step": func(t *model.Trace) { t.RangeNames = []string{"epoch"} },
	} {
		x := jobOf("run.000.rank%d.sqlite", 1, 200)[0]
		change(&x)
		if _, ok := Fragment(x, Options{Step: "step"}); ok {
			t.Errorf("%s has a fragment", name)
		}
	}
}

// A fragment has each warm-up that may be found in its steps, those of a baseline of half as many, and what is asked
// for.
func TestWarmups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "steps")
		asked := rapid.IntRange(0, n-1).Draw(t, "asked")
		of := warmups(n, strconv.Itoa(asked))
		if !slices.Contains(of, asked) || len(of) > 36 {
			t.Fatalf("%d steps: %d warm-ups: %v", n, len(of), of)
		}
		found := rapid.IntRange(n/20, n/2).Draw(t, "found")
		if w := roundWarmup(found); w < found || w > found+found/4 || w > min(found, 32) && w != roundWarmup(w) ||
			w < n && !slices.Contains(of, w) {
			t.Fatalf("a warm-up of %d of %d steps is rounded to %d, not of %v", found, n, w, of)
		}
	})
	for found, want := range map[int]int{0: 0, 31: 31, 32: 32, 33: 40, 64: 64, 65: 80, 100: 112, 128: 128, 129: 160} {
		if got := roundWarmup(found); got != want {
			t.Errorf("a warm-up of %d steps is rounded to %d, want %d", found, got, want)
		}
	}
}
