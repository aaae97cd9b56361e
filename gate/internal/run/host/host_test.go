package host

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestParseCPU(t *testing.T) {
	for info, want := range map[string]string{
		"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 207\nmodel name\t: INTEL(R) XEON(R)  PLATINUM " +
			"8558\nmicrocode\t: 0x21\n": "INTEL(R) XEON(R) PLATINUM 8558",
		"processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: " +
			"0xd4f\n\nprocessor\t: 1\n": "Arm 0x41 0xd4f",
		"processor\t: 0\ncpu\t\t: POWER9, altivec supported\n": "POWER9, altivec supported",
		"": "",
	} {
		if got, _ := system(t, map[string]string{"proc/cpuinfo": info}).CPU(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSockets(t *testing.T) {
	const one = "processor\t: 0\nmodel name\t: X\nphysical id\t: 0\n\nprocessor\t: 1\nmodel name\t: X\nphysical " +
		"id\t: 1\n\nprocessor\t: 2\nphysical id\t: 1\n"
	if name, sockets := system(t, map[string]string{"proc/cpuinfo": one}).CPU(); name != "X" || sockets != 2 {
		t.Errorf("%q, %d sockets", name, sockets)
	}
}

// system is a host of files.
func system(t *testing.T, files map[string]string) Host {
	t.Helper()
	h := Host{t.TempDir()}
	for name, text := range files {
		file := filepath.Join(h.Root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestLimit(t *testing.T) {
	for what, tt := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"none":      {nil, 0},
		"unlimited": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, 0},
		"a parent's": {map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "800000 100000\n", "sys/fs/cgroup/a/cpu.max": "250000 100000\n"}, 2.5},
		"of a container": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "400000 100000\n"},
			4},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us":  "150000\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"}, 1.5},
		"version 1, unlimited": {map[string]string{"proc/self/cgroup": "5:cpu:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 0},
		"nonsense": {map[string]string{"proc/self/cgroup": "0::/../..\nx\n", "sys/fs/cgroup/cpu.max": "x y z\n"}, 0},
	} {
		if got := system(t, tt.files).Limit(); got != tt.want {
			t.Errorf("%s: %v CPUs, want %v", what, got, tt.want)
		}
	}
}

// Every limit of a group counts, wherever the group lies, and none that is not set.
func TestLimits(t *testing.T) {
	for what, tt := range map[string]struct {
		files map[string]string
		want  map[string]string
	}{
		"none": {nil, map[string]string{}},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/a\\x2d1/b\n",
			"sys/fs/cgroup/a\\x2d1/memory.max":    "4096\n",
			"sys/fs/cgroup/a\\x2d1/b/memory.max":  "2048\n",
			"sys/fs/cgroup/a\\x2d1/b/memory.high": "max\n",
			"sys/fs/cgroup/a\\x2d1/b/memory.peak": "7\n",
			"sys/fs/cgroup/a\\x2d1/b/cpu.max":     "100 200\n",
			"sys/fs/cgroup/a\\x2d1/b/pids.max":    "38401\n",
			"sys/fs/cgroup/a\\x2d1/b/io.max":      "8:0 rbps=1\n8:1 wbps=2\n"},
			map[string]string{"control group memory.max": "2048 4096 ", "control group pids.max": "2^16 ",
				"control group io.max": "8:0 rbps=1 8:1 wbps=2 "}},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n3:blkio:/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes":        "4096\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
			"sys/fs/cgroup/blkio/blkio.throttle.read_bps_device":  "8:0 1\n",
			"sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes": "Total 7\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpuacct.usage":           "7\n",
			"sys/fs/cgroup/memory/other/memory.limit_in_bytes":    "1\n",
			"sys/fs/cgroup/memory/x/memory.memsw.limit_in_bytes":  "8192\n",
			"sys/fs/cgroup/memory/x/memory.max_usage_in_bytes":    "7\n"},
			map[string]string{"control group memory.limit_in_bytes": "4096 ",
				"control group memory.memsw.limit_in_bytes":    "8192 ",
				"control group blkio.throttle.read_bps_device": "8:0 1 "}},
	} {
		if got := system(t, tt.files).Limits(); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
	}
}

func TestMemoryKills(t *testing.T) {
	for what, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"unknown": {nil, 0},
		"its group's": {map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.events": "low 0\noom 3\noom_kill 2\n",
			"sys/fs/cgroup/a/memory.events":   "oom_kill 9\n", "proc/vmstat": "oom_kill 11\n"}, 2},
		"a parent's": {map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/memory.events": "oom_kill 9\n"},
			9},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu:/x\n4:memory:/x\n",
			"sys/fs/cgroup/memory/x/memory.oom_control": "under_oom 0\noom_kill 4\n"}, 4},
		"the host's": {map[string]string{"proc/vmstat": "nr_free_pages 7\noom_kill 11\n"}, 11},
	} {
		if got := system(t, tt.files).MemoryKills(); got != tt.want {
			t.Errorf("%s: %d, want %d", what, got, tt.want)
		}
	}
}

// Free memory is that of the host, or less where a control group allows less; files that are cached can go.
func TestMemory(t *testing.T) {
	const info = "MemTotal: 100 kB\nMemAvailable:     64 kB\n"
	for what, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"unknown": {nil, 0},
		"host":    {map[string]string{"proc/meminfo": info}, 64 << 10},
		"no limit": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/x\n",
			"sys/fs/cgroup/x/memory.max": "max\n", "sys/fs/cgroup/x/memory.current": "5\n"}, 64 << 10},
		"version 2": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/x/y\n",
			"sys/fs/cgroup/x/memory.max": "9000\n", "sys/fs/cgroup/x/memory.current": "8000\n",
			"sys/fs/cgroup/x/memory.stat": "anon 5\ninactive_file 500\n"},
			1500},
		"version 1": {map[string]string{"proc/self/cgroup": "4:memory:/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9000\n",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "8000\n",
			"sys/fs/cgroup/memory/x/memory.stat":           "total_inactive_file 700\n"}, 1700},
		"full": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/x\n",
			"sys/fs/cgroup/x/memory.max": "9000\n", "sys/fs/cgroup/x/memory.current": "9500\n"}, 1},
	} {
		if got := system(t, tt.files).Memory(); got != tt.want {
			t.Errorf("%s: %d, want %d", what, got, tt.want)
		}
	}
}

// The load is the growth of the counters, without the use of this process and its children.
func TestSince(t *testing.T) {
	const group = "0::/job\n"
	at := func(stat, throttled string) Counters {
		return system(t, map[string]string{"proc/self/cgroup": group, "proc/stat": stat + "\n",
			"sys/fs/cgroup/job/cpu.stat": throttled}).Count()
	}
	for _, tt := range []struct {
		what      string
		stat      string // user nice system idle iowait irq softirq steal, in ticks, from 0
		throttled string
		own       time.Duration
		want      model.HostLoad
	}{
		{"idle", "cpu 100 0 0 3900 0 0 0 0 0 0", "nr_periods 10\nnr_throttled 0\n", time.Second, model.HostLoad{}},
		{"throttled", "cpu 100 0 0 3900 0 0 0 0 0 0", "nr_periods 100\nnr_throttled 25\nthrottled_usec 5\n",
			time.Second, model.HostLoad{Throttled: 0.25}},
		{"others", "cpu 2000 0 1000 1000 0 0 0 0 0 0", "", 10 * time.Second, model.HostLoad{Foreign: 2}},
		{"no free CPU", "cpu 3000 0 1000 0 0 0 0 0 0 0", "", 10 * time.Second,
			model.HostLoad{Foreign: 3, Crowded: 0.75}},
		{"steal", "cpu 1000 0 0 2800 0 0 0 200 0 0", "", 10 * time.Second, model.HostLoad{Steal: 0.05}},
	} {
		before, after := at("cpu 0 0 0 0 0 0 0 0 0 0", "nr_periods 0\nnr_throttled 0\n"), at(tt.stat, tt.throttled)
		after.at, after.own = before.at+10*time.Second, before.own+tt.own
		if got := after.Since(before); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.what, got, tt.want)
		}
	}
	// Others on CPUs that this process may not use are none of its load.
	some := func(cpu1, cpu2 string) Counters {
		return system(t,
			map[string]string{"proc/self/status": "Name:\tx\nCpus_allowed_list:\t1,4-5\nMems_allowed:\t1\n",
				"proc/stat": "cpu 9000 0 0 9000 0 0 0 0 0 0\ncpu0 5000 0 0 0\n" + cpu1 + "\n" + cpu2 +
					"\ncpu6 4000 0 0 0\nctxt 5\n"}).Count()
	}
	before, after := some("cpu1 0 0 0 0", "cpu4 0 0 0 0"), some("cpu1 500 0 0 500", "cpu4 100 0 0 900")
	after.at, after.own = before.at+10*time.Second, before.own+time.Second
	if got, want := after.Since(before), (model.HostLoad{Foreign: 0.5}); got != want {
		t.Errorf("of allowed CPUs: %+v, want %+v", got, want)
	}
	if l := at("cpu 9 0 0 0", "").Since(at("cpu 0 0 0 0", "")); l != (model.HostLoad{}) {
		t.Errorf("of a moment: %+v", l)
	}
}
