package report

import (
	"encoding/csv"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// besideValues is a change beside the two values that it is of, as every format but CSV and JSON prints it.
var besideValues = regexp.MustCompile(`([0-9.]+)(?: ([kMGT]?[a-zµ%]+(?:/s)?))? → ([0-9.]+) ?([kMGT]?[a-zµ%]+(?:/s)?)?[^+×→\n-]{0,40}?(?:([+-][0-9.]+) %|×([0-9.]+))`)

// scales are the units of times and sizes.
var scales = map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}

// spread of a printed number: half of its last digit.
func half(number string) float64 {
	_, after, _ := strings.Cut(number, ".")
	return 0.5 * math.Pow(10, -float64(len(after)))
}

// TestNumbersCompute reads every format of every report back: the change is the ratio of the values beside it, as precisely as they are
// printed.
func TestNumbersCompute(t *testing.T) {
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	seen := 0
	check := func(where, line string, m []string) {
		a, b := number(m[1]), number(m[3])
		scale := 1.0
		if m[2] != "" && m[4] != "" && m[2] != m[4] {
			scale = scales[m[4]] / scales[m[2]]
		}
		if a == 0 || scale == 0 || math.IsNaN(scale) {
			return
		}
		low, high := scale*(b-half(m[3]))/(a+half(m[1])), scale*(b+half(m[3]))/math.Max(a-half(m[1]), 1e-9)
		got, slack := 0.0, 0.0
		if m[6] != "" {
			got, slack = number(m[6]), half(m[6])
		} else {
			got, slack = 1+number(m[5])/100, half(m[5])/100
		}
		if seen++; got+slack < low-1e-9 || got-slack > high+1e-9 {
			t.Errorf("%s: %q does not compute: between ×%.5g and ×%.5g", where, line, low, high)
		}
	}
	for name, r := range reports(t) {
		if name == "hostile" || name == "empty" {
			continue
		}
		for format, o := range map[string]Options{"text": {Width: 400}, "markdown": {}, "junit": {}, "sarif": {}, "codequality": {}} {
			for _, verbose := range []bool{false, true} {
				o.Verbose = verbose
				for line := range strings.Lines(unbind(render(t, format, r, o))) {
					line = strings.NewReplacer("**", "", "| ", "", "&#43;", "+").Replace(line)
					for _, m := range besideValues.FindAllStringSubmatch(line, -1) {
						check(name+"."+format, m[0], m)
					}
				}
			}
		}
		rows, err := csv.NewReader(strings.NewReader(render(t, "csv", r, Options{}))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			if row[8] == "count" || row[8] == "B" || row[9] == "" || row[10] == "" || row[11] == "" || number(row[9]) == 0 {
				continue
			}
			if base, head, change := number(row[9]), number(row[10]), number(row[11]); math.Abs(head/base-1-change) > 1e-9 {
				t.Errorf("%s.csv: %v → %v is not %v", name, base, head, change)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d changes were read", seen)
	}
}
