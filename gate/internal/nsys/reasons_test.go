package nsys

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/reasonstest"
)

func TestReasons(t *testing.T) {
	details := make(map[string]int)
	for _, r := range Reasons {
		details[r.Key] = strings.Count(r.Sentence, "{")
		if !strings.Contains(r.Sentence, "{file}") {
			t.Errorf("%s: %q is no sentence about a file", r.Key, r.Sentence)
		}
	}
	// Keys that stand in tables.
	for _, x := range lost {
		if details[x.key] != 1 {
			t.Errorf("%s: %d details, want the file alone", x.key, details[x.key])
		}
	}
	for _, x := range formats {
		if details[x.key] != 1+len(x.details) {
			t.Errorf("%s: %d details, want the file and %q", x.key, details[x.key], x.details)
		}
	}
	for _, x := range exportFailures {
		if details[x.key] != details["export-failed"] {
			t.Errorf("%s: %d details", x.key, details[x.key])
		}
	}
	reasonstest.Check(t, Reasons, map[string]int{"refuse": 0, ".refuse": 1})
}
