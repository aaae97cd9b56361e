package input

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// BoundMemory makes the garbage collector keep this process below three quarters of the memory of the machine or the
// container, unless GOMEMLIMIT says otherwise. It is the last line behind the bounds of each reader.
func BoundMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if n := Memory(); n > 0 {
		debug.SetMemoryLimit(n)
	}
}

// Memory is three quarters of the memory of the machine or the container in bytes, 0 where it is not known.
func Memory() int64 {
	if n := memory(System); n < math.MaxInt64 {
		return n / 4 * 3
	}
	return 0
}

var total = Pattern(`(?m)^MemTotal: +(\d+) kB$`)

// memory is the least of the machine's memory and the limits of the control group, in bytes.
func memory(read func(file string) string) int64 {
	least := int64(math.MaxInt64)
	if m := total().FindStringSubmatch(read("/proc/meminfo")); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		least = n << 10
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(read(file)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	return least
}
