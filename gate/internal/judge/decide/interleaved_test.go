package decide

import (
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestInterleaved(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, head []int // starts of the runs, ms
		want       bool
	}{
		{"ABBA", []int{0, 3}, []int{1, 2}, true},
		{"ABBA, the first run slow to start", []int{0, 104}, []int{100, 102}, true},
		{"ABBA, the last run late", []int{0, 500}, []int{1, 2}, true},
		{"ABAB", []int{0, 2}, []int{1, 3}, true},
		{"ABBAAB, the first run slow to start", []int{0, 103, 104}, []int{100, 102, 105}, true},
		{"all of the baseline first", []int{0, 1}, []int{2, 3}, false},
		{"all of the head first", []int{7, 8, 9}, []int{2, 3, 4}, false},
		{"one run a side", []int{0}, []int{1}, false},
		{"one late run of the baseline", []int{0, 1, 2, 3, 9}, []int{4, 5, 6, 7, 8}, false},
	} {
		session := func(starts []int) *model.Session {
			s := &model.Session{}
			for _, ms := range starts {
				s.Runs = append(s.Runs, model.Run{Start: time.UnixMilli(int64(ms) + 1e9)})
			}
			return s
		}
		if got := alternate(session(c.base), session(c.head), false); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
