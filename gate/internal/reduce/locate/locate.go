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
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Limits of the search for kernels, and what stands for any namespace.
const (
	maxFiles    = 20_000  // source files; in a larger repository nothing is found
	maxFileSize = 2 << 20 // bytes; larger files are generated
	anySpace    = "NAMESPACE"
)

// Kernels finds the definition of a kernel by its short name and the whole one: a __global__ function of C++, also in a
// string, in a file that opens its namespaces, or a function under a Triton or Numba decorator. ok is true if exactly
// one definition may have that name, or none and one declaration. file is relative to root, which is searched once. Of
// several those in files that git knows count, by tracked: a build or an old copy may lie beside; nil for all.
func Kernels(root fs.FS, tracked func(file string) bool) func(kernel, whole string) (file string, line int, ok bool) {
	search := sync.OnceValue(func() definitions { return find(root) })
	return func(kernel, whole string) (string, int, bool) { return search().locate(kernel, whole, tracked) }
}

type place struct {
	file    string
	line    int
	defined bool   // with its body, not only declared
	opens   string // namespaces around it, or those of its file
	before  string // of the name in C++: template, attributes
	after   string // template arguments and parameters
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
	var parts []string
	if m := regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(kernel) + `([<(].*)`).FindStringSubmatch(whole); m != nil {
		parts = signature().FindStringSubmatch(m[1])
	}
	places = measure.Where(places, func(p place) bool { return p.in(kernel, whole) && p.fits(parts) > unlike })
	for _, better := range []func(place) bool{
		func(p place) bool { return p.defined }, func(p place) bool { return p.fits(parts) == exact },
		func(p place) bool { return len(places) > 1 && tracked != nil && tracked(p.file) },
	} {
		if best := measure.Where(places, better); len(best) > 0 {
			places = best
		}
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
			at.file = file
			found[name] = append(found[name], at)
		})
		return nil
	})
	return found
}

// maxHead is how many bytes may lie between __global__ and the end of the parameters, without another __global__.
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
		return regexp.MustCompile(`^\W(?:[^;{}()=<#]|` + angles + `|#[^\n]*|\w\s*` + parens + `)*?\b([\w\pL]+)\s*((?:` +
			angles + `)?\s*` + parens + `)(?:\s*(?:noexcept|requires|__\w+__)\s*` + parens + `)*[^;{()]*([;{])`)
	})
)

// cuda reports the kernels of a CUDA or HIP source, the functions behind __global__ in code and strings, with the
// namespaces open there.
func cuda(source []byte, report func(name string, at place)) {
	if bytes.Contains(source, []byte("__global__")) {
		comments, texts := partsOfCPP(source)
		globals(blank(source, comments, texts), report)
		inStrings(source, comments, texts, report)
	}
}

// inStrings reports the kernels that strings of a source define.
func inStrings(source []byte, comments, texts [][]int, report func(name string, at place)) {
	code := quoted(blank(source, comments), texts)
	comments, texts = partsOfCPP(code)
	globals(blank(code, comments, texts), func(name string, at place) {
		if at.defined { // else it may be a sentence
			report(name, at)
		}
	})
}

// globals reports the kernels of code without comments and strings.
func globals(code []byte, report func(name string, at place)) {
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
		head, _, _ := bytes.Cut(code[word[1]:min(len(code), word[1]+maxHead)], []byte("__global__"))
		if m := declared().FindSubmatchIndex(head); m != nil && (word[0] == 0 || !wordByte(code[word[0]-1])) {
			start := word[1] + m[2]
			line, at = line+bytes.Count(code[at:start], []byte("\n")), start
			before := string(code[bytes.LastIndexAny(code[:word[0]], ";{}")+1 : start]) // a::k
			opens := measure.Either(!matched, all, strings.Join(open, " ")+before)
			report(string(head[m[2]:m[3]]), place{line: line, defined: head[m[6]] == '{', opens: opens,
				before: before, after: string(head[m[4]:m[5]])})
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// strung matches the strings of a line, quotes those of Python, unread comments, strings and numbers (1'000).
const strung = `"(?:\\(?s:.)|[^"\\\n])*"?|'(?:\\(?s:.)|[^'\\\n])*'?`
const quotes = `"""(?s:.*?)(?:"""|\z)|'''(?s:.*?)(?:'''|\z)|` + strung

var unreadCPP = input.Pattern(`//[^\r\n]*|/\*(?s:.*?)(?:\*/|\z)|R"[^\s()"]{0,16}\(|` + strung + `|\b\d[\w']*`)

// partsOfCPP are the places of the comments and of the strings of a source of C++.
func partsOfCPP(source []byte) (comments, texts [][]int) {
	for i := 0; ; {
		at := unreadCPP().FindIndex(source[i:])
		if at == nil {
			return comments, texts
		}
		part := []int{i + at[0], i + at[1]}
		switch text := source[part[0]:part[1]]; text[0] {
		case '/':
			comments = append(comments, part)
		case 'R':
			end := ")" + string(text[2:len(text)-1]) + `"`
			before, _, closed := bytes.Cut(source[part[1]:], []byte(end))
			part[1] += len(before) + measure.Either(closed, len(end), 0)
			fallthrough
		case '"', '\'':
			texts = append(texts, part)
		}
		i = part[1]
	}
}

// blank copies a source with spaces for parts of it; lines stay.
func blank(source []byte, parts ...[][]int) []byte {
	out := bytes.Clone(source)
	for _, at := range slices.Concat(parts...) {
		spaces(out[at[0]:at[1]])
	}
	return out
}

// spaces puts spaces in place of all but the ends of lines.
func spaces(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// quoted is a source of C++ or Python with spaces for all but what its strings hold. A semicolon stands between strings
// that are not joined, and a carriage return for the end of a line that is written as an escape.
func quoted(source []byte, texts [][]int) []byte {
	out, last := bytes.Clone(source), 0
	for _, at := range texts {
		gap, text := source[last:at[0]], out[at[0]:at[1]]
		spaces(out[last:at[0]])
		quotes := min(3, len(text)) - len(bytes.TrimLeft(text[:min(3, len(text))], `"'`))
		if text[0] == 'R' {
			quotes = bytes.IndexByte(text, '(') + 1
		} else if !bytes.ContainsAny(gap[max(0, len(gap)-2):], "rR") {
			copy(text, escapes.Replace(string(text)))
		}
		spaces(text[:quotes])
		spaces(text[max(0, len(text)-quotes):])
		last = at[1]
		if !joined().Match(gap) {
			text[0] = ';'
		}
	}
	spaces(out[last:])
	return out
}

var (
	joined = input.Pattern(`^[\s+\\rRbBfFuU]*$`)
	// escapes are those of strings, as long as what they stand for.
	escapes = strings.NewReplacer(`\\`, "  ", `\n`, " \r", `\t`, "  ", `\"`, ` "`, `\'`, ` '`, "\\\n", " \n")
)
