package decide_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// tailLimits are the limits that the manual recommends for percentiles (nsgate help outputs).
const tailLimits = "[[rule]]\nbenchmark = \"p99 *\"\nmax = \"15%\"\n[[rule]]\nbenchmark = \"p90 *\"\nmax = \"10%\"\n"

// serverStarts reads the 16 recorded starts of an inference server, one session each. The decode step of the head waits
// on the GPU for 6 % longer.
func serverStarts(tb testing.TB, side string) (out []model.Session) {
	files, err := filepath.Glob("../../../../testdata/h200/server/" + side + "/*.json")
	if err != nil || len(files) != 16 {
		tb.Fatal(files, err)
	}
	for _, file := range files {
		s, err := bench.Open("", file)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, *s)
	}
	return out
}

// startsOf joins starts to a session with runs 10 s apart, from the first on. The values of rows whose name ends in
// slower are multiplied by 1 + change.
func startsOf(starts []model.Session, first time.Time, slower string, change float64) model.Session {
	s := starts[0]
	s.Start, s.GPUHash, s.Runs, s.Series = first, "a", nil, nil // both sides ran on one host
	for i := range starts {
		run := starts[i].Runs[0]
		run.Start = first.Add(time.Duration(i) * 10 * time.Second)
		s.Runs = append(s.Runs, run)
	}
	for at, x := range starts[0].Series {
		x.Values = nil
		for i := range starts {
			v := starts[i].Series[at].Values[0]
			if x.Metric == measure.Duration && strings.HasSuffix(x.Subject.Name, slower) {
				v *= 1 + change
			}
			x.Values = append(x.Values, v)
		}
		s.Series = append(s.Series, x)
	}
	return s
}

// serverGates judges gates of n starts a side, drawn without replacement from base and head, and counts the verdicts.
// Both sides are drawn from base where head is nil.
func serverGates(tb testing.TB, policy string, gates, n int, base, head []model.Session, slower string,
	change float64) (verdicts map[result.Verdict]int) {
	p, err := thresholds.Parse("nsgate.toml", []byte(policy))
	if err != nil {
		tb.Fatal(err)
	}
	verdicts = map[result.Verdict]int{}
	r, at := rand.New(rand.NewPCG(1, 2)), time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	draw := func(from []model.Session, order []int) (out []model.Session) {
		for _, i := range order {
			out = append(out, from[i])
		}
		return out
	}
	for range gates {
		order := r.Perm(len(base))
		a, b := draw(base, order[:n]), draw(base, order[len(order)-n:])
		if head != nil {
			b = draw(head, order[len(order)-n:])
		}
		v := insight.Judge(decide.Input{Policy: p.For(""), Baseline: []model.Session{startsOf(a, at, "", 0)},
			Head: []model.Session{startsOf(b, at.Add(5*time.Second), slower, change)}})
		verdicts[v.Verdict]++
	}
	return verdicts
}

// Of gates of 8 starts a side that are drawn from the recorded starts, none of the unchanged server fails and 95 % find
// +5 % of the median time between tokens, under the limits of the manual.
func TestServerStarts(t *testing.T) {
	base, head := serverStarts(t, "base"), serverStarts(t, "head")
	const gates = 100
	got := serverGates(t, tailLimits, gates, 8, base, nil, "", 0)
	if got[result.Fail] > 0 || got[result.Pass] < gates*9/10 {
		t.Errorf("unchanged: %v", got)
	}
	if got := serverGates(t, tailLimits, gates, 8, base, nil, "median ITL", 0.05); got[result.Fail] < gates*95/100 {
		t.Errorf("+5 %% of the median time between tokens: %v", got)
	}
	if got := serverGates(t, tailLimits, gates, 8, base, head, "", 0); got[result.Fail] < gates*95/100 {
		t.Errorf("the slower server: %v", got)
	}
}

// BenchmarkServers prints the verdicts of 1,000 gates that are drawn from the recorded starts.
func BenchmarkServers(b *testing.B) {
	base, head := serverStarts(b, "base"), serverStarts(b, "head")
	for range b.N {
		for _, x := range []struct {
			change string
			side   []model.Session
			other  []model.Session
			row    string
			factor float64
		}{
			{"unchanged", base, nil, "", 0}, {"unchanged, the slower server", head, nil, "", 0},
			{"median ITL +5 %", base, nil, "median ITL", 0.05}, {"the slower server", base, head, "", 0},
			{"p99 ITL +5 %", base, nil, "p99 ITL", 0.05}, {"p99 E2EL +5 %", base, nil, "p99 E2EL", 0.05},
			{"p99 TTFT +12 %", base, nil, "p99 TTFT", 0.12}, {"p99 TTFT +20 %", base, nil, "p99 TTFT", 0.2},
		} {
			for _, n := range []int{5, 8} {
				fmt.Printf("%-28s %d starts a side: %v, with the limits of the manual %v\n", x.change, n,
					serverGates(b, "", 1000, n, x.side, x.other, x.row, x.factor),
					serverGates(b, tailLimits, 1000, n, x.side, x.other, x.row, x.factor))
			}
		}
	}
}
