package command_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// public are the packages outside internal.
var public = []string{"gate", "gate/command", "gate/measure", "thresholds"}

// TestExported wants every exported name of the public packages to be used by an example: an Example function with an
// output, or the program of gate/testdata/library. What no example uses is internal, or deleted.
//
// A function, variable or constant is used where an example names it. A type is used where an example names it, and
// where a caller has to see it: in the signature of a used function, in an exported field or the signature of an
// exported method of a used type, or as the type of a used constant or variable. Fields and methods are used with
// their type.
func TestExported(t *testing.T) {
	sees := map[string][]string{} // the names that an exported name shows, both as "package.Name"
	var todo []string             // names that are used, whose types are not followed yet
	for _, pkg := range append(slices.Clone(public), "gate/testdata/library") {
		files, err := filepath.Glob("../../" + pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(pkg, err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasSuffix(name, "_test.go"):
				for _, example := range doc.Examples(f) {
					if example.Output != "" || example.EmptyOutput {
						todo = append(todo, named(f, pkg, example.Code)...)
					}
				}
			case f.Name.Name == "main":
				todo = append(todo, named(f, pkg, f)...)
			default:
				exported(sees, f, pkg)
			}
		}
	}
	if len(sees) < 50 || len(todo) < 50 {
		t.Fatalf("%d exported names, %d in examples", len(sees), len(todo))
	}
	used := map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if !used[name] {
			used[name] = true
			todo = append(todo, sees[name]...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sees)) {
		if !used[name] {
			t.Errorf("%s is public, and no example uses it", name)
		}
	}
}

// exported adds the exported names of a file, each with the exported names that it shows.
func exported(sees map[string][]string, f *ast.File, pkg string) {
	ast.FileExports(f) // takes out bodies of nothing exported, and fields that are not
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			of := d.Name.Name
			if d.Recv != nil {
				of = strings.TrimPrefix(receiver(d), "*")
			}
			name := pkg + "." + of
			sees[name] = append(sees[name], named(f, pkg, d.Type)...)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					name := pkg + "." + s.Name.Name
					sees[name] = append(sees[name], named(f, pkg, s.Type)...)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						sees[pkg+"."+n.Name] = named(f, pkg, s.Type)
					}
				}
			}
		}
	}
}

// receiver is the type of a method's receiver as it is written.
func receiver(d *ast.FuncDecl) string {
	switch x := d.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		return x.X.(*ast.Ident).Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// named lists the exported names of public packages in a part of a file of pkg: those behind an import of a public
// package and, outside of examples, those of the package itself.
func named(f *ast.File, pkg string, part ast.Node) (names []string) {
	if part == nil || part == ast.Expr(nil) {
		return nil
	}
	inside := f.Name.Name != "main" && !strings.HasSuffix(f.Name.Name, "_test")
	imports := map[string]string{}
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		own := strings.TrimPrefix(path, "github.com/nsgate/nsgate/")
		if slices.Contains(public, own) {
			imports[path[strings.LastIndex(path, "/")+1:]] = own
		}
	}
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			own := imports[nameOf(x)]
			switch {
			case !ok:
				names = append(names, named(f, pkg, n.X)...)
			case own != "":
				names = append(names, own+"."+n.Sel.Name)
			}
			return false
		case *ast.Field: // whose name is none of the package
			names = append(names, named(f, pkg, n.Type)...)
			return false
		case *ast.Ident:
			if inside && n.IsExported() {
				names = append(names, pkg+"."+n.Name)
			}
		}
		return true
	})
	return names
}

func nameOf(x *ast.Ident) string {
	if x == nil {
		return ""
	}
	return x.Name
}
