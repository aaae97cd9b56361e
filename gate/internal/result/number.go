package result

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Number is a float64 whose NaN (unknown) and infinities are null in JSON.
type Number float64

// MarshalJSON writes null for numbers that JSON cannot hold.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// Known reports whether the number is finite.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// Or is the number, or the other one where it is not known.
func (n Number) Or(other Number) Number {
	return measure.Either(n.Known(), n, other)
}

// Raise sets the number to a larger one, or to any where it is not known.
func (n *Number) Raise(to Number) {
	if !(*n >= to) {
		*n = to
	}
}

// Given is a text, "" where the number is not known.
func (n Number) Given(text string) string { return measure.Either(n.Known(), text, "") }

// Unknown is a number that is not known.
var Unknown = Number(math.NaN())

// Change is a relative change: "+5.2 %".
func (n Number) Change() string { return measure.Change(float64(n)) }

// Percent is a fraction: "5.2 %".
func (n Number) Percent() string { return measure.Percent(float64(n)) }

// In is an amount of a unit: "5.2 µs".
func (n Number) In(unit string) string { return measure.Quantity(float64(n), unit) }

// Text is the number alone.
func (n Number) Text() string { return measure.Number(float64(n)) }

// Numbers are the values of all sessions, one after the other.
func Numbers(sessions [][]float64) []Number {
	return append([]Number{}, measure.Map(slices.Concat(sessions...), func(v float64) Number { return Number(v) })...)
}
