package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestAction holds action.yml against the command: every input arrives through a variable that stands for a flag of
// nsgate check or is read by the script, every output is one that nsgate sets, and no expression stands in a script.
// actionlint does not look into action.yml.
func TestAction(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	inputs, outputs, runs := part(string(text), "inputs"), part(string(text), "outputs"), part(string(text), "runs")

	var read string
	for _, name := range []string{"install", "base", "recorded"} {
		script, err := os.ReadFile("../../.github/" + name)
		if err != nil {
			t.Fatal(err)
		}
		read += string(script)
	}
	var help bytes.Buffer
	if code := cli.Main(context.Background(), []string{"check", "--help", "all"},
		cli.Streams{Out: &help, Err: &help}); code != 0 {
		t.Fatal(help.String())
	}
	variables := regexp.MustCompile(`(?m)^        ([A-Z_]+): \$\{\{ inputs\.([a-z-]+) \}\}$`).FindAllStringSubmatch(runs, -1)
	arrives := make(map[string]string)
	for _, v := range variables {
		if arrives[v[2]] == "" || strings.HasPrefix(v[1], "NSGATE_") {
			arrives[v[2]] = v[1]
		}
		if flag, ok := strings.CutPrefix(v[1], "NSGATE_"); ok {
			flag = "--" + strings.ToLower(strings.ReplaceAll(flag, "_", "-")) + " "
			if !strings.Contains(help.String(), flag) || flag != "--"+v[2]+" " {
				t.Errorf("input %s arrives as %s, which is no flag of that name", v[2], v[1])
			}
		} else if scripts := runs + read; !strings.Contains(scripts, "$"+v[1]) &&
			!strings.Contains(scripts, "${"+v[1]) {
			t.Errorf("no script reads %s", v[1])
		}
	}
	names := keys(inputs)
	if len(names) < 10 {
		t.Fatalf("inputs %q", names)
	}
	for _, name := range names {
		if arrives[name] == "" {
			t.Errorf("input %s goes nowhere", name)
		}
		delete(arrives, name)
	}
	for name := range arrives {
		t.Errorf("%s is no input", name)
	}
	// A default would always win over nsgate.toml.
	if n := strings.Count(inputs, "default:"); n != 2 || !strings.Contains(inputs, "default: release") ||
		!strings.Contains(inputs, "default: ${{ github.token }}") {
		t.Errorf("%d inputs have a default", n)
	}

	file := t.TempDir() + "/output"
	getenv := func(name string) string { return map[string]string{"GITHUB_OUTPUT": file}[name] }
	if err := github.Publish(&result.Report{Verdict: result.Pass}, "", github.Options{Getenv: getenv}); err != nil {
		t.Fatal(err)
	}
	set, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names = keys(outputs)
	for _, name := range names {
		if !strings.Contains(string(set), name+"<<") {
			t.Errorf("nsgate does not set the output %s", name)
		}
		if !strings.Contains(outputs, "value: ${{ steps.gate.outputs."+name+" }}") {
			t.Errorf("output %s is not handed on", name)
		}
	}
	if n := strings.Count(string(set), "<<"); n != len(names)+1 { // the first twice
		t.Errorf("nsgate sets %d outputs, the action has %q", n, names)
	}

	script := false
	for line := range strings.Lines(runs) {
		switch {
		case strings.HasPrefix(line, "      run: |"):
			script = true
		case strings.HasPrefix(line, "    - "):
			script = false
		case script && strings.Contains(line, "${{"):
			t.Errorf("an expression in a script: %s", line)
		}
		if strings.Contains(line, "uses:") && !cacheAction.MatchString(line) {
			t.Errorf("another action: %s", line)
		}
	}
	shells := strings.Count(runs, "shell: bash") + strings.Count(runs, "shell: nsgate-bash ")
	if strings.Count(runs, "    - name:") != shells+strings.Count(runs, "      uses:") {
		t.Error("a step without a shell")
	}
}

// TestActionEvent wants the event that the action hands on to be JSON, whatever the expressions in it give, and to win
// over the file of the event, which a build can write.
func TestActionEvent(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	value := regexp.MustCompile(`(?s) NSGATE_EVENT: >-\n(.*?\}\}\}\n)`).FindStringSubmatch(string(text))[1]
	given := map[string]string{"event.action": `"opened"`, "pull_request.number": "7", "pull_request.labels": "[]",
		"head.sha": `"` + strings.Repeat("a", 40) + `"`, "base.sha": `"` + strings.Repeat("b", 40) + `"`}
	of := func(name string) string {
		for end, x := range given {
			if strings.HasSuffix(name, end) {
				return x
			}
		}
		return "null"
	}
	call := regexp.MustCompile(`toJSON\(github\.([a-z_.]+)\)`)
	format := regexp.MustCompile(`(?s)github\.event\.pull_request && format\('(.*?)',(.*)\) \|\| 'null'`)
	for _, pull := range []bool{true, false} {
		sure := regexp.MustCompile(`(?s)\$\{\{ (.*?) \}\}`).ReplaceAllStringFunc(value, func(x string) string {
			m := format.FindStringSubmatch(x)
			switch {
			case m == nil:
				return of(call.FindStringSubmatch(x)[1])
			case !pull:
				return "null"
			}
			out := m[1] // as format does: {{ and }} are brackets, {0} is the first value
			for i, v := range call.FindAllStringSubmatch(m[2], -1) {
				out = strings.Replace(out, fmt.Sprintf("{%d}", i), "\x00"+of(v[1])+"\x00", 1)
			}
			return strings.NewReplacer("{{", "{", "}}", "}", "\x00", "").Replace(out)
		})
		if !json.Valid([]byte(sure)) {
			t.Fatalf("no JSON: %s", sure)
		}
		file := filepath.Join(t.TempDir(), "event.json")
		forged := `{"action": "labeled", "label": {"name": "ok"}, "sender": {"login": "boss"}, "pull_request": {"number": 8,
			"labels": [{"name": "ok"}], "base": {"sha": "` + strings.Repeat("c", 40) + `"}}}`
		if err := os.WriteFile(file, []byte(forged), 0o600); err != nil {
			t.Fatal(err)
		}
		getenv := func(name string) string {
			return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "main", "GITHUB_EVENT_PATH": file,
				codehost.Event: sure}[name]
		}
		r, number, target := codehost.ReviewOf(getenv), 0, ""
		if pull {
			number, target = 7, strings.Repeat("b", 40)
		}
		if by, ok := r.Labelled("ok"); ok || by != "" || r.Number != number || codehost.Target(getenv) != target {
			t.Errorf("label by %q %v of %+v, target %s", by, ok, r, codehost.Target(getenv))
		}
	}
}

// TestWrittenInstall wants the job that init writes to install nsgate as the template for inclusion does.
func TestWrittenInstall(t *testing.T) {
	part := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "      if ! command -v nsgate")
		install, _, found := strings.Cut(rest, "        PATH=$bin:$PATH\n      fi\n")
		if !found {
			t.Fatalf("%s: no part installs nsgate", file)
		}
		return install
	}
	included, written := part("../../.gitlab/nsgate.yml"), part("../internal/cli/init/gitlab.yml.tmpl")
	if included != written {
		t.Errorf("the template for inclusion installs by\n%s\nthe job of init by\n%s", included, written)
	}
}

// cacheAction is the one action that action.yml uses, at a commit.
var cacheAction = regexp.MustCompile(`^      uses: actions/cache/(restore|save)@[0-9a-f]{40} # v[0-9.]+\n$`)

// TestNoExpressionInScript refuses an expression in a script of the action, of the workflows here, in the manual and
// that init writes: its text, such as a branch's name, would run as code. Their actions are pinned by a commit, and
// shellcheck, where there is one, reads the scripts. The job of a pull request has at most 12 lines.
func TestNoExpressionInScript(t *testing.T) {
	files := []string{"../../action.yml", "../../.gitlab/nsgate.yml", "../../.gitlab-ci.yml"}
	for _, pattern := range []string{"../internal/cli/init/git*.yml.tmpl", "../../.github/workflows/*.yml"} {
		more, err := filepath.Glob(pattern)
		files = append(files, more...)
		if err != nil || len(more) < 2 {
			t.Fatalf("%q (%v)", more, err)
		}
	}
	texts := map[string][]byte{}
	for _, p := range pages(t) {
		for _, b := range p.blocks("yaml") {
			texts[fmt.Sprintf("%s:%d", p.file, b.line)] = []byte(b.text)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = text
	}
	shellcheck, _ := exec.LookPath("shellcheck")
	scripts := 0
	for file, text := range texts {
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var doc yaml.Node
			if err := d.Decode(&doc); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, script := range values(&doc, "run", "script", "before_script", "command", "build", "base-cmd") {
				scripts++
				if strings.Contains(script, "${{") || strings.Contains(script, "$[[") {
					t.Errorf("%s: an expression in the script %s", file, script)
				}
			}
			for _, action := range values(&doc, "uses") {
				if !pinnedAction.MatchString(action) {
					t.Errorf("%s: the action %s is not pinned by a commit", file, action)
				}
			}
			for key, shell := range map[string]string{"run": "bash", "script": "sh"} {
				for _, script := range values(&doc, key) {
					cmd := exec.Command(shellcheck, "-S", "warning", "-s", shell, "-")
					cmd.Stdin = strings.NewReader("set -e\n" + script)
					if out, err := cmd.CombinedOutput(); shellcheck != "" && err != nil {
						t.Errorf("%s: %s%v", file, out, err)
					}
				}
			}
		}
		if strings.HasSuffix(file, "github.yml.tmpl") {
			_, job, _ := strings.Cut(string(text), "\njobs:\n")
			job, _, _ = strings.Cut(job, "\n\n")
			job = regexp.MustCompile(`(?m)^ *#.*\n`).ReplaceAllString(job, "")
			if n := strings.Count(job, "\n") + 1; n > 12 {
				t.Errorf("%d lines of the job:\n%s", n, job)
			}
		}
	}
	if scripts < 20 {
		t.Errorf("only %d scripts were found", scripts)
	}
}

// pinnedAction is an action at a commit, this one by its major tag or from the checkout.
var pinnedAction = regexp.MustCompile(`^(\./|nsgate/nsgate@(v1|\{action\})|[\w./-]+@[0-9a-f]{40})$`)

// values are the texts of the keys of these names, anywhere below a node; those of a list on lines of one text.
func values(n *yaml.Node, names ...string) (texts []string) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && slices.Contains(names, n.Content[i-1].Value) {
			text := c.Value
			for _, item := range c.Content {
				text += item.Value + "\n"
			}
			texts = append(texts, text)
		}
		texts = append(texts, values(c, names...)...)
	}
	return texts
}

// part is the block of a key at the top of a YAML file.
func part(text, key string) string {
	_, after, _ := strings.Cut(text, "\n"+key+":\n")
	if end := regexp.MustCompile(`(?m)^\S`).FindStringIndex(after); end != nil {
		after = after[:end[0]]
	}
	return after
}

// keys are the keys one level down.
func keys(part string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+):$`).FindAllStringSubmatch(part, -1) {
		out = append(out, m[1])
	}
	return out
}
