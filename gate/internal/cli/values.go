package cli

import (
	"fmt"
	"strings"

	"github.com/nsgate/nsgate/thresholds"
)

// words is the value of a flag that may be repeated, with values separated by commas or lines.
type words []string

// Set adds values.
func (w *words) Set(s string) error {
	for _, x := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		if x = strings.TrimSpace(x); x != "" {
			*w = append(*w, x)
		}
	}
	if len(*w) == 0 {
		return fmt.Errorf("%q names nothing", s)
	}
	return nil
}

func (w *words) String() string { return strings.Join(*w, ",") }

// Type is how the help names the value.
func (w *words) Type() string { return "NAME" }

// single is the value of a flag that may be given once.
type single string

// Set refuses a second value.
func (o *single) Set(s string) error {
	if *o != "" && string(*o) != s {
		return fmt.Errorf("%q was given before: one at a time", string(*o))
	}
	*o = single(s)
	return nil
}

func (o *single) String() string { return string(*o) }

// Type is how the help names the value.
func (o *single) Type() string { return "string" }

// meant is "did you mean --threshold? ", "" where nothing known is near.
func meant(mark, word string, known []string) string {
	near := thresholds.Nearest(word, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s%s? ", mark, near)
}
