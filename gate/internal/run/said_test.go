package run

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// The last line is told once a second, as valid UTF-8 and not longer than 400 bytes.
func TestSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		x := printed{to: &proc.Output{}, said: func(line string) { got = append(got, line) }}
		for _, text := range []string{"a\nb\n", "too soon\n", "", "\n\n", "1 %\r2 %\r", "c\xff"} {
			x.Write([]byte(text))
			if text != "a\nb\n" {
				time.Sleep(time.Second)
			}
		}
		if want := []string{"b", "2 %", "c\uFFFD"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
