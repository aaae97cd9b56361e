//go:build linux

package command_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/command"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Every command that reads files of others asks a confined child to do it, and says once where it cannot: a child
// itself asks no other.
func TestConfined(t *testing.T) {
	t.Parallel()
	seed := newWorld(t)
	seed.run(0, "sh", "-c", `nsgate record --from $KERNELS/base
		nsgate compare -q --report json=report.json $KERNELS/base $KERNELS/saxpy_1.05; test $? = 1`)
	for name, tt := range map[string]struct {
		args string
		code int
	}{
		"compare":   {`compare $KERNELS/base $KERNELS/base`, 0},
		"show":      {`show $KERNELS/base`, 0},
		"check":     {`check --from $KERNELS/saxpy_1.05`, 1},
		"record":    {`record --baseline other --from $KERNELS/base`, 0},
		"scrub":     {`scrub $KERNELS/base -o scrubbed`, 0},
		"calibrate": {`calibrate --from $KERNELS/base`, 0},
		"accept":    {`accept --force --workload default --reason wanted report.json`, 0},
		"report":    {`report report.json`, 1},
		"history":   {`history report.json`, 0},
		"live":      {`check --runs 2 -- true`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.like(seed)
			for _, child := range []string{"", "1"} {
				j := w.start("sh", "-c", "rm -rf scrubbed other; NSGATE_CHILD="+child+" nsgate "+tt.args)
				if code := j.wait(); code != tt.code {
					t.Errorf("exit code %d, want %d\n%s", code, tt.code, j.said())
				}
				if n := strings.Count(j.stderr.String(), "read without confinement"); n != len(child) {
					t.Errorf("NSGATE_CHILD=%s: %d warnings\n%s", child, n, j.stderr.String())
				}
			}
			w.gone()
		})
	}
}

// A test that calls the command with the arguments of its process is not run again as a child or a guard.
func TestConfinedNotTests(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	os.Args = []string{"nsgate", "version"}
	code := command.Main(t.Context(), os.Args[1:], command.Streams{Out: io.Discard, Err: io.Discard})
	if code != 0 || proc.Guarded() {
		t.Errorf("exit code %d, guarded %v", code, proc.Guarded())
	}
}
