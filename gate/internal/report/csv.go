package report

import (
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

var csvColumns = []string{"workload", "outcome", "gates", "scope", "name", "grid", "block", "metric", "unit", "base", "head",
	"change", "low", "high", "p", "mde", "share", "limit", "rule", "reason"}

// csvReport writes for each workload a row for its verdict, of scope "gate", then a row a comparison. The verdict on several workloads
// comes first, without a workload. Changes and shares are fractions, other numbers are in the unit beside them; unknown ones are empty.
func csvReport(v *view) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(csvColumns)
	if v.several() {
		v.csvVerdict(w, "")
	}
	for _, of := range v.each {
		of.csvVerdict(w, csvText(of.Workload))
		for _, r := range of.Rows {
			f := r.F
			w.Write([]string{csvText(of.Workload), csvText(string(f.Outcome)), strconv.FormatBool(f.Gates), csvText(string(f.Scope)), csvText(f.Name),
				csvText(f.Grid), csvText(f.Block), csvText(f.Metric), csvText(f.Unit), csvNumber(f.Base), csvNumber(f.Head), csvNumber(f.Change),
				csvNumber(f.Low), csvNumber(f.High), csvNumber(f.P), csvNumber(f.MDE), csvNumber(f.Share), csvNumber(f.Limit), csvText(f.Rule),
				csvText(r.Reason)})
		}
	}
	w.Flush()
	return b.String(), w.Error() // the first error
}

func (v *view) csvVerdict(w *csv.Writer, workload string) {
	verdict := make([]string, len(csvColumns))
	verdict[0], verdict[1], verdict[3], verdict[len(verdict)-1] = workload, strings.ToLower(v.Word), "gate", csvText(v.Reason)
	w.Write(verdict)
}

// csvText puts an apostrophe before a text that begins like a formula, also in full-width forms, for a spreadsheet.
func csvText(s string) string {
	s = strings.TrimSpace(Clean(s))
	if strings.IndexAny(s, "=+-@＝＋－＠") == 0 {
		s = "'" + s
	}
	return s
}

func csvNumber(n result.Number) string {
	if !n.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', -1, 64)
}
