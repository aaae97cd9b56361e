package input

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plant makes files below a directory, "NAME/" for a directory.
func plant(t interface {
	Helper()
	Fatal(...any)
}, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(at, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// oddNames are directories that a pattern would take for others, or for none.
var oddNames = rapid.StringMatching(`[-~$ab1é文\[\]*?\\ {}!^%#:'"]{1,12}`).Filter(func(s string) bool { return strings.Trim(s, ".") != "" })

// A directory of any name, beside others whose names it fits as a pattern, has the matches of a plain one.
func TestPathsLiteralDirectory(t *testing.T) {
	patterns := []string{"*", "*.txt", "sub/*", "*/*.txt", "[ab].txt", `\[x\].txt`, "[x].txt", "a.txt", "sub", ".",
		"../top*", "s?b/[!c]*", "none*", "sub/", "./sub//../a*"}
	files := []string{"a.txt", "b.txt", "[x].txt", "x.txt", "sub/c.txt", "sub/d.txt", "*.txt"}
	plain := filepath.Join(t.TempDir(), "plain")
	plant(t, plain, append(files, "../top1")...)
	rapid.Check(t, func(t *rapid.T) {
		dir := oddNames.Draw(t, "directory")
		top, err := os.MkdirTemp("", "paths")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		odd := filepath.Join(top, dir)
		for _, other := range []string{"a", "b", "1", "b1", "a1"} {
			plant(t, filepath.Join(top, other), "a.txt", "sub/e.txt", "more.txt")
		}
		os.RemoveAll(odd)
		plant(t, odd, append(files, "../top1")...)
		for _, pattern := range patterns {
			relative := func(dir string) (out []string) {
				found, err := new(Search).Paths(dir, pattern)
				if err != nil {
					t.Fatalf("%s in %q: %v", pattern, dir, err)
				}
				for _, f := range found {
					name, err := filepath.Rel(dir, f)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, name)
				}
				return out
			}
			if got, want := relative(odd), relative(plain); !slices.Equal(got, want) {
				t.Fatalf("%s in %q: %q, in a plain directory %q", pattern, dir, got, want)
			}
		}
		found, err := new(Search).Paths(top, Quote(dir)+"/*.txt")
		if err != nil || len(found) != 5 || !strings.HasPrefix(found[0], odd+"/") {
			t.Fatalf("%s is not that directory: %q, %v", Quote(dir), found, err)
		}
	})
}

// A part of a pattern is the name of a file first, and of others where there is none.
func TestPathsLiteralFile(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "b[1]/x.txt", "b1/x.txt", "b1/y.txt", "c1/x.txt", "-o/x", "a\nb/x", "*/x.cubin", "d/x.cubin", "~/x")
	if err := os.Symlink("b[1]", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links")
	}
	for _, tt := range []struct {
		pattern string
		want    []string
	}{
		{"b[1]/*", []string{"b[1]/x.txt"}},
		{"c[1]/*", []string{"c1/x.txt"}},
		{`b\[1]/*`, []string{"b[1]/x.txt"}},
		{"link/*", []string{"link/x.txt"}},
		{"-o/*", []string{"-o/x"}},
		{"a\nb/x", []string{"a\nb/x"}},
		{"*/x.cubin", []string{"*/x.cubin", "d/x.cubin"}},
		{`\*/x.cubin`, []string{"*/x.cubin"}},
		{"~/x", []string{"~/x"}},
		{filepath.Join(dir, "b[1]", "*"), []string{"b[1]/x.txt"}},
		{"/none/*", nil},
		{"b[1]/../c1/x.txt", []string{"c1/x.txt"}},
	} {
		found, err := new(Search).Paths(dir, tt.pattern)
		for i := range found {
			found[i] = strings.TrimPrefix(found[i], dir+"/")
		}
		if err != nil || !slices.Equal(found, tt.want) {
			t.Errorf("%s: %q, %v, want %q", tt.pattern, found, err, tt.want)
		}
	}
	if _, err := new(Search).Paths(dir, "none/[a"); err == nil || !strings.Contains(err.Error(), "is no pattern") {
		t.Errorf("a class without an end: %v", err)
	}
}

// All directory entries that a search looks at count, whichever part of a pattern they are compared with.
func TestSearchBound(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "a/x", "b/x")
	for before, want := range map[int]string{mostEntries - 4: "",
		mostEntries - 3: "covers more than 100000 files and directories"} {
		s := Search{before} // two directories, and a file in each
		found, err := s.Paths(dir, "*/[x]")
		if want == "" && (err != nil || len(found) != 2) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("after %d entries: %q, %v", before, found, err)
		}
	}
}
