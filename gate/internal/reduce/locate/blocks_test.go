package locate

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadSource(t *testing.T) {
	for _, x := range []struct{ file, text, want string }{
		{"a.cu", "namespace a {\ntemplate <typename T, class U>\n__global__ void __launch_bounds__(256)\nk(T *x) " +
			"{\n  if (x) {\n  }\n}\n" +
			"}\nint main() {\n}\n", "k 2-7, main 9-10"},
		{"a.cuh", "#define F(x) { \\\n  x;\nstruct A : B<int> {\n  __device__ float operator()(float x) const { " +
			"return x; }\n  int n{0};\n  A() : n(1) {}\n};\n", "operator 4-4, A 6-6"},
		{"a.cu", "#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n  // }\n  char c = '}';\n}\n", ""},
		{"a.cu", "extern \"C\" {\n__global__ void\nk(int n = 3) noexcept(true)\n{\n  auto f = [] (int i) {\n    " +
			"return i;\n  };\n}\n}\n", "k 2-8"},
		{"a.py", "import x\n@jit\ndef f(a,\n      b):\n    '''doc\nat the margin'''\n    return a\n\n\nclass C:\n    " +
			"def g(self):\n        def h():\n            pass\n        return h\nx = 1\n", "f 2-7, g 11-14, h 12-13"},
		{"a.py", "y = 1\n@triton.autotune(\n    configs=[1,\n             2],\n)\n@triton.jit\ndef k[T](x):\n" +
			"    return x\nx = 1\n@jit\nclass A:\n    def f(self):\n        pass\n", "k 2-8, f 12-13"},
		{"a.cu", "__global__ void k(dim3 d = {1, 1}, int n = int{3}) {\n  int a[] = {1};\n}\nauto l = make([] {\n  " +
			"return 1;\n});\nvoid f(S s = {}) {\n}\n", "k 1-3, f 7-8"},
		{"a.txt", "void f() {\n}\n", ""},
		{"a.cu", "}}}} ))) {{{{ void f( {", ""},
	} {
		s, ok := ReadSource(x.file, []byte(x.text))
		var all []string
		for _, f := range s.functions {
			all = append(all, fmt.Sprintf("%s %d-%d", f.Name, f.First, f.Last))
		}
		if got := strings.Join(all, ", "); got != x.want || ok == (x.file == "a.txt") {
			t.Errorf("%s %q: %v, %s; want %s", x.file, x.text, ok, got, x.want)
		}
	}
	s, _ := ReadSource("a.cu", []byte("void f() {\n  g([] (int i) {\n    return i; // one\n    // two\n  });\n}\n"))
	if f, ok := s.Around(3); !ok || f.Last != 6 {
		t.Errorf("the function around a lambda is %v, %v", f, ok)
	}
	if !s.Holds(3, 4) || s.Holds(4, 4) || s.Holds(90, 99) {
		t.Error("a comment is taken for code, or code for a comment")
	}
	for file, text := range map[string]string{
		"a.py": "'''about\nthis file'''\nk = r'''\n__global__ void k() {\n// one\n'''\nf(\n    \"a\",\n    # two\n)\n" +
			"x = \\\n\"b\"\n\ndef g():\n    \"\"\"doc\n    more\"\"\"\n    '' ; y = 1\n",
		"a.cc": "// one\n/* two\n*/\nauto s = R\"(\nx = y;\n)\";\nf(\n\"a\",\n1);\n",
	} {
		s, _ := ReadSource(file, []byte(text))
		held := ""
		for i := range strings.Count(text, "\n") {
			if s.Holds(i+1, i+1) {
				held += fmt.Sprint(i+1, " ")
			}
		}
		want := "3 4 5 6 7 8 10 11 12 14 17 "
		if file == "a.cc" {
			want = "4 5 6 7 8 9 "
		}
		if held != want {
			t.Errorf("%s: lines of code %s, want %s", file, held, want)
		}
	}
}
