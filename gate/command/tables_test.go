package command_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestTables holds the tables of the manual against the lists in the code: what is read, what can be
// written, what is refused, what is looked for; -update rewrites them.
func TestTables(t *testing.T) {
	inputs := "| what | files | gives |\n| --- | --- | --- |\n"
	for _, f := range profile.Formats() {
		files := "`" + strings.Join(f.Suffixes, "`, `") + "`"
		if f.Needs != "" {
			files += ", with `" + f.Needs + "` on the PATH"
		}
		inputs += fmt.Sprintf("| %s | %s | %s |\n", f.Name, files, f.Gives)
	}
	formats := "| format | for |\n| --- | --- |\n"
	for _, name := range report.Formats(report.Report) {
		about, _ := report.About(name)
		formats += fmt.Sprintf("| `%s` | %s |\n", name, about)
	}
	args := map[string]string{}
	for _, k := range result.Keys() {
		if k.Args != nil {
			args[k.Key] = " (`" + strings.Join(k.Args, "`, `") + "`)"
		}
	}
	patterns := "| `key` | meaning and arguments | named |\n| --- | --- | --- |\n"
	for _, p := range insight.Patterns {
		patterns += fmt.Sprintf("| `%s` | %s%s | %s |\n", p.Key, p.Means, args[p.Key], p.When)
	}
	metrics, of := "| of | metrics |\n| --- | --- |\n", map[string]string{}
	var rows []string
	for by := measure.ByTimeline; by <= measure.ByResults; by++ {
		for _, kind := range []measure.Scope{measure.ScopeKernel, measure.ScopeRange, measure.ScopeDevice,
			measure.ScopeWorkload, measure.ScopeCopy, measure.ScopeOutput, measure.ScopeBenchmark,
			measure.ScopeSection} {
			var names []string
			for _, m := range measure.MetricsOf(kind) {
				listed := m.Better != measure.Neither ||
					by != measure.ByTimeline && (by != measure.ByCounters || m.Exact) || m.Unit == "per thread"
				name := "`" + m.Name + "`"
				if m.Judged() {
					name = "**" + name + "**"
				}
				if m.Means() == by && listed && m != measure.SamplingPeriod {
					names = append(names, name)
				}
			}
			list := strings.Join(names, ", ")
			if of[list] == "" {
				rows = append(rows, list)
			}
			of[list] += ", " + string(kind)
		}
	}
	for _, list := range rows {
		if list != "" {
			by := ""
			if m, _ := measure.MetricByName(strings.Trim(strings.Split(list, ",")[0],
				"*`")); m.Means() != measure.ByTimeline {
				by = ": " + m.Means().String()
			}
			metrics += fmt.Sprintf("| %s%s | %s |\n", of[list][2:], by, list)
		}
	}
	for _, x := range []struct{ file, name, table string }{
		{"../../cmd/nsgate/docs/policy.md", "metrics", metrics},
		{"../../cmd/nsgate/docs/inputs.md", "inputs", inputs}, {"../../cmd/nsgate/docs/formats.md", "formats", formats},
		{"../../cmd/nsgate/docs/patterns.md", "patterns", patterns},
	} {
		text, err := os.ReadFile(x.file)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+x.name+" -->\n", "<!-- end -->"
		before, rest, ok := bytes.Cut(text, []byte(begin))
		_, after, closed := bytes.Cut(rest, []byte(end))
		want := []byte(string(before) + begin + x.table + end + string(after))
		switch {
		case !ok || !closed:
			t.Errorf("%s has no table between %q and %q", x.file, begin, end)
		case bytes.Equal(want, text):
		case *update:
			if err := os.WriteFile(x.file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("the table %q of %s is not that of the code; go test ./gate/command -run TestTables -update "+
				"rewrites it", x.name, x.file)
		}
	}
}

// TestKinds checks the lists of refusals and reasons: distinct words in one form, each with one sentence.
func TestKinds(t *testing.T) {
	rows := slices.Clone(result.Keys())
	for _, k := range model.Kinds {
		rows = append(rows, result.Key{Key: string(k.Kind), Means: k.Meaning})
	}
	form, known := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), map[string]bool{}
	for _, k := range rows {
		plain := k.Args == nil && !strings.HasSuffix(k.Means, ".") // the meaning is the sentence
		sentence := strings.HasSuffix(k.Means, ".") && !strings.Contains(k.Means, ". ")
		if known[k.Key] || !form.MatchString(k.Key) || !plain && !sentence {
			t.Errorf("%q: %q", k.Key, k.Means)
		}
		known[k.Key] = true
	}
	for _, p := range insight.Patterns {
		if !slices.ContainsFunc(result.Keys(), func(k result.Key) bool { return k.Key == p.Key }) {
			t.Errorf("the pattern %q is the key of no reason", p.Key)
		}
	}
}

// TestKeyed finds types of reasons without a row: those with a sentence in the packages that have rows.
func TestKeyed(t *testing.T) {
	parts := []string{"Bound", "Bounds", "Interval", "Plain", "call"} // of reasons, which say nothing themselves
	for _, dir := range []string{"explain/reason", "explain/insight", "judge/calibrate", "app"} {
		files, err := filepath.Glob("../internal/" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		says, keyed, embeds := map[string]bool{}, map[string]bool{}, map[string][]string{}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.FuncDecl:
					if x.Recv != nil && x.Name.Name == "String" {
						says[name(x.Recv.List[0].Type)] = true
					}
				case *ast.TypeSpec:
					if s, ok := x.Type.(*ast.StructType); ok {
						for _, f := range s.Fields.List {
							if f.Names == nil {
								embeds[x.Name.Name] = append(embeds[x.Name.Name], name(f.Type))
							}
						}
					}
				case *ast.CallExpr:
					if f, ok := x.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Keyed" {
						if row, ok := x.Args[1].(*ast.CompositeLit); ok {
							keyed[name(row.Type)] = true
						}
					}
				}
				return true
			})
		}
		for outer, inner := range embeds {
			says[outer] = says[outer] || slices.ContainsFunc(inner, func(s string) bool { return says[s] })
		}
		for x := range says {
			if says[x] && !keyed[x] && !slices.Contains(parts, x) {
				t.Errorf("%s.%s says something and has no row with a key", dir, x)
			}
		}
		if len(keyed) == 0 {
			t.Errorf("%s has no rows", dir)
		}
	}
}

func name(x ast.Expr) string {
	id, _ := x.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}
