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
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// This file measures gates between GPU hosts: false alarms, undecided findings and detected changes, by the number of
// hosts in the baseline and by their known boards.
//
//	go test -run=NONE -bench=Hosts -benchtime=1x ./gate/internal/judge/decide

const fastBoard, slowBoard = "692-2G520-0282-001", "692-2G520-0282-000"

// hostGate draws so many hosts of a baseline, and one of the head.
type hostGate func(r *rand.Rand, bases int) (base []model.Session, head model.Session)

// boarded names the board of sessions, or forgets it.
func boarded(s model.Session, board string) model.Session {
	s.Board = board
	return s
}

// betweenHosts draws different hosts among recorded ones.
func betweenHosts(hosts []host, board string) hostGate {
	return func(r *rand.Rand, bases int) (base []model.Session, head model.Session) {
		order := r.Perm(len(hosts))
		for i := range bases + 1 {
			h := &hosts[order[i]]
			runs := min(5, len(h.session.Runs))
			s := boarded(draw{host: h, runs: r.Perm(len(h.session.Runs))[:runs]}.session(), board)
			head = s
			if i < bases {
				base = append(base, s)
			}
		}
		return base, head
	}
}

// classed draws different hosts of testdata/h200/hosts.csv, the fast ones or, with mixed, all, as if all had that
// board: the runs of a recorded host, scaled to the medians that the kernels have on the other.
func classed(tb testing.TB, of host, mixed bool, board string) hostGate {
	f, err := os.Open(filepath.Join(recordings, "hosts.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	title := rows[0]
	rows = slices.DeleteFunc(rows[1:], func(row []string) bool { return !mixed && row[0] == slowBoard })
	factors := func(row int, kernel string) float64 {
		at := slices.Index(title, kernel+"_ns")
		if at < 0 {
			return 1
		}
		ns := func(i int) float64 { v, _ := strconv.ParseFloat(rows[i][at], 64); return v }
		return ns(row) / ns(0)
	}
	return func(r *rand.Rand, bases int) (base []model.Session, head model.Session) {
		for i, row := range r.Perm(len(rows))[:bases+1] {
			s := draw{host: &of, runs: r.Perm(len(of.session.Runs))[:5]}.session()
			s.GPUHash, s.Board = fmt.Sprint("host", row), board
			more := make([]float64, len(s.Runs))
			for j, x := range s.Series {
				if x.Subject.Scope != measure.ScopeKernel || x.Metric.Unit != "ns" {
					continue
				}
				s.Series[j].Values = slices.Clone(x.Values)
				for k, v := range x.Values {
					s.Series[j].Values[k] = v * factors(row, x.Subject.Short())
					if x.Metric == measure.Total {
						more[k] += s.Series[j].Values[k] - v
					}
				}
			}
			for j, x := range s.Series {
				if x.Subject == measure.Workload && x.Metric == measure.GPUTime {
					for k := range more {
						s.Series[j].Values[k] += more[k]
					}
				}
			}
			head = s
			if i < bases {
				base = append(base, s)
			}
		}
		return base, head
	}
}

// pytorch draws hosts of [pytorchHost]. slow is the part of hosts of the other board; boards says whether the sessions
// know.
func pytorch(slow float64, boards bool) hostGate {
	return func(r *rand.Rand, bases int) (base []model.Session, head model.Session) {
		side := func(i int) model.Session {
			isSlow := r.Float64() < slow
			s := pytorchHost(r, fmt.Sprint("host", i), isSlow)
			if boards {
				s.Board = map[bool]string{false: fastBoard, true: slowBoard}[isSlow]
			}
			return s
		}
		for i := range bases {
			base = append(base, side(i))
		}
		return base, side(bases)
	}
}

// counted adds to the base Nsight Compute's counters of the DRAM-bound kernels of [pytorchHost].
func (g hostGate) counted() hostGate {
	return func(r *rand.Rand, bases int) (base []model.Session, head model.Session) {
		base, head = g(r, bases)
		pages := model.Session{Environment: base[0].Environment, Warmup: "none", Runs: []model.Run{{Steady: true}}}
		pages.Tool = "ncu 2025.3.1"
		for _, x := range head.Series {
			if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(x.Subject.Name, "k"),
				"(float*)")); err == nil && n%2 == 1 && x.Metric == measure.Time {
				pages.Series = append(pages.Series, model.Series{Subject: x.Subject,
					Metric: measure.DRAMThroughput, Values: model.Values{80}})
			}
		}
		return append(base, pages), head
	}
}

// withSlower makes one kernel of a session with at least 5 % of its time slower, and with it what sums it up.
func withSlower(r *rand.Rand, s model.Session, effect float64) (model.Session, measure.Subject) {
	h := host{session: s}
	kernels := heavy(s)
	all := make([]int, len(s.Runs))
	for i := range all {
		all[i] = i
	}
	d := draw{host: &h, runs: all, kernel: kernels[r.IntN(len(kernels))], effect: effect}
	return d.session(), d.kernel
}

// rates are gates between hosts, in per cent.
type rates struct{ failed, alarms, undecided, noVerdict, found float64 }

func (g hostGate) rates(seed uint64, gates, bases int, limit, effect float64) rates {
	policy := limited(limit)
	r := rand.New(rand.NewPCG(seed, 71))
	var out rates
	for range gates {
		base, head := g(r, bases)
		report := compareSides(base, []model.Session{head}, policy)
		switch answerOf(report) {
		case fails:
			out.failed++
		case passesUndecided:
			out.undecided++
		case noVerdict:
			out.noVerdict++
		}
		if slices.ContainsFunc(report.Findings, func(f result.Finding) bool { return f.Outcome == result.Slower }) {
			out.alarms++
		}
		head, kernel := withSlower(r, head, effect)
		report = compareSides(base, []model.Session{head}, policy)
		if slices.ContainsFunc(report.Findings, func(f result.Finding) bool {
			return f.Outcome == result.Slower && f.Subject() == kernel
		}) {
			out.found++
		}
	}
	for _, v := range []*float64{&out.failed, &out.alarms, &out.undecided, &out.noVerdict, &out.found} {
		*v *= 100 / float64(gates)
	}
	return out
}

// Unchanged programs are not called slower on another host, and what a baseline of one board learns is worth its while.
func TestBetweenHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		hosts     hostGate
		bases     int
		undecided float64 // at most, per cent
		found     float64 // +2 %, at least
	}{
		{"kernels, one board", classed(t, loadHosts(t, "kernels", "a")[0], false, fastBoard), 3, 10, 90},
		{"PyTorch, one board", pytorch(0, true), 3, 100, 0},
		{"PyTorch, boards known", pytorch(0.4, true), 2, 100, 0},
		{"PyTorch, boards unknown", pytorch(0.4, false), 1, 100, 0},
	} {
		got := c.hosts.rates(73, sample(100), c.bases, 0.01, 0.02)
		if got.alarms > 2 || got.undecided > c.undecided || got.found < c.found {
			t.Errorf("%s: %.0f %% false alarms, %.0f %% undecided, %.0f %% found", c.name, got.alarms, got.undecided,
				got.found)
		}
	}
}

// BenchmarkHosts prints the table.
func BenchmarkHosts(b *testing.B) {
	kernels := func(names ...string) []host { return loadHosts(b, "kernels", names...) }
	transformer := func(names ...string) []host { return loadHosts(b, "transformer", names...) }
	for b.Loop() {
		fmt.Printf("\n| program, hosts | bases | limit | failed | any slower | undecided | no verdict | +2 %% or " +
			"twice the limit found |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
		for _, x := range []struct {
			name  string
			most  int
			gates int
			hosts hostGate
		}{
			{"kernels recorded, one board", 2, 300, betweenHosts(kernels("a", "b", "f"), fastBoard)},
			{"kernels recorded, unknown", 3, 300, betweenHosts(kernels("a", "b", "e", "f", "g"), "")},
			{"kernels on 11 hosts, one board", 5, 1000, classed(b, kernels("a")[0], false, fastBoard)},
			{"kernels on 11 hosts, unknown", 3, 300, classed(b, kernels("a")[0], false, "")},
			{"PyTorch recorded, b f", 1, 60, betweenHosts(transformer("b", "f"), fastBoard)},
			{"PyTorch recorded, e g", 1, 60, betweenHosts(transformer("e", "g"), slowBoard)},
			{"PyTorch recorded, unknown", 3, 100, betweenHosts(transformer("b", "e", "f", "g"), "")},
			{"PyTorch made up, one board", 5, 1000, pytorch(0, true)},
			{"PyTorch counted, one board", 3, 600, pytorch(0, true).counted()},
			{"PyTorch made up, boards known", 3, 1000, pytorch(0.4, true)},
			{"PyTorch made up, unknown", 3, 1000, pytorch(0.4, false)},
		} {
			for bases := 1; bases <= x.most; bases += 1 + bases/3 {
				for _, limit := range []float64{0.01, 0.03} {
					got := x.hosts.rates(977, x.gates, bases, limit, math.Max(0.02, 2*limit-0.01))
					fmt.Printf("| %-30s | %d | %g %% | %.1f | %.1f | %.1f | %.1f | %.1f |\n", x.name, bases, 100*limit,
						got.failed, got.alarms, got.undecided, got.noVerdict, got.found)
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// h100 are the recordings of three H100 hosts, b and c of one board, by program and host: sessions of five runs, back
// to back. Host c has one session, of PyTorch in three runs.
func h100(tb testing.TB, program, name string) (out []model.Session) {
	tb.Helper()
	dirs, err := filepath.Glob(filepath.Join("../../../../testdata/h100/sessions", program+"-"+name+"-*", "*"))
	if err != nil || len(dirs) == 0 {
		tb.Fatal("no recordings of ", program, " on ", name, err)
	}
	for _, dir := range dirs {
		sessions, err := baseline.Read(dir)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, sessions...)
	}
	return out
}

// unchanged judges every session of the one list against every other of the other.
func unchanged(base, head []model.Session, limit float64) (gates, alarms, undecided int) {
	policy := limited(limit)
	for _, b := range base {
		for _, h := range head {
			if b.ID == h.ID && b.Start.Equal(h.Start) {
				continue
			}
			r := compareSides([]model.Session{b}, []model.Session{h}, policy)
			gates++
			if slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Outcome == result.Slower }) {
				alarms++
			}
			if r.Undecided || r.Verdict == result.NoVerdict {
				undecided++
			}
		}
	}
	return gates, alarms, undecided
}

// Unchanged programs are not called slower on H100 GPUs either.
func TestH100(t *testing.T) {
	for _, program := range []string{"kernels", "transformer"} {
		all := slices.Concat(h100(t, program, "a"), h100(t, program, "b"), h100(t, program, "c"))
		if gates, alarms, _ := unchanged(all, all, 0.01); gates != len(all)*(len(all)-1) || alarms > gates/50 {
			t.Errorf("%s: %d false alarms in %d gates", program, alarms, gates)
		}
	}
}

// BenchmarkH100 prints the rates on three H100 hosts.
func BenchmarkH100(b *testing.B) {
	for b.Loop() {
		fmt.Printf("\n| program | sides | limit | gates | false | undecided |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, program := range []string{"kernels", "transformer"} {
			one, other, third := h100(b, program, "a"), h100(b, program, "b"), h100(b, program, "c")
			for _, limit := range []float64{0.005, 0.01, 0.03} {
				for _, x := range []struct {
					name  string
					sides [][2][]model.Session
				}{
					{"one host, batches", [][2][]model.Session{{one, one}, {other, other}}},
					{"two hosts, one board", [][2][]model.Session{{other, third}, {third, other}}},
					{"two hosts, other boards", [][2][]model.Session{{one, other}, {other, one}, {one, third},
						{third, one}}},
				} {
					var gates, alarms, undecided int
					for _, s := range x.sides {
						g, a, u := unchanged(s[0], s[1], limit)
						gates, alarms, undecided = gates+g, alarms+a, undecided+u
					}
					fmt.Printf("| %s | %s | %g %% | %d | %d | %d |\n", program, x.name, 100*limit, gates, alarms,
						undecided)
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// The MDE of a kernel includes its host effect, with the rules that are independent of its variance.
func TestHostRulesAreInTheMDE(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 71))
	base, head := pytorch(0, false)(r, 1)
	for _, f := range compareSides(base, []model.Session{head}, thresholds.Default()).Findings {
		if f.Scope != measure.ScopeKernel || f.Metric != measure.Time.Name {
			continue
		}
		if mde := float64(f.MDE); mde <= 0.04 || mde*float64(f.Share) <= 0.0015 {
			t.Errorf("%s: the MDE of %.3g is less than what a finding takes", f.Kernel, mde)
		}
	}
}

// BenchmarkHostSteps prints what becomes of steps between hosts: of unchanged programs, and of some that got slower on
// one of them.
//
//	go test -run=NONE -bench=HostSteps -benchtime=1x ./gate/internal/judge/decide
func BenchmarkHostSteps(b *testing.B) {
	kernels := loadHosts(b, "kernels", "a", "b", "e", "f", "g")
	transformer := loadHosts(b, "transformer", "b", "e", "f", "g")
	slower := func(name string) []host { return []host{{name: name, session: loadSession(b, name)}} }
	for b.Loop() {
		fmt.Printf("\n| head | hosts of the base | runs | gates | step slower | undecided | no verdict |\n| --- | " +
			"--- | --- | --- | --- | --- | --- |\n")
		for _, x := range []struct {
			name        string
			bases, head []host
		}{
			{"six kernels, unchanged", kernels, kernels},
			{"six kernels, the CPU sleeps 200 µs", kernels[1:], slower("idle-200-a")},
			{"PyTorch, unchanged", transformer, transformer},
			{"PyTorch, a synchronising call a step", transformer[1:], slower("item-sync-b")},
			{"PyTorch, LayerNorm written out", transformer[1:], slower("unfused-norm-b")},
		} {
			for _, runs := range []int{3, 5} {
				gates, slow, undecided, none := 0, 0, 0, 0
				r := rand.New(rand.NewPCG(uint64(runs), 79))
				for i := range x.bases {
					for j := range x.head {
						if x.bases[i].session.GPUHash == x.head[j].session.GPUHash {
							continue
						}
						for range 10 {
							side := func(h *host) model.Session {
								all := len(h.session.Runs)
								return boarded(draw{host: h, runs: r.Perm(all)[:min(runs, all)]}.session(), "")
							}
							f := find(compareSides([]model.Session{side(&x.bases[i])},
								[]model.Session{side(&x.head[j])}, thresholds.Default()), "workload", "mean_step_time")
							switch gates++; {
							case f.Outcome == result.Slower:
								slow++
							case f.Doubted:
								none++
							case f.Undecided:
								undecided++
							}
						}
					}
				}
				part := func(n int) float64 { return 100 * float64(n) / float64(gates) }
				fmt.Printf("| %s | %d | %d | %d | %.1f %% | %.1f %% | %.1f %% |\n", x.name, len(x.bases), runs, gates,
					part(slow), part(undecided), part(none))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// A kernel that is slower by a quarter more than the limit of 1 % is named, by however little of a step, where three
// hosts of a board show how far they differ; an unchanged one fails no gate.
func TestCheapChangeBetweenHosts(t *testing.T) {
	policy := limited(0.01)
	for _, x := range []struct {
		name  string
		hosts hostGate
	}{{"six kernels", classed(t, loadHosts(t, "kernels", "a")[0], false, fastBoard)}, {"PyTorch", pytorch(0, true)}} {
		r, silent, unchanged := rand.New(rand.NewPCG(5, 16)), 0, map[answer]int{}
		for range sample(300) {
			base, head := x.hosts(r, 3)
			unchanged[answerOf(compareSides(base, []model.Session{head}, policy))]++
			head, kernel := withSlower(r, head, 0.0125)
			report := compareSides(base, []model.Session{head}, policy)
			f := report.Findings[slices.IndexFunc(report.Findings, func(f result.Finding) bool {
				return f.Subject() == kernel && f.Metric == measure.Time.Name
			})]
			if report.Verdict == result.Pass && !report.Undecided && f.Change > 0.01 && f.Cost >= 0.0005 {
				silent++ // was: one in seven
			}
		}
		t.Logf("%s: unchanged %v, %d silent", x.name, unchanged, silent)
		if silent > 0 || !atMost(fails, 1).met(100*float64(unchanged[fails])/float64(sample(300)), sample(300)) {
			t.Errorf("%s: unchanged %v, %d silent", x.name, unchanged, silent)
		}
	}
}
