package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// longFrom lets runs of more launches be long ones until the end of a test.
func longFrom(t testing.TB, launches int) {
	before := LongRun
	LongRun = launches
	t.Cleanup(func() { LongRun = before })
}

// digests are those of traces.
func digests(t rapid.TB, traces []model.Trace, step string) (out []model.Trace) {
	t.Helper()
	for _, x := range traces {
		d, ok := Digest(x, step)
		if !ok || d.Check() != nil || len(d.Launches)+len(d.Ranges) > 0 {
			t.Fatalf("%s rank %d has no digest, or it does not fit: %v", x.Job, x.Rank, d.Check())
		}
		out = append(out, d)
	}
	return out
}

// A job has the same sessions from digests as from traces, to the last digit: with any waiting, communicators, settling
// and warm-up, for some ranks or all.
func TestDigestProperties(t *testing.T) {
	longFrom(t, 10)
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
		some := digests(t, traces, o.Step)
		for i := range some {
			if rapid.IntRange(0, 3).Draw(t, "kept") == 0 {
				some[i] = traces[i]
			}
		}
		got, err := Sessions(some, o)
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
		if skip := want[0].Runs[0].Skipped; !slices.Contains(skips(40), skip) {
			t.Fatalf("a warm-up of %d steps of 40, which digests lack", skip)
		}
	})
}

// A digest that lacks something is refused with the next step; a trace that no digest can replace has none.
func TestDigestLacks(t *testing.T) {
	longFrom(t, 10)
	job := jobOf("run.000.rank%d.sqlite", 1, 200, 220)
	of := digests(t, job, "")
	for name, x := range map[string]struct {
		o      Options
		change func(*model.Trace)
		want   string
	}{
		"another step": {Options{Step: "epoch"}, nil, `run.000.rank0.sqlite is a digest by the step "step", ` +
			`and the job is judged by "epoch"; name the step when the job is measured, or keep its exports with ` +
			"`nsgate rank --keep`"},
		"no step":     {Options{Step: NoStep}, nil, `judged by "none"`},
		"a capture":   {Options{Warmup: Capture}, nil, "never called cudaProfilerStart"},
		"other steps": {Options{}, func(t *model.Trace) { t.Digest.Candidates = nil }, `judged by "none"`},
		"a warm-up": {Options{}, func(t *model.Trace) { t.Digest.Skips = []int{1} },
			"is a digest without a warm-up of 4 of its 40 steps"},
		"its samples": {Options{}, func(t *model.Trace) { t.Digest.Samples = t.Digest.Samples[:20] },
			"run.000.rank0.sqlite is damaged: unexpected EOF"},
		"some samples": {Options{}, func(t *model.Trace) { t.Digest.Skips = append([]int{2, 3}, t.Digest.Skips...) },
			"samples are missing"},
		"an infinite sample": {Options{}, func(t *model.Trace) {
			s, _ := readSamples(t.Digest)
			s.Values[0] = math.Inf(1)
			var out bytes.Buffer
			z := gzip.NewWriter(&out)
			_, _ = gob.NewEncoder(z).Encode(s), z.Close()
			t.Digest.Samples = out.Bytes()
		}, "a sample is infinite"},
		"the same twice": {Options{}, func(t *model.Trace) { t.Digest.Hash = of[1].Digest.Hash }, "are the same recording"},
	} {
		changed := slices.Clone(of)
		d := *of[0].Digest
		changed[0].Digest = &d
		if x.change != nil {
			x.change(&changed[0])
		}
		if _, err := Sessions(changed, x.o); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	for name, change := range map[string]func(*model.Trace){
		"a short run":  func(t *model.Trace) { t.Launches = t.Launches[:10] },
		"a capture":    func(t *model.Trace) { t.Captures = []model.Interval{{Start: 1, End: 2}} },
		"call stacks":  func(t *model.Trace) { t.Callers = []model.Caller{{Kernel: -1}} },
		"samples":      func(t *model.Trace) { t.Sampling = &model.Sampling{} },
		"no steps":     func(t *model.Trace) { t.Ranges = nil },
		"another step": func(t *model.Trace) { t.RangeNames = []string{"epoch"} },
	} {
		x := jobOf("run.000.rank%d.sqlite", 1, 200)[0]
		change(&x)
		if _, ok := Digest(x, "step"); ok {
			t.Errorf("%s has a digest", name)
		}
	}
}

// The warm-up of every long job is one that digests of its runs have, and leaves out as much as is asked for.
func TestRoundSkip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(5, 5000).Draw(t, "steps")
		shorter := n - rapid.IntRange(0, n/4).Draw(t, "fewer")
		most := rapid.IntRange(0, shorter-1).Draw(t, "most")
		var cuts []*cut
		for _, n := range []int{n, shorter} {
			cuts = append(cuts, &cut{Trace: &model.Trace{}, steps: make([]model.Interval, n)})
		}
		skip := roundSkip(most, cuts)
		if skip >= shorter || !slices.Contains(skips(n), skip) || !slices.Contains(skips(shorter), skip) {
			t.Fatalf("a warm-up of %d is rounded to %d of %d and %d steps", most, skip, n, shorter)
		}
		if skip < max(most, n/10) && nextSkip(skip) < shorter {
			t.Fatalf("a warm-up of %d of %d steps is rounded down to %d", most, n, skip)
		}
	})
	if got := roundSkip(70, []*cut{{steps: make([]model.Interval, 200)}}); got != 96 {
		t.Errorf("a warm-up of 70 of 200 steps is rounded to %d", got)
	}
}
