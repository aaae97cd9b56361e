package input

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled at its first use: a command reads one format, and most start no reader.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
