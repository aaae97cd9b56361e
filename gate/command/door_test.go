package command_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// doors are the packages that may open files: for reading, for writing, and those of the system and of private
// directories. The others are for tests and for the manual.
var doors = []string{"gate/internal/input", "gate/internal/output", "gate/internal/proc", "gate/internal/testdata",
	"gate/internal/manpages", "testdata"}

// opening are the functions that only doors call.
var opening = []string{"os.Open", "os.OpenFile", "os.OpenInRoot", "os.OpenRoot", "os.ReadFile", "os.Create",
	"os.CreateTemp", "os.WriteFile", "os.DirFS", "os.CopyFS", "ioutil.ReadFile", "ioutil.WriteFile", "zip.OpenReader",
	"elf.Open", "syscall.Open", "unix.Open"}

// reading are the functions of the doors that read, which look at a file after it was opened.
var reading = []string{"input.Open", "input.OpenOwn", "input.Read", "input.System"}

// TestDoors refuses functions that open files elsewhere, a look at a name just before the same name is opened, and
// sections of an ELF file that are read whole, however much they unpack to.
func TestDoors(t *testing.T) {
	files := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 { // not ".."
			return fs.SkipDir
		}
		rel, _ := filepath.Rel("../..", name)
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		if slices.ContainsFunc(doors, func(d string) bool { return strings.HasPrefix(filepath.ToSlash(rel), d+"/") }) {
			return nil
		}
		parsed, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			return err
		}
		seen++
		for _, found := range opened(parsed) {
			t.Errorf("%s:%d: %s", rel, files.Position(found.at).Line, found.what)
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d files were looked at: %v", seen, err)
	}
}

type misuse struct {
	at   token.Pos
	what string
}

// opened finds what [TestDoors] refuses in a file.
func opened(file *ast.File) (out []misuse) {
	for _, decl := range file.Decls {
		looked := map[string]bool{} // arguments of os.Stat and os.Lstat in this function
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := types.ExprString(call.Fun)
			switch {
			case slices.Contains(opening, name):
				out = append(out, misuse{call.Pos(), name + " outside of packages input, output and proc"})
			case (name == "os.Stat" || name == "os.Lstat") && len(call.Args) == 1:
				looked[types.ExprString(call.Args[0])] = true
			case slices.Contains(reading, name) && len(call.Args) > 0 && looked[types.ExprString(call.Args[0])]:
				out = append(out, misuse{call.Pos(), fmt.Sprintf("%s after a look at the name: ask the open file",
					name)})
			case strings.HasSuffix(name, ".Data") && len(call.Args) == 0 && imports(file, "debug/elf"):
				out = append(out, misuse{call.Pos(), name + " unpacks a section without a bound"})
			}
			return true
		})
	}
	return out
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

// TestDoorsAreSeen is the test of the test: each form of misuse is found, and the right form is not.
func TestDoorsAreSeen(t *testing.T) {
	const text = `package p
import "debug/elf"
func a() { os.Open("x"); os.ReadFile("y") }
func b(name string) { if _, err := os.Stat(name); err == nil { input.Read(name, 1) } }
func c(s *elf.Section) { s.Data() }
func d(name, other string) { os.Stat(other); input.Read(name, 1); s.Open() }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := opened(file); len(found) != 4 {
		t.Errorf("%d found, want 4: %v", len(found), found)
	}
}
