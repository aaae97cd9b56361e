package proc

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Private is a private directory: mode 0700, removed however nsgate ends, because it holds the raw report and with it
// the environment of the workload. A guard, a second process of this binary, waits for the end of nsgate and removes
// the directory and its remaining processes. If the guard was killed as well, the next nsgate does: a lock, which ends
// with its process, shows that the owner is dead.
type Private struct {
	Path string
	// Lock says that the owner lives: where it is closed, the directory is for others to remove.
	Lock     io.Closer
	guard    *exec.Cmd      // nil where none could be started
	lifeline io.WriteCloser // the guard reads the other end: the owner each time that it changes
	owner
}

// owner is the content of the file ownerIn of a private directory. A directory without that file is not removed.
type owner struct {
	// Boot names the boot of the machine; the lock is valid during it only.
	Boot string `json:"boot"`
	// Joined is a directory elsewhere, private as well, that goes when this one goes, "" for none.
	Joined string `json:"joined,omitempty"`
	// Done tells the guard that the owner has cleared up.
	Done bool `json:"done,omitempty"`
}

// Prefix is how the names of private directories begin.
const Prefix = "nsgate-"

// HiddenArg is the first argument of nsgate's calls of its own binary.
const HiddenArg = "__run"

// ofGuard ends the mark of a guard, see [Private.Mark]: it may be stopped where its owner dies.
const ofGuard = "/guard"

func ownerIn(dir string) string { return filepath.Join(dir, "owner.json") }

// NewPrivate makes a private directory, after it has removed those of dead owners. self is the executable of the guard,
// "" for this one.
func NewPrivate(self string) (_ *Private, err error) {
	swept.Do(Sweep)
	tmp := os.TempDir()
	if real, err := filepath.EvalSymlinks(tmp); err == nil {
		tmp = real
	}
	p := &Private{Path: filepath.Join(tmp, Prefix+rand.Text()), owner: owner{Boot: bootID()}}
	p.watch(self) // before there is something to leave behind
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if err := os.Mkdir(p.Path, 0o700); err != nil {
		p.Path = "" // nothing is to be removed
		return nil, PrivateError(err)
	}
	// The lock comes first: a directory that says who owns it and is not locked has lost its owner.
	if p.Lock, err = lockDir(p.Path, true); err == nil {
		if err := p.say(); err != nil {
			return nil, err
		}
	}
	p.tell()
	return p, nil
}

// say writes the owner file of the directory.
func (p *Private) say() error {
	text, _ := json.Marshal(p.owner)
	if err := os.WriteFile(ownerIn(p.Path), text, 0o600); err != nil {
		return PrivateError(err)
	}
	return nil
}

// tell tells the guard of the owner: the workload may have removed the file by the time that the guard needs it.
func (p *Private) tell() {
	if p.guard != nil {
		json.NewEncoder(p.lifeline).Encode(p.owner) // a guard that was killed is no loss yet
	}
}

// Join makes a directory elsewhere, which was made for this one and bears a name with [Prefix], go when this one goes.
func (p *Private) Join(dir string) error {
	p.Joined = dir
	p.tell()
	return p.say()
}

// guardProgram is the default executable of the guards, see [UseGuard].
var guardProgram string

// ChildMark is the variable of a guard and of a child that reads files of others. Such a process starts neither,
// whatever its main does: the tests of a package would begin anew, again and again.
const ChildMark = "NSGATE_CHILD"

// UseGuard makes this program the guard of private directories: its main gives [HiddenArg] to the runner. A program
// that has no such main, the tests of a package, has no guards.
func UseGuard() { guardProgram, _ = os.Executable() }

// IsTest reports whether this program is the binary of a test, whose main runs tests whatever it is called for.
func IsTest() bool { return flag.Lookup("test.v") != nil }

// Guarded reports whether a program was named by [UseGuard], and so runs its own binary as a part of itself.
func Guarded() bool { return guardProgram != "" }

// watch starts the guard. An error that prevents it prevents the runner as well, which is the same binary and reports
// it.
func (p *Private) watch(self string) {
	own, _ := os.Executable()
	self = cmp.Or(self, guardProgram)
	if self == "" || os.Getenv(ChildMark) != "" || self == own && IsTest() {
		return
	}
	cmd := exec.Command(self, HiddenArg, GuardArg, p.Path)
	cmd.Env = (&Private{Path: p.Path + ofGuard}).Mark(append(os.Environ(), ChildMark+"=1"))
	Detach(cmd)
	lifeline, err := cmd.StdinPipe()
	if err == nil && tools.start(cmd) == nil {
		p.guard, p.lifeline = cmd, lifeline
	}
}

// Close removes the directory and sends the guard home.
func (p *Private) Close() error {
	err := removePrivate(p.Path, p.Lock, p.owner)
	if p.guard != nil {
		p.Done = err == nil
		p.tell()
		p.lifeline.Close()
		defer time.AfterFunc(3*time.Second, func() { p.guard.Process.Kill() }).Stop() // it may be stopped
		p.guard.Wait()
		tools.ended(p.guard)
	}
	if p.Lock != nil {
		p.Lock.Close()
	}
	return err
}

// InPrivate hands a private directory to a function: mode 0700, and gone afterwards, also where nsgate is killed
// meanwhile.
func InPrivate(use func(dir string) error) error {
	p, err := NewPrivate("")
	if err != nil {
		return err
	}
	return errors.Join(use(p.Path), p.Close())
}

// GuardArg is the argument after [HiddenArg] that makes this binary the guard of the directory that follows.
const GuardArg = "--guard"

// Guard waits until standard input ends, which the owner of dir holds open for writing, and clears up unless the owner
// said there that it did. What it ends and removes depends on no file in dir, which others may have removed.
func Guard(dir string) int {
	ignoreSignals()
	var open *os.File
	var o owner
	for in := json.NewDecoder(os.Stdin); in.Decode(&o) == nil; {
		if open == nil {
			open, _ = os.Open(dir)
		}
	}
	io.Copy(io.Discard, os.Stdin) // an owner whose words are not understood lives as well
	if !o.Done && clearUp(dir, open, o) != nil {
		return 1
	}
	return 0
}

// Clear ends what runs in the private directory of a dead owner, politely at first, and removes it.
func Clear(dir string) error {
	o, _ := readOwner(dir)
	defer endSession(dir + ofGuard)
	return clearUp(dir, nil, o)
}

func clearUp(dir string, open io.Closer, o owner) error {
	// joinedGrace is how long processes may take to end after the joined directory was removed.
	const joinedGrace = 10 * time.Second
	// Processes on other hosts see that the joined directory is gone and end, which ends their launcher here.
	if o.Joined != "" {
		removeJoined(o)
		awaitSession(dir, joinedGrace)
	}
	endSession(dir)
	return removePrivate(dir, open, o)
}

// Env is the environment of a profiler in the private directory: in English, with a directory for temporary files of
// its own, where a profiler's lock is not that of another user.
func (p *Private) Env() ([]string, error) {
	tmp := tmpIn(p.Path)
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, PrivateError(err)
	}
	return p.Mark(Setenv(Setenv(os.Environ(), "LC_ALL", new("C")), "TMPDIR", &tmp)), nil
}

// Mark adds to an environment that a process belongs to the private directory.
func (p *Private) Mark(env []string) []string { return Setenv(env, MarkName, &p.Path) }

// EndGrace is how long marked processes may take to end after SIGTERM: a second more than the runner gives the
// workload. Tests shorten it.
var EndGrace = 3 * time.Second

// PrivateError says of an error with the private directory what to do about it.
func PrivateError(err error) error {
	next := cmp.Or(Raise(err), "set TMPDIR to a directory that can be written and has room")
	return fmt.Errorf("the private directory: %w; %s", err, next)
}

var swept sync.Once // in every process; tests sweep more often

// elsewhere is the minimum age for removing directories of other machines, containers or boots.
const elsewhere = 24 * time.Hour

// Sweep removes the private directories of this user that have lost both their owner and their guard.
func Sweep() {
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			continue
		}
		if uid, known := Owner(info); !known || uid != os.Geteuid() {
			continue
		}
		dir := filepath.Join(os.TempDir(), e.Name())
		lock, err := lockDir(dir, false)
		if err != nil {
			continue // its owner lives
		}
		if o, ok := readOwner(dir); ok {
			here := o.Boot != "" && o.Boot == bootID()
			if here {
				endSession(dir)
				endSession(dir + ofGuard)
			}
			if here || time.Since(info.ModTime()) > elsewhere {
				removePrivate(dir, lock, o)
			}
		}
		lock.Close()
	}
}

// removePrivate removes a private directory. It can be killed at any point: the owner file goes last. A link in its
// place is removed, and nothing behind it; an open directory that has another name by now goes as well.
func removePrivate(dir string, open io.Closer, o owner) error {
	if at := moved(open, dir); at != "" {
		removeAll(at)
	}
	var entries []os.DirEntry
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		entries, _ = os.ReadDir(dir)
	}
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); name != ownerIn(dir) {
			removeAll(name)
		}
	}
	return errors.Join(removeJoined(o), removeAll(dir))
}

// moved is the new name of an open directory, "" where it still has the old one or is gone.
func moved(open io.Closer, old string) string {
	d, _ := open.(*os.File)
	info, err1 := d.Stat()
	at, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", d.Fd()))
	now, err2 := os.Lstat(at)
	if err1 != nil || err2 != nil || at == old || !os.SameFile(info, now) {
		return ""
	}
	return at
}

// readOwner is the owner of a private directory, not ok where it says none within 64 kB.
func readOwner(dir string) (o owner, ok bool) {
	text, err := input.Read(ownerIn(dir), 64<<10)
	ok = err == nil && json.Unmarshal(text, &o) == nil
	return o, ok
}

// removeJoined removes what goes with a private directory.
func removeJoined(o owner) error {
	if !strings.HasPrefix(filepath.Base(o.Joined), Prefix) {
		return nil
	}
	return removeAll(o.Joined)
}

// removeAll is os.RemoveAll also for directories that cannot be written, which some builds leave behind.
func removeAll(name string) error {
	if os.RemoveAll(name) == nil {
		return nil
	}
	filepath.WalkDir(name, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(name)
}
