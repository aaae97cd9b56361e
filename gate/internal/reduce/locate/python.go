package locate

import (
	"bytes"

	"github.com/nsgate/nsgate/gate/internal/input"
)

var (
	jit    = input.Pattern(`^@\s*((triton|tl|gluon|(numba\.)?cuda)\.)?jit\b`)
	define = input.Pattern(`^def\s+(\w+)\s*\(`)
	// unread are comments and strings.
	unread = input.Pattern(`#.*|"""(?s:.*?)(?:"""|\z)|'''(?s:.*?)(?:'''|\z)|` +
		`"(?:\\(?s:.)|[^"\\\n])*"?|'(?:\\(?s:.)|[^'\\\n])*'?`)
	filled = input.Pattern(`[^\n]`)
	// A kernel of Pallas has the name of the function given to pallas_call.
	pallas = input.Pattern(`\bpallas_call\(\s*(?:(?:functools\.)?partial\(\s*)?(\w+)\s*[,)]`)
)

// python reports the kernels of a Python source: functions under @triton.jit, @cuda.jit or a bare @jit, also with other
// decorators between, functions given to pallas_call, and the kernels of CUDA in strings (CuPy's RawKernel).
func python(source []byte, report func(name string, line int, defined bool)) {
	cuda(source, report) // in strings
	has := func(word string) bool { return bytes.Contains(source, []byte(word)) }
	jitted := has("jit") && (has("triton") || has("cuda"))
	if !jitted && !has("pallas_call") {
		return
	}
	code := blankPython(source)
	called := make(map[string]bool)
	for _, m := range pallas().FindAllSubmatch(code, -1) {
		called[string(m[1])] = true
	}
	decorated, depth := false, 0
	for i, line := range bytes.Split(code, []byte("\n")) {
		text := bytes.TrimSpace(line)
		if depth == 0 && len(text) > 0 {
			m := define().FindSubmatch(text)
			switch {
			case text[0] == '@':
				decorated = decorated || jitted && jit().Match(text)
			case m != nil && (decorated || called[string(m[1])]):
				report(string(m[1]), i+1, true)
				decorated = false
			default:
				decorated = false
			}
		}
		depth = max(depth+brackets(text), 0)
	}
}
