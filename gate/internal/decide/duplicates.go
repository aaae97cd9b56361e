package decide

import (
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// duplicates warns where the same recordings stand on both sides: their agreement proves nothing.
func duplicates(base, head []model.Session) []result.Remark {
	seen := make(map[uint64]bool)
	for i := range base {
		for _, run := range recorded.Fingerprints(&base[i]) {
			seen[run] = true
		}
	}
	same, all := 0, 0
	for i := range head {
		all += head[i].Profiled()
		for _, run := range recorded.Fingerprints(&head[i]) {
			if seen[run] {
				same++
			}
		}
	}
	if same == 0 {
		return nil
	}
	return []result.Remark{result.Say(reason.SameRuns{Same: same, Runs: all})}
}
