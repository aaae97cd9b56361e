package decide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNumbers holds the numbers of the decision: at most 47 in constants.go, each with a comment, and no fraction or
// large number anywhere else.
func TestNumbers(t *testing.T) {
	const most = 47
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	numbers := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if name == "constants.go" {
					numbers += len(n.Names)
					if n.Doc.Text() == "" {
						t.Errorf("%s: %s has no source", set.Position(n.Pos()), n.Names[0])
					}
				}
			case *ast.BasicLit:
				v, err := strconv.ParseFloat(n.Value, 64)
				if name != "constants.go" && err == nil && (v > 4 || v != float64(int(v))) &&
					!allowed[name+" "+n.Value] {
					t.Errorf("%s: %s belongs into constants.go", set.Position(n.Pos()), n.Value)
				}
			}
			return true
		})
	}
	if numbers > most || numbers < most/2 {
		t.Errorf("%d numbers, at most %d", numbers, most)
	}
}

// allowed are numbers that are no choice: the variance of rounding to a tick is a twelfth of its square, and 1e-9 is
// the rounding of a product.
var allowed = map[string]bool{"moderate.go 12": true, "evidence.go 1e-9": true}
