package command_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lineBudget is the largest number of lines of Go, without tests and testdata. It falls, or rises in a commit that
// names the feature.
const lineBudget = 80_403

func TestLineBudget(t *testing.T) {
	lines := 0
	for _, dir := range []string{"cmd", "gate", "thresholds"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				if err == nil {
					err = filepath.SkipDir
				}
				return err
			}
			if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(name)
			lines += bytes.Count(text, []byte("\n"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if lines > lineBudget {
		t.Errorf("%d lines of Go, %d more than lineBudget: delete what the change replaces, or raise the number and "+
			"name the feature", lines, lines-lineBudget)
	}
}
