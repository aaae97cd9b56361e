//go:build !linux

package confine

import (
	"context"
	"errors"
	"runtime"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Ask calls read: this system has no such child.
func Ask[Q, A any](_ context.Context, _ []string, _ Limits, request Q, read func(Q, func(A) error) error,
	each func(A) error) error {
	if proc.Guarded() {
		doubt(runtime.GOOS + " has none")
	}
	return read(request, each)
}

// Self confines nothing.
func Self(Limits) error { return errors.ErrUnsupported }
