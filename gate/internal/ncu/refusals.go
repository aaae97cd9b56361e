package ncu

import (
	"errors"
	"os"
)

// Next steps of the refusals of this package.
const (
	again = "write it again: ncu --import REPORT --csv --page raw --print-units base"
	fewer = "profile fewer launches (--launch-count), or fewer sections (--set basic)"
	withC = "run ncu with LC_ALL=C"
)

// cause is the error without the path that it happened to.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
