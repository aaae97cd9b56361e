package report

import (
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/measure"
)

// Kernels lists device code as text, a kernel a row.
func Kernels(title string, kernels []devicecode.Kernel, o Options) string {
	rows := make([][]string, len(kernels))
	for i, k := range kernels {
		stack := strconv.Itoa(k.Stack)
		if k.Stack < 0 {
			stack = measure.Unknown
		}
		name := measure.NormalizeName(k.Name)
		if !o.Verbose {
			name = measure.ShortName(name)
		}
		rows[i] = []string{k.Arch, strconv.Itoa(k.Registers), stack, strconv.Itoa(k.SpillStores), strconv.Itoa(k.Shared), strconv.Itoa(k.Constant),
			strconv.Itoa(k.Code), k.Hash[:min(8, len(k.Hash))], name}
	}
	return List(title, []string{"arch", "registers", "stack B", "spill B", "shared B", "constant B", "code B", "hash", "kernel"}, rows, o)
}
