package app

import (
	"slices"
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	for _, tt := range []struct {
		harness, row string
		want         []string // without the first argument, nil for a refusal
	}{
		{"nvbench", "scan T=I32 Elements=2^20", []string{"^scan$"}},
		{"nvbench", "radix sort T=I32 GPU 1", []string{"^radix sort$"}},
		{"nvbench", "simple scan Array_Size=2^20", []string{"^simple scan$"}},
		{"nvbench", "scan GPU 0", []string{"^scan$"}},
		{"google-benchmark", "BM<a>/8.5 $(x)=1", []string{`^BM<a>/8\.5 \$\(x\)=1$`}},
		{"asv", "sort.time_keys(8, 'a.b')", []string{`^sort\.time_keys$`}},
		{"criterion", "group/a+b", []string{`^group/a\+b$`}},
		{"pytest-benchmark", "test_a.py::test[1]", []string{"^test_a.py::test[1]$"}},
		{"google-benchmark", "{}", []string{`^\{\}$`}},
		{"google-benchmark", "-all", nil},
		{"google-benchmark", "a\nb", nil},
		{"nvbench", "a T=\x1b[0m\n", nil},
	} {
		arguments := []string{"-k", "^{}$"}
		got, err := filterOf(arguments, tt.harness, tt.row)
		if (err != nil) != (tt.want == nil) || err == nil && !slices.Equal(got[1:], tt.want) {
			t.Errorf("%s %q: %q, %v; want %q", tt.harness, tt.row, got, err, tt.want)
		}
		if arguments[1] != "^{}$" {
			t.Fatal("the arguments were changed")
		}
	}
	if got, err := filterOf(nil, "nvbench", "-all"); got != nil || err != nil {
		t.Error(got, err)
	}
}

// Several rows are one regular expression, or the arguments once for each benchmark.
func TestFilterOfRows(t *testing.T) {
	for _, tt := range []struct {
		harness, arguments string
		want               []string
	}{
		{"google-benchmark", "^{}$", []string{`^(a\.b|c)$`}},
		{"nvbench", "-b={}", []string{"-b=a.b", "-b=c"}},
	} {
		got, err := filterOf([]string{tt.arguments}, tt.harness, "a.b", "c", "c")
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.harness, got, err, tt.want)
		}
	}
	rows := []string{"reduce.sum T{ct}=I8 Elements{io}=65536 Array_Size=3",
		"reduce.sum T{ct}=I8 Block=[1,2] x=-0.5 GPU 1"}
	got, err := filterOf([]string{"-b", "{}"}, "nvbench", rows...)
	want := "-b reduce.sum -a T{ct}=I8 -a Elements{io}=65536 -b reduce.sum -a T{ct}=I8 -a x=-0.5"
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("rows of nvbench: %q, %v", got, err)
	}
	names := slices.Repeat([]string{strings.Repeat("n", 1000)}, 100)
	if got, err := filterOf([]string{"{}"}, "nvbench", names...); err == nil {
		t.Errorf("%d arguments of names that are too long", len(got))
	}
}
