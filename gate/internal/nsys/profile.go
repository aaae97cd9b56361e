package nsys

import (
	"slices"
	"strings"
)

// ProfileArgs are the options of nsys profile with which a workload is recorded: those that [Read] needs, unless further ones say
// otherwise, and then these. sample is what --sample is unless they say that.
func ProfileArgs(sample string, further ...string) []string {
	var args []string
	for _, x := range []struct{ option, short, value string }{
		{"--trace", "-t", "cuda,nvtx"}, {"--sample", "-s", sample}, {"--cpuctxsw", "", "none"},
		{"--cuda-graph-trace", "", "node"}, {"--force-overwrite", "-f", "true"},
	} {
		// nsys takes no option twice.
		if !slices.ContainsFunc(further, func(arg string) bool {
			return arg == x.option || strings.HasPrefix(arg, x.option+"=") || x.short != "" && strings.HasPrefix(arg, x.short)
		}) {
			args = append(args, x.option+"="+x.value)
		}
	}
	return append(args, further...)
}
