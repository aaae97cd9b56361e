package report

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestUnits writes a number in every unit into every format that writes units: none is empty, or made of nothing but
// the marks that stand for what a format cannot hold.
func TestUnits(t *testing.T) {
	units := strings.Fields("% %/register 1/s rows/s Mrows/s €/run µJ °C ‰ _ __ tokens/s W byte/block")
	units = append(units, "", " ", "|", "\u202e", "B per block", "a b  c")
	for _, m := range measure.Metrics {
		units = append(units, m.Unit)
	}
	slices.Sort(units)
	word := regexp.MustCompile(`^[A-Za-z0-9]+(_[A-Za-z0-9]+)*$`)
	for _, unit := range slices.Compact(units) {
		long := measure.RawPrefix + strings.Repeat("x", 70)
		r := &result.Report{Verdict: result.Pass}
		for _, name := range []string{measure.Cost.Name, long + ".pct", long + ".sum"} {
			r.Findings = append(r.Findings, result.Finding{Name: "n", Scope: measure.ScopeOutput, Metric: name,
				Unit: unit, Head: 2, Outcome: result.WithinLimit})
		}
		text := render(t, "openmetrics", r, Options{})
		if values := checkOpenMetrics(t, text); len(values) != 7 {
			t.Errorf("unit %q: %d values:\n%s", unit, len(values), text)
		}
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) > 3 && words[1] == "UNIT" && (!word.MatchString(words[3]) ||
				strings.Contains(words[2], "___")) {
				t.Errorf("unit %q: %s", unit, line)
			}
			if len(words) > 3 && words[1] == "TYPE" && strings.HasSuffix(words[2], "_") {
				t.Errorf("unit %q: %s", unit, line)
			}
		}
		if strings.Contains(unit, "%") && !strings.Contains(text, "percent") {
			t.Errorf("unit %q: no percentage in\n%s", unit, text)
		}
		checkSmaller(t, render(t, "customSmallerIsBetter", r, Options{}))
		var all map[string]map[string]any
		if json.Unmarshal([]byte(render(t, "bencher", r, Options{})), &all) != nil || len(all) != 1 {
			t.Errorf("unit %q: %v", unit, all)
		}
		for _, measures := range all {
			if len(measures) != 3 {
				t.Errorf("unit %q: %d measures of 3", unit, len(measures))
			}
		}
		checkJUnit(t, render(t, "junit", r, Options{}))
		checkDotenv(t, render(t, "dotenv", r, Options{}))
		for _, row := range checkCSV(t, render(t, "csv", r, Options{})) {
			if row["scope"] != "gate" && row["unit"] == "" && strings.Trim(unit, " \u202e") != "" {
				t.Errorf("unit %q: %v", unit, row)
			}
		}
	}
}
