package app

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// nsysOf is the nsys that came with the CUDA of a driver branch, oldest first. Nsight Systems that is older than the driver
// may lose what ran. (CUDA toolkit release notes, component versions; developer.download.nvidia.com/compute/cuda/redist lists the
// same as redistrib_VERSION.json, nsight_systems and nvidia_driver.)
var nsysOf = []struct {
	driver     int // branch
	cuda, nsys string
}{
	{550, "12.4", "2023.4"}, {555, "12.5", "2024.2"}, {560, "12.6", "2024.4"}, {570, "12.8", "2024.6"}, {575, "12.9", "2025.1"},
	{580, "13.0", "2025.3"}, {590, "13.1", "2025.5"}, {595, "13.2", "2025.6"}, {610, "13.3", "2026.1"},
}

// wantsNsys says which nsys a driver such as "580.159.03" wants, "" where nothing is known of it.
func wantsNsys(driver string) (cuda, nsys string) {
	branch, _, _ := strings.Cut(driver, ".")
	n, err := strconv.Atoi(branch)
	if err != nil {
		return "", ""
	}
	for _, x := range nsysOf {
		if n >= x.driver {
			cuda, nsys = x.cuda, x.nsys
		}
	}
	return cuda, nsys
}

// older reports whether a version of nsys, year.number, comes before another.
func older(version, than string) bool {
	var a, b [2]int
	if n, _ := fmt.Sscanf(version, "%d.%d", &a[0], &a[1]); n != 2 {
		return false
	}
	if n, _ := fmt.Sscanf(than, "%d.%d", &b[0], &b[1]); n != 2 {
		return false
	}
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

// findNsys finds an nsys that is there and not on the PATH, the newest last in its directory's order; "" for none.
func findNsys(root string) string {
	for _, pattern := range []string{
		"opt/nvidia/nsight-systems-cli/*/bin/nsys", "opt/nvidia/nsight-systems/*/bin/nsys", "usr/local/cuda*/bin/nsys",
	} {
		if found, _ := filepath.Glob(filepath.Join(root, pattern)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

// NVIDIA's own pages on how to install the profilers, which know every system and version.
const (
	nsysGuide = "https://docs.nvidia.com/nsight-systems/InstallationGuide"
	ncuGuide  = "https://docs.nvidia.com/nsight-compute/"
)
