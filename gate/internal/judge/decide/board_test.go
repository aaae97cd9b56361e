package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Of the base those sessions count that were measured on the head's kind of board, where there are any.
func TestBoards(t *testing.T) {
	const fast, slow = "692-2G520-0282-001", "692-2G520-0282-000"
	const note, doubt = "measured on the head's board", "another board"
	const one = "1 of 3 baseline sessions was " + note + " and is compared with it; the others are left out"
	tests := []struct {
		name string
		// the boards of the sessions, from another host each; "?" is not known, "!" one of a single run
		base, head string
		boards     result.Boards
		sessions   int // sessions of the base that are compared with the head
		says       string
	}{
		{"nothing known", "??", "?", result.UnknownBoards, 2, ""},
		{"head unknown", "fs", "?", result.UnknownBoards, 2, ""},
		{"base unknown", "??", "f", result.UnknownBoards, 2, ""},
		{"same", "ff", "f", result.SameBoard, 2, ""},
		{"some", "sfs", "f", result.SameBoard, 1, one},
		{"some, the others unknown", "?f?", "f", result.SameBoard, 1, one},
		{"some, in too few runs", "s!s", "f", result.UnknownBoards, 3, ""},
		{"most", "sff", "f", result.SameBoard, 2, "2 of 3 baseline sessions were " + note +
			" and are compared with it; the others are left out"},
		{"other", "ss", "f", result.OtherBoard, 2, "the baseline was measured on " + doubt + " (" + slow + ", here " +
			fast + ")"},
		{"other or unknown", "s?", "f", result.UnknownBoards, 2, ""},
		{"head of both", "ff", "fs", result.UnknownBoards, 2, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			side := func(boards string) (out []model.Session) {
				for _, b := range boards {
					n++
					p := quiet().with(func(p *program) {
						p.host, p.start, p.seed = fmt.Sprint(n), noon.Add(time.Duration(n)*24*time.Hour), uint64(n)
						if b == '!' {
							p.runs = 1
						}
					})
					s := p.session()
					s.Board = map[rune]string{'f': fast, '!': fast, 's': slow}[b]
					out = append(out, s)
				}
				return out
			}
			r := evaluate(side(tt.base), side(tt.head), thresholds.Default())
			if r.Verdict == result.NoVerdict {
				t.Fatal(r.Reason)
			}
			if r.Boards != tt.boards || r.Base.Sessions != tt.sessions {
				t.Errorf("boards %q, %d sessions of the base; want %q, %d", r.Boards, r.Base.Sessions, tt.boards,
					tt.sessions)
			}
			said := strings.Join(append(r.Warnings, r.Notes...), "\n")
			if tt.says == "" && (strings.Contains(said, note) || strings.Contains(said, doubt)) ||
				!strings.Contains(said, tt.says) {
				t.Errorf("said %q, want %q", said, tt.says)
			}
		})
	}
}

// Sessions that cannot be compared anyway are not reported as left out.
func TestLeftOutIsWhatCouldCount(t *testing.T) {
	base, other, head := quiet().session(), quiet().session(), quiet().session()
	base.Board, head.Board, other.GPU = "692-2G520-0282-001", "692-2G520-0282-001", "NVIDIA H100"
	r := evaluate([]model.Session{other, base}, []model.Session{head}, thresholds.Default())
	if len(r.Notes) > 0 || r.Base.Sessions != 1 {
		t.Errorf("%q, %d sessions", r.Notes, r.Base.Sessions)
	}
}

func TestPowerLimitDiffers(t *testing.T) {
	base, head := quiet().session(), quiet().with(func(p *program) { p.host = "b" }).session()
	base.PowerW, head.PowerW = 700, 500
	r := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
	if want := "the power limit differs: 700 W in the baseline, 500 W in " +
		"the head"; !strings.Contains(strings.Join(r.Warnings, "\n"), want) {
		t.Errorf("%q, want %q", r.Warnings, want)
	}
}

// TestOldBaseline wants a warning where the baseline is older than the policy allows.
func TestOldBaseline(t *testing.T) {
	base, policy := quiet(), thresholds.Default()
	policy.MaxAge = 30 * 24 * time.Hour
	for days, want := range map[int]bool{29: false, 31: true} {
		head := base.with(func(p *program) { p.start = p.start.Add(time.Duration(days) * 24 * time.Hour) })
		r := compareSides([]model.Session{base.session()}, []model.Session{head.session()}, policy)
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "31 days"); got != want {
			t.Errorf("after %d days: %q", days, r.Warnings)
		}
	}
}

// TestOtherCommand wants a warning where both commands are known and differ.
func TestOtherCommand(t *testing.T) {
	for _, x := range []struct {
		base, head string
		want       bool
	}{{"11111111", "22222222", true}, {"11111111", "11111111", false}, {"", "22222222", false}} {
		base, head := quiet().session(), quiet().session()
		base.Command, head.Command = x.base, x.head
		r := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
		if got := strings.Contains(strings.Join(r.Warnings, "\n"),
			"the command differs from the baseline's"); got != x.want {
			t.Errorf("%q and %q: %q", x.base, x.head, r.Warnings)
		}
	}
}
