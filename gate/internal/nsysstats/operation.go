package nsysstats

import (
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// Copies stand among the kernels by labels: [CUDA memcpy HtoD] until 2023, [CUDA memcpy Host-to-Device] since, with
// [CUDA Unified Memory memcpy HtoD] and [CUDA memcpy Unified Host-to-Device] for what the driver migrates.
var direction = regexp.MustCompile(`\b(Host|Device|Array|Peer|[HDAP])(?:-to-|to)(Host|Device|Array|Peer|[HDAP])\b`)

// labelled reports whether a name is the label of what is no kernel.
func labelled(name string) bool {
	return strings.HasPrefix(name, "[CUDA ") && strings.IndexByte(name, ']') == len(name)-1
}

// operation is the kind of a copy or memset, by its label.
func operation(name string) (model.CopyKind, bool) {
	if !labelled(name) {
		return 0, false
	}
	switch {
	case strings.Contains(name, "memset"):
		return model.Memset, true
	case !strings.Contains(name, "memcpy"):
		return 0, false
	}
	m := direction.FindStringSubmatch(name)
	if m == nil {
		return 0, true
	}
	way := "memcpy " + m[1][:1] + "to" + m[2][:1]
	if strings.Contains(name, "Unified") {
		way = "unified " + way
	}
	return model.CopyKindNamed(way), true
}
