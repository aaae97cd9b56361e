package run

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// An output is found wherever a program's buffers cut its lines, also where most of its text is not kept.
func TestPrinted(t *testing.T) {
	patterns := []string{`tokens/s: ([0-9.]+)`, `^loss=(.*)$`}
	for _, tt := range []struct {
		name, text string
		want       [][]string
	}{
		{"nothing", "", [][]string{nil, nil}},
		{"once", "step 1\ntokens/s: 12.5\nloss=3\n", [][]string{{"12.5"}, {"3"}}},
		{"the last line is not ended", "loss=3\ntokens/s: 12.5", [][]string{{"12.5"}, {"3"}}},
		{"twice", "tokens/s: 12.5\ntokens/s: 12.5\ntokens/s: 12.5\n", [][]string{{"12.5", "12.5"}, nil}},
		{"twice in a line", "tokens/s: 1 tokens/s: 2\n", [][]string{{"1", "2"}, nil}},
		{"a progress bar", "10 %\rloss=1\r\ntokens/s: 2\r", [][]string{{"2"}, {"1"}}},
		{"not across lines", "tokens/s: \n12.5\n", [][]string{nil, nil}},
		{"amid much else", strings.Repeat("chatter\n", 300_000) + "tokens/s: 7\n" +
			strings.Repeat("chatter\n", 300_000), [][]string{{"7"}, nil}},
		{"behind an endless line", strings.Repeat("x", 200_000) + "\ntokens/s: 7\n", [][]string{{"7"}, nil}},
		{"a part of a number", "tokens/s: 1,950.0\nloss=-5\n", [][]string{{"1,950.0"}, {"-5"}}},
		{"without its exponent", "tokens/s: 1.2e+05\n", [][]string{{"1.2e+05"}, nil}},
		{"no text", "\xff\xfe tokens/s: 7\n", [][]string{{"7"}, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 4096} {
				if size == 1 && len(tt.text) > 1000 {
					continue
				}
				var out proc.Output
				x := printed{to: &out}
				x.look(patterns)
				for text := tt.text; text != ""; {
					n := min(size, len(text))
					if wrote, err := x.Write([]byte(text[:n])); wrote != n || err != nil {
						t.Fatalf("%d bytes, %v", wrote, err)
					}
					text = text[n:]
				}
				if diff := cmp.Diff(tt.want, x.end()); diff != "" {
					t.Errorf("in pieces of %d bytes (-want +got):\n%s", size, diff)
				}
			}
		})
	}
	var out proc.Output
	x := printed{to: &out}
	x.Write([]byte("tokens/s: 7\n"))
	if x.end() != nil || out.String() != "tokens/s: 7\n" {
		t.Errorf("a traced run: found %v in %q", x.end(), out.String())
	}
}

func TestOutputValue(t *testing.T) {
	for text, want := range map[string]float64{
		"12.5": 12.5, " 1e3 ": 1000, "0": 0, "": math.NaN(), "nan": math.NaN(), "inf": math.NaN(), "-1": math.NaN(),
		"1,000":   math.NaN(),
		"1,950.0": 1950, "12,345,678": 12345678, "1.950,0": math.NaN(), "1_950": 1950, "0x1F": math.NaN(),
		"1.2k": math.NaN(), "1.2e+05": 1.2e5,
		"1'950.0": math.NaN(), "−5": math.NaN(), "1:02": math.NaN(), "Infinity": math.NaN(), "0,57": math.NaN(),
		"12ms": math.NaN(),
	} {
		if got := outputValue(text); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
