package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testRoot makes a system of a few files.
func testRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCounters(t *testing.T) {
	const params, status = "proc/driver/nvidia/params", "proc/self/status"
	closed, plain := "RmLogonRC: 1\nRmProfilingAdminOnly: 1\n", "Name:\tnsgate\nCapEff:\t00000000a80425fb\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		mark  Mark
		says  string
		do    int
	}{
		{"no driver", nil, Note, "unknown", 0},
		{"open", map[string]string{params: "RmProfilingAdminOnly: 0\n", status: plain}, Good, "every user", 0},
		{"an administrator", map[string]string{params: closed, status: "CapEff:\t000001ffffffffff\n"}, Good, "CAP_SYS_ADMIN", 0},
		{"a container", map[string]string{params: closed, status: plain, ".dockerenv": ""}, Note, "--cap-add SYS_ADMIN", 0},
		{"a pod", map[string]string{params: closed, status: plain, "run/secrets/kubernetes.io/x": ""}, Note, "add: [SYS_ADMIN]", 0},
		{"a machine", map[string]string{params: closed, status: plain}, Note, "with a restart", 1},
		{"a status that says nothing", map[string]string{params: closed, status: "CapEff: all\n"}, Note, "with a restart", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var x examination
			x.counters(surroundings{testRoot(t, tt.files)})
			if x[0].Mark != tt.mark || !strings.Contains(x[0].Detail, tt.says) || len(x[0].Do) != tt.do {
				t.Errorf("%+v", x[0])
			}
		})
	}
}

func TestDCGM(t *testing.T) {
	var x examination
	x.dcgm(surroundings{testRoot(t, map[string]string{"proc/1/comm": "init\n", "proc/self/comm": "nv-hostengine\n"})})
	if len(x) != 0 {
		t.Errorf("%+v", x)
	}
	x.dcgm(surroundings{testRoot(t, map[string]string{"proc/1/comm": "init\n", "proc/77/comm": "nv-hostengine\n"})})
	if len(x) != 1 || x[0].Mark != Note || len(x[0].Do) != 2 {
		t.Errorf("%+v", x)
	}
}

func TestInstallNsys(t *testing.T) {
	for _, tt := range []struct{ name, release, arch, driver, want string }{
		{"Ubuntu", "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n", "amd64", "580.159.03",
			`curl -fsSL https://developer.download.nvidia.com/devtools/repos/ubuntu2404/amd64/nvidia.pub -o /usr/share/keyrings/nvidia-devtools.asc
echo 'deb [signed-by=/usr/share/keyrings/nvidia-devtools.asc] https://developer.download.nvidia.com/devtools/repos/ubuntu2404/amd64/ /' > /etc/apt/sources.list.d/nvidia-devtools.list
apt-get update && apt-get install -y nsight-systems-cli`},
		{"Debian", "ID=debian\nVERSION_ID=\"12\"\n", "amd64", "570.86.15",
			`curl -fsSLO https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb && dpkg -i cuda-keyring_1.1-1_all.deb
apt-get update && apt-get install -y cuda-nsight-systems-12-8`},
		{"Debian without a driver", "ID=debian\nVERSION_ID=\"12\"\n", "amd64", "",
			`curl -fsSLO https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb && dpkg -i cuda-keyring_1.1-1_all.deb
apt-get update && apt-get install -y cuda-nsight-systems-13-3`},
		{"a newer Debian than the driver's CUDA knew", "ID=debian\nVERSION_ID=\"13\"\n", "amd64", "570.86.15",
			`curl -fsSLO https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64/cuda-keyring_1.1-1_all.deb && dpkg -i cuda-keyring_1.1-1_all.deb
apt-get update && apt-get install -y cuda-nsight-systems-13-3`},
		{"Rocky", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.5\"\n", "arm64", "",
			`rpm --import https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64/7fa2af80.pub
dnf install -y 'dnf-command(config-manager)' && dnf config-manager --add-repo https://developer.download.nvidia.com/devtools/repos/rhel9/arm64/
dnf install -y nsight-systems-cli`},
		{"Arch", "ID=arch\n", "amd64", "580.1", ""},
		{"no file", "", "amd64", "580.1", ""},
		{"a version that is none", "ID=ubuntu\nVERSION_ID=\"24.04; reboot\"\n", "amd64", "580.1", ""},
		{"another machine", "ID=ubuntu\nVERSION_ID=\"24.04\"\n", "ppc64le", "580.1", ""},
	} {
		if got := strings.Join(install(nsysPackages, tt.release, tt.arch, tt.driver), "\n"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestInstallNcu(t *testing.T) {
	for release, want := range map[string]string{
		"ID=ubuntu\nVERSION_ID=\"22.04\"\n":                    "apt-get update && apt-get install -y nsight-compute",
		"ID=debian\nVERSION_ID=\"12\"\n":                       "apt-get update && apt-get install -y cuda-nsight-compute-12-8",
		"ID=\"rocky\"\nID_LIKE=\"rhel\"\nVERSION_ID=\"9.5\"\n": "",
	} {
		got := append(install(ncuPackages, release, "amd64", "570.86.15"), "")
		if last := got[max(len(got)-2, 0)]; last != want {
			t.Errorf("%q: %q, want %q", release, last, want)
		}
	}
}

func TestWantsNsys(t *testing.T) {
	for driver, want := range map[string]string{
		"550.54.14": "2023.4", "565.57": "2024.4", "580.159.03": "2025.3", "590.48.01": "2025.5", "610.43.02": "2026.1", "999.1": "2026.1", "535.10": "", "": "", "unknown": "",
	} {
		if _, got := wantsNsys(driver); got != want {
			t.Errorf("driver %q wants %q, not %q", driver, got, want)
		}
	}
	for _, tt := range []struct {
		version, than string
		want          bool
	}{
		{"2024.6.2", "2025.3", true}, {"2025.1", "2025.3", true}, {"2025.3.1", "2025.3", false}, {"2026.1", "2025.3", false}, {"new", "2025.3", false},
	} {
		if older(tt.version, tt.than) != tt.want {
			t.Errorf("%s older than %s: %v", tt.version, tt.than, !tt.want)
		}
	}
}

func TestFindNsys(t *testing.T) {
	root := testRoot(t, map[string]string{
		"opt/nvidia/nsight-systems/2024.6.2/bin/nsys": "", "opt/nvidia/nsight-systems/2025.3.1/bin/nsys": "", "usr/local/cuda-12.8/bin/nsys": "",
	})
	if got, want := findNsys(root), filepath.Join(root, "opt/nvidia/nsight-systems/2025.3.1/bin/nsys"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := findNsys(t.TempDir()); got != "" {
		t.Error(got)
	}
}
