//go:build !linux

package rank

import "errors"

// Run is for Linux only.
func (Options) Run([]string) (int, error) {
	return NotRecorded, errors.New("ranks can be profiled on Linux only")
}

// Program is for Linux only.
func Program(string) int { return NotRecorded }
