package baseline

import (
	"math"
	"testing"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"void f(a, b)": "void f(a, b)",
		"µ 日本":         "µ 日本",
		"=1+1":         "'=1+1",
		"+x":           "'+x",
		"-x":           "'-x",
		"@x":           "'@x",
		"'x":           "''x",
		"a=b":          "a=b",
		`a\b`:          `a\\b`,
		"a\r\nb":       `a\r\nb`,
		"\tx":          `\tx`,
		"\xff":         `\xff`,
		"\uFFFD":       "\uFFFD",
		"a\u202eb":     `a\u202eb`,
		`"q"`:          `"q"`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
		if got, err := unescape(want); err != nil || got != in {
			t.Errorf("unescape(%q) = %q, %v, want %q", want, got, err, in)
		}
	}
}

func TestFormatNumber(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 27136: "27136", 1234567.5: "1234567.5",
		math.Nextafter(0.3, 1): "0.30000000000000004",
		1e20:                   "100000000000000000000", 1e21: "1e+21", 1e-7: "1e-07",
	} {
		if got := formatNumber(in); got != want {
			t.Errorf("formatNumber(%v) = %s, want %s", in, got, want)
		}
		if got, err := parseNumber(want); err != nil || got != in {
			t.Errorf("parseNumber(%s) = %v, %v", want, got, err)
		}
	}
}
