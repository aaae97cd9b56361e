package ncu_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
)

// Messages beside the tables precede a broken table, wherever they stand; of two broken tables the first one counts.
func TestFirstReason(t *testing.T) {
	page := rawPage("gpu__time_duration.sum", "ns", "81,472")
	broken := strings.Replace(page, `"81,472"`, `"81,472","9"`, 1)
	bare := strings.ReplaceAll(strings.Replace(page, `"81,472"`, `81,472`, 1), `"`, "")
	lines := strings.SplitAfter(bare, "\n")
	for _, tt := range []struct {
		name, text string
		kind       model.Kind
		want       string
	}{
		{"a failure behind a broken table", broken + "==ERROR== ERR_NVGPUCTRPERM\n", model.CountersDenied,
			"ERR_NVGPUCTRPERM"},
		{"an elision in a broken table", broken + "...\n", model.RowsMissing, "left out here"},
		{"a cut cell behind a broken table", broken + page + `"1","4711","a`, model.Truncated,
			"in the middle of a cell"},
		{"a row of another table behind it", broken + "done\n" + `"7","8","` + "\n", model.BadTable,
			"outside of any table"},
		{"two broken tables", broken + "done\n" + strings.Replace(page, `"k(int)"`, `""`, 1), model.BadTable,
			"cut or broken"},
		{"a table without quotes", bare, model.BadTable, "quotes around the cells are lost"},
		{"a quote behind the row that is too long", strings.Join(lines, "") +
			strings.Replace(lines[2], "0,", `"1",`, 1), model.BadTable, "cut or broken"},
	} {
		_, err := ncu.Read(strings.NewReader(tt.text), "page.csv")
		var refusal *model.Refusal
		if !errors.As(err, &refusal) || refusal.Kind != tt.kind || !strings.Contains(refusal.Reason, tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.kind)
		}
	}
}
