package nsysstats

import (
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// rate is what MB/s, MBps and so on count, in bytes a second.
func rate(unit string) (factor float64, ok bool) {
	factor, base, ok := measure.BaseUnit(strings.Replace(unit, "bps", "b/s", 1))
	return factor, ok && base == "B/s"
}

// exact finds the bytes of a copy that the table rounds to thousands: the throughput beside them is less rounded. Until
// 2021 that is bytes × 10⁹ / ns; later nsys takes 10⁹ / ns as a whole number first. It gives the one number of bytes that
// both cells can be roundings of, and is not ok where there are several or none.
func exact(bytes, step float64, ns int64, rate, rateStep float64) (int64, bool) {
	if ns <= 0 {
		return 0, false
	}
	var found []int64
	for _, perSecond := range []float64{math.Floor(1e9 / float64(ns)), 1e9 / float64(ns)} {
		if perSecond == 0 || 0.51*rateStep/perSecond >= 0.5 {
			return 0, false
		}
		b := math.Round(rate / perSecond)
		if math.Abs(b*perSecond-rate) <= 0.51*rateStep && math.Abs(b-bytes) <= 0.51*step && b < largest {
			found = append(found, int64(b))
		}
	}
	if len(found) == 0 || found[0] != found[len(found)-1] {
		return 0, false
	}
	return found[0], true
}

// sizes are the exact bytes behind rounded ones, ambiguous where there are several.
type sizes map[int64]int64

const ambiguous = -1

func (s sizes) learn(rounded, exact int64) {
	if known, ok := s[rounded]; ok && known != exact {
		exact = ambiguous
	}
	s[rounded] = exact
}

// resize gives a copy of rounded bytes the exact ones of the others that are rounded alike, so that equal copies are
// equal whichever of them lasted too long for their throughput to tell.
func (t *traced) resize() {
	for _, i := range t.rounded {
		if exact, ok := t.sizes[t.copies[i].Bytes]; ok && exact != ambiguous {
			t.copies[i].Bytes = exact
		}
	}
	t.rounded, t.sizes = nil, nil
}
