package devicecode

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe wants no wait for a writer of a named pipe: it is no device code.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "a.cubin")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if HasCode(pipe) {
		t.Error("a pipe is taken for device code")
	}
}
