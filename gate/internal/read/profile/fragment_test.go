package profile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// longRank is a rank of a training job with steps of 1,000 launches, 20 of them collectives on a stream of their own.
// Its kernels take so many ns longer than those of other ranks.
func longRank(steps int, more int64, noise *rand.Rand) model.Trace {
	const layers, perLayer, kernels = 20, 50, 120
	t := model.Trace{Source: "run.000.rank0.sqlite", Process: 100, MemoryPeak: -1,
		RangeNames: []string{"step", "forward", "backward"},
		CallNames:  []string{"cudaLaunchKernel", "cudaDeviceSynchronize"}}
	t.Environment = model.Environment{GPU: "NVIDIA H200", GPUs: 1, GPUHash: "hash", Tick: 32, Tool: "nsys 2025.3",
		Start: time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)}
	for i := range layers {
		t.RangeNames = append(t.RangeNames, fmt.Sprintf("layer %d", i))
	}
	kernel := func(name string) {
		t.Kernels = append(t.Kernels, model.KernelInfo{
			Raw: name + "<float, at::native::BinaryFunctor<float, float, float>>(int, float *)",
			Subject: measure.Subject{Scope: measure.ScopeKernel, Name: name,
				Grid:  measure.Dim3{X: uint32(len(t.Kernels) + 1), Y: 1, Z: 1},
				Block: measure.Dim3{X: 256, Y: 1, Z: 1}}})
	}
	for i := range kernels {
		kernel(fmt.Sprintf("void at::native::vectorized_elementwise_kernel_%d", i))
	}
	kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL")
	const pace = 8_000 // ns from launch to launch
	at := int64(1_000_000)
	for range steps {
		step := int32(len(t.Ranges))
		t.Ranges = append(t.Ranges, model.Range{Start: at, Name: 0, Parent: -1})
		begin := at
		for layer := range layers {
			if layer%(layers/2) == 0 {
				t.Ranges = append(t.Ranges, model.Range{Start: at + 1, End: at + layers/2*perLayer*pace - 1,
					Name: int32(1 + layer/(layers/2)), Parent: step})
			}
			half := int32(len(t.Ranges)) - 1 - int32(layer%(layers/2))
			in := int32(len(t.Ranges))
			t.Ranges = append(t.Ranges, model.Range{Start: at + 2, End: at + perLayer*pace - 2, Name: int32(3 + layer),
				Parent: half})
			for i := range int64(perLayer) {
				call := at + 100 + noise.Int64N(300)
				t.Calls.Add(model.Call{Start: call, End: call + 1500 + noise.Int64N(400)})
				k := (int64(layer)*perLayer + i) * 7 % kernels
				l := model.Launch{API: call, Start: at + 4000, Kernel: int32(k), Range: in, Stream: 7}
				l.End = l.Start + 32*(30+k+noise.Int64N(4)) + more
				if i == perLayer-1 {
					l.Kernel, l.Stream = kernels, 20
					l.End = l.Start + 32*(200+noise.Int64N(60))
				}
				t.Launches = append(t.Launches, l)
				at += pace
			}
		}
		t.Calls.Add(model.Call{Start: at, End: at + 2000, Name: 1})
		at += 3000
		t.Ranges[step].End = at - 1
		t.Copies = append(t.Copies, model.Copy{Start: begin + 3000, End: begin + 3900, API: begin + 50, Bytes: 1 << 20,
			Range: step, Stream: 7, Kind: 1, Source: 1, Target: 2})
	}
	t.Calls.Settle(nil)
	return t
}

// reducedRanks are fragments of ranks of a million launches each, the last one of a slow rank.
var reducedRanks = sync.OnceValue(func() (of []model.Trace) {
	const fast, steps = 4, 1000
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range fast + 1 {
		x, ok := trace.Fragment(longRank(steps, int64(i/fast)*250, noise), trace.Options{})
		if !ok {
			panic("there is no fragment")
		}
		of = append(of, x)
	}
	return of
})

// generateFragments writes the fragments of jobs of many ranks, each of a million launches, into a directory: some are
// reduced, and the others have noise of their own in steps and collectives.
func generateFragments(t testing.TB, dir string, jobs, ranks, slow int) (size int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	noise, of := rand.New(rand.NewPCG(uint64(jobs), uint64(slow))), reducedRanks()
	reduced := len(of) - 1
	for job := range jobs {
		for r := range ranks {
			x := of[(job+r)%reduced]
			if r == slow {
				x = of[reduced]
			}
			d := *x.Fragment
			moves, _ := d.Collectives.Unpack()
			for i := range moves {
				moves[i].Own += 32 * noise.Int64N(60)
			}
			d.Collectives, d.Compute, d.Hash = model.PackCollectives(moves), slices.Clone(d.Compute), noise.Uint64()
			for i := range d.Compute {
				d.Compute[i] += float64(noise.Int64N(1000))
			}
			x.Fragment = &d
			x.GPUHash, x.Start = fmt.Sprintf("%08x", r), x.Start.Add(time.Duration(job)*time.Minute)
			packed, err := rank.Fragment([]model.Trace{x}, trace.Options{})
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("run.%03d.rank%d.trace", job, r)), packed, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			size += len(packed)
		}
	}
	return size
}

// Ranks of 19,999 and of 20,001 launches are judged by the same rules, from traces as from fragments: they leave out as
// many steps, and what their steps take is the same.
func TestLaunchesOfARank(t *testing.T) {
	const steps, perStep = 21, 1000
	for _, slow := range []int{5, 0} {
		if slow == 0 && os.Getenv("NSGATE_TEST_FULL") == "" {
			continue
		}
		var first model.Session
		for _, launches := range []int{19_999, 20_001} {
			noise := rand.New(rand.NewPCG(3, 4))
			traces, fragments := &profile.Recording{}, &profile.Recording{}
			for r := range 2 {
				x := longRank(steps, int64(20*r), noise)
				x.Launches = x.Launches[:launches]
				for i := range x.Launches[:slow*perStep] {
					x.Launches[i].End += 32 * 60
				}
				x.Job, x.Rank, x.Source = "run.000", r, fmt.Sprintf("run.000.rank%d", r)
				d, ok := trace.Fragment(x, trace.Options{})
				if !ok {
					t.Fatal("there is no fragment")
				}
				traces.Traces, fragments.Traces = append(traces.Traces, x), append(fragments.Traces, d)
			}
			want, err := profile.Cut(profile.Rule{}, traces)
			if err != nil {
				t.Fatal(err)
			}
			got, err := profile.Cut(profile.Rule{}, fragments)
			if diff := gocmp.Diff(want, got, cmpopts.EquateNaNs()); err != nil || diff != "" {
				t.Errorf("%d slow steps, %d launches: %v\n%s", slow, launches, err, diff)
			}
			s := want[0][0]
			if first.Runs == nil {
				first = s
				continue
			}
			for run := range s.Runs {
				if s.Runs[run].Skipped != first.Runs[run].Skipped {
					t.Errorf("%d slow steps: %d are left out, and %d of two launches less", slow,
						s.Runs[run].Skipped, first.Runs[run].Skipped)
				}
			}
			for _, x := range first.Series {
				y, ok := s.Find(x.Subject, x.Metric.Name)
				if x.Metric != measure.Time || x.Subject.Scope != measure.ScopeKernel {
					continue
				}
				if !ok || math.Abs(y.Values[0]/x.Values[0]-1) > 0.01 {
					t.Errorf("%d slow steps, %s: %v and %v", slow, x.Subject.Short(), x.Values, y.Values)
				}
			}
		}
	}
}

// Long jobs have the same sessions from fragments as from traces, and a fragment is small.
func TestLongJobs(t *testing.T) {
	const steps = 25
	noise := rand.New(rand.NewPCG(1, 2))
	traces, fragments := &profile.Recording{}, &profile.Recording{}
	size, launches := 0, 0
	for job := range 2 {
		for r := range 2 {
			x := longRank(steps, int64(20*r), noise)
			x.Job, x.Rank, x.Source = fmt.Sprint("run.00", job), r, fmt.Sprintf("run.00%d.rank%d", job, r)
			packed, err := rank.Fragment([]model.Trace{x}, trace.Options{})
			file := filepath.Join(t.TempDir(), x.Source)
			if err == nil {
				err = os.WriteFile(file, packed, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			d, err := rank.ReadFragment(file, x.Source)
			if err != nil || d[0].Fragment == nil {
				t.Fatalf("%s: %v, fragment %v", x.Source, err, d[0].Fragment)
			}
			size, launches = size+len(packed), launches+len(x.Launches)
			d[0].Job, d[0].Rank, d[0].Source = x.Job, x.Rank, x.Source
			traces.Traces, fragments.Traces = append(traces.Traces, x), append(fragments.Traces, d[0])
		}
	}
	want, err := profile.Cut(profile.Rule{}, traces)
	if err != nil {
		t.Fatal(err)
	}
	got, err := profile.Cut(profile.Rule{}, fragments)
	if diff := gocmp.Diff(want, got, cmpopts.EquateNaNs()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if skip := want[0][0].Runs[0].Skipped; skip != 2 || size > 3*launches {
		t.Errorf("a warm-up of %d steps; %d bytes for %d launches", skip, size, launches)
	}
}

// BenchmarkFragments judges jobs of many ranks of a million launches each.
func BenchmarkFragments(b *testing.B) {
	for _, ranks := range []int{25, 50, 100, 1000} {
		b.Run(fmt.Sprint("ranks=", ranks), func(b *testing.B) {
			base, head := filepath.Join(b.TempDir(), "base"), filepath.Join(b.TempDir(), "head")
			size := generateFragments(b, base, 2, ranks, -1)
			generateFragments(b, head, 2, ranks, ranks/5)
			for b.Loop() {
				if r := judge(b, base, head); r.Verdict != result.Fail {
					b.Error(r.Verdict, r.Reason)
				}
			}
			b.ReportMetric(float64(size)/float64(2*ranks), "B/rank")
		})
	}
}
