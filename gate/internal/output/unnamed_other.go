//go:build !linux

package output

import (
	"errors"
	"os"
)

func unnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func link(*os.File, string) error { return errors.ErrUnsupported }

func Exchange(from, to string) error { return errors.Join(os.RemoveAll(to), os.Rename(from, to)) }
