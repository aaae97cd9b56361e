package report

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// unjudgedMost is the share of a run without a limit above which the first lines of a report name it.
const unjudgedMost = 0.1

// unjudged prints the part of a run that no limit covers, "" for a small one.
func (v *view) unjudged() string {
	if u := v.Report.Unjudged; u != nil && (u.WallShare > unjudgedMost || u.GPUShare > unjudgedMost) {
		return unjudged(u)
	}
	return ""
}

// unjudged prints the part of a run that no limit covers: "12.0 % of wall time (before 8.0 %, between 4.0 %), 0.40 % of GPU time".
func unjudged(u *result.Unjudged) string {
	if u == nil {
		return ""
	}
	var out []string
	for _, x := range []struct {
		of    string
		whole result.Number
		part  func(result.UnjudgedPart) result.Number
	}{
		{"wall time", u.WallShare, func(x result.UnjudgedPart) result.Number { return x.WallShare }},
		{"GPU time", u.GPUShare, func(x result.UnjudgedPart) result.Number { return x.GPUShare }},
	} {
		if !x.whole.Known() {
			continue
		}
		var parts []string
		for _, part := range u.Parts {
			if n := x.part(part); n > 0 {
				parts = append(parts, trimmed(part.What)+nb+share(n))
			}
		}
		out = append(out, bind(share(x.whole)+" of "+x.of)+wrapped(" (", strings.Join(parts, ", "), ")"))
	}
	return strings.Join(out, ", ")
}
