package text

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/measure"
)

// text is the value of a string literal, "" of anything else.
func text(e ast.Node) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

// said finds every remark and refusal that packages gate and check make, with the names of its arguments.
func said(t *testing.T) map[string][]string {
	t.Helper()
	var files []string
	for _, dir := range []string{"../decide", "../app"} {
		found, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	out := map[string][]string{}
	visit := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "remark" && f.Name != "refusal" {
			return true
		}
		key, names := text(call.Args[0]), []string{}
		if args, ok := call.Args[1].(*ast.CompositeLit); ok {
			for _, e := range args.Elts {
				names = append(names, text(e.(*ast.KeyValueExpr).Key))
			}
		}
		slices.Sort(names)
		if before, ok := out[key]; ok && !slices.Equal(before, names) {
			t.Errorf("%s is said with %q and with %q", key, before, names)
		}
		out[key] = names
		return true
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, visit)
	}
	if len(out) < 50 || out[""] != nil {
		t.Fatalf("package gate says %d things, %q without a literal key", len(out), out[""])
	}
	return out
}

// asked finds the arguments that each saying of a table asks for, in the sources of this package.
func asked(t *testing.T, table string) map[string]map[string]bool {
	t.Helper()
	files, methods := token.NewFileSet(), map[string]*ast.FuncDecl{}
	var rows *ast.CompositeLit
	for _, name := range []string{"sentences.go", "details.go", "args.go"} {
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				methods[n.Name.Name] = n
			case *ast.ValueSpec:
				if n.Names[0].Name == table {
					rows = n.Values[0].(*ast.CompositeLit)
				}
			}
			return true
		})
	}
	var collect func(n ast.Node, to map[string]bool)
	collect = func(n ast.Node, to map[string]bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				f, ok := call.Fun.(*ast.SelectorExpr)
				if of, known := any(nil), false; ok {
					if of, known = f.X.(*ast.Ident); known && of.(*ast.Ident).Name == "a" {
						switch {
						case len(call.Args) == 0:
							collect(methods[f.Sel.Name].Body, to)
						case f.Sel.Name != "say":
							to[text(call.Args[0])] = true
						}
					}
				}
			}
			if lit, ok := n.(*ast.BasicLit); ok {
				for _, field := range braces.FindAllStringSubmatch(text(lit), -1) {
					way, names, printed := strings.Cut(field[1], " ")
					if !printed {
						to[way] = true
						continue
					}
					new(args).print(way, names) // panics where there is no such way
					for i, name := range strings.Fields(names) {
						if way != "count" || i == 0 {
							to[name] = true
						}
					}
				}
			}
			return true
		})
	}
	out := map[string]map[string]bool{}
	for _, row := range rows.Elts {
		key := text(row.(*ast.KeyValueExpr).Key)
		out[key] = map[string]bool{}
		collect(row.(*ast.KeyValueExpr).Value, out[key])
	}
	return out
}

var braces = regexp.MustCompile(`\{([^}]*)\}`)

// Every remark of the engine has one sentence, which asks for nothing that the remark does not hold, and no sentence is
// without a remark.
func TestEveryRemarkHasItsSentence(t *testing.T) {
	said, has := said(t), map[string][]string{}
	for key, names := range asked(t, "sentences") {
		has[key] = slices.Sorted(maps.Keys(names))
	}
	ofDetails := asked(t, "details")
	for _, r := range decide.Reasons {
		if _, ok := has[r.Key]; ok {
			t.Errorf("%s is a refusal and a remark", r.Key)
		}
		names := map[string]bool{}
		r.Fill(func(name string) string {
			if of, ok := ofDetails[r.Key+"."+name]; ok {
				maps.Copy(names, of)
				delete(ofDetails, r.Key+"."+name)
				return ""
			}
			names[name] = true
			return ""
		})
		has[r.Key] = slices.Sorted(maps.Keys(names))
	}
	for detail := range ofDetails {
		t.Errorf("%s is no detail of a refusal", detail)
	}
	for key, names := range said {
		// Of a verdict, Tell itself adds what stands in the findings.
		switch _, of := slices.BinarySearch(names, "finding"); {
		case of:
			names = append(names, "reason")
		case key == "regressed":
			names = append(names, "what")
		}
		if _, ok := has[key]; !ok {
			t.Errorf("%s has no sentence", key)
		}
		for _, name := range has[key] {
			if !slices.Contains(names, name) {
				t.Errorf("%s: the sentence asks for %s, the remark has %q", key, name, names)
			}
		}
	}
	for key := range has {
		if _, ok := said[key]; !ok {
			t.Errorf("%s is a sentence that nothing says", key)
		}
	}
}

// What stands in a report already stays; what does not is filled in once; and the data survives a file.
func TestTellTwice(t *testing.T) {
	remark := decide.Remark{Key: "versions", Args: decide.Args{"what": "driver", "base": "550", "head": "570"}}
	r := &decide.Report{
		Verdict: decide.Fail, ReasonKey: "regressed", ReasonArgs: decide.Args{"subjects": decide.Number(1)},
		Warnings: []string{"another"}, Doubts: []decide.Remark{remark}, Remarks: []decide.Remark{},
		Findings: []decide.Finding{{Kernel: "saxpy", Metric: measure.Total.Name, Unit: "ns", Outcome: decide.Regressed, Gates: true, Change: 0.05,
			ReasonKey: "beyond", ReasonArgs: decide.Args{"by": "limit", "size": decide.Number(0.03), "unit": ""},
			Also:  []decide.Remark{{Key: "by-total"}},
			Facts: []decide.Remark{{Key: "names", Args: decide.Args{"base": []string{"a", "b", "c", "d"}, "head": []string{"e"}}}}}},
	}
	for range 2 {
		Tell(r)
		if r.Reason != "saxpy total time +5.00 % regressed" {
			t.Errorf("reason %q", r.Reason)
		}
		if want := []string{"another", "the driver differs: 550 in the base, 570 in the head"}; !slices.Equal(r.Warnings, want) {
			t.Errorf("warnings %q, want %q", r.Warnings, want)
		}
		f := r.Findings[0]
		if want := "beyond the limit of 3 %; launched with another geometry, so judged by its total time"; f.Reason != want {
			t.Errorf("reason %q, want %q", f.Reason, want)
		}
		if want := []string{"a, b, c, others → e"}; !slices.Equal(f.Evidence, want) {
			t.Errorf("evidence %q, want %q", f.Evidence, want)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again := new(decide.Report)
		if err := json.Unmarshal(data, again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a file changes the report:\n%s", diff)
		}
		r = again
	}
	r.Findings[0].Reason, r.Reason = "as it was", "so it was"
	if Tell(r); r.Findings[0].Reason != "as it was" || r.Reason != "so it was" {
		t.Errorf("%q, %q: a sentence was replaced", r.Reason, r.Findings[0].Reason)
	}
}
