package app

import (
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestTimeoutIsLearned(t *testing.T) {
	for _, c := range []struct {
		longest []time.Duration
		want    time.Duration
	}{
		{nil, 0}, {[]time.Duration{0, 0}, 0}, {[]time.Duration{time.Second}, 5 * time.Minute},
		{[]time.Duration{0, 90 * time.Second, time.Minute}, 15 * time.Minute},
	} {
		var b Baselines
		for _, l := range c.longest {
			b = append(b, Baseline{Sessions: []model.Session{{Longest: l}}})
		}
		if got := b.Timeout(); got != c.want {
			t.Errorf("%v: %v, want %v", c.longest, got, c.want)
		}
	}
}
