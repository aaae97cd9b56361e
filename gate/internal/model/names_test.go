package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The cost of demangling is counted where it arises: whatever a name has before "_Z", and for each name once.
func TestKernelNames(t *testing.T) {
	for _, prefix := range []string{"_Z", " _Z", "_INTERNAL_e301b184_12_file_cu_1e3911aa::_Z", "[abi:v1]_Z",
		"__nv_static_3_abc__Z"} {
		var names KernelNames
		var err error
		for i := 0; i < 40 && err == nil; i++ {
			_, err = names.Subject("file", fmt.Sprintf("%s3f%02d%s", prefix, i, strings.Repeat("i", 6000)))
			for range 10 {
				if _, again := names.Subject("file", prefix+"1fi"); again != nil && err == nil {
					t.Fatal(again)
				}
			}
		}
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Kind != TooLarge {
			t.Errorf("%s: %v", prefix, err)
		}
	}
}
