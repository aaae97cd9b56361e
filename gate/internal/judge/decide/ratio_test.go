package decide_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// A ratio of two rows is judged as a row: another host, which is slower by a fifth, changes neither, and a slower row
// fails by it. A ratio whose rows are not there is no pass.
func TestRatio(t *testing.T) {
	for _, x := range []struct {
		name, of, over string
		metric         measure.Metric
		change         float64 // of row 0
		want           result.Verdict
		says           string
	}{
		{"unchanged", "row 0", "row 1", measure.Duration, 0, result.Pass, ""},
		{"slower", "row 0", "row 1", measure.Duration, 0.1, result.Fail, "gain"},
		{"a rate", "row 0", "row 1", measure.ItemRate, -0.1, result.Fail, "gain"},
		{"faster", "row 0", "row 1", measure.Duration, -0.1, result.Pass, ""},
		{"a row is not there", "row 0", "row 9", measure.Duration, 0, result.NoVerdict, `no rows "row 0" and "row 9"`},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		side := func(host string, by, change float64) model.Session {
			rows := make([][]float64, 2)
			for range 5 {
				run := by * (1 + 0.05*r.NormFloat64())
				rows[0] = append(rows[0], 1e6*run*(1+change)*(1+0.002*r.NormFloat64()))
				rows[1] = append(rows[1], 3e6*run)
			}
			return rowsOf(host, rows, x.metric)
		}
		p := thresholds.Default()
		p.Ratios = []thresholds.Ratio{{Name: "gain", Of: x.of, Over: x.over, Where: "nsgate.toml:1"}}
		base, head := []model.Session{side("a", 1, 0)}, []model.Session{side("b", 1.2, x.change)}
		got := insight.Judge(decide.Input{Policy: p.For(""), Baseline: base, Head: head}).Shown(nil)
		if got.Verdict != x.want || !strings.Contains(got.Reason, x.says) {
			t.Errorf("%s: %s: %s", x.name, got.Verdict, got.Reason)
		}
		if len(base[0].Series) != 2 || len(head[0].Series) != 2 {
			t.Errorf("%s: the sessions of the caller have other rows", x.name)
		}
	}
}
