package decide

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// hostCode is a chain of calls of two threads that the GPU waits for: code of 10 to 50 µs before calls of 5 µs.
func hostCode(calls int) *model.HostCode {
	h := &model.HostCode{Tail: 10_000}
	for i := range calls {
		h.Calls = append(h.Calls, model.HostCall{Thread: i / 50 % 2, Name: uint32(i % 7), Code: float64(10_000 + 997*(i%41)), Call: 5000})
	}
	for _, x := range model.HostScales() {
		h.Periods = append(h.Periods, math.Exp(x)*hostTime(h))
	}
	return h
}

func hostTime(h *model.HostCode) (ns float64) {
	for _, s := range h.Segments() {
		ns += s.Time
	}
	return ns
}

// scaled multiplies the times of a chain, and its periods with their sum.
func scaled(h *model.HostCode, by func(i int, c model.HostCall) float64) *model.HostCode {
	out, before := &model.HostCode{Calls: slices.Clone(h.Calls), Tail: h.Tail}, hostTime(h)
	for i := range out.Calls {
		c := &out.Calls[i]
		f := by(i, *c)
		c.Code, c.Call = c.Code*f, c.Call*f
	}
	for _, p := range h.Periods {
		out.Periods = append(out.Periods, p*hostTime(out)/before)
	}
	return out
}

func TestSpeedOf(t *testing.T) {
	base := hostCode(150)
	uneven := rand.New(rand.NewPCG(1, 2))
	with := func(h *model.HostCode, edit func(*model.HostCode)) *model.HostCode {
		h = scaled(h, func(int, model.HostCall) float64 { return 1 })
		edit(h)
		return h
	}
	for _, c := range []struct {
		name           string
		head           *model.HostCode
		factor, change float64 // of host times, of the step
		why            hostRefusal
	}{
		{"the same", base, 1, 0, ""},
		{"a slower host", scaled(base, func(int, model.HostCall) float64 { return 1.9 }), 1.9, 0, ""},
		{"one thread on a slower core", scaled(base, func(_ int, c model.HostCall) float64 { return 1 + float64(c.Thread) }), 1.34, 0, ""},
		{"one call 30 times as long", scaled(base, func(i int, _ model.HostCall) float64 { return 1 + 29*float64(1-min(1, max(i-20, 20-i))) }), 1, 0.18, ""},
		{"a new call of 500 µs", with(base, func(h *model.HostCode) {
			h.Calls = slices.Insert(h.Calls, 70, model.HostCall{Thread: 1, Name: 99, Code: 500_000, Call: 5000})
			for i := range h.Periods {
				h.Periods[i] *= hostTime(h) / hostTime(base)
			}
		}), 1, 0.10, ""},
		{"other code", with(base, func(h *model.HostCode) {
			for i := range h.Calls[60:] {
				h.Calls[60+i].Name = 99
			}
		}), 0, 0, otherCode},
		{"few segments", hostCode(15), 0, 0, fewSegments},
		{"no factor in common", scaled(base, func(int, model.HostCall) float64 { return math.Exp(0.4 * uneven.NormFloat64()) }), 0, 0, unevenSpeed},
		{"four times slower", scaled(base, func(int, model.HostCall) float64 { return 4 }), 0, 0, tooFarApart},
	} {
		b := base
		if c.why == fewSegments {
			b = c.head
		}
		got, why := speedOf(b, c.head)
		if why != c.why || why == "" && (math.Abs(math.Exp(got.factor)/c.factor-1) > 0.02 || got.low > got.high || math.Abs((got.low+got.high)/2-c.change) > 0.01) {
			t.Errorf("%s: factor %.3g, step %+.3f … %+.3f, refused for %q; want %.3g, %+.3f, %q", c.name, math.Exp(got.factor), got.low, got.high, why,
				c.factor, c.change, c.why)
		}
	}
	other := model.Session{HostCode: base}
	other.Driver = "580"
	if _, why := compareSpeeds(&model.Session{HostCode: base}, &other); why != otherTools {
		t.Errorf("another driver is refused for %q", why)
	}
	if _, why := compareSpeeds(&model.Session{}, &other); why != noHostCode {
		t.Errorf("a session without host code is refused for %q", why)
	}
}

// Matched calls keep their order on both sides. After calls were removed from one chain, all that remain are matched.
func TestMatchCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		base := make([]model.HostCall, r.IntN(40))
		for i := range base {
			base[i].Name = uint32(r.IntN(5))
		}
		var head []model.HostCall
		kept := 0
		for _, c := range base {
			if r.IntN(4) > 0 {
				head = append(head, c)
				kept++
			}
			if r.IntN(6) == 0 {
				head = append(head, model.HostCall{Name: 9})
			}
		}
		last, n := -1, 0
		for j, i := range matchCalls(base, head) {
			if i < 0 {
				continue
			}
			if i <= last || base[i] != head[j] {
				t.Fatalf("call %d of the head is matched with %d, after %d", j, i, last)
			}
			last = i
			n++
		}
		if n != kept {
			t.Fatalf("%d calls are matched, and %d were kept", n, kept)
		}
	}
}
