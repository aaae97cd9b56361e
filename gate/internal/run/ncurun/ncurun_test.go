package ncurun

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The pattern matches the names and nothing else, whatever they are.
func TestPattern(t *testing.T) {
	names := rapid.SliceOfN(rapid.OneOf(rapid.StringN(1, 8, -1),
		rapid.StringOf(rapid.RuneFrom([]rune(`ab()|.*[]{}^$\+?`)))), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		kernels, other := names.Draw(t, "kernels"), rapid.StringOf(rapid.RuneFrom([]rune(`ab()|.*$`))).Draw(t, "other")
		expression, ok := strings.CutPrefix(pattern(kernels), "regex:")
		if !ok {
			t.Fatal(pattern(kernels))
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			t.Skip(err) // names are valid UTF-8
		}
		for _, k := range append(kernels, other) {
			if got, want := re.MatchString(k), slices.Contains(kernels, k); got != want {
				t.Fatalf("%s matches %q: %v", expression, k, got)
			}
		}
	})
}

// ncu matches its own names, which have tags that the names of kernels here have not.
func TestPatternTags(t *testing.T) {
	re := regexp.MustCompile(strings.TrimPrefix(pattern([]string{"black_scholes_kernel"}), "regex:"))
	for name, want := range map[string]bool{
		"black_scholes_kernel": true, "black_scholes_kernel[v1,cw51cXTLSUwv1sDUaKthqaNgtEUAA_3d_3d]": true,
		"black_scholes_kernel[v1]":                             true,
		"black_scholes_kernel[abi:v1,cw51cXTLSUwv1sCUt9Uw_3d]": true, "black_scholes_kernel$241": true,
		"black_scholes_kernel_2": false, "black_scholes_kernel_2[v1]": false, "black_scholes_kernel[]": false,
	} {
		if re.MatchString(name) != want {
			t.Errorf("%s matches %q: %v", re, name, !want)
		}
	}
}
