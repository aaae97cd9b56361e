package locate

import (
	"bytes"
	"strings"
)

// maxHead is how many bytes may lie between __global__ and the end of the parameters.
const maxHead = 4096

// cuda reports the kernels of a CUDA or HIP source: the functions behind __global__.
func cuda(source []byte, report func(name string, line int, defined bool)) {
	const keyword = "__global__"
	if !bytes.Contains(source, []byte(keyword)) {
		return
	}
	code := blankCPP(source)
	count := lines{source: code}
	for at := 0; ; {
		i := bytes.Index(code[at:], []byte(keyword))
		if i < 0 {
			return
		}
		start := at + i
		at = start + len(keyword)
		if start > 0 && wordByte(code[start-1]) || at < len(code) && wordByte(code[at]) {
			continue
		}
		head := code[at:min(len(code), at+maxHead)]
		if name, offset, defined, ok := function(head); ok {
			report(name, count.number(at+offset), defined)
		}
	}
}

// function reads a declaration after __global__: the name precedes the first parenthesis that belongs to no attribute, and a brace
// after the parameters makes it a definition.
func function(head []byte) (name string, offset int, defined, ok bool) {
	for i := 0; i < len(head); {
		switch c := head[i]; {
		case wordByte(c):
			end := i
			for end < len(head) && wordByte(head[end]) {
				end++
			}
			name, offset, i = string(head[i:end]), i, end
		case c == '(':
			end := balanced(head[i:], '(', ')')
			if end < 0 || name == "" {
				return "", 0, false, false
			}
			i += end
			if attribute(name) {
				name = ""
				continue
			}
			for _, c := range head[i:] {
				if c == '{' || c == ';' {
					return name, offset, c == '{', true
				}
			}
			return "", 0, false, false
		case c == '<':
			end := balanced(head[i:], '<', '>')
			if end < 0 {
				return "", 0, false, false
			}
			i += end
		case c == '#': // a conditional between attributes
			end := bytes.IndexByte(head[i:], '\n')
			if end < 0 {
				return "", 0, false, false
			}
			i += end
		case strings.IndexByte("{};=)", c) >= 0:
			return "", 0, false, false
		default:
			i++
		}
	}
	return "", 0, false, false
}

// attribute reports whether a word takes arguments but names no function: __launch_bounds__(256), alignas(16).
func attribute(word string) bool {
	return strings.HasPrefix(word, "__") && strings.HasSuffix(word, "__") ||
		word == "alignas" || word == "decltype" || word == "noexcept" || word == "requires" || word == "explicit"
}

// balanced is the length of the bracketed text at the start of s, -1 without an end.
func balanced(s []byte, open, close byte) int {
	depth := 0
	for i, c := range s {
		switch c {
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// blankCPP blanks comments and literals of C++.
func blankCPP(source []byte) []byte {
	return blank(source, func(i int) int {
		rest := source[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			return until(rest, 0, "\n") - 1
		case bytes.HasPrefix(rest, []byte("/*")):
			return until(rest, 2, "*/")
		case bytes.HasPrefix(rest, []byte(`R"`)) && bytes.IndexByte(rest[:min(len(rest), 20)], '(') > 0:
			delimiter := string(rest[2:bytes.IndexByte(rest, '(')])
			return until(rest, 2, ")"+delimiter+`"`)
		case rest[0] == '"', rest[0] == '\'' && (i == 0 || !wordByte(source[i-1])): // not 1'000
			return literal(rest)
		}
		return 0
	})
}

// blank copies a source with spaces for the tokens whose length token gives, 0 where none begins; lines stay.
func blank(source []byte, token func(at int) int) []byte {
	out := bytes.Clone(source)
	for i := 0; i < len(out); {
		end := min(i+token(i), len(out))
		for j := i; j < end; j++ {
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

// lines numbers offsets of a text, asked for in ascending order.
type lines struct {
	source   []byte
	at, line int
}

func (l *lines) number(offset int) int {
	for ; l.at < offset; l.at++ {
		if l.source[l.at] == '\n' {
			l.line++
		}
	}
	return l.line + 1
}
