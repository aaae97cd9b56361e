//go:build !unix

package proc

import "os/exec"

// killGroup leaves the default: the end of the command's context kills the command itself.
func killGroup(*exec.Cmd) {}
