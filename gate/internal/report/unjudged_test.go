package report

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
)

func TestUnjudged(t *testing.T) {
	parts := func(before, between, kernels result.Number) *result.Unjudged {
		u := &result.Unjudged{WallShare: before + between, GPUShare: kernels, Parts: []result.UnjudgedPart{
			{What: "before", WallShare: before}, {What: "between", WallShare: between}, {What: "ignored kernels", GPUShare: kernels}}}
		return u
	}
	unknown := parts(0.08, 0.04, 0)
	unknown.GPUShare = result.Unknown
	const told = "Not judged 12.0 % of wall time (before 8.0 %, between 4.0 %), 0.40 % of GPU time (ignored kernels 0.40 %)"
	for _, tt := range []struct {
		of   *result.Unjudged
		all  bool
		want string
	}{
		{parts(0.08, 0.04, 0.004), false, told},
		{parts(0.08, 0.04, 0.004), true, told},
		{parts(0.05, 0.04, 0.004), false, ""},
		{parts(0, 0, 0.2), false, "Not judged 0.00 % of wall time, 20.0 % of GPU time (ignored kernels 20.0 %)"},
		{parts(0, 0, 0), true, "Not judged 0.00 % of wall time, 0.00 % of GPU time"},
		{unknown, false, "Not judged 12.0 % of wall time (before 8.0 %, between 4.0 %)"},
		{nil, true, ""},
	} {
		p := newPage(Options{Width: 160})
		p.unjudged(tt.of, tt.all)
		if got := strings.Join(strings.Fields(strings.ReplaceAll(p.b.String(), nb, " ")), " "); got != tt.want {
			t.Errorf("%+v, all %t: %q, want %q", tt.of, tt.all, got, tt.want)
		}
	}
}
