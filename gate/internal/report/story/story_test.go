package story

import (
	"math"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
)

func TestSpark(t *testing.T) {
	nan := result.Number(math.NaN())
	for _, c := range []struct {
		base, head []result.Number
		want       string
	}{
		{[]result.Number{100, 101}, []result.Number{109, 110}, "▁▁ → ▇█"},
		{[]result.Number{100, 100.1}, []result.Number{100.2, nan, 100}, "▁▁ → ▁·▁"}, // flat: far inside the limit
		{[]result.Number{5, 5}, []result.Number{5, 5}, "▁▁ → ▁▁"},
		{[]result.Number{5}, []result.Number{5, 5}, ""},
		{nil, nil, ""},
	} {
		if got := unbind(spark(c.base, c.head, 0.03)); got != c.want {
			t.Errorf("spark(%v, %v) = %q, want %q", c.base, c.head, got, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	f := result.Finding{
		Kernel: "saxpy", Scope: "kernel", Metric: "time", Unit: "ns", Outcome: result.Slower,
		Base: 21200, Head: 22260, Change: 0.05, Low: 0.046, High: 0.052, Limit: 0.03, Rule: "default",
	}
	if got, want := newRow(f).Describe(),
		"21.20 → 22.26 µs (+5.00 %, interval +4.60 … +5.20 %), limit 3 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := newRow(f).Title(), "saxpy: time +5.00 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f.Rule, f.Unit, f.Base, f.Head, f.Low, f.High = "nsgate.toml:12", "B", 4194304, 4194308, 1e-6, 1e-6
	if got, want := newRow(f).Describe(), "4194304 → 4194308 B (+5.00 %), limit 3 % (nsgate.toml:12)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The facts say on what kind of board the sides were measured, and that it is not known only where all is shown.
func TestBoards(t *testing.T) {
	const fast, slow = "692-2G520-0282-001", "692-2G520-0282-000"
	for _, c := range []struct {
		base, head string
		boards     result.Boards
		verbose    bool
		want       string
	}{
		{fast, fast, result.SameBoard, false, "GPU: H200, board " + fast +
			"; pairing: different sessions, same board: the spread between hosts widens the intervals"},
		{slow, fast, result.OtherBoard, false, "base GPU: H200, board " + slow + "; head GPU: H200, board " + fast +
			"; pairing: different sessions, different boards: the spread between hosts widens the intervals"},
		{"", "", "", false, "GPU: H200; pairing: different sessions: the spread between hosts widens the intervals"},
		{"", "", "", true, "GPU: H200; pairing: different sessions: the spread between hosts widens the intervals; " +
			"not every profile says on which board it was measured"},
	} {
		r := &result.Report{Boards: c.boards, Base: result.Side{Runs: 2}, Head: result.Side{Runs: 2}}
		r.Base.Environment.GPU, r.Head.Environment.GPU = "H200", "H200"
		r.Base.Environment.Board, r.Head.Environment.Board = c.base, c.head
		var got []string
		for _, f := range facts(r, c.verbose) {
			if f.Label != "base" && f.Label != "head" {
				got = append(got, f.Label+": "+f.Text)
			}
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestElide(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"saxpy", 5, "saxpy"}, {"abcdefghij", 6, "abc…ij"}, {"ééééé", 3, "é…é"}, {"abc", 1, "…"}, {"abc", 0, "…"},
		{"", 0, ""},
		{"行列積行列積", 7, "行…列積"}, {"行列積", 6, "行列積"}, {"e\u0301te\u0301s", 4, "e\u0301te\u0301s"},
		{"old_kernel → new_kernel", 23, "old_kernel → new_kernel"}, {"old_kernel → new_kernel", 15, "old…el → new…el"},
		{"old → much_longer_kernel", 15, "old → much…rnel"}, {"much_longer_kernel → new", 15, "much…rnel → new"},
		{"reduce_L1013_# → reduce_L1020_#", 14, "reduce_L1020_#"},
	} {
		if got := Elide(c.s, c.n); got != c.want {
			t.Errorf("Elide(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
	if s := Elide(strings.Repeat("\u0301", 100_000), 20); len(s) > 1000 {
		t.Errorf("%d bytes of accents in 20 columns", len(s))
	}
}
