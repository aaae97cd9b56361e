package app

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// surroundings are the rights, the container and the neighbours of this process. root is "/" except in tests.
type surroundings struct{ root string }

func (s surroundings) read(name string) string {
	return input.System(filepath.Join(s.root, name))
}

// profilingForAll reports whether the driver lets every user read the performance counters, and whether that is known.
func (s surroundings) profilingForAll() (open, known bool) {
	m := regexp.MustCompile(`(?m)^RmProfilingAdminOnly: (\d+)`).FindStringSubmatch(s.read("proc/driver/nvidia/params"))
	return m != nil && m[1] == "0", m != nil
}

// administers reports whether this process has CAP_SYS_ADMIN, which permits reading the counters.
func (s surroundings) administers() bool {
	m := regexp.MustCompile(`(?m)^CapEff:\s*([0-9a-f]+)$`).FindStringSubmatch(s.read("proc/self/status"))
	if m == nil {
		return false
	}
	const sysAdmin = 21
	set, err := strconv.ParseUint(m[1], 16, 64)
	return err == nil && set&(1<<sysAdmin) != 0
}

func (s surroundings) container() bool {
	return slices.ContainsFunc([]string{".dockerenv", "run/.containerenv", "run/secrets/kubernetes.io"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(s.root, name))
		return err == nil
	})
}

// dcgm names a visible process of NVIDIA's Data Center GPU Manager, "" for none. A container shows only its own.
func (s surroundings) dcgm() string {
	names, _ := filepath.Glob(filepath.Join(s.root, "proc/[0-9]*/comm"))
	for _, name := range names {
		if comm := strings.TrimSpace(input.System(name)); comm == "nv-hostengine" || comm == "dcgm-exporter" {
			return comm
		}
	}
	return ""
}

// nsys finds an nsys that is not on the PATH, the last one in its directory's order; "" for none.
func (s surroundings) nsys() string {
	for _, pattern := range []string{"opt/nvidia/nsight-systems-cli/*/bin/nsys", "opt/nvidia/nsight-systems/*/bin/nsys", "usr/local/cuda*/bin/nsys"} {
		if found, _ := filepath.Glob(filepath.Join(s.root, pattern)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}
