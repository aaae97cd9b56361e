package input

import (
	"os"
	"slices"
	"syscall"
)

// systems are the file systems whose regular files the kernel makes when they are read (magic numbers of statfs(2)):
// proc, sysfs, debugfs, tracefs, securityfs, cgroup and cgroup2. Reading some of these files waits for more.
var systems = []int64{0x9fa0, 0x62656572, 0x64626720, 0x74726163, 0x73636673, 0x27e0eb, 0x63677270}

// made reports whether a file is one that the kernel makes.
func made(f *os.File) bool {
	var of syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &of) == nil && slices.Contains(systems, int64(of.Type))
}
