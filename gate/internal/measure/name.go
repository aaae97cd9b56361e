package measure

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/ianlancetaylor/demangle"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// A part of a name is taken out where it changes although the source of the kernel does not: from build to build, from
// checkout to checkout, with the release of the toolkit, or with the order in which a program makes its kernels. What
// tells two kernels of one program apart stays, even a number that a later build may give to another kernel, because
// two kernels under one name are worse than one kernel under two: [StemName] brings the latter together.

// rule takes one such part out.
type rule struct {
	has     string                // text that a name must contain for the pattern to be tried
	pattern func() *regexp.Regexp // compiled where one does, which hardly any name of a program asks for
	to      string
}

func newRule(has, pattern, to string) rule { return rule{has, input.Pattern(pattern), to} }

// suffixes stand behind a name, and keep it from being demangled. PTX knows no "." and writes "__" or "_$_" for it.
var suffixes = []rule{
	// LLVM: hashes over a module and over its path.
	newRule("llvm", `(?:\.|_\$_)llvm(?:\.|_\$_)[0-9]+`, ""),
	newRule("__uniq", `(?:\.|_\$_)__uniq(?:\.|_\$_)[0-9]+`, ""),
	// clang: a hash over the path and the options of a file, behind what is static in it.
	newRule("intern", `(?:\.|__)intern(?:\.|__)[0-9a-f]{8,}$`, ""),
	newRule("static", `(?:\.|__)static(?:\.|__)[0-9a-f]{8,}$`, ""),
	// Taichi: a module in its cache.
	newRule("_kernel_", `(_c[0-9]+_[0-9]+_kernel_[0-9]+_\w*)T[0-9a-f]{64}_[0-9]+$`, "$1"),
}

const anonymous = "(anonymous namespace)"

var unstable = []rule{
	// nvcc's anonymous namespaces hold a hash, some the compiler's process id:
	// _GLOBAL__N__d8ceb000_21_file_cu_1a2b3c4d_4711 and
	// _GLOBAL__N__58_tmpxft_00003916_00000000_9_file_cpp1_ii_71482d89. A digit may stand before them.
	newRule("_GLOBAL__N_", `\b_GLOBAL__N_\w*`, anonymous),
	// nvcc's namespace around what is local to a file: _INTERNAL_e301b184_12_file_cu_1e3911aa. No source has it.
	newRule("_INTERNAL_", `\b_INTERNAL_(?:[0-9a-f]{8}_)?[0-9]+_\w+::`, ""),
	newRule("<unnamed>", `<unnamed>`, anonymous),
	newRule("{anonymous}", `\{anonymous\}`, anonymous),
	newRule("_NV_ANON_NAMESPACE", `\b_NV_ANON_NAMESPACE\b`, anonymous),
	newRule("`anonymous", "`anonymous[ -]namespace'", anonymous),
	// The release and the architectures of CUB and Thrust: cub::CUB_200802_SM_900::, thrust::THRUST_200700_900_NS::.
	newRule("CUB_", `\bCUB_[0-9]{6}(?:_\w*)?::`, ""),
	newRule("THRUST_", `\bTHRUST_[0-9]{6}(?:_\w*)?::`, ""),
	// The version of the ABI of libcu++ and libc++: cuda::std::__4::plus.
	newRule("::__", `\b((?:cuda|std)::(?:[a-z]\w*::)*)__[0-9]+::`, "$1"),
	// Numba tags a kernel with the number of functions before it and its flags: f[abi:v1,cw51cXTLSUwv1sCUt9Uw…].
	newRule("[abi:", `\[abi:[^\]]*\]`, ""),
	// Nsight Compute leaves out "abi:".
	newRule("[v", `\[v[0-9]+(?:,\w+)*\]`, ""),
	// Before it had tags, the number came after the code of "$": f$241 is the first function.
	newRule("$24", `^(cudapy::[^(]*)\$24[0-9]+(\(|$)`, "$1$2"),
	// Julia numbers compiled code, from some hundreds on: julia_kernel_1234. (Others draw Julia sets, and count from
	// 1.)
	newRule("julia_", `^(julia_[^(]*_)[0-9]{3,}(\(|$)`, "$1#$2"),
	// The device and inode of the source file: __omp_offloading_10303_4e2ec6_main_l21.
	newRule("__omp_offloading_", `^__omp_offloading_[0-9a-f]+_[0-9a-f]+_`, "__omp_offloading_#_#_"),
	// A hash over a crate with its dependencies.
	newRule("::h", `::h[0-9a-f]{16}$`, ""),
	newRule(" [clone .", ` \[clone \.(?:llvm|__uniq)\.[0-9]+\]`, ""),
	// The address of a Python object, out of its repr.
	newRule("0x", `(_at_|\bat )0x[0-9a-fA-F]{6,16}`, "$1#"),
}

const (
	// longestMangled is the largest length of a name to demangle, in bytes; the time goes with its square.
	longestMangled = 8 << 10
	// mostExpansions is the largest number of pack expansions of a name that is demangled: the time of nested ones is
	// exponential in their number, and 13 in 165 bytes take too long.
	mostExpansions = 8
	// longestDemangled bounds the length of a demangled name, as a power of two.
	longestDemangled = 17
	// passes is how often the rules are applied: twice to see that nothing is left, and some more for names that hold
	// another name. None that a compiler writes needs them all.
	passes = 5
)

// NormalizeName turns a profiler's kernel name into the form that compares equal across builds: demangled, what changes
// from build to build taken out, white space collapsed, control characters and invalid UTF-8 replaced by U+FFFD. It
// changes nothing about a normalised name. Names of one kernel may differ; the [ShortName] is the same.
func NormalizeName(raw string) string { return new(Normalizer).Name(raw) }

// Cut gives a name that is longer than any name of a subject a hash in place of its end.
func Cut(name string) string {
	const longestName = 16 << 10 // bounds the name of a subject in bytes: reports and comparisons take time with it
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "… " + hex.EncodeToString(sum[:8])
	return strings.ToValidUTF8(name[:longestName-len(end)], "") + end
}

// Normalizer normalises the names of one file, and sums what it costs to demangle them.
type Normalizer struct {
	// Cost is the sum of the squares of the lengths, in bytes, of the names that were demangled; one takes up to 10 ns.
	Cost int
	// Mangled is the number of names that stayed as they were because demangling them could take too long.
	Mangled int
}

// Name is [NormalizeName].
func (n *Normalizer) Name(raw string) string {
	name := printable(raw)
	for range passes {
		next := opened(n.demangled(apply(suffixes, withoutFile(name))))
		next = printable(apply(unstable, next))
		if next == name || next == "" {
			next = Cut(name)
			if next == name {
				return name
			}
		}
		name = next
	}
	// Only a name made to do so unfolds for ever.
	sum := sha256.Sum256([]byte(raw))
	return "(unreadable name " + hex.EncodeToString(sum[:8]) + ")"
}

func apply(rules []rule, name string) string {
	for _, r := range rules {
		if strings.Contains(name, r.has) {
			name = r.pattern().ReplaceAllString(name, r.to)
		}
	}
	return name
}

// printable collapses white space and replaces characters that must not stand in a report.
func printable(s string) string {
	return NormalizeControl(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
}

// demangled is the name in C++ or Rust notation; a name that is not mangled, or costs too much, comes back as it is.
func (n *Normalizer) demangled(name string) (out string) {
	if !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") {
		return name
	}
	// "sp" is an expansion in an expression, and a part of some words: names with so many words stay mangled as well.
	if len(name) > longestMangled || strings.Count(name, "Dp")+strings.Count(name, "sp") > mostExpansions {
		n.Mangled++
		return name
	}
	n.Cost += len(name) * len(name)
	defer func() {
		if recover() != nil { // the library's fault, and no reason to give no verdict
			out = name
		}
	}()
	// A name cut off at the limit could be the beginning of several kernels' names.
	if long := demangle.Filter(name, demangle.MaxLength(longestDemangled)); len(long) < 1<<longestDemangled {
		return long
	}
	return name
}

// withoutFile cuts the prefix of nvcc from a static name in a file compiled for linking. For
// __nv_static_21__9_f_cpp1_ii_7126c51d__Z1gv the name is _Z1gv, and 21 the length of the text between.
func withoutFile(name string) string {
	rest, ok := strings.CutPrefix(name, "__nv_static_")
	if !ok {
		return name
	}
	digits, rest, _ := strings.Cut(rest, "_")
	n, err := strconv.Atoi(digits)
	if err != nil || n <= 0 || n+1 >= len(rest) || rest[n] != '_' {
		return name
	}
	return rest[n+1:]
}

// opened restores a name that lost "at::native::<", taken as the beginning of a template: void unnamed>::f<unnamed>::A,
// 8>(int). There, the "<" behind a word is that of its template.
func opened(name string) string {
	if !strings.Contains(name, "unnamed>::") || !lostNamespace().MatchString(name) {
		return name
	}
	return unnamed().ReplaceAllString(name, anonymous+"::")
}

var (
	lostNamespace = input.Pattern(`(?:^|[ ,(*&])unnamed>::`)
	unnamed       = input.Pattern(`(?:\B<)?\bunnamed>::`)
)

// NormalizeRange is [NormalizeName] for NVTX text: numbers that count occurrences are taken out, so that
// "ProfilerStep#12" and "aten::mm, seq = 73" each belong to one range.
func NormalizeRange(raw string) string {
	return counters().ReplaceAllString(numbers().ReplaceAllString(NormalizeLine(raw), "#"), "$1#")
}

var numbers = input.Pattern(`#[0-9]+\b`)

var counters = input.Pattern(`(\b(?:seq|op_id|step|iteration|iter|batch|epoch)(?: = | ?[:=_#-] ?| ))[0-9]+\b`)

// NormalizeLine is [NormalizeControl] and [Cut] for text of one line: white space is collapsed.
func NormalizeLine(s string) string {
	return Cut(strings.Join(strings.Fields(NormalizeControl(s)), " "))
}

// NormalizeControl replaces control characters, those that turn the direction of writing, and invalid UTF-8, which no
// name may carry into a report. Tab, line feed and carriage return stay.
func NormalizeControl(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return r
		case unicode.IsControl(r), r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// ShortName is the base name of a demangled kernel name: without return type, namespaces, template arguments and
// parameters. Nsight Systems calls it the short name and Nsight Compute the function. Names that are not C++
// (Triton, cuBLAS, JAX) come back as they are.
func ShortName(name string) string {
	var base []byte // of the component that was reached
	var open []byte // the "<" and "(" around the place that was reached
	for i := 0; i < len(name); i++ {
		c, rest, outside := name[i], name[i:], len(open) == 0
		if symbol := operatorSymbol(rest); symbol != "" && (i == 0 || !isWord(name[i-1])) {
			if outside {
				base = append(base, strings.ReplaceAll(symbol, " ", "")...)
			}
			i += len(symbol) - 1
			continue
		}
		switch c {
		case '(':
			if outside && strings.HasPrefix(rest, anonymous) {
				base = base[:0]
				i += len(anonymous) - 1
				continue
			}
			if outside && string(base) != "decltype" && !strings.HasSuffix(name[:i], "decltype ") {
				return cmp.Or(string(base), name) // the parameters
			}
			open = append(open, c)
		case '<':
			open = append(open, c)
		default:
			switch {
			case !outside && c == ')':
				open = open[:max(0, bytes.LastIndexByte(open, '('))] // and each "<" in it, a comparison
			// in parentheses it is a comparison, too
			case !outside && c == '>' && open[len(open)-1] == '<' && name[i-1] != '-':
				open = open[:len(open)-1]
			case !outside:
			case c == '>' && !strings.HasSuffix(name[:i], "-"): // closes what lost its beginning
				base = base[:0]
			case strings.HasPrefix(rest, " [clone "):
				return cmp.Or(string(base), name)
			case c == ' ' && !strings.HasPrefix(rest, " <"): // operator<< <int>
				base = base[:0]
			case strings.HasPrefix(rest, "::<"): // Rust's template arguments
				i++
			case strings.HasPrefix(rest, "::"):
				base = base[:0]
				i++
			case c != ' ':
				base = append(base, c)
			}
		}
	}
	return cmp.Or(string(base), name)
}

// operatorSymbol is the operator that s begins with, "operator()" or "operator<<", where its name holds a bracket.
func operatorSymbol(s string) string {
	symbol, ok := strings.CutPrefix(s, "operator")
	if !ok {
		return ""
	}
	for _, o := range []string{" ()", "()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>", "<=", ">=", "<", ">"} {
		if strings.HasPrefix(symbol, o) {
			return s[:len("operator")+len(o)]
		}
	}
	return ""
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// StemName is the short name without what a code generator tells its kernels apart by: counters, hashes, source lines,
// and Triton's specialisations. These move when other code changes, so that a kernel of one build and that of another
// with the same stem may be the same kernel; within one build the stem is shared by several.
func StemName(name string) string {
	short := ShortName(name)
	stem := apply(generated, short)
	return Either(strings.Trim(stem, "_") == "", short, stem)
}

var generated = []rule{
	// Triton before 3.0 ends a name with the arguments that it specialised for: add_kernel_0d1d2d3de.
	newRule("_0", `_0(?:[0-9]*[cde]+)+[0-9]*$`, ""),
	// Inductor can be told to end names with a hash: triton_poi_fused_add_1_cemi5yor….
	newRule("_c", `_c[a-z2-7]{51}$`, ""),
	// Warp puts a hash of the source into them: integrate_1b6d14b0_cuda_kernel_forward.
	newRule("_cuda_kernel_", `_[0-9a-f]{8}(_cuda_kernel_(?:forward|backward))$`, "$1"),
	// Taichi a counter: update_c78_0_kernel_0_range_for.
	newRule("_kernel_", `_c[0-9]+_[0-9]+(_kernel_[0-9]+_[a-z_]+)$`, "$1"),
	// The lines of OpenMP and OpenACC regions: nvkernel_main_F1L88_2, main_12_gpu, __omp_offloading_#_#_main_l21.
	newRule("nvkernel_", `^(nvkernel_.*)_F[0-9]+L[0-9]+(?:_[0-9]+)?$`, "$1"),
	newRule("_gpu", `_[0-9]+(_gpu(?:__red)?)$`, "$1"),
	newRule("__omp_offloading_", `_l[0-9]+(?:_[0-9]+)?$`, ""),
	// nvFuser: nvfuser_pointwise_f0_c1_r0_g0.
	newRule("nvfuser_", `(?:_[fcrg][0-9]+)+$`, ""),
	// Inductor, XLA and TorchScript count: triton_poi_fused_add_0, loop_add_fusion.3, fused_mul_12152488584593855096.
	newRule("", `(?:[._][0-9]+)+$`, ""),
}

// Quote is text of others as it may stand in a message: in quotation marks, not too long, without control characters.
func Quote(text string) string {
	const longest = 80
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return strconv.Quote(NormalizeControl(text))
}
