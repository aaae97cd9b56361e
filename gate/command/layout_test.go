package command_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layout is the map of the packages: each may import those of a lower level only, and the third-party modules that it
// is the door of.
var layout = map[string]struct {
	level int
	doors []string
}{
	"gate/internal/measure":     {-1, []string{"github.com/ianlancetaylor/demangle"}},
	"gate/measure":              {0, nil},
	"gate/internal/judge/stats": {0, []string{"gonum.org/v1/gonum"}},
	"gate/internal/proc":        {0, []string{"golang.org/x/sys"}},
	"gate/internal/run/confine": {2, []string{"github.com/landlock-lsm/go-landlock", "golang.org/x/sys",
		"kernel.org/pub/linux/libs/security/libcap/psx"}},
	"gate/internal/report/cells":       {0, []string{"golang.org/x/text"}},
	"gate/internal/git":                {1, nil},
	"gate/internal/input":              {-2, nil},
	"gate/internal/output":             {-1, []string{"golang.org/x/sys"}},
	"gate/internal/terminal":           {0, []string{"golang.org/x/term"}},
	"gate/internal/run/host":           {2, nil},
	"gate/internal/report/codehost":    {0, nil},
	"gate/internal/run/doctor":         {2, nil},
	"gate/internal/run/device":         {3, nil},
	"gate/internal/run/nvidia":         {4, nil},
	"gate/internal/run/tools":          {5, nil},
	"gate/internal/read/counters":      {2, nil},
	"gate/internal/run/profiler":       {3, nil},
	"gate/internal/run/nsysrun":        {4, nil},
	"gate/internal/run/ncurun":         {4, nil},
	"gate/internal/devicecode":         {0, []string{"github.com/klauspost/compress", "github.com/pierrec/lz4/v4"}},
	"gate/internal/reduce/locate":      {0, nil},
	"gate/internal/read/sqlitepage":    {0, nil},
	"gate/internal/read/nsys":          {2, nil},
	"gate/internal/read/nsysstats":     {2, nil},
	"gate/internal/read/nsysjax":       {2, []string{"github.com/parquet-go/parquet-go"}},
	"gate/internal/read/torch":         {2, []string{"github.com/go-json-experiment/json"}},
	"gate/internal/read/bench":         {3, []string{"github.com/go-json-experiment/json"}},
	"gate/internal/read/filter":        {0, []string{"github.com/itchyny/gojq"}},
	"gate/internal/read/ncu":           {3, []string{"google.golang.org/protobuf"}},
	"gate/internal/report/plot":        {0, nil},
	"gate/internal/reduce/attribution": {3, nil},
	"gate/internal/reduce/trace":       {4, nil},
	"gate/internal/read/baseline":      {2, []string{"github.com/gocarina/gocsv"}},
	"thresholds": {1, []string{"github.com/pelletier/go-toml/v2",
		"github.com/kballard/go-shellquote"}},
	"gate/internal/model":           {1, nil},
	"gate/internal/result":          {2, nil},
	"gate/internal/explain/reason":  {3, nil},
	"gate/internal/judge/recorded":  {2, nil},
	"gate/internal/explain/insight": {8, nil},
	"gate/internal/history":         {4, nil},
	"gate/internal/explain/code":    {4, nil},
	"gate/internal/judge/align":     {4, nil},
	"gate/internal/judge/terms":     {4, nil},
	"gate/internal/judge/match":     {5, nil},
	"gate/internal/judge/verdict":   {6, nil},
	"gate/internal/judge/decide":    {7, nil},
	"gate/internal/judge/calibrate": {9, nil},
	"gate":                          {11, nil},
	"gate/command":                  {14, nil},
	"gate/internal/explain/why":     {4, nil},
	"gate/internal/reduce/rank":     {6, nil},
	"gate/internal/run":             {7, nil},
	"gate/internal/report/saved":    {3, nil},
	"gate/internal/report/story":    {9, []string{"github.com/clipperhouse/displaywidth"}},
	"gate/internal/report":          {10, []string{"maragu.dev/gomponents"}},
	"gate/internal/report/github":   {11, []string{"github.com/sethvargo/go-githubactions"}},
	"gate/internal/read/profile":    {7, nil},
	"gate/internal/app":             {11, nil},
	"gate/internal/bisect":          {12, nil},
	"gate/internal/cli":             {13, []string{"github.com/spf13/pflag", "github.com/spf13/cobra"}},
	"cmd/nsgate":                    {15, nil},
	// The manual in the binary.
	"cmd/nsgate/docs":      {0, nil},
	"gate/internal/manual": {4, nil},
	// The recordings of nsgate demo.
	"gate/internal/demo": {0, []string{"github.com/klauspost/compress"}},
	// Beside nsgate, for its packages.
	"gate/internal/manpages": {14, []string{"github.com/cpuguy83/go-md2man/v2", "github.com/spf13/cobra"}},
}

func TestLayout(t *testing.T) {
	const module = "github.com/nsgate/nsgate/"
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Doc string
			Imports         []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		entry, ok := layout[name]
		if !ok {
			t.Errorf("%s is not on the map of packages", name)
			continue
		}
		seen++
		if p.Doc == "" {
			t.Errorf("%s has no sentence that says what it is", name)
		}
		for _, i := range p.Imports {
			if own, ok := strings.CutPrefix(i, module); ok {
				if layout[own].level >= entry.level {
					t.Errorf("%s (level %d) imports %s (level %d): imports point down", name, entry.level, own,
						layout[own].level)
				}
				continue
			}
			thirdParty := strings.Contains(strings.SplitN(i, "/", 2)[0], ".")
			if thirdParty && !slices.ContainsFunc(entry.doors,
				func(d string) bool { return i == d || strings.HasPrefix(i, d+"/") }) {
				t.Errorf("%s imports %s, which has another door", name, i)
			}
		}
	}
	if seen != len(layout) {
		t.Errorf("%d packages found, %d on the map", seen, len(layout))
	}
	page, err := os.ReadFile("../../.github/DEVELOPMENT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| package | one sentence |\n")
	for name := range layout {
		if name != "gate/internal/cli" && !strings.Contains(table, "`"+name+"`") {
			t.Errorf("%s is not in the table of packages of DEVELOPMENT.md", name)
		}
	}
}

// TestOneVerdict holds that one function writes verdicts, and the library copies them.
func TestOneVerdict(t *testing.T) {
	var writers []string
	err := filepath.WalkDir("..", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				var written []ast.Expr
				switch n := n.(type) {
				case *ast.AssignStmt:
					written = n.Lhs
				case *ast.KeyValueExpr:
					written = []ast.Expr{n.Key}
				}
				for _, x := range written {
					if s, ok := x.(*ast.SelectorExpr); ok {
						x = s.Sel
					}
					if id, ok := x.(*ast.Ident); ok && id.Name == "Verdict" {
						writers = append(writers, filepath.ToSlash(name)+" "+d.(*ast.FuncDecl).Name.Name)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"../gate.go decision", "../internal/judge/verdict/verdict.go write"}
	slices.Sort(writers)
	if !slices.Equal(writers, want) {
		t.Errorf("%q write a verdict", writers)
	}
}

// TestPatternOwner holds that one package matches patterns of files: elsewhere the directory before a pattern would be
// a part of it. The parser of the policy, which may not import that package, refuses what is none. git takes paths
// literally.
func TestPatternOwner(t *testing.T) {
	matches := regexp.MustCompile(`\b(filepath|path|fs)\.(Glob|Match)\(|":\((top|glob|literal|exclude)`)
	owners := map[string]bool{"gate/internal/input/search.go": true, "thresholds/value.go": true}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../..", name))
		if m := matches.Find(text); m != nil && !owners[name] {
			t.Errorf("%s has %s: input.Search finds files by a pattern below a directory", name, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestToolNames keeps the names of profilers out of the packages that know the ports only.
func TestToolNames(t *testing.T) {
	tool := regexp.MustCompile(`(?i)nsys|ncu\b|nvidia`)
	own := regexp.MustCompile(`/(nsys|ncu|nsysrun|ncurun|nvidia|nsysjax|nsysstats|testdata/tools|torch)/|_test\.go$`)
	named := map[string]bool{ // and whether it was found
		"gate/internal/cli/profilers.go": false, "thresholds/keys.go": false,
		"gate/internal/testdata/exporttest/jax.go":  false,
		"gate/internal/explain/insight/patterns.go": false, "gate/internal/run/dump.go": false,
		"gate/internal/measure/raw.go":    false,
		"gate/internal/model/hardware.go": false, "gate/internal/model/profiler.go": false,
		"gate/internal/model/refusal.go": false, "gate/internal/read/profile/readers.go": false,
		"gate/internal/read/profile/profile.go": false,
		"gate/internal/result/parts.go":         false, "gate/internal/run/tools/tools.go": false,
	}
	filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || own.MatchString(filepath.ToSlash(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		if found := tool.FindString(string(text)); found != "" {
			if _, ok := named[name]; !ok {
				t.Errorf("%s names %s: it knows the ports of profilers and GPUs, see gate/internal/run/tools", name,
					found)
			}
			named[name] = true
		}
		return nil
	})
	for name, found := range named {
		if !found {
			t.Errorf("%s names no tool", name)
		}
	}
}

// TestReportWords holds that reports are made of values: one file takes texts apart, those of people and of other
// tools.
func TestReportWords(t *testing.T) {
	surgery := regexp.MustCompile(`\bstrings\.(Cut|Trim|Contains|HasPrefix)\w*|\bParseFloat\b|\bregexp\.|\binput\.Pattern\b`)
	words := "gate/internal/report/story/words.go"
	outgoing := regexp.MustCompile(`/report/(bencher|codequality|dotenv|openmetrics|rdjson)\.go$`)
	for _, dir := range []string{"gate/internal/report", "gate/internal/report/story", "gate/internal/report/github"} {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, file := range files {
			name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := surgery.FindString(string(text)); found != "" && name != words &&
				!strings.HasSuffix(name, "_test.go") && !outgoing.MatchString(name) {
				t.Errorf("%s has %s: keep the values to the end, or add a function to %s", name, found, words)
			}
		}
	}
}
