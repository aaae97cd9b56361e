package gate_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLibrary builds the program of testdata/library as a module of its own, as another repository would, and runs it
// on two directories of profiles. Without the network it has the modules that this one needs.
func TestLibrary(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := read("gate/testdata/library/main.go")
	write("main.go", program)
	write("go.sum", read("go.sum"))
	_, required, _ := strings.Cut(read("go.mod"), "require (")
	write("go.mod", read("gate/testdata/library/go.mod")+"\nrequire ("+required)
	flags := os.Getenv("GOFLAGS") + " -mod=mod"
	offline := append(os.Environ(), "GOFLAGS="+flags, "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
	run := func(name string, args ...string) (stdout, stderr string, err error) {
		var out, messages bytes.Buffer
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, offline, &out, &messages
		err = cmd.Run()
		return out.String(), messages.String(), err
	}
	replace := []string{"mod", "edit", "-replace", "github.com/nsgate/nsgate=" + root}
	for _, args := range [][]string{replace, {"build", "-o", "library.exe", "."}} {
		if _, messages, err := run("go", args...); strings.Contains(messages, "disabled by GOPROXY=off") {
			t.Skipf("a module is not on this machine, and the network is not asked: %s", messages)
		} else if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, messages)
		}
	}
	kernels := filepath.Join(root, "testdata", "h200", "kernels")
	base := filepath.Join(kernels, "base")
	page := read("cmd/nsgate/docs/library.md")
	for head, want := range map[string]string{"saxpy_1.05": "exit status 1", "unchanged": ""} {
		out, messages, err := run(filepath.Join(dir, "library.exe"), base, filepath.Join(kernels, head))
		if got := exitOf(err); got != want || messages != "" {
			t.Errorf("%s: %s, want %s: %s%s", head, got, want, out, messages)
		}
		if want != "" && !strings.Contains(page, "```text\n"+out+"```\n") {
			t.Errorf("the manual's page on the library does not show what its program prints:\n%s", out)
		}
	}
	_, shown, _ := strings.Cut(page, "```go\n")
	shown, _, _ = strings.Cut(shown, "```\n")
	if !strings.Contains(program, shown) || !strings.Contains(shown, "gate.Compare") {
		t.Errorf("the manual's page on the library shows what testdata/library/main.go lacks:\n%s", shown)
	}
}

func exitOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
