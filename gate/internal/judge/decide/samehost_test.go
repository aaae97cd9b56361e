package decide_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// fileRows draws a side of five benchmark files that name no host: rows with a relative noise between processes, of
// which one in twenty is an outlier of four times that. Row 0 is slower by change.
func fileRows(r *rand.Rand, rows int, noise, change float64) model.Session {
	values := make([][]float64, rows)
	for row := range values {
		for range 5 {
			by := noise * r.NormFloat64()
			if r.IntN(20) == 0 {
				by += 4 * noise
			}
			values[row] = append(values[row], 1e9*float64(row+1)*(1+by))
		}
		if row == 0 {
			for run := range values[row] {
				values[row][run] *= 1 + change
			}
		}
	}
	s := rowsOf("", values, measure.Duration)
	s.GPU, s.Tool = "", "hyperfine"
	return s
}

func judgeFiles(base, head model.Session, otherHost bool) *result.Report {
	p := thresholds.Default()
	p.OtherHost = otherHost
	return compareSides([]model.Session{base}, []model.Session{head}, p)
}

// Files without a host's name are of one host: +5 % of one row is found at 3 %, and no unchanged gate fails.
// NSGATE_TEST_FULL=1 prints the figures of limits.md.
func TestSameHost(t *testing.T) {
	t.Parallel()
	draws := 20
	if full() {
		draws = 1000
	}
	for _, rows := range []int{1, 4, 40} {
		for _, noise := range []float64{0.001, 0.003, 0.01, 0.03} {
			r := rand.New(rand.NewPCG(uint64(rows), uint64(1e4*noise)))
			red, open, found := 0, 0, 0
			for range draws {
				base := fileRows(r, rows, noise, 0)
				switch x := judgeFiles(base, fileRows(r, rows, noise, 0), false); {
				case x.Verdict == result.Fail:
					red++
				case x.Verdict == result.NoVerdict:
					open++
				}
				if x := judgeFiles(base, fileRows(r, rows, noise, 0.05), false); x.Verdict == result.Fail {
					found++
				}
			}
			t.Logf("%d rows, noise %.1f %%: %d of %d unchanged red, %d no verdict, +5 %% found in %d", rows, 100*noise,
				red, draws, open, found)
			if red > 0 || noise <= 0.003 && found < draws-draws/500 {
				t.Errorf("%d rows, noise %.1f %%: %d red, found %d of %d", rows, 100*noise, red, found, draws)
			}
		}
	}
}

// The assumption is said, and what another host does is no failure: where it is named, or the policy says so, or nearly
// all of five or more rows move by one factor.
func TestOtherHost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	said := func(x *result.Report) bool { return fmt.Sprint(x.Warnings) != "[]" }
	base, head := fileRows(r, 4, 0.003, 0), fileRows(r, 4, 0.003, 0.05)
	if x := judgeFiles(base, head, false); x.Verdict != result.Fail || !said(x) {
		t.Errorf("one host: %s, %v", x.Verdict, x.Warnings)
	}
	if x := judgeFiles(base, head, true); x.Verdict == result.Fail {
		t.Errorf("other host by the policy: %s", x.Reason)
	}
	named := head
	named.GPUHash = "b"
	if x := judgeFiles(base, named, false); x.Verdict == result.Fail {
		t.Errorf("a host is named: %s", x.Reason)
	}
	measured := head
	measured.CPU = "Xeon"
	if x := judgeFiles(base, measured, false); x.Verdict == result.Fail {
		t.Errorf("a measured head: %s", x.Reason)
	}
	for _, c := range []struct {
		rows, moved int
		by          float64
		fails       bool
	}{{5, 5, 0.05, false}, {40, 40, 0.05, false}, {40, 13, 0.2, false}, {40, 40, 1, true}, {40, 4, 0.05, true},
		{4, 4, 0.05, true}} {
		base, head := fileRows(r, c.rows, 0.003, 0), fileRows(r, c.rows, 0.003, 0)
		for i := range c.moved {
			for run := range head.Series[i].Values {
				head.Series[i].Values[run] *= 1 + c.by
			}
		}
		if x := judgeFiles(base, head, false); (x.Verdict == result.Fail) != c.fails || !c.fails &&
			x.Verdict == result.Pass {
			t.Errorf("%d rows %+.0f %%: %s, %s", c.rows, 100*c.by, x.Verdict, x.Reason)
		} else if !c.fails && !strings.Contains(x.Reason, "rows moved together by about") {
			t.Errorf("%d rows %+.0f %%: %s", c.rows, 100*c.by, x.Reason)
		}
	}
}
