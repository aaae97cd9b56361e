//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowed are the system calls of a Go program that reads files: memory, threads, time, signals of its own, and files
// by their names and descriptors. All others fail with EPERM.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_DUP,
	unix.SYS_WRITE, unix.SYS_WRITEV, // to what is open: nothing can be opened for writing
	unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FSTATFS, unix.SYS_STATFS, unix.SYS_GETDENTS64,
	unix.SYS_READLINKAT, unix.SYS_GETCWD, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_FADVISE64,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE,
	unix.SYS_BRK, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_PIPE2, unix.SYS_PPOLL,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_MEMBARRIER, unix.SYS_RSEQ,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_GETPPID,
	unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_UNAME, unix.SYS_GETRUSAGE,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_GETRANDOM, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_RESTART_SYSCALL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// Flags of system calls that are allowed in part: what opens a file for more than reading, and what makes a process or
// a namespace in place of a thread.
const (
	writes   = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC | unix.O_TMPFILE&^unix.O_DIRECTORY
	detaches = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_PARENT | unix.CLONE_PTRACE
)

// auditArch is the number of this processor in seccomp(2), which tells calls of another kind of program apart.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]

// Results of a filter.
const (
	allow = unix.SECCOMP_RET_ALLOW
	deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
)

func argumentAt(i uint32) uint32 { return 16 + 8*i }

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func result(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

// where skips so many instructions unless what was loaded passes the test: BPF_JEQ, or BPF_JSET of one of the bits.
func where(test uint16, k uint32, skip int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jf: uint8(skip)}
}

// filter is the program of seccomp(2) for this process.
func filter() []unix.SockFilter {
	// Offsets in struct seccomp_data of seccomp(2), and of the lower half of an argument.
	const numberAt, archAt = 0, 4
	out := []unix.SockFilter{load(archAt), {Code: unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ, K: auditArch, Jt: 1},
		result(unix.SECCOMP_RET_KILL_PROCESS), load(numberAt)}
	on := func(call uint32, then ...unix.SockFilter) {
		out = append(append(out, where(unix.BPF_JEQ, call, len(then))), then...)
	}
	for _, call := range allowed {
		on(call, result(allow))
	}
	on(unix.SYS_OPENAT, load(argumentAt(2)), where(unix.BPF_JSET, writes, 1), result(deny), result(allow))
	on(unix.SYS_CLONE, load(argumentAt(0)), where(unix.BPF_JSET, detaches, 1), result(deny),
		where(unix.BPF_JSET, unix.CLONE_THREAD, 1), result(allow), result(deny))
	on(unix.SYS_CLONE3, result(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS))) // libc then calls clone
	on(unix.SYS_TGKILL, load(argumentAt(0)), where(unix.BPF_JEQ, uint32(os.Getpid()), 1), result(allow), result(deny))
	fcntl := []unix.SockFilter{load(argumentAt(1))}
	for _, command := range []uint32{unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_DUPFD_CLOEXEC} {
		fcntl = append(fcntl, where(unix.BPF_JEQ, command, 1), result(allow))
	}
	on(unix.SYS_FCNTL, append(fcntl, result(deny))...)
	return append(out, result(deny))
}

// restrictCalls leaves this process, with all its threads, the system calls of [filter].
func restrictCalls() error {
	program := filter()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	of := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&of)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("the kernel takes no filter of system calls: %w", errno)
	}
	return nil
}
