//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// killChildren makes the end of the command's context kill its children too.
func killChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
