//go:build linux

package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// attempt is what a child tries below a directory of its parent, which it may read, with the parent's process id, and
// the number of a descriptor that the parent had inherited open for writing.
type attempt struct {
	Dir       string
	Parent    int
	Inherited int
	// Ancestor is the parent of the parent, and Neighbour another child of it.
	Ancestor, Neighbour int
}

const noProcess = 1<<22 + 1 // above the largest number of a process

// attempts are what a child may not do, whatever a file makes of it.
var attempts = map[string]func(a attempt) error{
	"write a hook of git":    func(a attempt) error { return os.WriteFile(a.Dir+"/.git/hooks/pre-commit", nil, 0o755) },
	"write a source":         func(a attempt) error { return appended(a.Dir + "/main.cu") },
	"write to TMPDIR":        func(attempt) error { return os.WriteFile(os.TempDir()+"/nsgate-attempt", nil, 0o600) },
	"write the environment":  func(a attempt) error { return appended(a.Dir + "/github_env") },
	"write the path":         func(a attempt) error { return appended(a.Dir + "/github_path") },
	"write the output":       func(a attempt) error { return appended(a.Dir + "/github_output") },
	"write without a name":   func(a attempt) error { return opens(a.Dir, unix.O_TMPFILE|unix.O_WRONLY) },
	"truncate while reading": func(a attempt) error { return opens(a.Dir+"/main.cu", unix.O_TRUNC) },
	"create while reading":   func(a attempt) error { return opens(a.Dir+"/created", unix.O_CREAT) },
	"open in another way": func(a attempt) error {
		_, err := unix.Openat2(unix.AT_FDCWD, a.Dir+"/main.cu", &unix.OpenHow{Flags: unix.O_RDONLY})
		return err
	},
	"write standard input": func(attempt) error {
		_, err := os.OpenFile("/proc/self/fd/0", os.O_WRONLY, 0)
		return err
	},
	"write to a descriptor of its parent": func(a attempt) error {
		if _, err := unix.Write(a.Inherited, []byte("written")); !errors.Is(err, unix.EBADF) {
			return err
		}
		return unix.EPERM
	},
	"truncate":         func(a attempt) error { return os.Truncate(a.Dir+"/main.cu", 0) },
	"make a directory": func(a attempt) error { return os.Mkdir(a.Dir+"/made", 0o700) },
	"rename":           func(a attempt) error { return os.Rename(a.Dir+"/main.cu", a.Dir+"/other.cu") },
	"remove":           func(a attempt) error { return os.Remove(a.Dir + "/main.cu") },
	"link":             func(a attempt) error { return os.Link(a.Dir+"/main.cu", a.Dir+"/link") },
	"link by name":     func(a attempt) error { return os.Symlink(a.Dir+"/main.cu", a.Dir+"/link") },
	"make a pipe":      func(a attempt) error { return unix.Mkfifo(a.Dir+"/pipe", 0o600) },
	"make executable":  func(a attempt) error { return os.Chmod(a.Dir+"/main.cu", 0o755) },
	"give away":        func(a attempt) error { return os.Chown(a.Dir+"/main.cu", os.Getuid(), os.Getgid()) },
	"set times":        func(a attempt) error { return os.Chtimes(a.Dir+"/main.cu", time.Now(), time.Now()) },
	"set an attribute": func(a attempt) error {
		return unix.Setxattr(a.Dir+"/main.cu", "user.x", []byte("x"), 0)
	},
	"connect over TCP":           func(attempt) error { return dialled("tcp", "127.0.0.1:9") },
	"send over UDP":              func(attempt) error { return dialled("udp", "127.0.0.1:9") },
	"connect to a socket":        func(a attempt) error { return dialled("unix", a.Dir+"/socket") },
	"connect to a hidden socket": func(attempt) error { return dialled("unix", "@nsgate") },
	"listen":                     func(attempt) error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
	"pair sockets": func(attempt) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	},
	"watch the network": func(attempt) error {
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
		return err
	},
	"run a program":     func(attempt) error { return exec.Command("/bin/true").Run() },
	"become a program":  func(attempt) error { return unix.Exec("/none", []string{"none"}, nil) },
	"fork":              func(attempt) error { return raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) },
	"signal its parent": func(a attempt) error { return unix.Kill(a.Parent, 0) },
	"signal a thread":   func(a attempt) error { return unix.Tgkill(a.Parent, a.Parent, 0) },
	// The kernel says EPERM of a process out of reach, and ESRCH of none: only the filter says EPERM of that.
	"signal a thread of none": func(attempt) error { return unix.Tgkill(noProcess, noProcess, 0) },
	"signal none":             func(attempt) error { return unix.Kill(noProcess, 0) },
	"trace none":              func(attempt) error { return unix.PtraceAttach(noProcess) },
	"signal by a descriptor": func(a attempt) error {
		_, err := unix.PidfdOpen(a.Parent, 0)
		return err
	},
	"signal all": func(attempt) error { return unix.Kill(-1, 0) },
	"trace":      func(a attempt) error { return unix.PtraceAttach(a.Parent) },
	"read memory of its parent": func(a attempt) error {
		b := make([]byte, 1)
		to, from := []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 4096, Len: 1}}
		_, err := unix.ProcessVMReadv(a.Parent, to, from, 0)
		return err
	},
	"limit its parent": func(a attempt) error {
		return unix.Prlimit(a.Parent, unix.RLIMIT_CORE, nil, new(unix.Rlimit))
	},
	"slow its parent": func(a attempt) error { return unix.Setpriority(unix.PRIO_PROCESS, a.Parent, 0) },
	"be signalled by files": func(a attempt) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, a.Parent)
		return err
	},
	"type on the terminal":  func(attempt) error { return unix.IoctlSetInt(0, unix.TIOCSTI, 0) },
	"keep a file in memory": func(attempt) error { _, err := unix.MemfdCreate("x", 0); return err },
	"share memory": func(attempt) error {
		_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		return err
	},
	"queue system calls":           func(attempt) error { return raw(unix.SYS_IO_URING_SETUP, 1) },
	"load a program of the kernel": func(attempt) error { return raw(unix.SYS_BPF) },
	"watch events":                 func(attempt) error { return raw(unix.SYS_PERF_EVENT_OPEN) },
	"keep a key": func(attempt) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	},
	"have a namespace": func(attempt) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"mount":            func(a attempt) error { return unix.Mount("tmpfs", a.Dir, "tmpfs", 0, "") },
	"raise its limits": func(attempt) error {
		return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	},
	"read the environment of its parent": func(a attempt) error { return readOf(a.Parent, "environ") },
	"read the environment of a thread of it": func(a attempt) error {
		return readOf(a.Parent, fmt.Sprintf("task/%d/environ", a.Parent))
	},
	"read the environment of an ancestor": func(a attempt) error { return readOf(a.Ancestor, "environ") },
	"read the environment of a neighbour": func(a attempt) error { return readOf(a.Neighbour, "environ") },
	"read its parent's memory":            func(a attempt) error { return readOf(a.Parent, "mem") },
	"read its parent's map":               func(a attempt) error { return readOf(a.Parent, "maps") },
	"read its parent's auxiliary vector":  func(a attempt) error { return readOf(a.Parent, "auxv") },
	"read a descriptor of its parent": func(a attempt) error {
		return readOf(a.Parent, fmt.Sprintf("fd/%d", a.Inherited))
	},
	"enter the root of its parent": func(a attempt) error {
		_, err := os.ReadDir(fmt.Sprintf("/proc/%d/root/", a.Parent))
		return err
	},
	"see a token of its parent": func(attempt) error {
		if os.Getenv("GITHUB_TOKEN") != "" {
			return nil
		}
		return unix.EPERM
	},
}

func appended(name string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// readOf reads a byte of a file of a process in /proc.
func readOf(pid int, name string) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.Read(make([]byte, 1)); err == io.EOF || errors.Is(err, unix.EIO) {
		err = nil // it was opened
	}
	return err
}

func opens(name string, flags int) error {
	_, err := unix.Open(name, flags, 0o600)
	return err
}

func dialled(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		c.Close()
	}
	return err
}

func raw(call uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	pid, _, errno := syscall.RawSyscall(call, a[0], a[1], a[2])
	if errno == 0 && call == unix.SYS_CLONE && pid == 0 {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno == 0 {
		return nil
	}
	return errno
}

// tried is the child of TestAttempts: it answers with the name of what it could do.
func (a attempt) tried(_ context.Context, send func(map[string]string) error) error {
	could := make(map[string]string)
	for name, do := range attempts {
		err := do(a)
		// EPERM comes from the filter of system calls, also where Landlock would deny the attempt.
		if !errors.Is(err, unix.EPERM) && (!errors.Is(err, unix.EACCES) || strings.HasPrefix(name, "truncate")) {
			could[name] = errorText(err)
		}
	}
	// Threads that Go had started before are confined as well: locked ones cannot share the confined one.
	var all sync.WaitGroup
	free := make(chan error, 16)
	for range cap(free) {
		all.Go(func() {
			runtime.LockOSThread()
			time.Sleep(10 * time.Millisecond)
			_, err := unix.MemfdCreate("x", 0) // which Landlock allows
			free <- err
		})
	}
	all.Wait()
	for range cap(free) {
		if err := <-free; !errors.Is(err, unix.EPERM) {
			could["keep a file by another thread"] = errorText(err)
		}
	}
	if _, err := os.ReadFile(a.Dir + "/main.cu"); err != nil {
		could["cannot read"] = err.Error()
	}
	return send(could)
}

func errorText(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

// A child can do none of the attempts, and nothing of them is to be seen afterwards.
func TestAttempts(t *testing.T) {
	proc.UseGuard()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.cu", "github_env", "github_path", "github_output"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listening, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	hidden2, err := net.Listen("unix", "@nsgate")
	if err != nil {
		t.Fatal(err)
	}
	defer hidden2.Close()
	inherited, err := unix.Open(filepath.Join(dir, "log"), unix.O_WRONLY|unix.O_CREAT, 0o600) // as a shell leaves it
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	t.Setenv("GITHUB_TOKEN", "secret")
	t.Setenv("TMPDIR", t.TempDir())
	l := Limits{CPU: time.Minute}
	neighbour := exec.Command("sleep", "60")
	if _, err := exec.LookPath("setpriv"); err == nil && os.Geteuid() == 0 { // with no right that the child lacks
		neighbour = exec.Command("setpriv", "--bounding-set", "-all", "sleep", "60")
	}
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	defer neighbour.Wait()
	defer neighbour.Process.Kill()
	a := attempt{dir, os.Getpid(), inherited, os.Getppid(), neighbour.Process.Pid}
	err = Ask(t.Context(), "--attempts", l, a, func(could map[string]string) error {
		for name, how := range could {
			t.Errorf("the child can %s: %s", name, how)
		}
		t.Logf("%d of %d attempts succeeded", len(could), len(attempts))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "main.cu")); !strings.HasPrefix(string(text), "before") {
		t.Errorf("the source holds %q", text)
	}
}
