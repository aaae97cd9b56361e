package profiler_test

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

func TestSelects(t *testing.T) {
	for _, tt := range []struct {
		selectors []string
		kernel    string
		want      bool
	}{
		{[]string{"saxpy"}, "saxpy", true}, {[]string{"saxpy"}, "saxpy2", false},
		{[]string{"regex:^s"}, "saxpy2", true},
		{[]string{"regex:gemm$"}, "gemm_f16", false}, {[]string{"a", "regex:gemm"}, "hgemm_f16", true},
		{[]string{"regex:("}, "(", false}, {nil, "x", false},
	} {
		if got := profiler.Selects(tt.selectors, tt.kernel); got != tt.want {
			t.Errorf("%q, %s: %v", tt.selectors, tt.kernel, got)
		}
	}
	for s, ok := range map[string]bool{"saxpy": true, "(": true, "regex:a|b": true, "regex:(": false, "regex:": false} {
		if err := profiler.CheckSelector(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
}
