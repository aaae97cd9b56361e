package measure

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLabels(t *testing.T) {
	const (
		vectorized = "void at::native::vectorized_elementwise_kernel<(int)4, "
		array      = ", std::array<char *, (unsigned long)3>>(int, T2, T3)"
		mul        = "at::native::binary_internal::MulFunctor<float>"
	)
	for _, c := range []struct{ names, want []string }{
		{[]string{"saxpy(int, float *)", "reduce<(int)4>(float *)"}, []string{"saxpy", "reduce"}},
		{
			[]string{vectorized + "at::native::BinaryFunctor<float, float, float, " + mul + ">" + array,
				vectorized + "at::native::CUDAFunctor_add<float>" + array},
			[]string{"vectorized_elementwise_kernel · MulFunctor<float>",
				"vectorized_elementwise_kernel · CUDAFunctor_add<float>"},
		},
		{ // one word tells neither of the first two
			[]string{
				vectorized + "at::native::BinaryFunctor<float, " + mul + ">" + array,
				vectorized + "at::native::AUnaryFunctor<float, " + mul + ">" + array,
				vectorized + "at::native::AUnaryFunctor<float, at::native::AddFunctor<float>>" + array,
				vectorized + "at::native::BinaryFunctor<float, at::native::AddFunctor<float>>" + array,
			},
			[]string{
				"vectorized_elementwise_kernel · BinaryFunctor<float, MulFunctor<float>>",
				"vectorized_elementwise_kernel · AUnaryFunctor<float, MulFunctor<float>>",
				"vectorized_elementwise_kernel · AUnaryFunctor<float, AddFunctor<float>>",
				"vectorized_elementwise_kernel · BinaryFunctor<float, AddFunctor<float>>",
			},
		},
		{
			[]string{
				vectorized +
					"at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)]" +
					array,
				vectorized + "void at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, " +
					"float>(at::TensorIteratorBase &, T2)::[lambda(float) (instance 2)]" + array,
			},
			[]string{"vectorized_elementwise_kernel · bfloat16_copy_kernel_cuda",
				"vectorized_elementwise_kernel · pow_tensor_scalar_kernel_impl<float, float>"},
		},
		{[]string{"void f<(int)1, (int)2>(int)", "void f<(int)2, (int)1>(int)"}, []string{"f<1, 2>", "f<2, 1>"}},
		{[]string{"a::f(int)", "b::f(int)"}, []string{"a::f(int)", "b::f(int)"}},
	} {
		got := Labels(c.names)
		for i, name := range c.names {
			if got[name] != c.want[i] {
				t.Errorf("%s\n is %q, want %q", name, got[name], c.want[i])
			}
		}
	}
}

// Whatever the names, no two look alike.
func TestLabelsDiffer(t *testing.T) {
	piece := rapid.SampledFrom([]string{"f", "g", "<", ">", "(", ")", "::", ", ", "(int)1", "(int)2", "float", "a b",
		" · ", "[lambda(int) (instance 1)]", "ü"})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(piece, 1, 9),
			func(p []string) string { return NormalizeName(strings.Join(p, "")) }), 1, 8).Draw(t, "names")
		slices.Sort(names)
		names = slices.Compact(names)
		seen := make(map[string]string)
		for name, label := range Labels(names) {
			if other, ok := seen[label]; ok {
				t.Fatalf("%q and %q are both %q", name, other, label)
			}
			seen[label] = name
		}
		if len(seen) != len(names) {
			t.Fatalf("%d names have %d labels", len(names), len(seen))
		}
	})
}
