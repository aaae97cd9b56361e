package locate

import (
	"bytes"
	"regexp"
)

var (
	jit    = regexp.MustCompile(`^@\s*((triton|tl|gluon|(numba\.)?cuda)\.)?jit\b`)
	define = regexp.MustCompile(`^def\s+(\w+)\s*\(`)
	// A kernel of Pallas has the name of the function given to pallas_call.
	pallas = regexp.MustCompile(`\bpallas_call\(\s*(?:(?:functools\.)?partial\(\s*)?(\w+)\s*[,)]`)
)

// python reports the kernels of a Python source: functions under @triton.jit, @cuda.jit or a bare @jit, also with other decorators
// between, and functions given to pallas_call.
func python(source []byte, report func(name string, line int, defined bool)) {
	has := func(word string) bool { return bytes.Contains(source, []byte(word)) }
	jitted := has("jit") && (has("triton") || has("cuda"))
	if !jitted && !has("pallas_call") {
		return
	}
	code := blankPython(source)
	called := make(map[string]bool)
	for _, m := range pallas.FindAllSubmatch(code, -1) {
		called[string(m[1])] = true
	}
	decorated, depth := false, 0
	for i, line := range bytes.Split(code, []byte("\n")) {
		text := bytes.TrimSpace(line)
		if depth == 0 && len(text) > 0 {
			switch m := define.FindSubmatch(text); {
			case text[0] == '@':
				decorated = decorated || jitted && jit.Match(text)
			case m != nil && (decorated || called[string(m[1])]):
				report(string(m[1]), i+1, true)
				decorated = false
			default:
				decorated = false
			}
		}
		for _, c := range text {
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth = max(depth-1, 0)
			}
		}
	}
}

// blankPython blanks comments and strings of Python.
func blankPython(source []byte) []byte {
	return blank(source, func(i int) int {
		rest := source[i:]
		switch c := rest[0]; {
		case c == '#':
			return until(rest, 0, "\n") - 1
		case bytes.HasPrefix(rest, []byte(`"""`)), bytes.HasPrefix(rest, []byte(`'''`)):
			return until(rest, 3, string(rest[:3]))
		case c == '"', c == '\'':
			return literal(rest)
		}
		return 0
	})
}
