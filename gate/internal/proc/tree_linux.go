package proc

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Tree is a program that [Isolate] has set up, and the processes that it started.
type Tree struct {
	root    int
	seen    processes // all that were ever found
	living  processes // at the last look
	looked  time.Time
	stopped processes // by Stop
}

// treeEvery is how often the processes of a tree are looked for.
const treeEvery = 50 * time.Millisecond

// NewTree is the tree of a process id.
func NewTree(root int) *Tree { return &Tree{root: root, seen: make(processes)} }

// look finds the processes of the tree: those below its root, those of the root's session, and those that were there
// before, which a daemon is, too.
func (t *Tree) look() []stat {
	all := stats()
	inTree := make(map[int]bool)
	for {
		found := false
		for _, s := range all {
			if !inTree[s.pid] && (s.pid == t.root || s.session == t.root || inTree[s.parent] || t.seen[s.process]) {
				inTree[s.pid], found = true, true
			}
		}
		if !found {
			break
		}
	}
	var living []stat
	t.living = make(processes)
	for _, s := range all {
		if inTree[s.pid] && !s.dead {
			t.living[s.process] = true
			living = append(living, s)
		}
	}
	maps.Copy(t.seen, t.living)
	t.looked = time.Now()
	return living
}

// Opened reports whether a process of the tree has the file open. New processes are found within 50 ms.
func (t *Tree) Opened(file string) bool {
	if time.Since(t.looked) >= treeEvery {
		t.look()
	}
	for p := range t.living {
		if holds(p.pid, file) {
			return true
		}
	}
	return false
}

// holds reports whether a process has a file open, false where that is not to be seen.
func holds(pid int, file string) bool {
	name := fmt.Sprintf("/proc/%d/fd", pid)
	dir, err := os.Open(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	descriptors, _ := dir.Readdirnames(-1)
	for _, fd := range descriptors {
		if to, err := os.Readlink(name + "/" + fd); err == nil && to == file {
			return true
		}
	}
	return false
}

// Stop stops the processes of the tree, also those that they start meanwhile, and those alone that are not stopped
// already.
func (t *Tree) Stop() {
	if t.stopped == nil {
		t.stopped = make(processes)
	}
	for range 200 {
		running := false
		for _, s := range t.look() {
			if !s.stopped {
				running = true
				t.stopped[s.process] = true
				syscall.Kill(s.pid, syscall.SIGSTOP)
			}
		}
		if !running {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Continue lets the processes go on that Stop has stopped.
func (t *Tree) Continue() {
	for _, s := range t.look() {
		if t.stopped[s.process] {
			syscall.Kill(s.pid, syscall.SIGCONT)
		}
	}
	t.stopped = nil
}

// Pids are the processes that were ever found.
func (t *Tree) Pids() (pids []int) {
	for p := range t.seen {
		pids = append(pids, p.pid)
	}
	return pids
}

// Memory is the resident memory of the processes found last, in bytes. Pages that they share count for each.
func (t *Tree) Memory() (bytesInUse int64) {
	for p := range t.living {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.pid))
		if fields := bytes.Fields(text); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			bytesInUse += pages * int64(os.Getpagesize())
		}
	}
	return bytesInUse
}

// Without are the children without the processes of these trees, and what those start.
func (c Children) Without(trees ...*Tree) Children {
	before := maps.Clone(c.before)
	if before == nil {
		before = make(processes)
	}
	for _, t := range trees {
		maps.Copy(before, t.seen)
	}
	return Children{before}
}
