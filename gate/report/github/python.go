package github

import (
	"bytes"
	"regexp"
)

var (
	jit    = regexp.MustCompile(`^@\s*((triton|tl|gluon|(numba\.)?cuda)\.)?jit\b`)
	define = regexp.MustCompile(`^def\s+(\w+)\s*\(`)
)

// python reports the kernels of a Python source: functions under @triton.jit, @cuda.jit or the bare @jit of either,
// whatever other decorators stand between.
func python(source []byte, report func(name string, line int, defined bool)) {
	has := func(word string) bool { return bytes.Contains(source, []byte(word)) }
	if !has("jit") || !has("triton") && !has("cuda") {
		return
	}
	decorated, depth := false, 0
	for i, line := range bytes.Split(blankPython(source), []byte("\n")) {
		text := bytes.TrimSpace(line)
		if depth == 0 && len(text) > 0 {
			switch m := define.FindSubmatch(text); {
			case text[0] == '@':
				decorated = decorated || jit.Match(text)
			case m != nil && decorated:
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

// blankPython copies a Python source with comments and strings blanked, lines kept.
func blankPython(source []byte) []byte {
	out := bytes.Clone(source)
	for i := 0; i < len(source); {
		rest, n := source[i:], 1
		switch c := rest[0]; {
		case c == '#':
			if n = bytes.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case bytes.HasPrefix(rest, []byte(`"""`)), bytes.HasPrefix(rest, []byte(`'''`)):
			if end := bytes.Index(rest[3:], rest[:3]); end >= 0 {
				n = end + 6
			} else {
				n = len(rest)
			}
		case c == '"', c == '\'':
			n = literal(rest)
		default:
			i++
			continue
		}
		for ; n > 0; n-- {
			if i < len(out) && out[i] != '\n' {
				out[i] = ' '
			}
			i++
		}
	}
	return out
}
