package recorded

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

var nan = math.NaN()

func kernel(name string) measure.Subject {
	return measure.Subject{Scope: measure.ScopeKernel, Name: name}
}

// session is a session of as many profiled runs as the first series has values.
func session(series ...model.Series) model.Session {
	s := model.Session{Series: series}
	for range series[0].Values {
		s.Runs = append(s.Runs, model.Run{Steady: true, Total: 10})
	}
	s.SortSeries()
	return s
}

func of(s measure.Subject, m measure.Metric, values ...float64) model.Series {
	return model.Series{Subject: s, Metric: m, Values: values}
}

// A kernel that a run of its session does not launch took no time there; a value that is unknown beside others
// stays so.
func TestValues(t *testing.T) {
	a, b := kernel("a"), kernel("b")
	x := New([]model.Session{
		session(of(a, measure.Time, 5, nan, 6), of(a, measure.Launches, 1, nan, 2), of(a, measure.Total, 5, nan, nan),
			of(measure.Workload, measure.GPUTime, 20, 20, 20)),
		session(of(b, measure.Time, 4, 4), of(measure.Workload, measure.GPUTime, 20, 20)),
	}, measure.Total)
	for _, c := range []struct {
		metric measure.Metric
		want   [][]float64
	}{
		{measure.Launches, [][]float64{{1, 0, 2}, {nan, nan}}}, {measure.Total, [][]float64{{5, 0, nan}, {nan, nan}}},
		{measure.Time, [][]float64{{5, nan, 6}, {nan, nan}}},
	} {
		same := func(x, y []float64) bool {
			return slices.EqualFunc(x, y, func(x, y float64) bool { return x == y || x != x && y != y })
		}
		if got := x.Values(a, c.metric.Name); !slices.EqualFunc(got, c.want, same) {
			t.Errorf("%s: %v, want %v", c.metric.Name, got, c.want)
		}
	}
	if !x.Has(a) || x.Has(kernel("c")) || !x.HasMetric(b, measure.Time.Name) || x.HasMetric(b, measure.Total.Name) {
		t.Error("what the sessions have is not found")
	}
	if got := x.Typical(b, measure.Time.Name); got != 4 {
		t.Errorf("typical %v, want the median 4", got)
	}
	if x.Whole != 20 || x.Runs() != 5 || x.ProfiledRuns() != 5 || len(x.Subjects()) != 3 {
		t.Errorf("whole %v of %d and %d runs, %v", x.Whole, x.Runs(), x.ProfiledRuns(), x.Subjects())
	}
	if got := x.Metrics(a); !slices.Equal(got, []measure.Metric{measure.Time, measure.Launches, measure.Total}) &&
		len(got) != 3 {
		t.Errorf("metrics %v", got)
	}
}

// A sum is that of its parts in each run, whatever their order, and unknown only where all of them are.
func TestSum(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		runs := rapid.IntRange(1, 4).Draw(r, "runs")
		value := rapid.OneOf(rapid.Just(nan), rapid.Float64Range(1, 100))
		var series []model.Series
		var subjects []measure.Subject
		for _, name := range []string{"a", "b", "c"} {
			series = append(series, of(kernel(name), measure.Time,
				rapid.SliceOfN(value, runs, runs).Draw(r, name)...))
			subjects = append(subjects, kernel(name))
		}
		x := New([]model.Session{session(series...)}, measure.Total)
		order := rapid.Permutation(subjects).Draw(r, "order")
		got := x.Sum(order, measure.Time.Name)[0]
		for run := range got {
			want, known := 0.0, false
			for _, s := range series {
				if v := s.Values[run]; v == v {
					want, known = want+v, true
				}
			}
			if known != (got[run] == got[run]) || known && math.Abs(got[run]-want) > 1e-9 {
				r.Fatalf("run %d: %v, want %v", run, got[run], want)
			}
		}
	})
}

// Shares are of kernel time, of copies of kernels and copies together, and no more than the whole.
func TestShare(t *testing.T) {
	copies := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
	forward := measure.Subject{Scope: measure.ScopeRange, Name: "forward"}
	x := New([]model.Session{session(of(kernel("a"), measure.Total, 30, 30, 30),
		of(kernel("rare"), measure.Total, 0, 0, 9),
		of(kernel("huge"), measure.Total, 900, 900, 900), of(copies, measure.CopyTime, 25, 25, 25),
		of(forward, measure.GPUTime, 50, 50, 50), of(measure.Workload, measure.GPUTime, 75, 75, 75))}, measure.Total)
	for s, want := range map[measure.Subject]float64{kernel("a"): 0.4, kernel("rare"): 0.04, kernel("huge"): 1,
		copies: 0.25, forward: 50. / 75, measure.Workload: 1, kernel("none"): 0,
		{Scope: measure.ScopeOutput, Name: "tokens/s"}: 1} {
		for range 2 { // computed once, then kept
			if got := x.Share(s); math.Abs(got-want) > 1e-9 {
				t.Errorf("%v: %v, want %v", s, got, want)
			}
		}
	}
	counted := New([]model.Session{session(of(kernel("a"), measure.ReplayTime, 1),
		of(kernel("b"), measure.ReplayTime, 3))}, measure.ReplayTime)
	if got := counted.Share(kernel("b")); got != 0.75 {
		t.Errorf("of counted launches: %v", got)
	}
}

// Sections share the run; exposed copies are known only where steps are attributed.
func TestParts(t *testing.T) {
	copies := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
	last := measure.Sections[len(measure.Sections)-1]
	s := session(of(measure.Before, measure.Elapsed, 30, 30), of(last, measure.Elapsed, 90, 90),
		of(copies, measure.CopyTime, 5, 5))
	x := New([]model.Session{s}, measure.Total)
	if got := x.WholeRun(measure.Elapsed); got != 120 {
		t.Errorf("whole run %v", got)
	}
	if got := x.ShareOfRun(measure.Before, measure.Elapsed); got != 0.25 {
		t.Errorf("share of the run %v", got)
	}
	if got := x.ShareOfRun(measure.Before, measure.GPUTime); got != 0 {
		t.Errorf("share of an unknown whole %v", got)
	}
	if got := x.Exposed(copies); got == got {
		t.Errorf("exposed %v without attribution", got)
	}
	for owned, want := range map[measure.Subject]float64{copies: 3, kernel("a"): 0} {
		x := New([]model.Session{session(of(copies, measure.CopyTime, 5), of(owned, measure.Owned, 3))}, measure.Total)
		if got := x.Exposed(copies); got != want {
			t.Errorf("%v is attributed: exposed %v, want %v", owned, got, want)
		}
	}
}

// Roles, notes and categories are those of the newest session that has them.
func TestNewest(t *testing.T) {
	forward := measure.Subject{Scope: measure.ScopeRange, Name: "forward"}
	total := func(role, note string) model.Series {
		return model.Series{Subject: kernel("a"), Metric: measure.Total, Role: role, Note: note,
			Values: model.Values{1}}
	}
	ranged := of(forward, measure.GPUTime, 1)
	ranged.Note = "loss"
	old, newer := session(total("step/old", "x"), ranged), session(total("step/new", ""))
	x := New([]model.Session{old, newer}, measure.Total)
	if x.Role(kernel("a")) != "step/new" || x.Note(kernel("a"), measure.Total.Name) != "" || x.Role(forward) != "" ||
		x.Note(forward, measure.GPUTime.Name) != "loss" || x.Find(kernel("b"), "total") != nil {
		t.Errorf("%q %q", x.Role(kernel("a")), x.Note(forward, measure.GPUTime.Name))
	}
	if got := Categories([]model.Session{old}, []model.Session{newer}); len(got) != 1 || got["forward"] != "loss" {
		t.Errorf("categories %v", got)
	}
	if got := Names([]measure.Subject{kernel("a(int)"), forward, kernel("a(float)")}); !slices.Equal(got,
		[]string{"a", "forward"}) {
		t.Errorf("names %q", got)
	}
	raw := measure.Metric{Name: measure.RawPrefix + "sm__cycles.avg", Unit: "cycle"}
	if got := Known(&Entry{Series: [][]model.Series{{of(kernel("a"), raw, 1)}}}, nil); !slices.Equal(got,
		append(slices.Clone(measure.Metrics), raw)) {
		t.Errorf("the raw metric stands at the end: %v", got[len(got)-1])
	}
}

// Two runs with one fingerprint agree in all that they measured; too few times agree by chance.
func TestFingerprints(t *testing.T) {
	var series []model.Series
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		series = append(series, of(kernel(name), measure.Time, 1, 1, 1, 1))
	}
	series[3].Values[1] = 2
	series[4].Values[2] = nan
	s := session(series...)
	got := Fingerprints(&s)
	if len(got) != 3 || got[0] == got[1] || got[0] != got[2] {
		t.Errorf("%v: the third run has four times, the second another one", got)
	}
}

// Rows of benchmark files tell runs apart by many digits, or by the time of the measurement.
func TestFingerprintsOfRows(t *testing.T) {
	latency := measure.Metric{Name: "duration", Unit: "ns", Better: measure.Lower}
	for _, tt := range []struct {
		value float64
		start int64
		unit  string
		want  int
	}{
		{12.5, 0, "ns", 0}, {12.5, 100, "ns", 2}, {0.001, 0, "ns", 0}, {1, 100, "ns", 2},
		{0.1234567890123, 0, "ns", 2}, {1234567890123, 0, "B", 0},
	} {
		m := latency
		m.Unit = tt.unit
		row := func(name string) measure.Subject { return measure.Subject{Scope: measure.ScopeBenchmark, Name: name} }
		s := session(of(row("a"), m, tt.value, tt.value), of(row("b"), m, tt.value, tt.value))
		if tt.start > 0 {
			for i := range s.Runs {
				s.Runs[i].Start = time.Unix(tt.start, 0)
			}
		}
		got := Fingerprints(&s)
		if len(got) != tt.want || tt.want > 0 && got[0] != got[1] {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestSessions(t *testing.T) {
	at := func(second int, hash string) model.Session {
		s := session(of(kernel("a"), measure.Time, 1, 1))
		s.GPUHash, s.Start, s.Warmup = hash, time.Unix(int64(second), 0), "auto"
		return s
	}
	a, b, c := at(100, "x"), at(160, "x"), at(400, "y")
	if !OneGPU([]model.Session{a}, []model.Session{b}) || OneGPU([]model.Session{a}, []model.Session{b, c}) ||
		OneGPU([]model.Session{at(1, "")}, []model.Session{at(2, "")}) {
		t.Error("one GPU")
	}
	if got := Apart([]model.Session{a, at(130, "x")}, []model.Session{b, c}); got != 30 {
		t.Errorf("%v s apart, want 30", got)
	}
	if got := Apart([]model.Session{a}, []model.Session{c}); got == got {
		t.Errorf("%v s apart on two GPUs", got)
	}
	if got := Newest([]model.Session{a, c, b}); got.Unix() != 400 {
		t.Errorf("newest %v", got)
	}
	b.Steal = 0.5
	if got := Denied([]model.Session{a}, []model.Session{b}); got != 1 {
		t.Errorf("a host that gives half of its time away takes %v longer, want 1", got)
	}
	if got := Denied([]model.Session{b}, []model.Session{a}); got != 0 {
		t.Errorf("denied %v by the baseline's host", got)
	}
	a.Runs[1] = model.Run{Total: 7}
	if Unsteady(&a) != 1 || Steps(&a) != 7 {
		t.Errorf("%d runs are unsteady, %d steps", Unsteady(&a), Steps(&a))
	}
	a.Warmup = "2"
	if Unsteady(&a) != 0 {
		t.Error("a given warm-up has no end to look for")
	}
	row := session(of(measure.Subject{Scope: measure.ScopeBenchmark, Name: "BM"}, measure.Duration, 1))
	if !NoHost([]model.Session{row}) || NoHost([]model.Session{row, c}) {
		t.Error("a benchmark file names no host")
	}
	a.Tick, b.Tick, b.Board, c.Board = 32, 1000, "2", "1"
	if all := []model.Session{a, b, c}; FinestTick(all) != 32 || CoarsestTick(all) != 1000 ||
		!slices.Equal(Boards(all), []string{"", "1", "2"}) {
		t.Errorf("%v %v %q", FinestTick(all), CoarsestTick(all), Boards(all))
	}
}
