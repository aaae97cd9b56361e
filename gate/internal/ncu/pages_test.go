package ncu_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/ncu"
)

// What stands beside the tables says more than a table that is broken, wherever it stands; of two broken tables the first one counts.
func TestFirstReason(t *testing.T) {
	page := rawPage("gpu__time_duration.sum", "ns", "81,472")
	broken := strings.Replace(page, `"81,472"`, `"81,472","9"`, 1)
	bare := strings.ReplaceAll(strings.Replace(page, `"81,472"`, `81,472`, 1), `"`, "")
	lines := strings.SplitAfter(bare, "\n")
	for _, tt := range []struct{ name, text, key string }{
		{"a failure behind a broken table", broken + "==ERROR== ERR_NVGPUCTRPERM\n", "no-permission"},
		{"an elision in a broken table", broken + "...\n", "elided"},
		{"a cut cell behind a broken table", broken + page + `"1","4711","a`, "cut-cell"},
		{"a row of another table behind it", broken + "done\n" + `"7","8","` + "\n", "stray-row"},
		{"two broken tables", broken + "done\n" + strings.Replace(page, `"k(int)"`, `""`, 1), "row-length"},
		{"a table without quotes", bare, "quotes-lost"},
		{"a quote behind the row that is too long", strings.Join(lines, "") + strings.Replace(lines[2], "0,", `"1",`, 1), "row-length"},
	} {
		_, err := ncu.Read(strings.NewReader(tt.text), "page.csv")
		var refusal *model.Refusal
		if !errors.As(err, &refusal) || refusal.Key != tt.key {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.key)
		}
	}
}
