package locate

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// Sources as programs have them, and the line of each kernel by the name that a profile gives; "" where none is named.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             map[string]string
	}{
		{"overloads", "a.cu", "__global__ void k(float *x, int n) {}\n__global__ void k(double *x, int n) {}\n" +
			"__global__ void k(float *x) {}\n", map[string]string{"k(float *, int)": "1", "k(double *, int)": "2",
			"k(float *)": "3", "k(half *)": "", "k": "", "k(int *, int)": ""}},
		{"one of another signature", "a.cu", "__global__ void k(float *x, int n) {}\n", map[string]string{
			"k(float *)": "", "k(double *, int)": "", "k(const float *, unsigned int)": "", "k(T1 *, int)": "1",
			"k": "1", "k(float *, int)": "1", "void k<float>(float *, int)": ""}},
		{"parameters that are not known", "a.cu", "__global__ void k(real *__restrict__ x, uint32_t n = {}, " +
			"const float3 a[2] = nullptr) {}\n__global__ void j(ARGS) {}\n__global__ void i(\n#ifdef A\n  int a,\n" +
			"#endif\n  int b) {}\ntemplate <class... A>\n__global__ void h(A... a) {}\n", map[string]string{
			"k(double *, unsigned int, float3 const *)": "1", "j(int, int)": "2", "i(int, int)": "3",
			"void h<int, int>(int, int)": "9", "void h<int, int>(T1, T2...)": "9"}},
		{"a template and a function", "a.cu", "template <typename T>\n__global__ void k(T *x) {}\n" +
			"__global__ void k(float *x) {}\n", map[string]string{"void k<float>(float *)": "2", "k(float *)": "3",
			"void k<double>(T1 *)": "2", "void k<float>(T1 *)": "2"}},
		{"specialisations", "a.cu", "template <typename T, int N>\n__global__ void k(T *x) {}\ntemplate <>\n" +
			"__global__ void k<float, 4>(float *x) {}\ntemplate <> __global__ void k<half, 4>(half *x) {}\n",
			map[string]string{"void k<float, (int)4>(T1 *)": "4", "void k<float, 4>(float *)": "4",
				"void k<double, (int)4>(T1 *)": "2", "void k<float, (int)8>(T1 *)": "2",
				"void k<__half, (int)4>(T1 *)":   "5",
				"void k<float, (int)4>(float *)": "4"}},
		{"a specialisation, its template elsewhere", "a.cu", "template <> __global__ void k<float>(float *x) {}\n",
			map[string]string{"void k<float>(T1 *)": "1", "void k<double>(T1 *)": ""}},
		{"behind includes", "a.cu", "#include <a/template.h>\n#define N 4\n__global__ void k(uchar4 *x, ulong2 y) {}\n",
			map[string]string{"k(uchar4 *, ulong2)": "3", "k(char4 *, ulong2)": "", "k(uchar4 *, long2)": ""}},
		{"behind macros", "a.cu", "TEMPLATE_OF_T __global__ void k(T *x) {}\n__global__ void j(PARAM(int, n)) {}\n" +
			"__global__ void i(float *RESTRICT x, GRID_CONSTANT const ns::Params p) {}\n", map[string]string{
			"void k<float>(T1 *)": "1", "j(int)": "2", "i(float *, ns::Params)": "3", "i(float *)": ""}},
		{"instances", "a.cu", "template <class T>\n__global__ void k(T x) {}\ntemplate __global__ void k<int>(int);\n",
			map[string]string{"void k<int>(T1)": "2", "void k<float>(T1)": "2"}},
		{"arguments with commas and braces", "a.cu", "__global__ void k(std::array<int, 2> a, dim3 d = {1, 1, 1}, " +
			"int n = f(1, 2)) {\n}\n__global__ void k(int n) {}\n",
			map[string]string{"k(std::array<int, 2ul>, dim3, int)": "1", "k(int)": "3"}},
		{"pointers and the order of words", "a.cu", "__global__ void k(unsigned long long n, int const *const *p, " +
			"void (*f)(int, int)) {}\n__global__ void k(long n, const float x[], char unsigned c) {}\n",
			map[string]string{"k(unsigned long long, const int *const *, void (*)(int, int))": "1",
				"k(long, float const *, unsigned char)": "2"}},
		{"what stands beside a type", "a.cu", "__global__ void k([[maybe_unused]] int n, float *x, int half, " +
			"int d =\n    4) {}\n__global__ void k(float half, half *x) {}\n", map[string]string{
			"k(int, float *, int, int)": "1", "k(float, __half *)": "3", "k(float, float *)": ""}},
		{"templates by auto", "a.cu", "__global__ void k(auto *x, int n) {}\n", map[string]string{
			"void k<float>(T1 *, int)": "1", "void k<float>(T1 *, float)": ""}},
		{"a specialisation of fewer arguments", "a.cu", "template <class T, int N = 4>\n__global__ void k(T *x) " +
			"{}\ntemplate <> __global__ void k<float>(float *x) {}\n", map[string]string{
			"void k<float, (int)8>(T1 *)": "", "void k<double, (int)8>(T1 *)": "2"}},
		{"no parameters", "a.cu", "__global__ void k(void) {}\n__global__ void k(int) {}\n", map[string]string{
			"k()": "1", "k(int)": "2"}},
		{"of C, by its bare name", "a.cu", "extern \"C\" __global__ void k(int *x, int n) {}\n",
			map[string]string{"k": "1"}},

		{"a raw string", "a.cpp", "const char *src = R\"(\nextern \"C\" __global__ void k(float *x, char c = '\"') {" +
			"\n}\n)\";\nauto p = R\"src(__global__ void j() {})src\";\n", map[string]string{"k": "2", "j": "5"}},
		{"a string of many lines", "a.cpp", "const char *src = \"   \\n\\\nextern \\\"C\\\" __global__  \\n\\\n" +
			"void k(float *x)  \\n\\\n{ \\n\\\n}\\n\";\nauto two = \"__global__ \"  // one\n  \"void j(int n) {\"\n  " +
			"\"}\";\n", map[string]string{"k": "3", "j": "7"}},
		{"texts about kernels", "a.cpp", "// \"__global__ void k() {}\"\nauto a = \"a __global__ k() of\", b" +
			" = \"{ \";" +
			"\n" +
			"auto c = \"__global__ void j();\";\nauto d = \"__global__ void \" + name + \"i() {\";\n",
			map[string]string{"k": "", "j": "", "i": ""}},
		{"one in code and one in a string", "a.cu", "__global__ void k() {}\nauto s = \"__global__ void k() {}\";\n",
			map[string]string{"k": "", "k()": ""}},

		{"RawKernel in one line", "a.py", "import cupy\nk = cupy.RawKernel('extern \"C\" __global__ void" +
			" k(int n) {}'," +
			" 'k')\nj = cupy.RawKernel(r\"\"\"extern \"C\" __global__\nvoid j(float* x) { }\"\"\", \"j\")\n",
			map[string]string{"k": "2", "j": "4"}},
		{"RawModule", "a.py", "code = r'''\n// it's one\ntemplate<typename T>\n__global__ void k(T* x) {\n  if (x[0] " +
			"> 'a') {}\n}\n'''\nm = cupy.RawModule(code=code, name_expressions=['k<float>'])\n",
			map[string]string{"void k<float>(T1 *)": "4"}},
		{"strings in brackets", "a.py", "src = (\n    'extern \"C\" __global__ '  # first\n    'void k(int n) {\\n'\n" +
			"    '}\\n'\n    '\\n__global__ void j() {}'\n)\n", map[string]string{"k": "3", "j": "5"}},
		{"names that a template fills in", "a.py", "a = f'''\n__global__ void {name}(int n) {{ }}\n__global__ void " +
			"k(int n) {{ }}\n'''\nb = '''__global__ void ${name}_j() {}'''\n# '__global__ void i() {}'\n",
			map[string]string{"k": "3", "name": "", "_j": "", "i": ""}},
		{"elementwise", "a.py", "import cupy as cp\nsquare = cp.ElementwiseKernel(\n    'float32 x, float32 y',\n    " +
			"'float32 z',\n    'z = (x - y) * (x - y)',\n    'squared_diff')\ntotal = cp.ReductionKernel('T" +
			" x', 'T y'," +
			" 'x * x', 'a + b', 'y = sqrt(a)', '0', name=\"l2norm\")\n" +
			"k = cp.ElementwiseKernel('T x', 'T y', '''\n  y = f(x, 1);\n''', 'scaled', options=('-O3',))\n",
			map[string]string{"squared_diff": "6", "l2norm": "7", "T": "", "scaled": "10"}},
		{"load_inline", "a.py", "from torch.utils.cpp_extension import load_inline\ncuda_src = '''\n" +
			"template <typename scalar_t>\n__global__ void k(const scalar_t* __restrict__ x, int n) {\n}\n" +
			"torch::Tensor f(torch::Tensor x) { k<float><<<1, 1>>>(x, 1); return x; }\n'''\n" +
			"cpp_src = 'torch::Tensor f(torch::Tensor x);'\nm = load_inline('m', [cpp_src], [cuda_src])\n",
			map[string]string{"void k<float>(const T1 *, int)": "4"}},
		{"pycuda", "a.py", "mod = SourceModule(\"__global__ void k(float *a)\\n{\\n a[0] = 1;\\n}\")\n",
			map[string]string{"k": "1", "k(float *)": "1", "k(int)": ""}},

		{"triton under heuristics", "a.py", "import triton\nimport triton.language as tl\n@triton.autotune(configs=[" +
			"\n    triton.Config({'B': 128}, num_warps=4),\n], key=['n'])\n@triton.heuristics({'E': lambda a:" +
			" a['n'] % 2})" +
			"\n@triton.jit(do_not_specialize=['n'])\ndef k(\n    x, n,\n    B: tl.constexpr,\n):\n    pass\n",
			map[string]string{"k": "8", "k_0d1de": "8"}},
		{"numba with a signature", "a.py", "import numba\nfrom numba import" +
			" cuda\n@cuda.jit('void(float32[:], int32)'," +
			" fastmath=True)\ndef k(x, n):\n    pass\n@numba.cuda.jit\ndef j(x):\n    pass\n",
			map[string]string{"cudapy::app::k(Array<float, 1, C, mutable, aligned>, int)": "4",
				"cudapy::app::j(Array<float, 1, C, mutable, aligned>)": "7"}},
		{"pallas", "a.py", "from jax.experimental import pallas as pl\ndef k(x_ref, o_ref):\n    o_ref[...] =" +
			" x_ref[...]" +
			"\ndef f(x):\n    return pl.pallas_call(k, out_shape=x, name='mine')(x)\n",
			map[string]string{"k": "2", "f": ""}},
	} {
		search := Kernels(fstest.MapFS{c.file: {Data: []byte(c.text)}}, nil)
		for whole, want := range c.want {
			short, _, _ := strings.Cut(strings.TrimPrefix(whole, "void "), "(")
			short, _, _ = strings.Cut(short, "<")
			short = short[strings.LastIndex(short, ":")+1:]
			_, line, ok := search(short, whole)
			got := ""
			if ok {
				got = fmt.Sprint(line)
			}
			if got != want {
				t.Errorf("%s: %s is on line %q, want %q", c.name, whole, got, want)
			}
		}
	}
}
