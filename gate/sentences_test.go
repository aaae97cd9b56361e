package gate_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// What a reason claims holds of the numbers beside it, whatever they are.
func TestReasonsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := quiet()
		base.runs = rapid.IntRange(2, 8).Draw(t, "base runs")
		base.sd = rapid.Float64Range(0, 0.03).Draw(t, "base sd")
		head := base.with(func(p *program) {
			p.seed = rapid.Uint64().Draw(t, "seed")
			p.runs = rapid.IntRange(2, 8).Draw(t, "head runs")
			p.sd = rapid.Float64Range(0, 0.03).Draw(t, "head sd")
			p.host = rapid.SampledFrom([]string{base.host, "GPU-b"}).Draw(t, "host")
			for i := range p.kernels {
				p.kernels[i].time *= rapid.SampledFrom([]float64{1, 1, 0.9, 1.02, 1.1, 3}).Draw(t, "factor")
				p.kernels[i].launches += float64(rapid.IntRange(0, 9).Draw(t, "more") / 8)
			}
		})
		a, b := base.session(), head.session()
		some := rapid.IntRange(0, len(b.Runs)).Draw(t, "slow runs")
		for _, x := range b.Series {
			if x.Subject == b.Series[len(b.Series)-1].Subject && x.Metric.Unit == "ns" {
				for run := range some {
					x.Values[run] *= 1.3
				}
			}
		}
		policy := thresholds.Default()
		policy.Threshold = rapid.SampledFrom([]float64{0.005, 0.01, 0.03}).Draw(t, "limit")
		r := evaluate([]measure.Session{a}, []measure.Session{b}, policy)
		for _, f := range r.Findings {
			claim(t, r, f)
		}
	})
}

// claim fails where a finding's reason says what is not so.
func claim(t *rapid.T, r *gate.Report, f gate.Finding) {
	number := func(key string) float64 { return float64(f.ReasonArgs[key].(gate.Number)) }
	limit := 0.0 // relative
	if by, ok := f.ReasonArgs["by"]; ok {
		if limit = number("size"); by != "limit" {
			limit = float64(f.Floor / f.Base)
		}
	}
	const rounding = 1e-9
	low, high, change := float64(f.Low), float64(f.High), float64(f.Change)
	beyond := func(v gate.Number) bool { return float64(v) > float64(f.Base)*(1+limit)-rounding }
	var ok bool
	switch f.ReasonKey {
	case "beyond":
		ok = change > limit-rounding && float64(f.P) < float64(r.Alpha)
	case "faster":
		ok = change < -number("limit")+rounding
	case "within":
		ok = low >= -limit-rounding && high <= limit+rounding
	case "open":
		ok = low <= limit+rounding && high >= limit-rounding
	case "open-faster":
		ok = low <= -limit+rounding && high >= -limit-rounding
	case "uncertain":
		ok = (low > limit-rounding || high < -limit+rounding) && float64(f.P) >= float64(r.Alpha)/2-rounding
	case "like-hosts":
		ok = (low > limit-rounding || high < -limit+rounding) && math.Abs(change) < number("most")
	case "slight":
		ok = math.Abs(change)*float64(f.Share) < number("impact")+rounding && low*high > 0
	case "most-runs":
		n := 0
		for _, v := range f.HeadRuns {
			if v.Known() && beyond(v) && v > slices.Max(f.BaseRuns) {
				n++
			}
		}
		ok = n >= int(number("some")) && 2*number("some") > number("all")
	default:
		ok = true
	}
	if !ok {
		t.Fatalf("%s %s: %s %v is not so: %.6g between %.6g and %.6g, p %.3g, share %v, limit %v: %s",
			f.Kernel, f.Metric, f.ReasonKey, f.ReasonArgs, change, low, high, float64(f.P), f.Share, limit, f.Reason)
	}
}
