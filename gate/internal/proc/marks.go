package proc

import (
	"os/exec"
	"path/filepath"
	"sync"
)

// tools are the programs of [Run] and the guards that have not ended. They do not count as [Children].
var tools = toolSet{pids: make(map[int]bool)}

type toolSet struct {
	sync.Mutex // locked while a tool is started, so that it is never seen before it is registered
	pids       map[int]bool
}

func (t *toolSet) start(cmd *exec.Cmd) error {
	t.Lock()
	defer t.Unlock()
	err := cmd.Start()
	if err == nil {
		t.pids[cmd.Process.Pid] = true
	}
	return err
}

func (t *toolSet) ended(cmd *exec.Cmd) {
	t.Lock()
	defer t.Unlock()
	delete(t.pids, cmd.Process.Pid)
}

// MarkName is the variable that marks the processes of a session for a guard: its value is the private directory. The
// profiler itself gets it, and so do its daemons and the workload.
const MarkName = "NSGATE_SESSION"

func tmpIn(dir string) string { return filepath.Join(dir, "tmp") }
