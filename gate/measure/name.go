package measure

import (
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Parts of names that differ from build to build although the kernel is the same.
var unstable = []struct {
	pattern *regexp.Regexp
	to      string
}{
	// nvcc's names for anonymous namespaces: _GLOBAL__N__d8ceb000_21_file_cu_1a2b3c4d (and _INTERNAL_…).
	{regexp.MustCompile(`_(GLOBAL__N_|INTERNAL)_+[0-9a-f]{8,}_[0-9]+_\w+`), "(anonymous namespace)"},
	{regexp.MustCompile(`_GLOBAL__N_[A-Za-z0-9_]*`), "(anonymous namespace)"},
	{regexp.MustCompile(`<unnamed>|\{anonymous\}`), "(anonymous namespace)"},
	// numba's ABI tags: f[abi:v1,cw51cXTLSUwv1sCUt9Uw…].
	{regexp.MustCompile(`\[abi:[^\]]*\]`), ""},
	{regexp.MustCompile(`\s+`), " "},
}

// NormalizeName turns a profiler's kernel name into the form that compares equal across builds and tools: demangled,
// white space collapsed, per-build hashes replaced, control characters and invalid UTF-8 replaced by U+FFFD.
func NormalizeName(raw string) string {
	name := strings.ToValidUTF8(raw, "\uFFFD")
	if strings.HasPrefix(name, "_Z") {
		name = demangle.Filter(name)
	}
	for _, u := range unstable {
		name = u.pattern.ReplaceAllString(name, u.to)
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, name)
	return strings.TrimSpace(name)
}

// NormalizeRange is [NormalizeName] for NVTX text: numbers that count occurrences are taken out, so that
// "ProfilerStep#12" and "aten::mm, seq = 73" each belong to one range.
func NormalizeRange(raw string) string {
	name := strings.Join(strings.Fields(NormalizeControl(raw)), " ")
	return counters.ReplaceAllString(numbers.ReplaceAllString(name, "#"), "$1#")
}

var numbers = regexp.MustCompile(`#[0-9]+\b`)

var counters = regexp.MustCompile(`(\b(?:seq|op_id|step|iteration|iter|batch|epoch)(?: = | ?[:=_#-] ?| ))[0-9]+\b`)

// NormalizeControl replaces control characters and invalid UTF-8, which no name may carry into a report.
func NormalizeControl(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// ShortName is the base name of a demangled kernel name: without return type, namespaces, template arguments and
// parameters. Names that are not C++ (Triton, cuBLAS, JAX) come back as they are.
func ShortName(name string) string {
	depth, end := 0, len(name)
	// The parameters start at the first parenthesis outside template arguments that does not open "(anonymous
	// namespace)" or belong to "operator()".
scan:
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			depth++
		case '>':
			if depth > 0 {
				depth--
			}
		case '(':
			if depth > 0 {
				continue
			}
			const anonymous = "(anonymous namespace)"
			if strings.HasPrefix(name[i:], anonymous) {
				i += len(anonymous) - 1
				continue
			}
			if strings.HasSuffix(name[:i], "operator") {
				i++
				continue
			}
			end = i
			break scan
		}
	}
	head := name[:end]
	// Cut the template arguments of the last component, then everything before it.
	depth = 0
	var base strings.Builder
	for i := 0; i < len(head); i++ {
		switch c := head[i]; {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth > 0:
		case c == ' ' || c == ':' && i+1 < len(head) && head[i+1] == ':':
			base.Reset()
			if c == ':' {
				i++
			}
		default:
			base.WriteByte(c)
		}
	}
	if base.Len() == 0 {
		return name
	}
	return base.String()
}
