package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	promiseRow = regexp.MustCompile(`(?m)^\| ([a-z ]+) \| (.+) \| (.+) \|$`)
	code       = regexp.MustCompile("`([^`]+)`")
	subject    = regexp.MustCompile(`(?m)^- \*\*(.+)\.\*\*`)
)

// TestPromises wants tests that exist for each promise of the manual, and a promise for each subject of SECURITY.md.
func TestPromises(t *testing.T) {
	page, err := os.ReadFile("../../cmd/nsgate/docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile("../../.github/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## What is promised\n")
	section, _, _ = strings.Cut(section, "\n## ")
	promised := map[string]bool{}
	for _, row := range promiseRow.FindAllStringSubmatch(section, -1) {
		if row[1] == "subject" {
			continue
		}
		promised[row[1]] = true
		for _, problem := range missing(row[3]) {
			t.Errorf("security.md promises %q: %s", row[2], problem)
		}
	}
	if len(promised) == 0 {
		t.Fatal("no promise was found")
	}
	for _, s := range subject.FindAllStringSubmatch(string(policy), -1) {
		if !promised[strings.ToLower(s[1])] {
			t.Errorf("SECURITY.md defends against %q, and no row of security.md has it as its subject", s[1])
		}
		delete(promised, strings.ToLower(s[1]))
	}
	for s := range promised {
		t.Errorf("%q is a subject of security.md and none of SECURITY.md", s)
	}
}

// missing says which tests of a cell do not exist: packages with the names behind them, and scripts.
func missing(cell string) (problems []string) {
	dir, tests, text := "", 0, ""
	for _, name := range code.FindAllStringSubmatch(cell, -1) {
		name := name[1]
		switch {
		case strings.HasSuffix(name, ".txtar"):
			tests++
			if _, err := os.Stat(filepath.Join("testdata/script", name)); err != nil {
				problems = append(problems, err.Error())
			}
		case strings.HasPrefix(name, "Test"), strings.HasPrefix(name, "Fuzz"):
			tests++
			if !strings.Contains(text, "\nfunc "+name+"(") {
				problems = append(problems, fmt.Sprintf("package %q has no %s", dir, name))
			}
		default:
			dir, text = name, ""
			files, _ := filepath.Glob(filepath.Join("../..", name, "*_test.go"))
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					problems = append(problems, err.Error())
				}
				text += string(content)
			}
		}
	}
	if tests == 0 {
		problems = append(problems, "it has no test")
	}
	return problems
}

// TestPromisesAreLookedUp is the test of the test: a cell without a test, and names that do not exist, are found.
func TestPromisesAreLookedUp(t *testing.T) {
	for cell, want := range map[string]int{
		"`gate/command` `TestPromises`, `links.txtar`": 0, "`gate/command`": 1, "by hand": 1, "`none.txtar`": 1,
		"`gate/command` `TestPromise`": 1, "`gate` `TestPromises`": 1,
	} {
		if got := missing(cell); len(got) != want {
			t.Errorf("%s: %q", cell, got)
		}
	}
}
