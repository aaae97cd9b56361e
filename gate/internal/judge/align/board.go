package align

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Boards says how the boards of two sides relate.
func Boards(base, head []model.Session) result.Boards {
	b, h := recorded.Boards(base), recorded.Boards(head)
	switch common := func(board string) bool { return slices.Contains(b, board) }; {
	case slices.Contains(b, "") || slices.Contains(h, ""):
	case len(b) == 1 && slices.Equal(b, h):
		return result.SameBoard
	case len(b) > 0 && len(h) > 0 && !slices.ContainsFunc(h, common):
		return result.OtherBoard
	}
	return result.UnknownBoards
}

// onBoard returns the baseline's sessions on the head's board, where they have enough runs, else all. Where sessions
// of the baseline hold a part each, what only other boards measured stays as well.
func onBoard(base, head []model.Session) []model.Session {
	boards := recorded.Boards(head)
	if len(boards) != 1 || boards[0] == "" {
		return base
	}
	runs, has := 0, map[measure.Subject]bool{}
	for i := range base {
		if base[i].Board != boards[0] {
			continue
		}
		runs += base[i].Profiled()
		for _, x := range base[i].Series {
			has[x.Subject] = true
		}
	}
	if runs < stats.MinRuns && !(recorded.ByLaunch(head) && runs > 0) {
		return base
	}
	kept := []model.Session{}
	for _, s := range base {
		if s.Board != boards[0] {
			s.Series = slices.DeleteFunc(slices.Clone(s.Series), func(x model.Series) bool { return has[x.Subject] })
		}
		if len(s.Series) > 0 && (s.Board == boards[0] || Partial(base)) {
			kept = append(kept, s)
		}
	}
	return kept
}

// Partial reports whether a session holds only an accepted part of the baseline.
func Partial(base []model.Session) bool {
	return slices.ContainsFunc(base, func(s model.Session) bool { return s.Accepted })
}

// OnOthers names how many comparable sessions of the baseline are compared with the head; nothing if all are.
func OnOthers(all, base []model.Session) []result.Remark {
	b := base[len(base)-1]
	n := 0
	for i := range all {
		if all[i].GPU == b.GPU && all[i].Profiler() == b.Profiler() {
			n++
		}
	}
	return result.SayIf(n > len(base), reason.OnBoard{Kept: len(base), All: n})
}
