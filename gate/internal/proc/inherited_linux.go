package proc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// ownStatus matches the rows of /proc/self/status about a process alone, which no program inherits. All others count,
// among them users, groups, rights, signals, and those of later kernels.
var ownStatus = input.Pattern(`^(?:Name|State|Tgid|Ngid|Pid|PPid|FDSize|NS.*|Vm.*|Rss.*|HugetlbPages|CoreDumping|` +
	`Threads|Sig[QPC].*|ShdPnd|Cpus_allowed|Mems_allowed|(?:non)?voluntary_.*)$`)

// Inherited are settings beside variables that a program which is started here inherits, by their names in /proc:
// limits, CPUs and memory nodes, rights, priority. A child tells them, because Go raises the limit of its own files.
func Inherited() (map[string]string, error) {
	cmd := exec.Command("/bin/cat", "/proc/self/limits", "/proc/self/status", "/proc/self/personality",
		"/proc/self/stat", "/proc/self/numa_maps")
	text, err := cmd.Output()
	io, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, 1, 0, 0) // of this process, see ioprio_get(2)
	killed, _ := os.ReadFile("/proc/self/oom_score_adj")
	slack, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	out := map[string]string{"I/O priority": strconv.Itoa(int(io)), "OOM score": strings.TrimSpace(string(killed)),
		"timer slack": strconv.Itoa(slack)}
	const nameWidth = 26 // of the table of limits
	for line := range strings.Lines(string(text)) {
		key, value, row := strings.Cut(line, ":\t")
		line = strings.TrimSpace(line)
		_, stat, isStat := strings.Cut(line, ") ")
		switch {
		case strings.HasPrefix(line, "Max ") && len(line) > nameWidth:
			name, limits := strings.TrimSpace(line[:nameWidth]), strings.Fields(line[nameWidth:]) // soft and hard
			if name == "Max processes" || name == "Max pending signals" {
				limits = measure.Map(limits, OfMemory)
			}
			out[name] = strings.Join(limits, " ")
		case row && !ownStatus().MatchString(key):
			out[key] = strings.TrimSpace(value)
		case isStat && len(strings.Fields(stat)) > 38: // proc_pid_stat(5), fields 19, 40 and 41
			of := strings.Fields(stat)
			out["scheduling"] = of[19-3] + " " + of[40-3] + " " + of[41-3]
		case len(line) == 8 && !row:
			out["personality"] = line
		case strings.Contains(line, " file=") && out["memory policy"] == "":
			out["memory policy"] = strings.Fields(line)[1]
		}
	}
	if out["Max stack size"] != "" && out["Umask"] != "" {
		err = nil // a kernel without NUMA has no numa_maps
	}
	return out, err
}
