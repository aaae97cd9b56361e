package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// fewestTimes are the kernel times that must agree to the last digit before two runs count as one: a few may by chance.
const fewestTimes = 5

// tellTwice warns where the same recordings stand on both sides: that they agree says nothing.
func tellTwice(r *gate.Report, base, head []measure.Session) {
	seen := make(map[string]bool)
	for i := range base {
		for _, run := range prints(&base[i]) {
			seen[run] = true
		}
	}
	same, all := 0, 0
	for i := range head {
		all += len(head[i].Runs)
		for _, run := range prints(&head[i]) {
			if seen[run] {
				same++
			}
		}
	}
	if same > 0 && (r.Verdict != gate.NoVerdict || r.Undecided) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d runs of the head are runs of the base too: "+
			"the same recordings stand on both sides, and that they agree says nothing", same, all))
	}
}

// prints tell the runs of a session apart by all that it measured. A run with too few kernels has none.
func prints(s *measure.Session) []string {
	var out []string
	for run := range s.Runs {
		var b strings.Builder
		times := 0
		for _, x := range s.Series {
			if math.IsNaN(x.Values[run]) {
				continue
			}
			if x.Metric.Name == measure.Time.Name || x.Metric.Name == measure.NcuTime.Name {
				times++
			}
			fmt.Fprintf(&b, "%v %s %v\n", x.Subject, x.Metric.Name, x.Values[run])
		}
		if times >= fewestTimes {
			out = append(out, b.String())
		}
	}
	return out
}
