package measure

import "testing"

// TestKindOfOutput holds what names say: only a time or a rate of the program contains its parts.
func TestKindOfOutput(t *testing.T) {
	for kind, names := range map[OutputKind]map[Direction][]string{
		OfSteps: {Higher: {"tokens/s", "throughput", "images/sec", "samples per second", "it/s", "GFLOP/s", "TFLOPS",
			"GB/s", "fps", "rows_per_s", "MFU"},
			Lower: {"ms/step", "step time ms", "latency (ms)", "s/it", "time", "time per iteration [s]",
				"total ms/step", "ttft ms"}},
		OfRun: {Lower: {"training time (s)", "elapsed", "wall time s", "total time", "runtime", "end-to-end s"}},
		OfOther: {Higher: {"accuracy", "score", "uptime s", "hit rate", "efficiency %", "tokens", "samples"},
			Lower: {"loss", "peak memory MiB", "errors/s", "perplexity", "GB", "registers"}},
	} {
		for better, of := range names {
			for _, name := range of {
				if got := KindOfOutput(name, better); got != kind {
					t.Errorf("%s (%d): %s, want %s", name, better, got, kind)
				}
			}
		}
	}
}
