package torch

import (
	"bytes"
	"math"
	"strconv"
)

// decimal reads a decimal number and shifts its point to the right: the 3 places from microseconds to nanoseconds. It
// works on the digits, because a float64 holds no time of today to the nanosecond. Digits behind the shifted
// point are rounded. fraction says that the number was written with a point. Quotation marks around the number are
// taken off. A number that is none, or of more than half of what an int64 holds, is not ok.
func decimal(text []byte, shift int) (value int64, fraction, ok bool) {
	s := bytes.TrimSpace(unquote(text))
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	mantissa, exponent, scientific := cutAny(s, "eE")
	if scientific {
		e, err := strconv.Atoi(string(exponent))
		if err != nil || e < -100 || e > 100 {
			return 0, false, false
		}
		shift += e
	}
	whole, decimals, fraction := bytes.Cut(mantissa, []byte("."))
	if len(whole)+len(decimals) == 0 {
		return 0, fraction, false
	}
	places := len(whole) + shift // digits in front of the shifted point
	for i := range max(places, len(whole)+len(decimals)) {
		digit := byte('0')
		switch {
		case i < len(whole):
			digit = whole[i]
		case i < len(whole)+len(decimals):
			digit = decimals[i-len(whole)]
		}
		if digit < '0' || digit > '9' {
			return 0, fraction, false
		}
		switch {
		case i < places:
			if value >= math.MaxInt64/20 {
				return 0, fraction, false
			}
			value = 10*value + int64(digit-'0')
		case i == places && digit >= '5':
			value++
		}
	}
	if negative {
		value = -value
	}
	return value, fraction, true
}

// cutAny is bytes.Cut at the first of several characters.
func cutAny(s []byte, chars string) (before, after []byte, found bool) {
	if i := bytes.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, nil, false
}

// unquote takes the quotation marks off a JSON string, or gives back what is no string. Escapes stay.
func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// integer reads a whole number, quoted or not.
func integer(b []byte) (int64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(unquote(b)), 10, 64)
	return n, err == nil
}

// integerOr is integer with -1, or what else is given, for a number that is not there.
func integerOr(b []byte, otherwise int64) int64 {
	if n, ok := integer(b); ok {
		return n
	}
	return otherwise
}
