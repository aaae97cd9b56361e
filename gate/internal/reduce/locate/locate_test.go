package locate

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestLocate(t *testing.T) {
	for _, c := range []struct {
		name, kernel string
		files        map[string]string
		want         string // file:line, "" for not found
	}{
		{"plain", "k", map[string]string{"a.cu": "// x\n__global__ void k(float* p) {\n}"}, "a.cu:2"},
		{"many lines", "k", map[string]string{"a/b.cuh": `
template <typename T, int N = (1 > 0)>
__global__ void
__launch_bounds__(256, 2) __cluster_dims__(2, 1, 1)
k(const T* __restrict__ in,
  T* out = nullptr, void (*f)(int) = 0)
{`}, "a/b.cuh:5"},
		{"attribute before", "k", map[string]string{"a.cu": "static __launch_bounds__(128) void __global__ k() {}"},
			"a.cu:1"},
		{"extern C", "k", map[string]string{"a.cu": `extern "C" __global__ void k(int a) { }`}, "a.cu:1"},
		{"conditional bounds", "k",
			map[string]string{"a.cu": "__global__ void\n#ifdef X\n__launch_bounds__(64)\n#endif\nk() {}"}, "a.cu:5"},
		{"template return type", "k",
			map[string]string{"a.cu": "__global__ std::enable_if_t<is<int>(), void> k(int) {}"}, "a.cu:1"},
		{"specialisation", "k", map[string]string{"a.cu": "template <> __global__ void k<float>(int) {}"}, "a.cu:1"},
		{"definition before declarations", "k",
			map[string]string{"a.h": "__global__ void k(int);", "b.h": "__global__ void k(int);",
				"z.cu": "\n\n__global__ void k(int) {}"}, "z.cu:3"},
		{"only a declaration", "k", map[string]string{"a.h": "__global__ void k(int);"}, "a.h:1"},
		{"two definitions", "k", map[string]string{"a.cu": "__global__ void k() {}", "b.cu": "__global__ void k() {}"},
			""},
		{"two declarations", "k", map[string]string{"a.h": "__global__ void k();", "b.h": "__global__ void k();"}, ""},
		{"another name", "k", map[string]string{"a.cu": "__global__ void k2() {} __global__ void kk() {}"}, ""},
		{"second on a line", "k",
			map[string]string{"a.cu": "__global__ void a() {}\n__global__ void b(){} __global__ void k(){}"}, "a.cu:2"},
		{"in comments", "k",
			map[string]string{"a.cu": "// __global__ void k() {}\n/* __global__\nvoid k() {} */ char c = '\"'; " +
				"//\n__global__ void k() {} // k"}, "a.cu:4"},
		{"in strings", "k",
			map[string]string{"a.cpp": "auto s = \"__global__ void k() \\\"{}\\\" \";\nauto r =" +
				" R\"x(\n__global__ void " +
				"k();\n)x\"; int n = 1'000;\n__global__ void k() {}"}, "a.cpp:5"},
		{"in a macro's name", "k", map[string]string{"a.cu": "my__global__ void k() {}"}, ""},
		{"a host function", "k", map[string]string{"a.cu": "void k() {} __global__ void other() { k(); }"}, ""},
		{"unfinished", "k", map[string]string{"a.cu": "__global__ void k(", "b.cu": "__global__",
			"c.cu": "/* \" ' R\"(", "d.cu": "__global__ <"}, ""},
		{"of a library's namespace", "void at::native::k", map[string]string{
			"a.cu": "__global__ void k() {}",
			"b.cu": "namespace at { namespace mine { __global__ void k() {} } }"}, ""},
		{"of two namespaces", "void a::(anonymous namespace)::b::k<int>", map[string]string{
			"a.cu": "namespace a::b { __global__ void k() {} }",
			"b.cu": "namespace c { __global__ void k() {} }"}, "a.cu:1"},
		{"behind a macro", "v1::k",
			map[string]string{"a.cu": "LIB_NAMESPACE_BEGIN\n__global__ void k() {}"}, "a.cu:2"},
		{"of numba, with its module", "cudapy::app::k",
			map[string]string{"a.py": "from numba import cuda\n@cuda.jit\ndef k(x): pass"}, "a.py:3"},
		{"hip", "k", map[string]string{"a.hip": "__global__ void k() {}"}, "a.hip:1"},
		{"not a source", "k", map[string]string{"a.txt": "__global__ void k() {}", "a.md": "__global__ void k() {}"},
			""},
		{"not ours", "k", map[string]string{"third_party/a.cu": "__global__ void k() {}",
			".git/a.cu": "__global__ void k() {}", "x/node_modules/a.cu": "__global__ void k() {}",
			"build/a.cu": "__global__ void k() {}", "cmake-build-debug/a.cu": "__global__ void k() {}",
			"src/a.cu": "__global__ void k() {}"}, "src/a.cu:1"},
		{"too large", "k", map[string]string{"a.cu": "__global__ void k() {}" + strings.Repeat(" ", maxFileSize)}, ""},

		{"triton", "k", map[string]string{"a.py": `import triton
@triton.autotune(
    configs=[triton.Config({"B": 1})],  # )
    key=["n"],
)
@triton.jit
def k(x, n):
    pass
`}, "a.py:7"},
		{"triton, jit first", "k",
			map[string]string{"a.py": "import triton\n@triton.jit\n# why\n@other(\n  1)\n\ndef k(x): pass"}, "a.py:7"},
		{"triton variant", "k_0d1d2de3c", map[string]string{"a.py": "import triton\n@triton.jit\ndef k(x): pass"},
			"a.py:3"},
		{"numba", "k$12", map[string]string{"a.py": "from numba import cuda\n@cuda.jit(fastmath=True)\ndef k(x): pass"},
			"a.py:3"},
		{"bare jit", "k", map[string]string{"a.py": "from triton import jit\n@jit\ndef k(x): pass"}, "a.py:3"},
		{"pallas", "k",
			map[string]string{"a.py": "from jax.experimental import pallas as pl\ndef k(x, o): pass\nf = " +
				"pl.pallas_call(k, out_shape=s)"}, "a.py:2"},
		{"pallas, partial", "k",
			map[string]string{"a.py": "from jax.experimental import pallas as pl\ndef k(x, o):\n  pass\ndef g(x):\n " +
				" return pl.pallas_call(\n    functools.partial(k, n=1), grid=4)"}, "a.py:2"},
		{"pallas, not the kernel", "g",
			map[string]string{"a.py": "from jax.experimental import pallas as pl\ndef k(x, o): pass\ndef g(x): " +
				"return pl.pallas_call(k)"}, ""},
		{"only called k", "k",
			map[string]string{"a.py": "import triton\n@triton.jit\ndef other(x): pass\ndef k(x): pass"}, ""},
		{"other decorator", "k", map[string]string{"a.py": "import triton, jax\n@jax.jit\ndef k(x): pass"}, ""},
		{"method", "k", map[string]string{"a.py": "import triton\nclass A:\n    @triton.jit\n    def k(x): pass"},
			"a.py:4"},
		{"in a docstring", "k",
			map[string]string{"a.py": "import triton\n\"\"\"\n@triton.jit\ndef k(x): " +
				"pass\n\"\"\"\n'''(\n'''\n@triton.jit\ndef k(x): pass"}, "a.py:9"},
		{"unfinished string", "k", map[string]string{"a.py": "import triton.jit\n'''"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := make(fstest.MapFS)
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			short, _, _ := strings.Cut(c.kernel[strings.LastIndex(c.kernel, ":")+1:], "<")
			file, line, ok := Kernels(root, nil)(short, c.kernel)
			got := ""
			if ok {
				got = fmt.Sprintf("%s:%d", file, line)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLocateLeavesAlone(t *testing.T) {
	source := &fstest.MapFile{Data: []byte("__global__ void k() {}")}
	link := &fstest.MapFile{Data: source.Data, Mode: fs.ModeSymlink}
	if file, _, ok := Kernels(fstest.MapFS{"a.cu": link, "b.cu": source}, nil)("k", "k"); !ok || file != "b.cu" {
		t.Errorf("followed a link: %q", file)
	}
	large := fstest.MapFS{"a.cu": source}
	for i := range maxFiles {
		large[fmt.Sprintf("f%d.h", i)] = &fstest.MapFile{}
	}
	if _, _, ok := Kernels(large, nil)("k", "k"); ok {
		t.Error("found exactly one in a part of the repository")
	}
}

// No source makes the search fail, and what it finds lies in the file.
func FuzzFind(f *testing.F) {
	f.Add("__global__ void k(int) {}\n// R\"( '")
	f.Add("import triton\n@triton.jit\ndef k(x): '''")
	f.Add("R\"a(\"\\\n__global__ __launch_bounds__((1)<2>")
	f.Fuzz(func(t *testing.T, text string) {
		found := find(fstest.MapFS{"a.cu": {Data: []byte(text)}, "a.py": {Data: []byte(text)}})
		for name, places := range found {
			for _, p := range places {
				lines := strings.Split(text, "\n")
				if p.line < 1 || p.line > len(lines) || !strings.Contains(lines[p.line-1], name) {
					t.Errorf("%q is not on line %d", name, p.line)
				}
			}
		}
	})
}

// A kernel is defined where its namespaces are open, not elsewhere in a file that opens them.
func TestNamespaces(t *testing.T) {
	const two = "namespace a {\n__global__ void k() {\n}\n}\nnamespace b {\n__global__ void k() {\n}\n}\n"
	for _, c := range []struct{ name, file, text, whole, want string }{
		{"inside, and the kernel has none", "a.cu", "namespace a {\n__global__ void k(int) {\n}\n}", "k(int)", ""},
		{"inside, and the profile names none", "a.cu", "namespace a {\n__global__ void k(int) {\n}\n}", "k", "a.cu:2"},
		{"behind, and the kernel has it", "a.cu", "namespace a {\n}\n__global__ void k() {\n}", "a::k()", ""},
		{"behind", "a.cu", "namespace a {\n}\n__global__ void k() {\n}", "k()", "a.cu:3"},
		{"by a qualified name", "a.cu", "namespace a {\n__global__ void k();\n}\n__global__ void a::k() {\n}", "a::k()",
			"a.cu:4"},
		{"the first", "a.cu", two, "a::k()", "a.cu:2"},
		{"the second", "a.cu", two, "void b::k()", "a.cu:6"},
		{"a part of a name", "a.cu", "namespace ab {\n__global__ void k() {\n}\n}", "a::k()", ""},
		{"of C", "a.cu", "namespace a {\nextern \"C\" __global__ void k() {\n}\n}", "k()", "a.cu:2"},
		{"block of C", "a.cu", "namespace a {\nextern \"C\" {\n__global__ void k() {\n}\n}\n}", "k()", "a.cu:3"},
		{"brackets in branches", "a.cu", "namespace a {\n#if X\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\n}\n" +
			"__global__ void k() {\n}\n", "a::k()", "a.cu:9"},
		{"in a comment of Python", "a.py", "import cupy\n# __global__ void k() {}\n", "k()", ""},
	} {
		root := fstest.MapFS{c.file: {Data: []byte(c.text)}}
		file, line, ok := Kernels(root, nil)("k", c.whole)
		if got := fmt.Sprintf("%s:%d", file, line); ok && got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %s %v, want %q", c.name, got, ok, c.want)
		}
	}
}

// TestGlobals: words without an end behind many __global__ are read once, and a kernel with two of them is one.
func TestGlobals(t *testing.T) {
	start := time.Now()
	find(fstest.MapFS{"a.cu": {Data: bytes.Repeat([]byte("__global__ void\n\n"), 30_000)}})
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("0.5 MB took %v", took)
	}
	source := "#ifdef X\n__global__ void\n#else\n__global__ void\n#endif\nk(int a) {}\n"
	if at := find(fstest.MapFS{"a.cu": {Data: []byte(source)}})["k"]; len(at) != 1 || at[0].line != 6 {
		t.Errorf("%+v", at)
	}
}
