// Package reasonstest checks that a package refuses by its list of reasons and in no other way.
package reasonstest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

var (
	keyForm = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	detail  = regexp.MustCompile(`\{\w+\}`)
)

// Check reads the sources of the package under test. Every key and sentence of the list must be in form, every key must
// be used and every key that is used must be there, with as many details as its sentence and its way out have. refusers
// are the functions of the package that take a key, and how many details they add to those behind the key; methods have a
// point before their name.
func Check(t *testing.T, reasons model.Reasons, refusers map[string]int) {
	t.Helper()
	details, used := map[string]int{}, map[string]bool{}
	for _, r := range reasons {
		if _, twice := details[r.Key]; twice || !keyForm.MatchString(r.Key) {
			t.Errorf("key %q", r.Key)
		}
		details[r.Key] = len(detail.FindAllString(r.Sentence+r.Next, -1))
		if r.Sentence == "" || r.Next == "" || strings.HasSuffix(r.Sentence, ".") || strings.HasSuffix(r.Next, ".") {
			t.Errorf("%s: %q; %q is no sentence and no way out without a final full stop", r.Key, r.Sentence, r.Next)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.KeyValueExpr:
				if k, ok := x.Key.(*ast.Ident); ok && k.Name == "Key" { // of the list itself
					return false
				}
			case *ast.SelectorExpr:
				if isOf(x, "Refuse") {
					t.Errorf("%s makes a refusal past the list", set.Position(x.Pos()))
				}
			case *ast.CompositeLit:
				if isOf(x.Type, "Refusal") {
					t.Errorf("%s makes a refusal past the list", set.Position(x.Pos()))
				}
			case *ast.BasicLit:
				if s := text(x); details[s] > 0 || keyForm.MatchString(s) {
					used[s] = true
				}
			case *ast.CallExpr:
				added, ok := refusers[called(x)]
				if !ok || x.Ellipsis.IsValid() {
					return true
				}
				for i, arg := range x.Args {
					key := text(arg)
					if key == "" {
						continue
					}
					if want, known := details[key]; !known || want != added+len(x.Args)-i-1 {
						t.Errorf("%s: %q with %d details, want %d", set.Position(x.Pos()), key, added+len(x.Args)-i-1, want)
					}
					break
				}
			}
			return true
		})
	}
	for key := range details {
		if !used[key] {
			t.Errorf("nothing refuses with %q", key)
		}
	}
}

// isOf reports whether an expression is model.NAME.
func isOf(e ast.Expr, name string) bool {
	x, ok := e.(*ast.SelectorExpr)
	if !ok || x.Sel.Name != name {
		return false
	}
	p, ok := x.X.(*ast.Ident)
	return ok && p.Name == "measure"
}

// text is the value of a string literal, "" of anything else.
func text(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(l.Value)
	return s
}

// called is the name of what is called, with a point before that of a method.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return "." + f.Sel.Name
	}
	return ""
}
