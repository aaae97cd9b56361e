package text

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// said finds every remark and refusal that packages gate and check make, with the names of its arguments.
func said(t *testing.T) map[string][]string {
	t.Helper()
	var files []string
	for _, dir := range []string{"../..", "../../check"} {
		found, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	text := func(e ast.Expr) string {
		lit, ok := e.(*ast.BasicLit)
		if !ok {
			return ""
		}
		s, _ := strconv.Unquote(lit.Value)
		return s
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

// fields are the arguments that a template asks for.
func fields(n parse.Node, to map[string]bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, x := range n.Nodes {
			fields(x, to)
		}
	case *parse.ActionNode:
		fields(n.Pipe, to)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			for _, a := range c.Args {
				fields(a, to)
			}
		}
	case *parse.FieldNode:
		to[n.Ident[0]] = true
	case *parse.IfNode:
		fields(n.Pipe, to)
		fields(n.List, to)
		if n.ElseList != nil {
			fields(n.ElseList, to)
		}
	case *parse.RangeNode:
		fields(n.Pipe, to)
	}
}

// Every remark of the engine has one sentence, which asks for nothing that the remark does not hold, and no sentence is
// without a remark.
func TestEveryRemarkHasItsSentence(t *testing.T) {
	said, has := said(t), map[string][]string{}
	for key := range sentences {
		asked := map[string]bool{}
		fields(templates().Lookup(key).Root, asked)
		has[key] = slices.Sorted(maps.Keys(asked))
	}
	for _, r := range gate.Reasons {
		if _, ok := has[r.Key]; ok {
			t.Errorf("%s is a refusal and a remark", r.Key)
		}
		asked := map[string]bool{}
		fields(templates().Lookup(r.Key).Root, asked)
		fields(templates().Lookup(way+r.Key).Root, asked)
		has[r.Key] = slices.Sorted(maps.Keys(asked))
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
	for detail := range details {
		key, name, _ := strings.Cut(detail, ".")
		if !slices.Contains(has[key], name) {
			t.Errorf("%s is no detail of a refusal", detail)
		}
	}
}

// What stands in a report already stays; what does not is filled in once; and the data survives a file.
func TestTellTwice(t *testing.T) {
	remark := gate.Remark{Key: "versions", Args: gate.Args{"what": "driver", "base": "550", "head": "570"}}
	r := &gate.Report{
		Verdict: gate.Fail, ReasonKey: "regressed", ReasonArgs: gate.Args{"subjects": gate.Number(1)},
		Warnings: []string{"another"}, Doubts: []gate.Remark{remark}, Remarks: []gate.Remark{},
		Findings: []gate.Finding{{Kernel: "saxpy", Metric: measure.Total.Name, Unit: "ns", Outcome: gate.Regressed, Gates: true, Change: 0.05,
			ReasonKey: "beyond", ReasonArgs: gate.Args{"by": "limit", "size": gate.Number(0.03), "unit": ""},
			Also:  []gate.Remark{{Key: "by-total"}},
			Facts: []gate.Remark{{Key: "names", Args: gate.Args{"base": []string{"a", "b", "c", "d"}, "head": []string{"e"}}}}}},
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
		again := new(gate.Report)
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
