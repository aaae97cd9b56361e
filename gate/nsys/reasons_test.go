package nsys

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every refusal that the package makes is in the list, with as many details as its sentence has, and none is there for
// nothing.
func TestReasons(t *testing.T) {
	details := make(map[string]int)
	for _, r := range Reasons {
		if _, twice := details[r.Key]; twice || !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(r.Key) {
			t.Errorf("key %q", r.Key)
		}
		details[r.Key] = len(regexp.MustCompile(`\{\w+\}`).FindAllString(r.Sentence, -1))
		if !strings.Contains(r.Sentence, "{file}") || strings.HasSuffix(r.Sentence, ".") {
			t.Errorf("%s: %q is no sentence about a file without a final full stop", r.Key, r.Sentence)
		}
		if r.Next == "" || strings.HasSuffix(r.Next, ".") {
			t.Errorf("%s: way out %q", r.Key, r.Next)
		}
	}
	used := make(map[string]bool)
	for _, x := range lost {
		used[x.key] = true
		if details[x.key] != 1 {
			t.Errorf("%s: %d details, want the file alone", x.key, details[x.key])
		}
	}
	for _, x := range formats {
		used[x.key] = true
		if details[x.key] != 1+len(x.details) {
			t.Errorf("%s: %d details, want the file and %q", x.key, details[x.key], x.details)
		}
	}
	for _, x := range exportFailures {
		used[x.key] = true
		if details[x.key] != details["export-failed"] {
			t.Errorf("%s: %d details", x.key, details[x.key])
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
			// Keys that are put into a variable first.
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && name != "reasons.go" {
				if s, err := strconv.Unquote(l.Value); err == nil && strings.Contains(s, "-") && details[s] > 0 {
					used[s] = true
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			text := func(e ast.Expr) string {
				l, ok := e.(*ast.BasicLit)
				if !ok {
					return ""
				}
				s, _ := strconv.Unquote(l.Value)
				return s
			}
			key, given := "", 0
			switch f := call.Fun.(type) {
			case *ast.Ident:
				if f.Name != "refuse" {
					return true
				}
				key, given = text(call.Args[0]), len(call.Args)-1
			case *ast.SelectorExpr:
				if f.Sel.Name == "Refuse" && name != "reasons.go" {
					t.Errorf("%s makes a refusal past the list", set.Position(call.Pos()))
				}
				if f.Sel.Name != "refuse" {
					return true
				}
				key, given = text(call.Args[0]), len(call.Args)
			default:
				return true
			}
			if key == "" || call.Ellipsis.IsValid() {
				return true
			}
			used[key] = true
			if want, known := details[key]; !known || want != given {
				t.Errorf("%s: %q with %d details, want %d", set.Position(call.Pos()), key, given, want)
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
