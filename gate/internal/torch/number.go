package torch

import (
	"bytes"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/cells"
)

// decimal reads a decimal number, quoted or not, in a unit of so many whole base units, and rounds it to these. fraction
// says that it was written with a point. It is not ok for text that is not a number and for more than half of the largest int64.
func decimal(text []byte, unit float64) (value int64, fraction, ok bool) {
	s := bytes.TrimSpace(unquote(text))
	n, form := cells.Parse(s)
	switch form {
	case cells.Whole, cells.Point, cells.ThreeAfterPoint:
		const most = 4611686018427387899
		value, ok = n.Int(unit)
		return value, bytes.IndexByte(s, '.') >= 0, ok && value <= most && value >= -most
	}
	return 0, false, false
}

// unquote takes the quotation marks off a JSON string. Escapes stay.
func unquote(b []byte) []byte { return bytes.Trim(b, `"`) }

// integer reads a whole number, quoted or not.
func integer(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(unquote(b)), 10, 64)
	return n, err == nil
}

// integerOr is integer with a value for a missing number.
func integerOr(b []byte, otherwise int64) int64 {
	if n, ok := integer(b); ok {
		return n
	}
	return otherwise
}
