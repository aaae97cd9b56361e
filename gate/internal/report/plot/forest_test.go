package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var ticks = regexp.MustCompile(`<text class="tick[^"]*" x="([0-9.]+)%" y="[0-9.]+">([^<]*)</text>`)

// Every scale of changes has zero and a tick beside it, whatever the limit and the changes, and labels that do not
// touch on a drawing of 175 pixels.
func TestForestAxis(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		bend := math.Pow(10, -5+6*random.Float64())
		most := bend * math.Pow(10, 4*random.Float64())
		f := NewForest(bend, []float64{most, math.NaN()})
		text := string(f.Axis(func(v float64) string { return fmt.Sprint(v) }))
		var at []float64
		for _, m := range ticks.FindAllStringSubmatch(text, -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			for _, y := range at {
				if math.Abs(x-y) < 13 {
					t.Fatalf("bend %g, most %g: ticks at %g and %g %%: %s", bend, most, x, y, text)
				}
			}
			if x > 91 || x < 9 {
				t.Fatalf("bend %g, most %g: a label leaves the drawing: %s", bend, most, text)
			}
			at = append(at, x)
		}
		if len(at) < 2 {
			t.Fatalf("bend %g, most %g: %d ticks: %s", bend, most, len(at), text)
		}
	}
}

// An interval that leaves the scale has an arrow at that end, another one has none.
func TestForestArrows(t *testing.T) {
	f := NewForest(0.03, []float64{0.05}) // up to 6.9 %
	nan := math.NaN()
	for _, c := range []struct {
		change, low, high float64
		left, right       int
	}{
		{0.01, -0.02, 0.05, 0, 0}, {0.01, -0.02, 0.2, 0, 1}, {-0.01, -0.3, 0.05, 1, 0}, {0, -0.5, 0.5, 1, 1},
		{0.05, 0.3, math.Inf(1), 0, 1}, {0.02, nan, nan, 0, 0}, {nan, nan, nan, 0, 0}, {2000, nan, nan, 0, 1},
	} {
		text := string(f.Row("doubt", c.change, c.low, c.high, 0.03))
		const end = `x2="%s" y2="10"/>`
		left, right := strings.Count(text, fmt.Sprintf(end, "0%")), strings.Count(text, fmt.Sprintf(end, "100%"))
		if left != 3*c.left || right != 3*c.right {
			t.Errorf("%+v: %d lines to the left end and %d to the right one: %s", c, left, right, text)
		}
	}
}

// Every scale has two ticks or more.
func TestTicks(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		low := math.Pow(10, -3+12*random.Float64())
		s := Around(0.08, low, low*(1+math.Pow(10, -4+5*random.Float64())))
		for _, about := range []int{4, 5} {
			if got := s.Ticks(about); len(got) < 2 || len(got) > 2*about {
				t.Fatalf("%+v: ticks %v", s, got)
			}
		}
	}
}
