package profiler

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Regex begins a selector of kernels that is a regular expression.
const Regex = "regex:"

// Selects reports whether one of the selectors, names or expressions, means the kernel of that short name.
func Selects(selectors []string, short string) bool {
	return slices.ContainsFunc(selectors, func(s string) bool {
		expression, ok := strings.CutPrefix(s, Regex)
		if !ok {
			return s == short
		}
		re, err := regexp.Compile(expression)
		return err == nil && re.MatchString(short)
	})
}

// CheckSelector gives the error of a selector.
func CheckSelector(s string) error {
	expression, ok := strings.CutPrefix(s, Regex)
	if _, err := regexp.Compile(expression); ok && (err != nil || expression == "") {
		return fmt.Errorf("%q is no regular expression", expression)
	}
	return nil
}
