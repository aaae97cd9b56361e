//go:build linux

package run

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// A runner begins once its gate is removed and let go, also where that came first, and not where the gate's holder
// died.
func TestGate(t *testing.T) {
	for _, tt := range []struct {
		name            string
		removed, waited bool
		want            bool
	}{{"opened before", true, false, true}, {"opened meanwhile", true, true, true},
		{"died before", false, false, false}, {"died meanwhile", false, true, false}} {
		dir := t.TempDir()
		gate, err := proc.Hold(gateIn(dir))
		if err != nil {
			t.Fatal(err)
		}
		var released error
		release := func() {
			if tt.removed {
				released = os.Remove(gateIn(dir))
			}
			released = errors.Join(released, gate.Close())
		}
		began := make(chan bool)
		if !tt.waited {
			release()
		}
		go func() { began <- awaitOpen(t.Context(), dir) }()
		if tt.waited {
			release()
		}
		if got := <-began; got != tt.want || released != nil {
			t.Errorf("%s: began %v, want %v (%v)", tt.name, got, tt.want, released)
		}
	}
	dir := t.TempDir()
	gate, err := proc.Hold(gateIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if awaitOpen(ended, dir) {
		t.Error("a runner that was told to end began")
	}
}
