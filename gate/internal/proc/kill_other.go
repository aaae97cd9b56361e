//go:build !unix

package proc

import "os/exec"

// killChildren leaves the default: the end of the command's context kills the command itself.
func killChildren(*exec.Cmd) {}
