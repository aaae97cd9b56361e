package report

import (
	"html"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestUnjudged wants the part of a run that no limit covers in the first lines of every form for people where it is
// large, and among what was compared in any case.
func TestUnjudged(t *testing.T) {
	parts := func(before, between, kernels result.Number) *result.Unjudged {
		u := &result.Unjudged{WallShare: before + between, GPUShare: kernels, Parts: []result.UnjudgedPart{
			{What: "before", WallShare: before}, {What: "between", WallShare: between},
			{What: "ignored kernels", GPUShare: kernels}}}
		return u
	}
	unknown := parts(0.08, 0.04, 0)
	unknown.GPUShare = result.Unknown
	for _, tt := range []struct {
		of   *result.Unjudged
		much bool
		want string
	}{
		{parts(0.08, 0.04, 0.004), true,
			"12.0 % of wall time (before 8.0 %, between 4.0 %), 0.40 % of GPU time (ignored kernels 0.40 %)"},
		{parts(0.05, 0.04, 0.004), false,
			"9.0 % of wall time (before 5.0 %, between 4.0 %), 0.40 % of GPU time (ignored kernels 0.40 %)"},
		{parts(0, 0, 0.2), true, "0.00 % of wall time, 20.0 % of GPU time (ignored kernels 20.0 %)"},
		{unknown, true, "12.0 % of wall time (before 8.0 %, between 4.0 %)"},
		{nil, false, "of wall time"},
	} {
		r := reports(t)["pass"]
		r.Unjudged = tt.of
		for format, label := range map[string]string{"text": "Not judged ", "markdown": "Not judged: ",
			"html": ">Not judged: "} {
			for _, verbose := range []bool{false, true} {
				text := story.Flat(html.UnescapeString(render(t, format, r, Options{Width: 300, Verbose: verbose})))
				if first := strings.Contains(text, label+tt.want); first != tt.much {
					t.Errorf("%s, verbose %t: in the first lines %t, want %t of %q:\n%.2000s", format, verbose, first,
						tt.much, tt.want, text)
				}
				facts := strings.Contains(text, "not judged "+tt.want) ||
					strings.Contains(text, "not judged: "+tt.want) ||
					strings.Contains(text, "not judged</dt><dd>"+tt.want)
				if want := tt.of != nil && (format != "text" || verbose); facts != want {
					t.Errorf("%s, verbose %t: among what was compared %t, want %t of %q", format, verbose, facts, want,
						tt.want)
				}
			}
		}
	}
}
