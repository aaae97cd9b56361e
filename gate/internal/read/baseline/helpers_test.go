package baseline

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// TestMain keeps the files of the tests in memory, where there is such a directory: the many calls of fsync wait for
// a disk.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("/dev/shm", "baseline")
	if err == nil {
		os.Setenv("TMPDIR", dir)
	}
	code := m.Run()
	os.RemoveAll(dir) // "" without such a directory
	os.Exit(code)
}

var update = flag.Bool("update", false, "rewrite the golden files")

// exact compares sessions to the last bit, but for the zone of times and nil for empty.
var exact = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Entry{})}

var (
	saxpy = measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy(int, float, float const*, float*)",
		Grid: measure.Dim3{X: 1056, Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
	fused = measure.Subject{Scope: measure.ScopeKernel, Name: "void ns::softmax<float, 4>(float*)",
		Grid: measure.Dim3{X: 64, Y: 2, Z: 1}, Block: measure.Dim3{X: 128, Y: 1, Z: 1}}
	step   = measure.Subject{Scope: measure.ScopeRange, Name: "step"}
	htod   = measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
	start  = time.Date(2026, 11, 21, 1, 51, 7, 0, time.UTC)
	absent = math.NaN()
)

func run(skipped int, steady bool) model.Run {
	return model.Run{Skipped: skipped, Total: 60, Launches: 6 * (60 - skipped), Steady: steady}
}

// sample gives two sessions from two GPUs.
func sample() []model.Session {
	one := model.Session{
		Environment: model.Environment{
			GPU: "NVIDIA H200", GPUs: 1, GPUHash: "1a2b3c4d", Driver: "580.159", CUDA: "13.0", Tool: "nsys 2025.3.1",
			Schema: "3.15.1", GraphTrace: "node", Tick: 32, ClockMHz: 1980, Start: start,
			Hardware: model.Hardware{Board: "692-2G520-0282-001", VBIOS: "96.00.A5.00.1A", MemoryMHz: 3201, PowerW: 700,
				CPU: "INTEL(R) XEON(R) PLATINUM 8558"},
		},
		Step: "step", Warmup: "auto", Commit: "5f2d1c0", Reason: "first record",
		Runs: []model.Run{run(3, true), run(3, true), run(4, true)},
		Series: []model.Series{
			{Subject: measure.Workload, Metric: measure.GPUTime, Values: model.Values{1234567.5, 1234567.5, 1.25e6}},
			{Subject: htod, Metric: measure.CopyBytes, Values: model.Values{65536, 65536, 65536},
				Note: "pageable to device"},
			{Subject: step, Metric: measure.GPUTime, Values: model.Values{1000.1, 1000.2, 1000.3}},
			{Subject: saxpy, Metric: measure.Launches, Values: model.Values{1, 1, 1}, Role: "step/compute"},
			{Subject: saxpy, Metric: measure.Time, Values: model.Values{27136, 27136, 27168}, Role: "step/compute"},
			{Subject: fused, Metric: measure.Time, Values: model.Values{1.0 / 3, absent, absent},
				Role: "=SUM(A1), \"fused\""},
		},
	}
	one.Runs[0].Start, one.Runs[2].Start = start, start.Add(2500*time.Millisecond)
	two := one
	two.GPUHash, two.Start, two.Reason = "99887766", start.Add(26*time.Hour), "second host"
	two.Hardware = model.Hardware{MIG: "60 + 60 SMs"}
	two.Runs = []model.Run{run(0, false)}
	two.Series = []model.Series{
		{Subject: measure.Workload, Metric: measure.GPUTime, Values: model.Values{1234000}},
		{Subject: saxpy, Metric: measure.Time, Values: model.Values{27500}, Role: "step/compute"},
	}
	one.ID, two.ID = "20261121T0151-1a2b3c4d", "20261122T0351-99887766"
	return []model.Session{one, two}
}

// record adds sessions to a baseline, one after the other, and returns their entries.
func record(t testing.TB, dir string, sessions ...model.Session) (out []Entry) {
	t.Helper()
	for _, s := range sessions {
		out = append(out, add(t, dir, Entry{Session: s})...)
	}
	return out
}

// add adds entries at once.
func add(t testing.TB, dir string, entries ...Entry) []Entry {
	t.Helper()
	added, err := Add(dir, func(*Baseline) ([]Entry, error) { return entries, nil })
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// contents reads every file of dir.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	listed, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, e := range listed {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sessionsGen draws any sessions that Update accepts, hostile text included.
func sessionsGen() *rapid.Generator[[]model.Session] {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringMatching("[=+@'\\\\,\"\r\n\t<>A-F*-]{0,6}"),
		rapid.SampledFrom([]string{"\r\n", "\xff\xfe", "\u202e", "=1+1", "'", "-", "<<<<<<< HEAD", `\n`, "\uFEFF",
			"\u00a0"}))
	count := rapid.IntRange(0, 1<<40)
	value := rapid.OneOf(
		rapid.Just(math.NaN()),
		rapid.Map(rapid.IntRange(0, 3), func(i int) float64 { return float64(i) }),
		rapid.Float64Range(0, math.MaxFloat64),
		rapid.SampledFrom([]float64{math.SmallestNonzeroFloat64, 1e21, 1e-7, 1.0 / 3, 1 << 53}),
	)
	dim := rapid.Custom(func(t *rapid.T) measure.Dim3 {
		n := rapid.Uint32Range(0, 3)
		return measure.Dim3{X: n.Draw(t, "x"), Y: n.Draw(t, "y"), Z: n.Draw(t, "z")}
	})
	subject := rapid.Custom(func(t *rapid.T) measure.Subject {
		return measure.Subject{
			Scope: rapid.SampledFrom(measure.Scopes).Draw(t, "scope"),
			Name:  text.Draw(t, "name"), Grid: dim.Draw(t, "grid"), Block: dim.Draw(t, "block"),
		}
	})
	return rapid.Custom(func(t *rapid.T) []model.Session {
		gpu := text.Draw(t, "gpu")
		var sessions []model.Session
		for range rapid.IntRange(1, 3).Draw(t, "sessions") {
			s := model.Session{
				Environment: model.Environment{
					GPU: gpu, GPUs: count.Draw(t, "gpus"),
					GPUHash: rapid.StringMatching(`([0-9a-f]{8})?`).Draw(t, "hash"),
					Driver:  text.Draw(t, "driver"), CUDA: text.Draw(t, "cuda"), Tool: text.Draw(t, "tool"),
					Schema:     text.Draw(t, "schema"),
					GraphTrace: rapid.SampledFrom([]string{"", "node", "graph"}).Draw(t, "graph"),
					Tick:       rapid.Float64Range(0, 2000).Draw(t, "tick"), ClockMHz: count.Draw(t, "clock"),
					Hardware: model.Hardware{
						Board: rapid.StringMatching(`(692-2G520-0282-00[0-9]( \+ 965-2G520-0041-000)?)?`).Draw(t,
							"board"),
						VBIOS: text.Draw(t, "vbios"), MemoryMHz: count.Draw(t, "memory"),
						PowerW: count.Draw(t, "power"),
						MIG:    text.Draw(t, "mig"), CPU: text.Draw(t, "cpu"), Sockets: count.Draw(t, "sockets"),
						CPULimit: rapid.Float64Range(0, 1e3).Draw(t, "limit"),
					},
					HostLoad: model.HostLoad{Throttled: rapid.Float64Range(0, 1).Draw(t, "throttled"),
						Foreign: rapid.Float64Range(0, 1e3).Draw(t, "foreign")},
				},
				Step: text.Draw(t, "step"), Warmup: text.Draw(t, "warmup"), Commit: text.Draw(t, "commit"),
				Reason: text.Draw(t, "reason"),
			}
			if rapid.Bool().Draw(t, "timed") {
				s.Start = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"),
					rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
			}
			for range rapid.IntRange(1, 5).Draw(t, "runs") {
				s.Runs = append(s.Runs, model.Run{
					Skipped: count.Draw(t, "skipped"), Total: count.Draw(t, "total"),
					Launches: count.Draw(t, "launches"), Steady: rapid.Bool().Draw(t, "steady"),
				})
			}
			traced := len(s.Runs)
			for range rapid.IntRange(1, 3).Draw(t, "untraced") * rapid.IntRange(0, 1).Draw(t, "some untraced") {
				s.Runs = append(s.Runs, model.Run{Unprofiled: true, Steady: true})
			}
			metrics := rapid.SampledFrom(measure.Metrics).Filter(func(m measure.Metric) bool {
				return !m.Unprofiled() || traced < len(s.Runs)
			})
			key := func(x model.Series) string {
				return fmt.Sprintf("%s\x00%s\x00%s\x00%s", x.Subject.Scope, x.Subject.Name, x.Subject.Geometry(),
					x.Metric.Name)
			}
			s.Series = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) model.Series {
				x := model.Series{
					Subject: subject.Draw(t, "subject"), Metric: metrics.Draw(t, "metric"),
					Values: rapid.SliceOfN(value, len(s.Runs), len(s.Runs)).Draw(t, "values"),
					Role:   text.Draw(t, "role"), Note: text.Draw(t, "note"),
				}
				for i := range x.Values {
					if (i >= traced) != x.Metric.Unprofiled() {
						x.Values[i] = math.NaN()
					}
				}
				if of := s.Of(&x); !slices.ContainsFunc(of, func(v float64) bool { return !math.IsNaN(v) }) {
					of[0] = 1
				}
				return x
			}), 1, 6, key).Draw(t, "series")
			s.SortSeries()
			sessions = append(sessions, s)
		}
		return sessions
	})
}
