package command_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reportFields are fields of a report that no other struct of the commands has, but an addition to a report.
var reportFields = []string{"Verdict", "Next", "Gate", "Findings", "Notes", "Doubts", "Remarks", "Reproduce", "Calls",
	"Spent", "Drawn", "Measured", "HeadSessions", "Basis"}

// otherwise are fields of these names of a calibration and of the options of a rendering.
var otherwise = []string{"answer.Next", "options.Reproduce"}

// TestAdditions refuses commands that write to a report in place of appending to it.
func TestAdditions(t *testing.T) {
	files := token.NewFileSet()
	seen := 0
	for _, dir := range []string{"app", "cli", "bisect"} {
		names, err := filepath.Glob("../internal/" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(files, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			for _, found := range overwritten(parsed) {
				t.Errorf("%s writes to %s: append it to the report", files.Position(found.at), found.what)
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d files were looked at", seen)
	}
}

// overwritten finds assignments to fields of reports in a file.
func overwritten(file *ast.File) (out []misuse) {
	for _, decl := range file.Decls {
		additions := map[string]bool{} // variables of this function
		ast.Inspect(decl, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.ValueSpec:
				if x.Type != nil && types.ExprString(x.Type) == "result.Addition" {
					additions[x.Names[0].Name] = true
				}
			case *ast.AssignStmt:
				for i, to := range x.Lhs {
					if len(x.Rhs) == len(x.Lhs) && strings.HasPrefix(types.ExprString(x.Rhs[i]), "result.Addition{") {
						additions[types.ExprString(to)] = true
					}
					if at, ok := to.(*ast.IndexExpr); ok {
						to = at.X
					}
					field, ok := to.(*ast.SelectorExpr)
					if name := types.ExprString(to); ok && slices.Contains(reportFields, field.Sel.Name) &&
						!additions[types.ExprString(field.X)] && !slices.Contains(otherwise, name) {
						out = append(out, misuse{to.Pos(), name})
					}
				}
			}
			return true
		})
	}
	return out
}

// TestAdditionsAreSeen is the test of the test: writing to a report is found, and making an addition is not.
func TestAdditionsAreSeen(t *testing.T) {
	const text = `package p
func a(r *result.Report) { r.Next = append(r.Next, "again"); r.Next[0] = ""; r.Gate, r.Calls = g, nil }
func b(r *result.Report) {
	var x result.Addition
	x.Next, y := nil, result.Addition{}
	y.Calls = nil
	r.Append(x)
}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := overwritten(file); len(found) != 4 {
		t.Errorf("%d found, want 4: %v", len(found), found)
	}
}
