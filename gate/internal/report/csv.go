package report

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

var csvColumns = []string{"workload", "outcome", "gates", "scope", "name", "grid", "block", "metric", "unit", "base",
	"head", "change", "low", "high", "p", "mde", "share", "limit", "rule", "reason"}

// csvReport writes for each workload a row for its verdict, of scope "gate", then a row a comparison. The verdict on
// several workloads comes first, without a workload. Changes and shares are fractions, other numbers are in the unit
// beside them; unknown ones are empty.
func csvReport(v *story.Story) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(csvColumns)
	if v.Several() {
		csvVerdict(v, w, "")
	}
	for _, of := range v.Each {
		csvVerdict(of, w, csvText(of.Workload))
		for _, r := range of.Rows {
			f := r.F
			w.Write([]string{csvText(of.Workload), csvText(string(f.Outcome)), strconv.FormatBool(f.Gates),
				csvText(string(f.Scope)), csvText(f.Name), csvText(f.Grid), csvText(f.Block), csvText(f.Metric),
				csvText(f.Unit), csvNumber(f.Base), csvNumber(f.Head), csvNumber(f.Change), csvNumber(f.Low),
				csvNumber(f.High), csvNumber(f.P), csvNumber(f.MDE), csvNumber(f.Share), csvNumber(f.Limit),
				csvText(f.Rule), csvText(r.Reason)})
		}
	}
	w.Flush()
	return b.String(), w.Error() // the first error
}

func csvVerdict(v *story.Story, w *csv.Writer, workload string) {
	verdict := make([]string, len(csvColumns))
	verdict[0], verdict[1], verdict[3], verdict[len(verdict)-1] = workload, strings.ToLower(v.Word), "gate",
		csvText(v.Reason)
	w.Write(verdict)
}

// csvText puts an apostrophe before a text that begins like a formula, also in full-width forms, for a spreadsheet.
func csvText(s string) string {
	s = story.Trimmed(s)
	return measure.Either(strings.IndexAny(s, "=+-@＝＋－＠") == 0, "'", "") + s
}

func csvNumber(n result.Number) string {
	return n.Given(strconv.FormatFloat(float64(n), 'g', -1, 64))
}

// historyCSV writes a row a value, for spreadsheets. Names are quoted where a spreadsheet would take them for formulas.
func historyCSV(h *history.History, _ story.Options) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"at", "commit", "gpu_hash", "driver", "scope", "name", "grid", "block", "metric", "unit",
		"value", "change_of_level", "file"}}
	for _, t := range h.Trends {
		for i, v := range t.Values {
			if !v.Known() {
				continue
			}
			m, level := h.Moments[i], ""
			at := measure.Either(m.At.IsZero(), "", m.At.UTC().Format(time.RFC3339))
			if j := slices.IndexFunc(t.Changes, func(c history.LevelChange) bool { return c.Moment == i }); j >= 0 {
				level = csvNumber(t.Changes[j].Change)
			}
			rows = append(rows, []string{at, csvText(m.Commit),
				csvText(m.Environment.GPUHash), csvText(m.Environment.Driver), string(t.Scope),
				csvText(t.Name), t.Grid, t.Block, t.Metric, t.Unit, csvNumber(v), level,
				csvText(m.File)})
		}
	}
	err := w.WriteAll(rows)
	return b.String(), err
}
