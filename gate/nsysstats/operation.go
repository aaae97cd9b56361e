package nsysstats

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// Copies stand among the kernels by labels: [CUDA memcpy HtoD] until 2023, [CUDA memcpy Host-to-Device] since, with
// [CUDA Unified Memory memcpy HtoD] and [CUDA memcpy Unified Host-to-Device] for what the driver migrates.
var (
	label     = regexp.MustCompile(`^\[CUDA [^\]]*\]$`)
	direction = regexp.MustCompile(`\b(Host|Device|Array|Peer|[HDAP])(?:-to-|to)(Host|Device|Array|Peer|[HDAP])\b`)
)

// directions are the letters of from and to, numbered as measure.CopyKind does.
var directions = []string{"", "HD", "DH", "HA", "AH", "AA", "AD", "DA", "DD", "HH", "PP"}

// unified is what a kind of the driver's own copies of managed memory is above the same kind of the program's.
var unified = map[string]measure.CopyKind{"HD": 11, "DH": 12, "DD": 13}

// operation is the kind of a copy or memset, by its label.
func operation(name string) (measure.CopyKind, bool) {
	if !label.MatchString(name) {
		return 0, false
	}
	switch {
	case strings.Contains(name, "memset"):
		return measure.Memset, true
	case !strings.Contains(name, "memcpy"):
		return 0, false
	}
	m := direction.FindStringSubmatch(name)
	if m == nil {
		return 0, true
	}
	way := m[1][:1] + m[2][:1]
	if strings.Contains(name, "Unified") {
		return unified[way], true
	}
	return measure.CopyKind(max(0, slices.Index(directions, way))), true
}

// memory is a kind of memory by its label.
func memory(cell string) measure.MemoryKind {
	cell = strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(cell))
	for k := measure.MemoryKind(0); k < measure.MemoryUnknown; k++ {
		if k.String() == cell {
			return k
		}
	}
	return measure.MemoryUnknown
}
