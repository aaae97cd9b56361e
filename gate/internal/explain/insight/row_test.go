package insight

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// A kernel with most of the GPU time explains little where the GPU idles: the sentence names the cause of that first.
func TestIdleSentence(t *testing.T) {
	idle := func(class string, share result.Number) result.SummaryPart {
		return result.SummaryPart{Class: class, Idle: true, Share: share}
	}
	kernels := result.SummaryPart{Class: "compute", Share: 0.3}
	for _, x := range []struct {
		parts []result.SummaryPart
		want  string
	}{
		{nil, ""},
		{[]result.SummaryPart{kernels, idle(measure.IdleLaunch, 0.5)}, ""},
		{[]result.SummaryPart{idle(measure.IdleLaunch, 0.5), kernels, idle(measure.IdleGaps, 0.2)},
			"The GPU idles for 70.0 % of a step (mainly waiting for the CPU). "},
	} {
		if got := idleSentence(&result.Summary{Parts: x.parts}); got != x.want {
			t.Errorf("%v: %q", x.parts, got)
		}
	}
}
