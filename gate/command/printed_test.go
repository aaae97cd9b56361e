package command_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/nsgate/nsgate/gate/internal/cli"
)

// nasty holds commands to a terminal or a CI runner, in UTF-8 and as printed by a locale without its characters.
const nasty = "\u2588\u2588[error]a ##[error]b ##vso[task.c] \x1b[31md\x1b]0;e\a \u202ef\u009b31m"

// printing are command lines that print texts from elsewhere: of every command at least one. FORMAT stands
// for each format that the command has. writing are the commands that write into the repository.
var (
	printing = map[string][]string{
		"accept":          {"accept --force --reason NASTY REPORT", "accept --reason NASTY NASTY"},
		"baseline":        {"baseline --format FORMAT", "baseline NASTY"},
		"baseline list":   {"baseline list --format FORMAT -v"},
		"baseline show":   {"baseline show --format FORMAT SESSION", "baseline show NASTY"},
		"baseline diff":   {"baseline diff --format FORMAT SESSION SESSION"},
		"baseline remove": {"baseline remove --reason NASTY SESSION", "baseline remove --reason x NASTY"},
		"baseline rename": {"baseline rename NASTY NASTY", "baseline rename hostile NASTY"},
		"bisect": {"bisect HEAD~1 HEAD --dry-run", "bisect NASTY HEAD --format FORMAT",
			"bisect HEAD~1 HEAD --format FORMAT --runs 2 -- sh -c NASTY"},
		"calibrate": {"calibrate --format FORMAT --from BASE", "calibrate --dry-run"},
		"check": {"check --format FORMAT --from HEAD", "check -v --from HEAD", "check --dry-run",
			"check --workload hostile --runs 2", "check --from NASTY", "check --policy NASTY"},
		"compare":    {"compare --format FORMAT BASE HEAD", "compare -v BASE HEAD", "compare NASTY HEAD"},
		"completion": {"completion bash", "completion zsh", "completion fish", "completion powershell"},
		"doctor":     {"doctor", "doctor --json", "doctor --nsys NASTY"},
		"help":       {"help --all", "help formats", "help NASTY", "NASTY", "check --NASTY"},
		"history":    {"history --format FORMAT REPORT", "history --format FORMAT"},
		"demo":       {"demo --format FORMAT", "demo -v"},
		"explain":    {"explain NASTY", "explain undecided"},
		"init":       {"init --dry-run", "init --force --ci github"},
		"policy":     {"policy", "policy NASTY"},
		"rank":       {"rank --gather NASTY -- NASTY", "rank -- NASTY"},
		"record": {"record --from HEAD --reason NASTY", "record --dry-run",
			"record --workload hostile --runs 2"},
		"report":           {"report --format FORMAT REPORT", "report -v REPORT", "report NASTY"},
		"schema":           {"schema report", "schema NASTY"},
		"scrub":            {"scrub HEAD -o NASTY", "scrub NASTY -o x"},
		"show":             {"show --format FORMAT HEAD", "show -v HEAD", "show NASTY"},
		"version":          {"version", "version --json", "version NASTY"},
		"__complete":       {"__complete check --workload"},
		"__completeNoDesc": {"__completeNoDesc check --for"},
	}
	writing = []string{"accept", "baseline remove", "bisect", "calibrate", "check", "init", "record", "scrub"}
)

var (
	obeyed  = regexp.MustCompile(`(?im)^[\s\pZ]*::|##[\pL\pN]*\[`)
	colours = regexp.MustCompile("\x1b\\[(0|2|31|32|33)m")
	known   = regexp.MustCompile(`what is printed: ([a-z, ]+)`)
)

// TestPrinted runs every command on texts that a terminal or a CI runner would obey, in each format, in the locales C
// and C.UTF-8, with and without colour: nothing that is printed is obeyed.
func TestPrinted(t *testing.T) {
	t.Parallel()
	fixture := hostileRepository(t)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "nsgate"), " ")
		if lines := printing[path]; c.Runnable() && path != "" && len(lines) == 0 {
			t.Errorf("no line of the test prints with nsgate %s", path)
		}
		for _, line := range printing[path] {
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				fixture.print(t, c, line, slices.Contains(writing, path))
			})
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := cli.Root()
	root.InitDefaultHelpCmd()
	walk(root)
}

// place is where the commands run.
type place struct{ dir, session string }

// print runs a line of the table in all its forms.
func (p place) print(t *testing.T, c *cobra.Command, line string, writes bool) {
	formats := []string{""}
	if f := c.Flags().Lookup("format"); f != nil && strings.Contains(line, "FORMAT") {
		formats = strings.Split(known.FindStringSubmatch(f.Usage)[1], ", ")
	}
	colourful := c.Flags().Lookup("color") != nil
	for _, format := range formats {
		for _, look := range [][2]string{{"C.UTF-8", "never"}, {"C.UTF-8", "always"}, {"C", "never"}, {"C", "always"}} {
			read := format == "" || format == "text" // by people
			if look[1] == "always" && (!colourful || !read) {
				continue
			}
			if !full() && (!read && look[0] == "C" || read && colourful && (look[0] == "C") == (look[1] == "always")) {
				continue // two of four looks, one of a format that no locale changes
			}
			dir := filepath.Join(p.dir, "repo")
			if writes {
				dir = filepath.Join(t.TempDir(), "repo")
				if err := os.CopyFS(dir, os.DirFS(filepath.Join(p.dir, "repo"))); err != nil {
					t.Fatal(err)
				}
			}
			var args []string
			for word := range strings.FieldsSeq(line) {
				args = append(args, strings.NewReplacer("NASTY", nasty, "FORMAT", format, "SESSION", p.session,
					"BASE", filepath.Join(p.dir, "base"), "REPORT", filepath.Join(p.dir, "report.json"),
					"HEAD", filepath.Join(p.dir, "head")).Replace(word))
			}
			if c.Name() == "bisect" {
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], filepath.Join(p.dir, "head"), "HEAD")
				}
			}
			cmd := exec.Command("nsgate", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "LC_ALL="+look[0], "HOME="+p.dir,
				"GIT_CONFIG_GLOBAL="+filepath.Join(p.dir, "gitconfig"),
				"NSGATE_FAKE_PROFILES="+filepath.Join(p.dir, "base"))
			if colourful {
				cmd.Env = append(cmd.Env, "NSGATE_COLOR="+look[1])
			}
			var out, failed strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &failed
			cmd.Run() // most end with an error
			at := strings.Join([]string{line, format, look[0], look[1]}, " ")
			machine := format != "" && format != "text" || slices.Contains(args, "--json") ||
				slices.Contains([]string{"help", "completion", "schema"}, c.Name())
			copied := strings.Contains(line, "--dry-run") // into a shell, in any language
			harmless(t, at+" stdout", out.String(), look[1] == "always" && !machine,
				look[0] == "C" && !machine && !copied)
			harmless(t, at+" stderr", failed.String(), false, look[0] == "C")
			if out.Len()+failed.Len() == 0 || strings.Contains(failed.String(), "goroutine ") {
				t.Errorf("%s: %q, %q", at, out.String(), failed.String())
			}
			if format == "json" && out.Len() > 0 && !json.Valid([]byte(out.String())) {
				t.Errorf("%s: no JSON: %s", at, out.String())
			}
		}
	}
}

// harmless wants a text that nothing obeys.
func harmless(t *testing.T, at, text string, coloured, ascii bool) {
	t.Helper()
	if coloured {
		text = colours.ReplaceAllString(text, "")
	}
	if !utf8.ValidString(text) {
		t.Errorf("%s: invalid UTF-8", at)
	}
	for line := range strings.Lines(text) {
		if obeyed.MatchString(line) {
			t.Errorf("%s: a CI runner obeys %q", at, line)
		}
		for _, r := range line {
			if r != '\n' && r != '\t' && r != '\u00a0' && !unicode.IsPrint(r) || ascii && r > unicode.MaxASCII {
				t.Errorf("%s: %U in %q", at, r, line)
				break
			}
		}
	}
}

// hostileRepository is a repository whose commits, policy and baseline hold such texts, beside recordings and a report
// that do.
func hostileRepository(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for side, source := range map[string]string{"base": "base", "head": "saxpy_1.05"} {
		if err := os.CopyFS(filepath.Join(dir, side), os.DirFS(
			filepath.Join("../../testdata/h200/kernels", source))); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, side, "*.sqlite"))
		for _, file := range files {
			db, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			const rename = `UPDATE StringIds SET value = ? || value WHERE id IN (SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL
				UNION SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL)`
			if err := sqlitex.Execute(db, rename, &sqlitex.ExecOptions{Args: []any{nasty}}); err != nil {
				t.Fatal(err)
			}
			db.Close()
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "repo"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("gitconfig", "[user]\nname = a\nemail = a@example.org\n[init]\ndefaultBranch = main\n")
	quoted, _ := json.Marshal(nasty) // the escapes of JSON are those of TOML
	write("repo/nsgate.toml", `[[workload]]
name = "default"
command = ["::error title=x::y", `+string(quoted)+`, "two\n::error::lines"]
[[workload]]
name = "hostile"
command = ["sh", "-c", 'printf "::error::x\n\342\226\210#[error]y \033]0;z\007\n"; exit 7', `+string(quoted)+`]
[[rule]]
kernel = "██[error]a ##[error]b ##vso[task.c]*"
max = "5%"
`)
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = filepath.Join(dir, "repo")
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(dir, "gitconfig"), "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if x, ok := err.(*exec.ExitError); err != nil && (!ok || name != "nsgate" || x.ExitCode() != 1) {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("git", "init", "-q")
	run("git", "commit", "-q", "--allow-empty", "-m", "::error::x "+nasty)
	run("nsgate", "record", "-q", "--workload", "default", "--from", filepath.Join(dir, "base"), "--reason", nasty)
	run("git", "add", ".")
	run("git", "commit", "-q", "-m", nasty)
	run("nsgate", "check", "-q", "--workload", "default", "--from", filepath.Join(dir, "head"), "-o",
		filepath.Join(dir, "report.json"))
	files, _ := filepath.Glob(filepath.Join(dir, "repo/.nsgate/default/*/*.csv"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	return place{dir, strings.TrimSuffix(filepath.Base(files[0]), ".csv")}
}
