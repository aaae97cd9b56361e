package report

import (
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

func init() {
	register("csv", ".csv", "spreadsheets and data frames: a row a comparison",
		map[Kind]form{Report: viewed(csvReport), History: as(historyCSV)})
}

var csvColumns = []string{"workload", "outcome", "gates", "scope", "name", "grid", "block", "metric", "unit", "base", "head",
	"change", "low", "high", "p", "mde", "share", "limit", "rule", "reason"}

// csvReport writes of each workload a row a comparison after one for its verdict, whose scope is "gate"; of several the verdict on all
// stands before them and has no workload. Numbers are in the unit beside them, changes and shares are fractions; what is not known is
// empty.
func csvReport(v *view, _ Options) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(csvColumns)
	if v.several() {
		v.csvVerdict(w, "")
	}
	for _, of := range v.each {
		of.csvRows(w)
	}
	w.Flush()
	return b.String(), w.Error()
}

func (v *view) csvVerdict(w *csv.Writer, workload string) {
	verdict := make([]string, len(csvColumns))
	verdict[0], verdict[1], verdict[3], verdict[len(verdict)-1] = workload, strings.ToLower(v.Word), "gate", csvText(v.Reason)
	w.Write(verdict)
}

// csvRows writes those of one workload. The writer keeps its first error.
func (v *view) csvRows(w *csv.Writer) {
	v.csvVerdict(w, csvText(v.Workload))
	for _, r := range v.Rows {
		f := r.F
		base, head := f.Base, f.Head
		w.Write([]string{csvText(v.Workload), csvText(string(f.Outcome)), strconv.FormatBool(f.Gates), csvText(string(f.Scope)), csvText(f.Name),
			csvText(f.Grid), csvText(f.Block), csvText(f.Metric), csvText(f.Unit), csvNumber(base), csvNumber(head), csvNumber(f.Change),
			csvNumber(f.Low), csvNumber(f.High), csvNumber(f.P), csvNumber(f.MDE), csvNumber(f.Share), csvNumber(f.Limit), csvText(f.Rule),
			csvText(r.Reason)})
	}
}

// csvText is a text that no spreadsheet takes for a formula: those that begin like one, in the full-width forms too, get an
// apostrophe before them.
func csvText(s string) string {
	s = strings.TrimSpace(Line(s))
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
