package app

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

func TestSuggest(t *testing.T) {
	for _, tt := range []struct {
		runs string // separated by |
		want string
	}{
		{"tokens/s: 12.5|tokens/s: 13", "tokens/s ↑"},
		{"bandwidth: 3.2 GB/s\nkernel: 4 us|bandwidth: 3 GB/s\nkernel: 5 us", "bandwidth GB/s ↑, kernel us ↓"},
		{"iteration: 3 ms/step|iteration: 3 ms/step", "iteration ms/step ↓"},
		{"eta: 1\rloss: 1e-3\r\n|eta: 2\rloss: 2e-3", "eta, loss"},
		{"seed: 42\nloss: 0.5|seed: 42\nloss: 0.5", "loss"},
		{"epoch 1 loss: 0.5\nepoch 2 loss: 0.4|epoch 1 loss: 0.5\nepoch 2 loss: 0.4", ""},
		{"loss: 1.5|", ""},
		{"loss: 1.5\nloss: 1.6|loss: 1.5", ""},
		{"loss: 1.5", ""},
		{"\x1b[1mloss: 1.5|\x1b[1mloss: 1.5", ""},
		{"it's: 1.5|it's: 1.5", ""},
		{"loss: -1.5|loss: -1.5", ""}, // no number that a measurement can have
	} {
		var got []string
		for _, o := range suggest(strings.Split(tt.runs, "|")) {
			if _, err := o.Compile(); err != nil {
				t.Errorf("%q: %v", tt.runs, err)
			}
			sign := map[measure.Direction]string{measure.Higher: " ↑", measure.Lower: " ↓"}
			got = append(got, o.Name+sign[o.Better])
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.runs, got, tt.want)
		}
	}
}
