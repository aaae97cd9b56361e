package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
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
	"gate/measure":            {0, []string{"github.com/ianlancetaylor/demangle"}},
	"gate/stats":              {0, []string{"gonum.org/v1/gonum"}},
	"gate/child":              {0, nil},
	"gate/internal/cells":     {0, []string{"golang.org/x/text"}},
	"gate/nsys":               {1, []string{"zombiezen.com/go/sqlite"}},
	"gate/ncu":                {1, []string{"github.com/gocarina/gocsv"}},
	"gate/nsysstats":          {1, nil},
	"gate/nsysjax":            {1, nil},
	"gate/torch":              {1, nil},
	"gate/sample":             {1, nil},
	"gate/baseline":           {1, []string{"github.com/gocarina/gocsv"}},
	"thresholds":              {1, []string{"github.com/pelletier/go-toml/v2"}},
	"gate":                    {2, nil},
	"gate/collect":            {2, []string{"golang.org/x/sys"}},
	"gate/why":                {2, nil},
	"gate/report":             {3, nil},
	"gate/report/github":      {4, []string{"github.com/sethvargo/go-githubactions"}},
	"cmd/nsgate/internal/cli": {5, []string{"github.com/spf13/pflag", "golang.org/x/sys"}},
	"cmd/nsgate":              {6, nil},
	// For tests only: nothing but tests imports it.
	"gate/internal/reasonstest": {6, nil},
	"gate/collect/faketools":    {6, []string{"zombiezen.com/go/sqlite"}},
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
					t.Errorf("%s (level %d) imports %s (level %d): imports point down", name, entry.level, own, layout[own].level)
				}
				continue
			}
			thirdParty := strings.Contains(strings.SplitN(i, "/", 2)[0], ".")
			if thirdParty && !slices.ContainsFunc(entry.doors, func(d string) bool { return i == d || strings.HasPrefix(i, d+"/") }) {
				t.Errorf("%s imports %s, which has another door", name, i)
			}
		}
	}
	if seen != len(layout) {
		t.Errorf("%d packages found, %d on the map", seen, len(layout))
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "| package | one sentence |\n")
	for name := range layout {
		if name != "gate/collect/faketools" && name != "cmd/nsgate/internal/cli" && !strings.Contains(table, "`"+name+"`") {
			t.Errorf("%s is not in the README's table of packages", name)
		}
	}
}
