package locate

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// maxHead is how many bytes may lie between __global__ and the end of the parameters.
const maxHead = 4096

// Brackets and angles hold others up to three levels deep.
const (
	parens = `\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)`
	angles = `<(?:[^<>;{}]|<(?:[^<>;{}]|<[^<>;{}]*>)*>)*>`
)

var (
	keyword = input.Pattern("__global__")
	// declared is the text after __global__: attributes (__launch_bounds__(256)), conditionals, then the name, before
	// the last brackets but those of noexcept and its like. A brace behind the parameters makes it a definition.
	declared = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\W(?:[^;{}()=<#]|` + angles + `|#[^\n]*|\w\s*` + parens + `)*?\b([\w\pL]+)\s*(?:` +
			angles + `)?\s*` + parens + `(?:\s*(?:noexcept|requires|__\w+__)\s*` + parens + `)*[^;{()]*([;{])`)
	})
)

// cuda reports the kernels of a CUDA or HIP source: the functions behind __global__.
func cuda(source []byte, report func(name string, line int, defined bool)) {
	if !keyword().Match(source) {
		return
	}
	code := blankCPP(source, true)
	line, at := 1, 0
	for _, word := range keyword().FindAllIndex(code, -1) {
		head := code[word[1]:min(len(code), word[1]+maxHead)]
		if m := declared().FindSubmatchIndex(head); m != nil && (word[0] == 0 || !wordByte(code[word[0]-1])) {
			start := word[1] + m[2]
			line, at = line+bytes.Count(code[at:start], []byte("\n")), start
			report(string(head[m[2]:m[3]]), line, head[m[4]] == '{')
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// blankCPP copies a source of C++ with spaces for comments, and for strings where they are to go.
func blankCPP(source []byte, strings bool) []byte {
	return blank(source, func(i int) (length int, kept bool) {
		rest := source[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			return until(rest, 0, "\n") - 1, false
		case bytes.HasPrefix(rest, []byte("/*")):
			return until(rest, 2, "*/"), false
		case bytes.HasPrefix(rest, []byte(`R"`)) && bytes.IndexByte(rest[:min(len(rest), 20)], '(') > 0:
			delimiter := string(rest[2:bytes.IndexByte(rest, '(')])
			return until(rest, 2, ")"+delimiter+`"`), !strings
		case rest[0] == '"', rest[0] == '\'' && (i == 0 || !wordByte(source[i-1])): // not 1'000
			return literal(rest), !strings
		}
		return 0, false
	})
}

// blank copies a source with spaces for the tokens whose length token gives, 0 where none begins, unless they are kept;
// lines stay.
func blank(source []byte, token func(at int) (length int, kept bool)) []byte {
	out := bytes.Clone(source)
	for i := 0; i < len(out); {
		length, kept := token(i)
		end := min(i+length, len(out))
		for j := i; j < end && !kept; j++ {
			if out[j] != '\n' {
				out[j] = ' '
			}
		}
		i = max(end, i+1)
	}
	return out
}

// until is the length of s up to and with the next end behind from, all of it where there is none.
func until(s []byte, from int, end string) int {
	if i := bytes.Index(s[from:], []byte(end)); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

// literal is the length of the quoted text at the start of s, which ends at the latest with the line.
func literal(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			return i
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}
