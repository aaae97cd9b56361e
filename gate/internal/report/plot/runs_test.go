package plot

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var dots = regexp.MustCompile(`<circle class="run [a-z]+" cx="[^"]*" cy="([0-9.]+)" r="[^"]*" data-tip="([^"]*)"/>`)

// Runs stand in their order from top to bottom, those of one session together and apart from those of the next.
func TestRunsBySession(t *testing.T) {
	plain := func(v float64) string { return fmt.Sprint(v) }
	base := []float64{10, 11, 12, 13, math.NaN(), 15}
	text := string(Runs("saxpy", []Group{{Name: "base", Class: "base", Runs: base, Sessions: []int{2, 1, 3},
		Typical: 12},
		{Name: "head", Class: "worse", Runs: []float64{20, 21}, Sessions: []int{2}, Typical: 20}}, math.NaN(), plain))
	var at []float64
	var tips []string
	for _, m := range dots.FindAllStringSubmatch(text, -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		at, tips = append(at, y), append(tips, m[2])
	}
	want := []string{"base, session 1, run 1: 10", "base, session 1, run 2: 11", "base, session 2, run 1: 12",
		"base, session 3, run 1: 13", "base, session 3, run 3: 15", "head, run 1: 20", "head, run 2: 21"}
	if strings.Join(tips, "; ") != strings.Join(want, "; ") {
		t.Fatalf("tips %q", tips)
	}
	for i := 1; i < len(at); i++ {
		if at[i] <= at[i-1] {
			t.Errorf("%s at %g is not below %s at %g", tips[i], at[i], tips[i-1], at[i-1])
		}
	}
	if n := strings.Count(text, `class="session"`); n != 2 {
		t.Errorf("%d lines between three sessions", n)
	}
	if within, between := at[1]-at[0], at[2]-at[1]; between <= within {
		t.Errorf("runs of a session are %g apart, sessions %g", within, between)
	}
	if !strings.Contains(text, "base: 5 runs in 3 sessions around 12; head: 2 runs around 20") {
		t.Errorf("said in words: %s", text[:300])
	}

	// Where it is not known which session they are of, runs stand as one.
	if text = string(Runs("saxpy", []Group{{Name: "base", Class: "base", Runs: base, Sessions: []int{4}}}, math.NaN(),
		plain)); strings.Contains(text, `class="session"`) || !strings.Contains(text, "base, run 6: 15") {
		t.Errorf("of unknown sessions: %s", text)
	}
}
