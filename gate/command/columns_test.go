package command_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostWide is the number of lines of tests that may be wider than 120 columns: names without a blank, and expected
// output.
const mostWide = 24

// TestColumns wants lines of at most 120 columns, a tab counted as four, but for the text of raw strings.
func TestColumns(t *testing.T) {
	inTests, files := 0, 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		raw := rawLines(text)
		for i, line := range strings.Split(string(text), "\n") {
			switch n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); {
			case n <= 120, raw[i+1]:
			case strings.HasSuffix(path, "_test.go"):
				inTests++
			default:
				t.Errorf("%s:%d has %d columns: break it", path, i+1, n)
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Fatal(files, err)
	}
	if inTests > mostWide {
		t.Errorf("%d lines of tests are wider than 120 columns, at most %d may be: break the new ones", inTests,
			mostWide)
	}
}

// rawLines are the lines of a file on which a raw string lies.
func rawLines(text []byte) map[int]bool {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", -1, len(text)), text, nil, 0)
	out := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return out
		}
		if kind == token.STRING && literal[0] == '`' {
			for i := range 1 + strings.Count(literal, "\n") {
				out[set.Position(at).Line+i] = true
			}
		}
	}
}
