package align

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Differences are differences between the sides that do not forbid a comparison but belong beside its result.
func Differences(base, head []model.Session, policy *thresholds.Resolved) []result.Remark {
	b, h := base[len(base)-1], head[len(head)-1]
	var out []result.Remark
	differ := func(what, x, y string) {
		if x != "" && y != "" && x != y {
			out = append(out, result.Say(reason.Versions{What: what, Base: x, Head: y}))
		}
	}
	differ("driver", b.Driver, h.Driver)
	differ("CUDA", b.CUDA, h.CUDA)
	differ("profiler", minor(b.Tool), minor(h.Tool))
	if b.PowerW != 0 && h.PowerW != 0 {
		differ("power limit", measure.Quantity(float64(b.PowerW), "W"), measure.Quantity(float64(h.PowerW), "W"))
	}
	if x, y := recorded.CoarsestTick(base), recorded.CoarsestTick(head); x > 0 && y > 0 {
		differ("tick of the GPU's timer", measure.Quantity(x, "ns"), measure.Quantity(y, "ns"))
	}
	if age := h.Start.Sub(recorded.Newest(base)); policy.MaxAge > 0 && !h.Start.IsZero() &&
		!recorded.Newest(base).IsZero() && age > policy.MaxAge {
		const day = 24 * time.Hour
		out = append(out, result.Say(reason.OldBase{Days: int(age / day), Most: int(policy.MaxAge / day)}))
	}
	steps := reason.Steps{Base: recorded.Steps(&b), Head: recorded.Steps(&h)}
	return slices.Concat(out,
		result.SayIf(b.Command != "" && h.Command != "" && b.Command != h.Command, reason.OtherCommand{}),
		result.SayIf((b.GPU == "") != (h.GPU == ""), reason.UnknownGPU{Model: b.GPU + h.GPU}),
		result.SayIf(Boards(base, head) == result.OtherBoard,
			reason.OtherBoard{Base: recorded.Boards(base), Head: recorded.Boards(head)}),
		result.SayIf(b.Step != "" && steps.Base != steps.Head, steps))
}

// minor cuts a version after its second number: "torch.profiler 2.6.1" to "torch.profiler 2.6".
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// Duplicates warns where the same recordings stand on both sides: their agreement proves nothing.
func Duplicates(base, head []model.Session) []result.Remark {
	seen := make(map[uint64]bool)
	for i := range base {
		for _, run := range recorded.Fingerprints(&base[i]) {
			seen[run] = true
		}
	}
	same, all := 0, 0
	for i := range head {
		all += cmp.Or(head[i].Profiled(), len(head[i].Runs))
		same += measure.HowMany(recorded.Fingerprints(&head[i]), func(run uint64) bool { return seen[run] })
	}
	return result.SayIf(same > 0, reason.SameRuns{Same: same, Runs: all})
}

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
	n := measure.HowMany(all, func(s model.Session) bool { return s.GPU == b.GPU && s.Profiler() == b.Profiler() })
	return result.SayIf(n > len(base), reason.OnBoard{Kept: len(base), All: n})
}
