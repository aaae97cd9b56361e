package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"github.com/nsgate/nsgate/gate/internal/cli"
)

// TestConsole runs every command of the console blocks of the README and of the manual, a page in a directory of its
// own, in order, and holds what is printed against the page. A line "…" stands for any lines, "…" in a line for any
// text. Commands are run with the fake tools; one that names slower-app finds its saxpy slower.
func TestConsole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	commands := 0
	for _, page := range pages(t) {
		for _, b := range page.blocks("console") {
			if !strings.HasPrefix(b.text, "$ ") {
				t.Errorf("%s:%d: no command; what is not run is sh or text", page.file, b.line)
			}
		}
		script, n := page.script()
		commands += n
		if n == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, page.name+".txtar"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if commands < 25 {
		t.Fatalf("%d commands found", commands)
	}
	p := params(t, dir)
	p.Cmds["prints"] = prints
	testscript.Run(t, p)
}

// script is the script of the page's console blocks, and the number of its commands.
func (p page) script() (text string, commands int) {
	var script, files strings.Builder
	script.WriteString(`env NSGATE_FAKE_BASE_PROFILES=$KERNELS/base
env NSGATE_FAKE_NCU=$WORK/ncu
mkdir ncu
cp $NCU/base.raw.csv ncu/app.csv
cp $NCU/softmax_1.10.raw.csv ncu/slower-app.csv
symlink testdata -> $ROOT/testdata
exec chmod 755 app slower-app
`)
	for _, block := range p.blocks("console") {
		for _, part := range strings.Split("\n"+block.text, "\n$ ")[1:] {
			line, output, _ := strings.Cut(part, "\n")
			command, code, _ := strings.Cut(line, "   # exit code ")
			command = strings.Replace(command, "go run ./cmd/nsgate", "nsgate", 1)
			if command == "go test ./..." {
				continue // this test is part of it
			}
			if code == "" {
				code = "0"
			}
			commands++
			profiles := "base"
			if strings.Contains(command, "slower-app") {
				profiles = "saxpy_1.05"
			}
			fmt.Fprintf(&script, "env NSGATE_FAKE_PROFILES=$KERNELS/%s\nexits %s %s\nprints %s:%d want.%d\n", profiles,
				code, command, p.name, block.line, commands)
			fmt.Fprintf(&files, "-- want.%d --\n%s\n", commands, strings.TrimRight(output, "\n"))
		}
	}
	for _, name := range []string{"app", "slower-app"} {
		fmt.Fprintf(&files, "-- %s --\n#!/bin/sh\n", name)
	}
	return script.String() + files.String(), commands
}

// prints holds the last command's output against a file with "…" for what is left out.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: prints PLACE FILE")
	}
	want, got := strings.TrimRight(ts.ReadFile(args[1]), "\n"), strings.TrimRight(ts.ReadFile("stdout"), "\n")
	pattern := regexp.QuoteMeta("\n" + want)
	pattern = strings.ReplaceAll(pattern, "\n…", `(\n[^\n]*)*`)
	pattern = strings.ReplaceAll(pattern, "…", `[^\n]*`)
	// An ellipsis that the output itself prints matches as well.
	if !regexp.MustCompile(`^` + pattern + `$`).MatchString("\n" + got) {
		ts.Fatalf("printed:\n%s\n%s says:\n%s", got, args[0], want)
	}
}

// TestCommandLines finds the commands of nsgate in code, in blocks and between backticks, and wants each to be one and
// its flags to be flags of it.
func TestCommandLines(t *testing.T) {
	helps := map[string]string{}
	flagsOf := func(command string) string {
		if _, ok := helps[command]; !ok {
			var b bytes.Buffer
			if code := cli.Main(context.Background(), []string{command, "--help", "all"},
				cli.Streams{Out: &b, Err: &b}); code != 0 {
				b.Reset()
			}
			helps[command] = b.String()
		}
		return helps[command]
	}
	call := regexp.MustCompile("(?:^|[`\\s(;&|'\"])nsgate ([a-z]+)([^\\n`|;&)]*)")
	flag := regexp.MustCompile(`(?:^|\s)(--?[a-z][a-z-]*)`)
	seen := 0
	for _, page := range pages(t) {
		var code []string
		for _, language := range []string{"console", "sh", "yaml", "groovy", "cmake"} {
			for _, b := range page.blocks(language) {
				code = append(code, strings.ReplaceAll(b.text, "\\\n", " "))
			}
		}
		for _, span := range regexp.MustCompile("`[^`]+`").FindAllString(fence.ReplaceAllString(page.text, ""), -1) {
			code = append(code, strings.ReplaceAll(span, "\n", " "))
		}
		for _, text := range code {
			for _, m := range call.FindAllStringSubmatch(text, -1) {
				if m[1] == "help" {
					continue // see TestLinks
				}
				seen++
				help := flagsOf(m[1])
				if help == "" {
					t.Errorf("%s: there is no nsgate %s", page.name, m[1])
				}
				own, _, _ := strings.Cut(m[2]+" ", " -- ")
				own = regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(own, "X")
				for _, f := range flag.FindAllStringSubmatch(own, -1) {
					if !regexp.MustCompile(`(?m)^ +(-\w, )?`+f[1]+`[ ,=]`).MatchString(help) &&
						!strings.Contains(help, " "+f[1]+", ") {
						t.Errorf("%s: nsgate %s has no %s", page.name, m[1], f[1])
					}
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("%d commands found", seen)
	}
	// A flag that stands for itself is one of some command, or of a tool that is known by it.
	all := ""
	var commands, discard bytes.Buffer
	cli.Main(context.Background(), []string{"__complete", ""}, cli.Streams{Out: &commands, Err: &discard})
	for _, m := range regexp.MustCompile(`(?m)^[a-z]+`).FindAllString(commands.String(), -1) {
		all += flagsOf(m)
	}
	foreign := strings.Fields("--trace --type --tables --cudabacktrace --python-backtrace --cuda-graph-trace --pause " +
		"--resume --csv --summary-export --clock-control --cache-control --replay-mode")
	for _, page := range pages(t) {
		for _, m := range regexp.MustCompile("`(--[a-z][a-z-]*)").FindAllStringSubmatch(fence.ReplaceAllString(page.text, ""), -1) {
			if !slices.Contains(foreign, m[1]) && !regexp.MustCompile(` `+m[1]+`[ ,=]`).MatchString(all) {
				t.Errorf("%s: no command has %s", page.name, m[1])
			}
		}
	}
}

// TestManualLength holds the pages of the manual to a number of words, as wc -w counts them.
func TestManualLength(t *testing.T) {
	const most = 18_000
	words := 0
	for _, p := range pages(t) {
		if p.name != "README" {
			words += len(strings.Fields(p.text))
		}
	}
	if words > most {
		t.Errorf("the manual has %d words, the bound is %d: say it once and link", words, most)
	}
}

// TestLinks wants every link to lead to a page and, where it names one, to a heading of it, and every topic that is
// named to be one.
func TestLinks(t *testing.T) {
	all := pages(t)
	anchors := map[string][]string{}
	for _, p := range all {
		for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fence.ReplaceAllString(p.text, ""),
			-1) {
			anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
			anchors[p.name] = append(anchors[p.name], strings.ReplaceAll(anchor, " ", "-"))
		}
	}
	for _, p := range all {
		text := fence.ReplaceAllString(p.text, "")
		for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			to := p.name
			if file != "" {
				to = strings.TrimSuffix(filepath.Base(file), ".md")
				if _, err := os.Stat(filepath.Join(filepath.Dir(p.file), file)); err != nil {
					t.Errorf("%s: %v", p.name, err)
				}
			}
			if anchor != "" && !slices.Contains(anchors[to], anchor) {
				t.Errorf("%s: %s has no heading %s, but %q", p.name, to, anchor, anchors[to])
			}
		}
		for _, m := range regexp.MustCompile(`nsgate help ([a-z][a-z-]*)`).FindAllStringSubmatch(p.text, -1) {
			if anchors[m[1]] == nil {
				t.Errorf("%s: there is no topic %s", p.name, m[1])
			}
		}
	}
}

// TestYAML reads every block of YAML, and holds what it hands to nsgate's action, template and hooks against these.
func TestYAML(t *testing.T) {
	read := func(text []byte) (v map[string]any) {
		t.Helper()
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return v
	}
	file := func(name string) []byte {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	action := read(file("action.yml"))["inputs"].(map[string]any)
	template := read(file(".gitlab/nsgate.yml"))["spec"].(map[string]any)["inputs"].(map[string]any)
	hooks := string(file(".pre-commit-hooks.yaml"))
	seen := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks("yaml") {
			seen++
			var doc any
			if err := yaml.Unmarshal([]byte(b.text), &doc); err != nil {
				t.Errorf("%s:%d: %v", p.file, b.line, err)
			}
			walk(doc, func(m map[string]any) {
				inputs, known := m["with"], action
				if uses, _ := m["uses"].(string); !strings.HasPrefix(uses, "nsgate/nsgate@") {
					inputs = nil
				}
				if m["file"] == ".gitlab/nsgate.yml" {
					inputs, known = m["inputs"], template
				}
				with, _ := inputs.(map[string]any)
				for name := range with {
					if known[name] == nil {
						t.Errorf("%s:%d: there is no input %s", p.file, b.line, name)
					}
				}
				if m["repo"] == "https://github.com/nsgate/nsgate" {
					walk(m["hooks"], func(h map[string]any) {
						if !strings.Contains(hooks, fmt.Sprintf("- id: %v\n", h["id"])) {
							t.Errorf("%s:%d: there is no hook %v", p.file, b.line, h["id"])
						}
					})
				}
			})
		}
	}
	if seen < 6 {
		t.Errorf("%d blocks found", seen)
	}
}

// walk visits every mapping within a document.
func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, x := range v {
			walk(x, visit)
		}
	case []any:
		for _, x := range v {
			walk(x, visit)
		}
	}
}

// TestOtherCode reads the blocks of JSON, and those of Python where there is one to read them.
func TestOtherCode(t *testing.T) {
	python, _ := exec.LookPath("python3")
	for _, p := range pages(t) {
		for _, b := range p.blocks("json") {
			if !json.Valid([]byte(b.text)) {
				t.Errorf("%s:%d: no JSON", p.file, b.line)
			}
		}
		for _, b := range p.blocks("python") {
			if python == "" {
				continue
			}
			cmd := exec.Command(python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
			cmd.Stdin = strings.NewReader(b.text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %s", p.file, b.line, out)
			}
		}
	}
}
