package command_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostWide is the number of lines of Go that may be wider than 120 columns. It only
// falls.
const mostWide = 2530

// TestColumns wants that no more lines are wider than 120 columns, a tab counted as one. A line of expected output
// cannot be broken.
func TestColumns(t *testing.T) {
	wide, files := 0, 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for line := range strings.Lines(string(text)) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 120 {
				wide++
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Fatal(files, err)
	}
	if wide > mostWide {
		t.Errorf("%d lines are wider than 120 columns, at most %d may be: break the new ones", wide, mostWide)
	}
	if wide < mostWide-50 {
		t.Errorf("%d lines are wider than 120 columns: lower mostWide from %d", wide, mostWide)
	}
}
