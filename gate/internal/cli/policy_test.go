package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Outside of a checkout a policy above the working directory is another's, and one of another user is refused
// everywhere.
func TestPolicyOfAnother(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, policyFile)
	if err := os.WriteFile(file, []byte("threshold = \"1%\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	if got := findPolicy(); got != "" {
		t.Errorf("without a checkout %s is found", got)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := findPolicy(); got != "../../"+policyFile {
		t.Errorf("in a checkout %q is found", got)
	}
	if _, err := readPolicy(""); err != nil {
		t.Error(err)
	}
	if os.Chown(file, 4711, -1) != nil {
		t.Skip("only root gives files away")
	}
	if _, err := readPolicy(""); err == nil || !strings.Contains(err.Error(), "belongs to another user (uid 4711)") {
		t.Errorf("a policy of another user: %v", err)
	}
	t.Setenv("SUDO_UID", "4711")
	if _, err := readPolicy(""); err != nil {
		t.Errorf("under sudo: %v", err)
	}
}

// TestForeignPolicy refuses a policy whose link, directory or repository belongs to another user.
func TestForeignPolicy(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.toml")
	if err := os.WriteFile(own, []byte("threshold = \"1%\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Chown(own, 4711, -1) != nil || os.Chown(own, 0, -1) != nil {
		t.Skip("only root gives files away")
	}
	planted := filepath.Join(dir, "planted")
	link := filepath.Join(planted, policyFile)
	for _, x := range []struct {
		name   string
		change func(t *testing.T) error
		says   string // "" for none
	}{
		{"own link", func(*testing.T) error { return nil }, ""},
		{"link of another user", func(*testing.T) error { return os.Lchown(link, 4711, -1) },
			"nsgate.toml belongs to another user (uid 4711)"},
		{"directory of another user", func(*testing.T) error { return os.Chown(planted, 4711, -1) },
			"planted belongs to another user (uid 4711)"},
		{"repository of another user", func(*testing.T) error {
			return errors.Join(os.Mkdir(filepath.Join(planted, ".git"), 0o755),
				os.Chown(filepath.Join(planted, ".git"), 4711, -1))
		}, ".git belongs to another user (uid 4711)"},
		{"checkout of a CI job", func(t *testing.T) error {
			t.Setenv("GITHUB_ACTIONS", "true")
			t.Setenv("GITHUB_WORKSPACE", planted)
			return errors.Join(exec.Command("git", "init", "-q", planted).Run(), os.Chown(planted, 4711, -1),
				os.Chown(filepath.Join(planted, ".git"), 4711, -1))
		}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			os.RemoveAll(planted)
			if err := errors.Join(os.Mkdir(planted, 0o755), os.Symlink(own, link), x.change(t)); err != nil {
				t.Fatal(err)
			}
			_, err := readPolicy(link)
			if x.says == "" && err != nil || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
				t.Errorf("%v, want %q", err, x.says)
			}
		})
	}
}

// TestPolicyIsAFile refuses a policy that is a device, a directory or a link to nothing, instead of judging without
// one.
func TestPolicyIsAFile(t *testing.T) {
	for _, target := range []string{os.DevNull, ".", "gone"} {
		dir := t.TempDir()
		if err := os.Symlink(target, filepath.Join(dir, policyFile)); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		if _, err := readPolicy(""); err == nil || !strings.Contains(err.Error(), policyFile) {
			t.Errorf("a link to %s: %v", target, err)
		}
	}
}
