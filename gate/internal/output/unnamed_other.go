//go:build !linux

package output

import (
	"errors"
	"os"
)

func unnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func link(*os.File, string) error { return errors.ErrUnsupported }

func exchange(string, string) error { return errors.ErrUnsupported }
