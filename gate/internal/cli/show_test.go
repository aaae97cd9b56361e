package cli

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
)

func TestFirstKernels(t *testing.T) {
	for _, c := range []struct {
		kernels int
		verbose bool
		title   string
		listed  int
	}{
		{1, false, "1 kernel", 1},
		{1000, false, "1000 kernels", 1000},
		{1001, true, "1001 kernels", 1001},
		{1001, false, "1001 kernels, of which 1000 are listed (--verbose or --format json: all)", 1000},
	} {
		title, listed := firstKernels(make([]devicecode.Kernel, c.kernels), c.verbose)
		if title != c.title || len(listed) != c.listed {
			t.Errorf("%d kernels, verbose %v: %d listed under %q, want %d under %q", c.kernels, c.verbose, len(listed), title, c.listed, c.title)
		}
	}
}
