package app

import (
	"fmt"
	"path/filepath"
	"regexp"
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

const (
	devtools = "https://developer.download.nvidia.com/devtools/repos/"
	cudaRepo = "https://developer.download.nvidia.com/compute/cuda/repos/"
	keyring  = "/usr/share/keyrings/nvidia-devtools.asc"
)

// packages are what NVIDIA calls a profiler: in the repositories of the developer tools, "" for one that was not seen there, and before
// the version in those of CUDA.
type packages struct{ apt, dnf, cuda string }

var (
	nsysPackages = packages{"nsight-systems-cli", "nsight-systems-cli", "cuda-nsight-systems-"}
	ncuPackages  = packages{"nsight-compute", "", "cuda-nsight-compute-"}
)

// install are the commands, for root, that install a profiler from NVIDIA's repositories. osRelease is the text of /etc/os-release, arch
// the architecture as Go calls it. There are none for a system whose packages NVIDIA does not build.
//
// Ubuntu and RHEL have the repository of the developer tools, whose packages are the newest (Nsight Systems Installation Guide, package
// manager installation, docs.nvidia.com/nsight-systems/InstallationGuide). Debian has that of CUDA only, where the
// package is named after the CUDA that it came with (CUDA Installation Guide for Linux, Debian, network repository and meta packages,
// docs.nvidia.com/cuda/cuda-installation-guide-linux).
func install(p packages, osRelease, arch, driver string) []string {
	values := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)="?([^"\n]*)"?\s*$`).FindAllStringSubmatch(osRelease, -1) {
		values[m[1]] = m[2]
	}
	plain := regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	id, version := values["ID"], values["VERSION_ID"]
	if arch != "amd64" && arch != "arm64" || !plain.MatchString(version) {
		return nil
	}
	major, _, _ := strings.Cut(version, ".")
	like := " " + id + " " + values["ID_LIKE"] + " "
	switch {
	case id == "ubuntu":
		at := devtools + "ubuntu" + strings.ReplaceAll(version, ".", "") + "/" + arch
		return []string{
			"curl -fsSL " + at + "/nvidia.pub -o " + keyring,
			"echo 'deb [signed-by=" + keyring + "] " + at + "/ /' > /etc/apt/sources.list.d/nvidia-devtools.list",
			"apt-get update && apt-get install -y " + p.apt,
		}
	case id == "debian" && arch == "amd64":
		cuda, _ := wantsNsys(driver)
		if n, _ := strconv.Atoi(major); cuda == "" || n > 12 { // whether the repository of a later Debian goes back so far is not known
			cuda = nsysOf[len(nsysOf)-1].cuda
		}
		name := p.cuda + strings.ReplaceAll(cuda, ".", "-")
		return []string{
			"curl -fsSLO " + cudaRepo + "debian" + major + "/x86_64/cuda-keyring_1.1-1_all.deb && dpkg -i cuda-keyring_1.1-1_all.deb",
			"apt-get update && apt-get install -y " + name,
		}
	case strings.Contains(like, " rhel ") && p.dnf != "":
		machine := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[arch]
		return []string{
			"rpm --import " + cudaRepo + "ubuntu1804/x86_64/7fa2af80.pub",
			"dnf install -y 'dnf-command(config-manager)' && dnf config-manager --add-repo " + devtools + "rhel" + major + "/" + machine + "/",
			"dnf install -y " + p.dnf,
		}
	}
	return nil
}
