//go:build linux

package cli

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/confine"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// panics is a standard output whose first write ends its process as an error of the program does.
type panics struct{}

func (panics) Write([]byte) (int, error) { panic("deliberate") }

// TestChildThatPanics checks that a confined child which panics tells no exit code: its parent would take it for that of
// the command, and 0 for a pass.
func TestChildThatPanics(t *testing.T) {
	const asChild = "NSGATE_TEST_PANICS"
	if os.Getenv(asChild) != "" {
		os.Exit(Main(t.Context(), []string{proc.HiddenArg, confine.Arg, "version"}, Streams{Out: panics{}}))
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildThatPanics$")
	cmd.Env = append(os.Environ(), asChild+"=1")
	cmd.ExtraFiles = []*os.File{to, os.Stderr}
	err = cmd.Run()
	to.Close()
	told, _ := io.ReadAll(from)
	if len(told) > 0 || err == nil {
		t.Errorf("a child that panics told exit code %v and ended with %v", told, err)
	}
}
