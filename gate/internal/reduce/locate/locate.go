// Package locate finds the definition of a kernel in a repository.
package locate

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Limits of the search for kernels, and what stands for any namespace.
const (
	maxFiles    = 20_000  // source files; in a larger repository nothing is found
	maxFileSize = 2 << 20 // bytes; larger files are generated
	anySpace    = "NAMESPACE"
)

// Kernels finds the definition of a kernel by its short name and the whole one: a __global__ function of C++, in a file
// that opens its namespaces, or a function under a Triton or Numba decorator. ok is true if there is exactly one
// definition, or none and one declaration. file is relative to root, which is searched once, at the first call. Of several
// those in files that git knows count, by tracked: a build or an old copy may lie beside the source; nil for all.
func Kernels(root fs.FS, tracked func(file string) bool) func(kernel, whole string) (file string, line int, ok bool) {
	search := sync.OnceValue(func() definitions { return find(root) })
	return func(kernel, whole string) (string, int, bool) { return search().locate(kernel, whole, tracked) }
}

type place struct {
	file    string
	line    int
	defined bool   // with its body, not only declared
	opens   string // namespaces around it, or those of its file
}

var (
	named   = input.Pattern(`\bnamespace\s+\w`)
	foreign = input.Pattern(`\bextern\b|` + anySpace) // names in C have no namespace, and macros may close one
	words   = input.Pattern(`[\w\pL]+`)
)

// in reports whether a kernel's namespaces may be open at a place. A whole name without parameters may lack its own.
func (p place) in(kernel, whole string) bool {
	whole, _, _ = strings.Cut(strings.ReplaceAll(whole, "(anonymous namespace)::", ""), "<")
	whole, _, complete := strings.Cut(whole, "(")
	around, ok := strings.CutSuffix(whole[strings.LastIndexByte(whole, ' ')+1:], "::"+kernel)
	if !ok || strings.Contains(p.opens, anySpace) {
		return ok || !complete || !named().MatchString(p.opens) || foreign().MatchString(p.opens)
	}
	open := words().FindAllString(p.opens, -1)
	return !slices.ContainsFunc(strings.Split(around, "::"),
		func(name string) bool { return !slices.Contains(open, name) })
}

type definitions map[string][]place

// variant is the suffix of a compiled variant of a function, by Triton ("_0d1d2de") or Numba ("$12").
var variant = input.Pattern(`(_0\d*[cde][\dcde]*|\$\d+)$`)

func (d definitions) locate(kernel, whole string, tracked func(string) bool) (file string, line int, ok bool) {
	places, known := d[kernel]
	if !known {
		places = d[variant().ReplaceAllString(kernel, "")]
	}
	places = slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !p.in(kernel, whole) })
	if bodies := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !p.defined }); len(bodies) > 0 {
		places = bodies
	}
	if len(places) > 1 && tracked != nil {
		places = slices.DeleteFunc(places, func(p place) bool { return !tracked(p.file) })
	}
	first := append(places, place{})[0]
	return first.file, first.line, len(places) == 1
}

// languages are the searches of files by suffix.
var languages = map[string]func([]byte, func(name string, at place)){
	".cu": cuda, ".cuh": cuda, ".h": cuda, ".hh": cuda, ".hpp": cuda, ".hxx": cuda, ".cpp": cuda, ".cc": cuda,
	".cxx": cuda, ".inl": cuda, ".inc": cuda, ".ipp": cuda, ".tpp": cuda, ".hip": cuda, ".py": python,
}

// elsewhere are directories of generated or foreign code.
var elsewhere = map[string]bool{
	"node_modules": true, "vendor": true, "third_party": true, "3rdparty": true, "external": true, "build": true,
	"dist": true, "out": true, "target": true, "venv": true, "__pycache__": true, "site-packages": true,
}

// find searches a repository for all kernels. Unreadable files are left out.
func find(root fs.FS) definitions {
	found, files := make(definitions), 0
	_ = fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && entry != nil && entry.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case entry.IsDir():
			name := entry.Name()
			hidden := strings.HasPrefix(name, ".") && name != "."
			if hidden || elsewhere[name] || strings.HasPrefix(name, "cmake-build") ||
				strings.HasPrefix(name, "bazel-") {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular(): // symbolic links above all
			return nil
		}
		search := languages[strings.ToLower(path.Ext(file))]
		if search == nil {
			return nil
		}
		if files++; files > maxFiles {
			clear(found)
			return fs.SkipAll
		}
		if info, err := entry.Info(); err != nil || info.Size() > maxFileSize {
			return nil
		}
		source, err := fs.ReadFile(root, file)
		if err != nil || len(source) > maxFileSize {
			return nil
		}
		search(source, func(name string, at place) {
			found[name] = append(found[name], place{file, at.line, at.defined, at.opens})
		})
		return nil
	})
	return found
}

// maxHead is how many bytes may lie between __global__ and the end of the parameters.
const maxHead = 4096

// Brackets and angles hold others up to three levels deep.
const (
	parens = `\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)`
	angles = `<(?:[^<>;{}]|<(?:[^<>;{}]|<[^<>;{}]*>)*>)*>`
)

var (
	// tokens are kernels, brackets with the namespace or extern "C" that they open, and macros that may open any.
	tokens = input.Pattern(`__global__|(?:\b(?:namespace\b[^;{}=()]*|extern\s*))?\{|\}|` + anySpace)
	// declared is the text after __global__: attributes (__launch_bounds__(256)), conditionals, then the name, before
	// the last brackets but those of noexcept and its like. A brace behind the parameters makes it a definition.
	declared = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\W(?:[^;{}()=<#]|` + angles + `|#[^\n]*|\w\s*` + parens + `)*?\b([\w\pL]+)\s*(?:` +
			angles + `)?\s*` + parens + `(?:\s*(?:noexcept|requires|__\w+__)\s*` + parens + `)*[^;{()]*([;{])`)
	})
)

// cuda reports the kernels of a CUDA or HIP source, the functions behind __global__, with the namespaces open there.
func cuda(source []byte, report func(name string, at place)) {
	if !bytes.Contains(source, []byte("__global__")) {
		return
	}
	code := blankCPP(source, true)
	all := string(bytes.Join(tokens().FindAll(code, -1), []byte(" ")))
	matched := strings.Count(all, "{") == strings.Count(all, "}") && !strings.Contains(all, anySpace)
	line, at, open := 1, 0, []string(nil)
	for _, word := range tokens().FindAllIndex(code, -1) {
		if token := string(code[word[0]:word[1]]); token != "__global__" {
			open = append(open, token)
			if token == "}" {
				open = open[:max(len(open)-2, 0)]
			}
			continue
		}
		head := code[word[1]:min(len(code), word[1]+maxHead)]
		if m := declared().FindSubmatchIndex(head); m != nil && (word[0] == 0 || !wordByte(code[word[0]-1])) {
			start := word[1] + m[2]
			line, at = line+bytes.Count(code[at:start], []byte("\n")), start
			opens := strings.Join(open, " ") + string(code[bytes.LastIndexAny(code[:word[0]], ";{}")+1:start]) // a::k
			if !matched {
				opens = all
			}
			report(string(head[m[2]:m[3]]), place{line: line, defined: head[m[4]] == '{', opens: opens})
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
