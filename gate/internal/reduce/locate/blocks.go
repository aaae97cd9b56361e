package locate

import (
	"bytes"
	"cmp"
	"path"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Function is a function of a source file. Lines count from one.
type Function struct {
	Name        string
	First, Last int
}

// Source is a source file whose functions are known.
type Source struct {
	functions []Function
	code      [][]byte // lines, with spaces for comments and docstrings
}

// ReadSource finds the functions of a source of CUDA, C++ or Python; ok is false for another file. Code whose brackets
// do not match, for it has them in branches of the preprocessor, has none.
func ReadSource(file string, text []byte) (s Source, ok bool) {
	if languages[strings.ToLower(path.Ext(file))] == nil || len(text) > maxFileSize {
		return Source{}, false
	}
	if path.Ext(file) == ".py" {
		comments, texts := partsOfPython(text)
		s.code = bytes.Split(blank(text, comments), []byte("\n"))
		s.functions = pythonFunctions(bytes.Split(blank(text, comments, texts), []byte("\n")))
		return s, true
	}
	comments, texts := partsOfCPP(text)
	s.code = bytes.Split(blank(text, comments), []byte("\n"))
	code := blank(text, comments, texts)
	s.functions = cppFunctions(blank(code, directive().FindAllIndex(code, -1)))
	return s, true
}

// Holds reports whether some lines of the file hold code: another thing than comments and blanks.
func (s Source) Holds(first, last int) bool {
	last = min(last, len(s.code))
	return first > 0 && first <= last && len(bytes.TrimSpace(bytes.Join(s.code[first-1:last], nil))) > 0
}

// Line is the code of a line that holds a word, without its comments and strings, "" for another line.
func (s Source) Line(number int, word string) string {
	if number < 1 || number > len(s.code) || !bytes.Contains(s.code[number-1], []byte(word)) {
		return ""
	}
	return string(inLine().ReplaceAll(s.code[number-1], []byte(`""`)))
}

// Around is the outermost function around a line.
func (s Source) Around(line int) (f Function, within bool) {
	for _, x := range s.functions {
		if x.First <= line && line <= x.Last && (!within || x.Last-x.First > f.Last-f.First) {
			f, within = x, true
		}
	}
	return f, within
}

// partsOfPython are the places of the strings of a source of Python, and those of comments and of strings that are a
// statement: outside of brackets, with nothing before them in their line.
func partsOfPython(source []byte) (comments, texts [][]int) {
	depth, last := 0, 0
	for _, at := range unread().FindAllIndex(source, -1) {
		before := source[last:at[0]] // since the string or comment before
		depth += brackets(before)
		lines := bytes.Split(before, []byte("\n"))
		n := len(lines) - 1
		statement := depth <= 0 && len(bytes.TrimSpace(lines[n])) == 0 && (n > 0 || last == 0) &&
			(n == 0 || !bytes.HasSuffix(lines[n-1], []byte("\\")))
		if source[at[0]] == '#' || statement {
			comments = append(comments, at)
		} else {
			texts = append(texts, at)
		}
		last = at[1]
	}
	return comments, texts
}

// brackets is how many brackets a text opens, less those that it closes.
func brackets(text []byte) (open int) {
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			open++
		case ')', ']', '}':
			open--
		}
	}
	return open
}

// pythonFunctions are the functions of a source with decorators, each to the next line that is indented no further.
func pythonFunctions(code [][]byte) (out []Function) {
	indents, last, first, decorated := []int{}, 0, 0, 0 // line and indent of the decorators of the next function
	for i, line := range append(code, []byte("end")) {
		text := bytes.TrimLeft(line, " \t")
		if len(bytes.TrimSpace(text)) == 0 || bytes.IndexByte([]byte(")]}"), text[0]) >= 0 {
			continue
		}
		for j, indent := range indents {
			if out[j].Last == 0 && len(line)-len(text) <= indent {
				out[j].Last = last
			}
		}
		last = i + 1
		m, indent := define().FindSubmatch(bytes.TrimPrefix(text, []byte("async "))), len(line)-len(text)
		if m != nil {
			out = append(out, Function{Name: string(m[1]), First: cmp.Or(first, last)})
			indents = append(indents, indent)
		}
		if text[0] == '@' && first == 0 {
			first, decorated = last, indent
		} else if text[0] != '@' && indent <= decorated { // else it goes on in brackets
			first = 0
		}
	}
	return out
}

var (
	inLine    = input.Pattern(strung)
	directive = input.Pattern(`(?m)^[ \t]*#(?:\\\n|.)*`)
	// attribute matches what looks like a function between the words before the name of one, or behind its parameters.
	attribute = input.Pattern(`\b(?:__\w+__|alignas|noexcept|requires|decltype|explicit)\s*` + parens)
	// head matches the name of a function, its parameters and what stands between these and the brace.
	head = input.Pattern(`(operator\s*[^\s\w(]+|[\w~]+)\s*(?:` + angles + `)?\s*(?:\(\s*\)\s*)?` + parens +
		`\s*(?:(?:const|volatile|noexcept|override|final|&&?)\s*)*(?:->[^{};]*|:[^:{};][^{};]*)?$`)
	control = input.Pattern(`^(?:if|for|while|switch|catch|return|else|do)$`)
)

// cppFunctions are the functions of C++ code outside of other functions.
func cppFunctions(code []byte) (out []Function) {
	depth, within, line := 0, 0, 1 // within is the depth of the current function, 0 for none
	start, first := 0, 1           // of the text before the next brace
	for i, c := range code {
		if len(bytes.TrimSpace(code[start:i])) == 0 {
			start, first = i, line
		}
		switch c {
		case '\n':
			line++
			continue
		case '{':
			depth++
			text := bytes.TrimSpace(attribute().ReplaceAll(code[max(start, i-maxHead):i], nil))
			if m := head().FindSubmatch(text); within == 0 && m != nil && !control().Match(m[1]) {
				out, within = append(out, Function{Name: string(m[1]), First: first}), depth
			}
		case '}':
			if depth == within && within > 0 {
				out[len(out)-1].Last, within = line, 0
			}
			depth--
		case ';':
		default:
			continue
		}
		// Braces and semicolons within parentheses are those of a default argument, or of a function that is one.
		if text := code[max(start, i-maxHead):i]; within > 0 ||
			bytes.Count(text, []byte("(")) <= bytes.Count(text, []byte(")")) {
			start, first = i+1, line
		}
	}
	if depth != 0 {
		return nil
	}
	return out
}

var (
	jit    = input.Pattern(`^@\s*((triton|tl|gluon|(numba\.)?cuda)\.)?jit\b`)
	define = input.Pattern(`^def\s+(\w+)\s*[\[(]`)
	// unread are comments and strings.
	unread = input.Pattern(`#.*|` + quotes)
	// made matches a call that makes a kernel of expressions in CuPy, whose last argument but options is its name.
	made = input.Pattern(`\b(?:Elementwise|Reduction)Kernel\s*\((?:` + quotes + `|[^()"'])*(?:,|\bname\s*=)\s*` +
		`["']([A-Za-z_]\w*)["']\s*(?:,(?:\s*\w+\s*=[^)]*)?\s*)?\)`)
	// A kernel of Pallas has the name of the function given to pallas_call.
	pallas = input.Pattern(`\bpallas_call\(\s*(?:(?:functools\.)?partial\(\s*)?(\w+)\s*[,)]`)
)

// python reports the kernels of a Python source: functions under @triton.jit, @cuda.jit or a bare @jit, also with other
// decorators between, functions given to pallas_call, those of CUDA in strings (CuPy's RawKernel), and those that CuPy
// makes of an expression.
func python(source []byte, report func(name string, at place)) {
	has := func(word string) bool { return bytes.Contains(source, []byte(word)) }
	jitted, makes := has("jit") && (has("triton") || has("cuda")), has("ElementwiseKernel") || has("ReductionKernel")
	if !jitted && !makes && !has("pallas_call") && !has("__global__") {
		return
	}
	comments, texts := partsOfPython(source)
	inStrings(source, comments, texts, report)
	for _, at := range made().FindAllSubmatchIndex(blank(source, comments), -1) {
		report(string(source[at[2]:at[3]]),
			place{line: 1 + bytes.Count(source[:at[2]], []byte("\n")), defined: true, opens: anySpace})
	}
	code := blank(source, comments, texts)
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
				report(string(m[1]), place{line: i + 1, defined: true, opens: anySpace})
				decorated = false
			default:
				decorated = false
			}
		}
		depth = max(depth+brackets(text), 0)
	}
}
