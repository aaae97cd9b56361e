package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/output"
)

// keepable makes the directory that keeps the raw report, before anything is measured for it.
func (p Plan) keepable() error {
	if p.KeepProfiles == "" {
		return nil
	}
	err := os.MkdirAll(p.KeepProfiles, 0o700)
	if err == nil {
		err = output.Possible(p.KeepProfiles)
	}
	return keepError(err)
}

// keepError says what cannot be done where profiles cannot be kept.
func keepError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the profiles cannot be kept: %w; name a directory that can be written and has room, or leave "+
		"it out", err)
}

// keep copies the raw report in dir to where the user wants it, whole or not at all.
func (p Plan) keep(dir string) error {
	const keptTemporary = ".session-*"
	if p.KeepProfiles == "" {
		return nil
	}
	from, err := input.Open(p.report(dir))
	if err != nil {
		return nil // the profiler wrote none
	}
	defer from.Close()
	to, err := output.Temporary(p.KeepProfiles, keptTemporary) // mode 0600
	if err != nil {
		return keepError(err)
	}
	defer os.Remove(to.Name())
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return keepError(err)
	}
	for i := 1; ; i++ {
		name := filepath.Join(p.KeepProfiles, fmt.Sprintf("session-%03d%s", i, p.Profiler.Tool().Suffix))
		// A link takes no name that is taken. Not every file system has links.
		err := os.Link(to.Name(), name)
		if _, taken := os.Lstat(name); err != nil && taken != nil {
			err = os.Rename(to.Name(), name)
		} else if err != nil {
			continue
		}
		return keepError(err)
	}
}
