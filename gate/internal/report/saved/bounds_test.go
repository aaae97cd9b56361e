package saved

import (
	"strings"
	"testing"
)

// Reports have a size limit, and so have unpacked pages.
func TestReadBounded(t *testing.T) {
	defer func(was int64) { maxReport = was }(maxReport)
	packed := Pack(`{"schema": "` + strings.Repeat(" ", 1<<20) + `"}`)
	maxReport = 1 << 20
	for name, text := range map[string]string{
		"a large file": "{" + strings.Repeat(" ", 1<<20) + "}",
		"a small page": "<!doctype html>" + packed,
	} {
		_, err := Read(strings.NewReader(text), name)
		if err == nil || !strings.Contains(err.Error(), "it is larger than 1 MB, the most that is read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A short report is indented, a long one has no blanks; the values are the same.
func TestJSONLength(t *testing.T) {
	for lines, want := range map[int]int{10: 12, longest: 1} {
		text, err := JSON(make([]int, lines))
		if n := strings.Count(text, "\n"); err != nil || n != want || strings.Count(text, "0") != lines {
			t.Errorf("%d numbers: %d lines, want %d; %v", lines, n, want, err)
		}
	}
}
