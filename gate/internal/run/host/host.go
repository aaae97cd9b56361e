// Package host looks at the host of a measurement: its CPUs, the CPU limit of the control group, and how much of the
// CPUs the limit, the hypervisor and other processes took while the workload ran.
package host

import (
	"cmp"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Host is the file system with /proc and /sys of a host.
type Host struct{ Root string }

// Here is this host: the root of the host's file system in HOST_ROOT, as in a container, else the root directory.
func Here() Host { return Host{cmp.Or(os.Getenv("HOST_ROOT"), "/")} }

// Own is the file system that this process sees, in a container its own.
var Own = Host{"/"}

// Read is the content of a file, "" where it cannot be read.
func (h Host) Read(name string) string { return input.System(filepath.Join(h.Root, name)) }

// Find lists the files that a pattern names, see [input.Search.Paths].
func (h Host) Find(pattern string) []string {
	found, _ := new(input.Search).Paths(h.Root, pattern)
	return found
}

// capabilities matches the effective capabilities of a process.
var capabilities = input.Pattern(`(?m)^CapEff:\s*([0-9a-f]+)$`)

// Administers reports whether this process has CAP_SYS_ADMIN.
func (h Host) Administers() bool {
	const sysAdmin = 21
	m := capabilities().FindStringSubmatch(h.Read("proc/self/status"))
	if m == nil {
		return false
	}
	set, err := strconv.ParseUint(m[1], 16, 64)
	return err == nil && set&(1<<sysAdmin) != 0
}

// Container reports whether this process runs in a container.
func (h Host) Container() bool {
	signs := []string{".dockerenv", "run/.containerenv", "run/secrets/kubernetes.io"}
	return slices.ContainsFunc(signs, func(name string) bool {
		_, err := os.Stat(filepath.Join(h.Root, name))
		return err == nil
	})
}

// CPU is the model of the first processor and the number of sockets, "" and 0 where the system does not say.
func (h Host) CPU() (name string, sockets int) {
	implementer := "" // Arm names the model by number only
	packages := make(map[string]bool)
	for line := range strings.Lines(h.Read("proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		value = measure.NormalizeLine(value)
		key = strings.TrimSpace(key)
		switch {
		case key == "physical id":
			packages[value] = true
		case name != "":
		case key == "model name", key == "cpu":
			name = value
		case key == "CPU implementer":
			implementer = value
		case key == "CPU part":
			name = strings.TrimSpace("Arm " + implementer + " " + value)
		}
	}
	return name, len(packages)
}

// groups are the directories of the control groups of this process that may limit its use of a resource ("cpu"; "" for
// any), outermost last.
func (h Host) groups(resource string) (dirs []string) {
	for line := range strings.Lines(h.Read("proc/self/cgroup")) {
		cells := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(cells) != 3 {
			continue
		}
		mount := ""
		switch {
		case cells[1] == "":
			mount = "sys/fs/cgroup"
		case resource == "", strings.Contains(","+cells[1]+",", ","+resource+","):
			mount = "sys/fs/cgroup/" + cells[1]
		default:
			continue
		}
		for at := path.Clean("/" + cells[2]); ; at = path.Dir(at) {
			dirs = append(dirs, path.Join(mount, at))
			if at == "/" {
				break
			}
		}
	}
	return dirs
}

// Limit is how many CPUs the control groups allow this process, 0 for no limit.
func (h Host) Limit() float64 {
	least := 0.0
	for _, dir := range h.groups("cpu") {
		words := strings.Fields(h.Read(dir + "/cpu.max")) // "max 100000"
		if len(words) != 2 {
			// "-1 100000"
			words = strings.Fields(h.Read(dir+"/cpu.cfs_quota_us") + " " + h.Read(dir+"/cpu.cfs_period_us"))
		}
		if len(words) != 2 {
			continue
		}
		quota, err1 := strconv.ParseFloat(words[0], 64)
		period, err2 := strconv.ParseFloat(words[1], 64)
		if n := quota / period; err1 == nil && err2 == nil && quota > 0 && period > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return math.Round(least*100) / 100
}

// limiting matches the names of files of control groups that hold a limit, of version 2 and 1.
var limiting = input.Pattern(`^(?:.*\.max|.*\.high|.*limit_in_bytes|blkio\.throttle\..*_device)$`)

// Limits are the values of the files of this process's control groups that limit anything, innermost first, by their
// names. CPUs are left to [Host.Limit].
func (h Host) Limits() map[string]string {
	out := map[string]string{}
	for _, dir := range h.groups("") {
		files, _ := os.ReadDir(filepath.Join(h.Root, dir))
		for _, f := range files {
			name := f.Name()
			if name == "cpu.max" || !limiting().MatchString(name) {
				continue
			}
			value := strings.Join(strings.Fields(h.Read(path.Join(dir, name))), " ")
			if name == "pids.max" {
				value = proc.OfMemory(value)
			}
			if value != "" && value != "max" && !strings.HasPrefix(value, "922337203685477") { // of 2^63 bytes
				out["control group "+name] += value + " "
			}
		}
	}
	return out
}

// MemoryKills is how many processes of the control groups of this process, or where these do not count them of the
// host, the kernel has killed for want of memory; 0 where neither says.
func (h Host) MemoryKills() (most int64) {
	counters := []string{"proc/vmstat"}
	for _, dir := range slices.Backward(h.groups("memory")) {
		counters = append(counters, dir+"/memory.events", dir+"/memory.oom_control")
	}
	for _, file := range slices.Backward(counters) {
		for line := range strings.Lines(h.Read(file)) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == "oom_kill" {
				if n, err := strconv.ParseInt(value, 10, 64); err == nil {
					return n
				}
			}
		}
	}
	return 0
}

// Memory is how much memory processes of this control group can still take, in bytes; 0 where that is not known.
func (h Host) Memory() int64 {
	least := h.field("proc/meminfo", "MemAvailable:") << 10
	for _, dir := range h.groups("memory") {
		most, used := h.number(dir+"/memory.max"), h.number(dir+"/memory.current")
		cache := h.field(dir+"/memory.stat", "inactive_file")
		if most == 0 {
			most, used = h.number(dir+"/memory.limit_in_bytes"), h.number(dir+"/memory.usage_in_bytes")
			cache = h.field(dir+"/memory.stat", "total_inactive_file")
		}
		if free := most - used + cache; most > 0 && used > 0 && (least == 0 || free < least) {
			least = max(1, free)
		}
	}
	return least
}

// number is the number in a file, 0 where there is none.
func (h Host) number(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(h.Read(name)), 10, 64)
	return n
}

// field is the number behind a name in a file, 0 where there is none.
func (h Host) field(name, key string) int64 {
	for line := range strings.Lines(h.Read(name)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == key {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			return n
		}
	}
	return 0
}

// Counters are the totals of the system's counters at a moment.
type Counters struct {
	at          time.Duration
	busy, steal time.Duration       // of the CPUs that this process may use
	idle        time.Duration       // of them
	own         time.Duration       // of this process and its descendants
	periods     map[string][2]int64 // periods of each limited control group: in all, and throttled
}

// allowed is whether this process, and what it starts, may use a CPU: its affinity within its control group.
func (h Host) allowed() func(cpu int) bool {
	_, list, known := strings.Cut(h.Read("proc/self/status"), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	return func(cpu int) bool {
		return !known || slices.ContainsFunc(strings.Split(strings.TrimSpace(list), ","), func(span string) bool {
			first, last, _ := strings.Cut(span, "-")
			a, err1 := strconv.Atoi(first)
			b, err2 := strconv.Atoi(cmp.Or(last, first))
			return err1 == nil && err2 == nil && a <= cpu && cpu <= b
		})
	}
}

// Count reads the counters.
func (h Host) Count() Counters {
	const tick = 10 * time.Millisecond // the unit of /proc/stat
	c := Counters{at: proc.Monotonic(), own: proc.CPUTime(), periods: make(map[string][2]int64)}
	var of, all [8]time.Duration // user, nice, system, idle, iowait, irq, softirq, steal
	allowed, some := h.allowed(), false
	for line := range strings.Lines(h.Read("proc/stat")) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(words[0][len("cpu"):])
		into := &of
		if err != nil { // of all CPUs
			into = &all
		} else if !allowed(cpu) {
			continue
		}
		some = some || err == nil
		for i, word := range words[1:min(len(words), len(of)+1)] {
			n, _ := strconv.ParseInt(word, 10, 64)
			into[i] += time.Duration(n) * tick
		}
	}
	if !some {
		of = all
	}
	c.busy, c.idle, c.steal = of[0]+of[1]+of[2]+of[5]+of[6], of[3]+of[4], of[7]
	for _, dir := range h.groups("cpu") {
		var n [2]int64
		for stat := range strings.Lines(h.Read(dir + "/cpu.stat")) {
			key, value, _ := strings.Cut(strings.TrimSpace(stat), " ")
			switch key {
			case "nr_periods":
				n[0], _ = strconv.ParseInt(value, 10, 64)
			case "nr_throttled":
				n[1], _ = strconv.ParseInt(value, 10, 64)
			}
		}
		if n[0] > 0 {
			c.periods[dir] = n
		}
	}
	return c
}

// Since is the load of the host between two moments.
func (c Counters) Since(before Counters) model.HostLoad {
	const shortest = 200 * time.Millisecond // the shortest time for measuring the load of a host
	const full = 0.97                       // the used part of all CPU time on a host without a free CPU
	var l model.HostLoad
	for dir, n := range c.periods {
		was := before.periods[dir]
		if periods := n[0] - was[0]; periods > 0 {
			l.Throttled = max(l.Throttled, rounded(float64(n[1]-was[1])/float64(periods)))
		}
	}
	passed := c.at - before.at
	used, all := c.busy-before.busy+c.steal-before.steal, c.busy-before.busy+c.steal-before.steal+c.idle-before.idle
	if passed < shortest || all <= 0 {
		return l
	}
	foreign := max(0, (c.busy-before.busy)-(c.own-before.own))
	l.Steal = rounded(float64(c.steal-before.steal) / float64(all))
	l.Foreign = rounded(float64(foreign) / float64(passed))
	if float64(used) >= full*float64(all) {
		l.Crowded = rounded(float64(foreign) / float64(all))
	}
	return l
}

// rounded is a number as a file needs it.
func rounded(x float64) float64 { return math.Round(max(0, x)*1000) / 1000 }
