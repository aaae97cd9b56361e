package decide

import (
	"hash/maphash"
	"math"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// duplicates warns where the same recordings stand on both sides: their agreement proves nothing.
func duplicates(base, head []model.Session) []result.Remark {
	seen := make(map[uint64]bool)
	for i := range base {
		for _, run := range prints(&base[i]) {
			seen[run] = true
		}
	}
	same, all := 0, 0
	for i := range head {
		all += head[i].Profiled()
		for _, run := range prints(&head[i]) {
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

// seed is that of all prints, which are compared with each other alone.
var seed = maphash.MakeSeed()

// prints tell the runs of a session apart by all that it measured. A run with too few kernels has none.
func prints(s *model.Session) []uint64 {
	type sample struct {
		of    uint64 // subject and metric
		value float64
	}
	names := make([]uint64, len(s.Series))
	for i := range s.Series {
		x := &s.Series[i]
		names[i] = maphash.Comparable(seed, struct {
			measure.Subject
			metric string
		}{x.Subject, x.Metric.Name})
	}
	var out []uint64
	for run := range s.Runs {
		var h maphash.Hash
		h.SetSeed(seed)
		times := 0
		for i := range s.Series {
			x := &s.Series[i]
			if math.IsNaN(x.Values[run]) {
				continue
			}
			if x.Metric.Name == measure.Time.Name || x.Metric.Name == model.NcuTime.Name {
				times++
			}
			maphash.WriteComparable(&h, sample{names[i], x.Values[run]})
		}
		if times >= fewestTimes {
			out = append(out, h.Sum64())
		}
	}
	return out
}
