//go:build !linux

package confine

import (
	"context"
	"errors"
	"os"
)

// Run is an error: this system has no such child.
func Run(context.Context, func() os.Signal, string, []string, *os.File, *os.File) (int, error) {
	return 0, errors.ErrUnsupported
}

// Ask calls read: this system has no such child.
func Ask[Q, A any](_ context.Context, _ []string, _ Limits, request Q, read func(Q, func(A) error) error,
	each func(A) error) error {
	return read(request, each)
}

// Child is never called.
func Child() (*os.File, func(int)) { return os.Stderr, func(int) {} }

// Self confines nothing.
func Self(Limits) error { return nil }
