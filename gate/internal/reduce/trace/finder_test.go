package trace

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// An instant is found in the interval that contains it, after any earlier query.
func TestFinder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spans []model.Interval
		end := int64(0)
		for range rapid.IntRange(0, 6).Draw(t, "intervals") {
			start := end + rapid.Int64Range(1, 5).Draw(t, "gap")
			end = start + rapid.Int64Range(0, 5).Draw(t, "length")
			spans = append(spans, model.Interval{Start: start, End: end})
		}
		f := finder{spans: spans}
		for range 20 {
			at, want := rapid.Int64Range(-1, end+3).Draw(t, "instant"), -1
			for i, s := range spans {
				if s.Start <= at && at <= s.End {
					want = i
				}
			}
			if got := f.find(at); got != want {
				t.Fatalf("%d is in interval %d of %v, want %d", at, got, spans, want)
			}
		}
	})
}
