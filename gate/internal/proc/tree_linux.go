package proc

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Tree is a program that [Isolate] has set up, and the processes that it started.
type Tree struct {
	root    int
	seen    processes // all that were ever found
	living  []stat    // at the last look
	stopped processes // by Stop
}

// NewTree is the tree of a process id. It has no processes before [Look].
func NewTree(root int) *Tree { return &Tree{root: root, seen: make(processes)} }

// Look finds the processes of trees.
func Look(trees ...*Tree) {
	all := stats()
	for _, t := range trees {
		t.find(all)
	}
}

// find picks the processes of the tree: those below its root, those of the root's session, and those that were found
// before, which a daemon was, too.
func (t *Tree) find(all []stat) {
	in := make(map[int]bool)
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if !in[s.pid] && (s.pid == t.root || s.session == t.root || in[s.parent] || t.seen[s.process]) {
				in[s.pid], grown = true, true
			}
		}
	}
	t.living = nil
	for _, s := range all {
		if in[s.pid] && !s.dead {
			t.living = append(t.living, s)
			t.seen[s.process] = true
		}
	}
}

// Opened reports whether a process of the last [Look] has the file open.
func (t *Tree) Opened(file string) bool {
	return slices.ContainsFunc(t.living, func(s stat) bool { return holds(s.pid, file) })
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
	return slices.ContainsFunc(descriptors, func(fd string) bool {
		to, err := os.Readlink(name + "/" + fd)
		return err == nil && to == file
	})
}

// Stop stops the processes of the tree, also those that they start meanwhile, and those alone that are not stopped
// already.
func (t *Tree) Stop() {
	// stopGrace is how long a process that was sent SIGSTOP is waited for: in a system call that cannot be interrupted
	// it stops at the end of that, and starts no other until then.
	const stopGrace = 20 * time.Millisecond
	t.stopped = make(processes)
	for last := time.Now(); time.Since(last) < stopGrace; time.Sleep(time.Millisecond) {
		Look(t)
		running := false
		for _, s := range t.living {
			if s.stopped {
				continue
			}
			running = true
			if !t.stopped[s.process] {
				t.stopped[s.process] = true
				syscall.Kill(s.pid, syscall.SIGSTOP)
				last = time.Now()
			}
		}
		if !running {
			return
		}
	}
}

// Continue lets the processes go on that Stop has stopped.
func (t *Tree) Continue() {
	Look(t)
	for _, s := range t.living {
		if t.stopped[s.process] {
			syscall.Kill(s.pid, syscall.SIGCONT)
		}
	}
	t.stopped = nil
}

// Pids are all processes that were found.
func (t *Tree) Pids() []int { return t.seen.pids() }

// Memory is the resident memory of the processes of the last [Look], in bytes. Pages that they share count for each.
func (t *Tree) Memory() (inUse int64) {
	for _, s := range t.living {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.pid))
		if fields := bytes.Fields(text); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			inUse += pages * int64(os.Getpagesize())
		}
	}
	return inUse
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
