package cli

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
)

func TestFirstKernels(t *testing.T) {
	for _, c := range []struct {
		kernels int
		title   string
		listed  int
	}{
		{1, "1 kernel", 1},
		{1000, "1000 kernels", 1000},
		{1001, "1001 kernels, of which 1000 are listed (--format json: all)", 1000},
	} {
		title, listed := firstKernels(make([]devicecode.Kernel, c.kernels))
		if title != c.title || len(listed) != c.listed {
			t.Errorf("%d kernels: %d listed under %q, want %d under %q", c.kernels, len(listed), title, c.listed,
				c.title)
		}
	}
}
