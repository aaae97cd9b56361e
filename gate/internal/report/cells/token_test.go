package cells

import (
	"regexp"
	"strings"
	"testing"
)

// TestAround finds whole numbers around what a group matches, by the pattern of the manual and by others.
func TestAround(t *testing.T) {
	const manual = `tokens/s: ([0-9.]+)`
	for _, x := range []struct{ pattern, line, want string }{
		{manual, "tokens/s: 1950.0", "1950.0"}, {manual, "tokens/s: 1,950.0", "1,950.0"},
		{manual, "tokens/s: 1,950.0, and so on", "1,950.0"}, {manual, "tokens/s: 12,345,678.5 (mean)", "12,345,678.5"},
		{manual, "tokens/s: 1,950", "1,950"}, {manual, "tokens/s: 1.950,0", "1.950,0"},
		{manual, "tokens/s: 0,57", "0,57"},
		{manual, "tokens/s: 1.2e+05", "1.2e+05"}, {manual, "tokens/s: 1.2E3 x", "1.2E3"},
		{manual, "tokens/s: 1.2e-3", "1.2e-3"},
		{manual, "tokens/s: 1_950.0", "1_950.0"}, {manual, "tokens/s: 1'950.0", "1'950.0"},
		{manual, "tokens/s: 1’950", "1’950"},
		{manual, "tokens/s: 1\u202f950.0", "1\u202f950.0"}, {manual, "tokens/s: 1\u00a0950", "1\u00a0950"},
		{manual, "tokens/s: 0x1F", "0x1F"}, {manual, "tokens/s: 1.2k", "1.2k"}, {manual, "tokens/s: 3M/s", "3M"},
		{manual, "tokens/s: 95%", "95"}, {manual, "tokens/s: 12ms", "12"}, {manual, "tokens/s: 16GB", "16"},
		{manual, "tokens/s: 12.5 +/- 3", "12.5"}, {manual, "tokens/s: 12-15", "12"},
		{manual, "tokens/s: 1:23.4", "1:23.4"},
		{manual, "tokens/s: 12.5.", "12.5."}, {manual, "tokens/s: 5, 6", "5"}, {manual, "tokens/s: 12.5,64,3", "12.5"},
		{manual, "tokens/s: 1,2,3", "1"}, {manual, "tokens/s: 12.5,128", "12.5"}, {manual, "tokens/s: 5 100", "5"},
		{manual, "tokens/s: 3/4", "3"},
		{manual, "tokens/s: 1,234.5,64", "1,234.5,64"},
		{`tokens/s: *-?([0-9.]+)`, "tokens/s: -5", "-5"}, {`x=?.*([0-9.]+)`, "x=1950.5", "1950.5"},
		{`loss ([0-9.]+)`, "loss −0.5", ""}, {`loss .([0-9.]+)`, "loss -0.5", "-0.5"},
		{`loss ..([0-9.]+)`, "loss  −0.5", "−0.5"},
		{`gpt-([0-9.]+)`, "gpt-2 5", "2"}, {`step.([0-9]+)`, "step-5", "5"}, {`at ([0-9]+)`, "at 5.5", "5.5"},
		{`at ([0-9]+)\.`, "at 5.5", "5"}, {`,([0-9.]+),`, "a,12,13,b", "12"}, {`([0-9.]+)k`, "1.2k", "1.2"},
		{`.*([0-9]+)`, "1e-5", "1e-5"}, {`([0-9]+)$`, "x .25", ".25"}, {`rank \d:([0-9.]+)`, "rank 3:12.5", "12.5"},
		{`r..k 3.([0-9.]+)`, "rank 3:12.5", "12.5"}, {`t: (.*)`, "t: 12.5 s", "12.5 s"}, {`t: (.*)s`, "t: nans", "nan"},
		{`t: (\S+)`, "t: inf", "inf"}, {`: ([0-9.]+)`, "2026-11-28 t: 7", "7"},
	} {
		p := regexp.MustCompile(x.pattern)
		m := p.FindStringSubmatchIndex(x.line)
		got := ""
		if m != nil {
			got, _ = Around(x.line, m[2], m[3], p)
		}
		if got != x.want {
			t.Errorf("%s on %q: %q, want %q", x.pattern, x.line, got, x.want)
		}
	}
}

// No group ends within a number: whatever part of it a pattern takes, the whole is found.
func TestAroundEveryPart(t *testing.T) {
	any := regexp.MustCompile(`x`)
	for _, number := range []string{"1950", "1,950.0", "-5", "1.2e+05", "1_950", "1.950,0", "0x1F", "-1.5E-3", ".5",
		"1:02", "1.2k"} {
		for _, around := range []string{"%", "t: % s", "(%)", "a=%;", "%, 5", "5 %"} {
			line := strings.Replace(around, "%", number, 1)
			at := strings.Index(line, number)
			for from := range len(number) {
				for to := from + 1; to <= len(number); to++ {
					part := number[from:to]
					if strings.Trim(part, "0123456789.") != "" || strings.HasPrefix(number, "1:") && from > 0 {
						continue
					}
					if got, _ := Around(line, at+from, at+to, any); got != number {
						t.Errorf("%q of %q: %q", part, line, got)
					}
				}
			}
		}
	}
}
