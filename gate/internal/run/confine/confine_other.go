//go:build !linux

package confine

import (
	"context"
	"errors"
	"runtime"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Ask calls the function of a mode: this system has no such child.
func Ask[Q, A any](ctx context.Context, mode string, _ Limits, request Q, each func(A) error) error {
	if proc.Guarded() {
		doubt(runtime.GOOS + " has none")
	}
	return readers[mode].read.(func(Q, context.Context, func(A) error) error)(request, ctx, each)
}

// Self confines nothing.
func Self(Limits) error { return errors.ErrUnsupported }
