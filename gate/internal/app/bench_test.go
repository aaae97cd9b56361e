//go:build unix

package app

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// BenchmarkCompare compares two saved sessions of ten runs.
func BenchmarkCompare(b *testing.B) {
	for _, kernels := range []int{10, 100, 500, 1000, 2000, 10_000} {
		b.Run(fmt.Sprint(kernels, " kernels"), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			var dirs [2]string
			for i := range dirs {
				dirs[i] = filepath.Join(b.TempDir(), fmt.Sprint(i))
				store(b, dirs[i], session(random, kernels, 10, time.Unix(1e9+int64(i)*3600, 0).UTC()))
			}
			c := Compare{Base: dirs[0], Head: dirs[1], Policy: thresholds.Default().For("")}
			for b.Loop() {
				if r, err := c.Run(b.Context()); err != nil || r.Verdict == result.NoVerdict {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// The JSON of a report has a bounded size a kernel.
func TestReportSize(t *testing.T) {
	const kernels, most = 200, 1500
	random := rand.New(rand.NewPCG(1, 2))
	var dirs [2]string
	for i := range dirs {
		dirs[i] = filepath.Join(t.TempDir(), fmt.Sprint(i))
		store(t, dirs[i], session(random, kernels, 5, time.Unix(1e9+int64(i)*3600, 0).UTC()))
	}
	r, err := Compare{Base: dirs[0], Head: dirs[1], Policy: thresholds.Default().For("")}.Run(t.Context())
	if err != nil || len(r.Findings) < 3*kernels {
		t.Fatal(r, err)
	}
	text, err := saved.JSON(saved.Lossless(r))
	if size := len(text) / kernels; err != nil || size > most {
		t.Errorf("%d bytes a kernel, %d at most (%v)", size, most, err)
	}
}

// BenchmarkSessions compares a head with a baseline of many sessions of five runs, one a day on one of twenty GPUs. Of
// a check cpu-x-csv is the processor time as a multiple of that in which Python's csv module reads the baseline, where
// Python is installed.
func BenchmarkSessions(b *testing.B) {
	for _, size := range [][2]int{{1, 50}, {50, 50}, {100, 50}, {200, 50}, {1000, 50}, {300, 200}, {1000, 200}} {
		sessions, of := size[0], ""
		if size[1] != 50 {
			of = fmt.Sprint(" of ", size[1], " kernels")
		}
		root := b.TempDir()
		committed, head := baseline.Dir(root, "w", "NVIDIA H200"), filepath.Join(root, "head")
		written := sync.OnceFunc(func() {
			random, all := rand.New(rand.NewPCG(1, 2)), make([]model.Session, sessions+1)
			for i := range all {
				all[i] = session(random, size[1], 5, time.Unix(1e9+int64(i)*86400, 0).UTC())
				all[i].GPUHash = fmt.Sprintf("%08x", i%20)
			}
			store(b, committed, all[:sessions]...)
			store(b, head, all[sessions])
		})
		measured := func(b *testing.B, run func() (*result.Report, error)) (busy float64) {
			written()
			busy = math.Inf(1)
			for b.Loop() {
				before := processorTime(b)
				if r, err := run(); err != nil || r.Verdict != result.Pass {
					b.Fatal(r, err)
				}
				busy = min(busy, processorTime(b)-before)
			}
			return busy
		}
		b.Run(fmt.Sprint("compare with ", sessions, of), func(b *testing.B) {
			c := Compare{Base: committed, Head: head, Policy: thresholds.Default().For("")}
			measured(b, func() (*result.Report, error) { return c.Run(b.Context()) })
		})
		b.Run(fmt.Sprint("check against ", sessions, of), func(b *testing.B) {
			busy := measured(b, func() (*result.Report, error) {
				read, err := ReadBaselines(b.Context(), root, "w")
				if err != nil {
					return nil, err
				}
				c := Check{Job: Job{Measurer: &Saved{Path: head}, Live: &Live{}, Baselines: read,
					Policy: thresholds.Default().For("")},
					Looks: []int{5}}
				return c.Run(b.Context())
			})
			b.ReportMetric(busy, "cpu-s")
			if csv := readInPython(b, committed); csv > 0 {
				b.ReportMetric(busy/csv, "cpu-x-csv")
			}
		})
	}
}

// processorTime is that of this process in seconds.
func processorTime(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// readInPython is the processor time in seconds that Python's csv module takes for the files of a baseline, without its
// start, the shortest of three; 0 without Python.
func readInPython(b *testing.B, dir string) float64 {
	const script = `import csv, glob, sys, time
t = time.process_time()
for f in glob.glob(sys.argv[1] + "/*.csv"): sum(1 for _ in csv.reader(open(f)))
print(time.process_time() - t)`
	best := math.Inf(1)
	for range 3 {
		out, err := exec.CommandContext(b.Context(), "python3", "-c", script, dir).Output()
		if err != nil {
			return 0
		}
		var took float64
		if _, err := fmt.Sscan(string(out), &took); err != nil {
			b.Fatal(err)
		}
		best = min(best, took)
	}
	return best
}

// store writes sessions into a baseline.
func store(b testing.TB, dir string, sessions ...model.Session) {
	_, err := baseline.Add(dir, func(*baseline.Baseline) (entries []baseline.Entry, err error) {
		for _, s := range sessions {
			entries = append(entries, baseline.Entry{Session: s})
		}
		return entries, nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// session is one of so many runs, whose kernels scatter by 0.2 %.
func session(random *rand.Rand, kernels, runs int, start time.Time) model.Session {
	s := model.Session{Environment: model.Environment{GPU: "NVIDIA H200", Tool: "nsys 2025.3.2", Tick: 32, Start: start,
		GPUHash: "01234567"}, Step: "step"}
	for i := range runs {
		s.Runs = append(s.Runs, model.Run{Total: 60, Skipped: 6, Launches: kernels, Steady: true,
			Start: start.Add(time.Duration(i) * time.Second)})
	}
	whole := make(model.Values, runs)
	for k := range kernels {
		subject := measure.Subject{Scope: measure.ScopeKernel,
			Name: fmt.Sprintf("void ns::apply<ns::Op%d<float>>(int, float *)", k),
			Grid: measure.Dim3{X: 64, Y: 1, Z: 1}, Block: measure.Dim3{X: 128, Y: 1, Z: 1}}
		series := []model.Series{{Metric: measure.Time}, {Metric: measure.Total}, {Metric: measure.Launches}}
		for i := range runs {
			v := math.Round((5000+100*float64(k%97))*(1+0.002*random.NormFloat64())*1000) / 1000
			for j, value := range []float64{v, 2 * v, 2} {
				series[j].Values = append(series[j].Values, value)
			}
			whole[i] += 2 * v
		}
		for _, x := range series {
			x.Subject, x.Role = subject, fmt.Sprintf("step/layer %d", k%12)
			s.Series = append(s.Series, x)
		}
	}
	s.Series = append(s.Series, model.Series{Subject: measure.Workload, Metric: measure.GPUTime, Values: whole})
	s.SortSeries()
	return s
}
