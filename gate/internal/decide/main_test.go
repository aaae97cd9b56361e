package decide

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage lie for longer: the simulations judge tens of thousands of gates and keep none of them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
