package story

import (
	"strings"
	"testing"
)

// The widths are those of terminals that follow Unicode's annexes 11 and 29 and its technical standard 51.
func TestColumns(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "saxpy": 5, "84.53 µs ± 0.1 %": 16, "a → b …": 7,
		// East Asian, composed, wide, halfwidth
		"行列積": 6, "かな": 4, "한국어": 6, "\u1112\u1161\u11ab": 2, "ｆｐ１６": 8, "ﾊﾝ": 2,
		"e\u0301te\u0301": 3, "a\u0300\u0301\u0302b": 2, "का": 1, "שָׁלוֹם": 4, // combining characters
		// emoji, joined, toned, flags, keycaps
		"🚀": 2, "❤\ufe0f": 2, "👩\u200d💻": 2, "👍🏽": 2, "🇩🇪": 2, "1\ufe0f\u20e3": 2,
	} {
		if got := Columns(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

// A character is cut neither in its bytes nor from its accents, and all of a text is kept.
func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		head string
	}{
		{"saxpy", 3, "sax"}, {"saxpy", 9, "saxpy"}, {"saxpy", 0, "s"}, {"", 3, ""},
		{"行列積", 3, "行"}, {"行列積", 4, "行列"}, {"行列積", 1, "行"},
		{"e\u0301te\u0301", 2, "e\u0301t"}, {"e\u0301te\u0301", 1, "e\u0301"}, {"👩\u200d💻🚀", 3, "👩\u200d💻"},
	} {
		if head, rest := Split(tt.text, tt.n); head != tt.head || head+rest != tt.text {
			t.Errorf("%q at %d: %q and %q, want %q first", tt.text, tt.n, head, rest, tt.head)
		}
	}
}

// A shortened name keeps whole characters and its width, whatever it is made of.
func TestElideKeepsCharacters(t *testing.T) {
	for _, part := range []string{"ab", "行列", "e\u0301", "👩\u200d💻", "🇩🇪", "a行"} {
		text := strings.Repeat(part, 40)
		for n := 1; n < 60; n++ {
			got := Elide(text, n)
			head, tail, cut := strings.Cut(got, "…")
			if Columns(got) > max(n, 1) || cut && (!strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail)) {
				t.Errorf("%q at %d: %q", part, n, got)
			}
		}
	}
}
