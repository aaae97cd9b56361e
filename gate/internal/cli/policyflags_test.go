package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Outside of a checkout a policy above the working directory is another's, and one of another user is refused everywhere.
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
	if got := findUp(policyFile); got != "" {
		t.Errorf("without a checkout %s is found", got)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := findUp(policyFile); got != "../../"+policyFile {
		t.Errorf("in a checkout %q is found", got)
	}
	if _, err := new(policyFlags).load(); err != nil {
		t.Error(err)
	}
	if os.Chown(file, 4711, -1) != nil {
		t.Skip("only root gives files away")
	}
	if _, err := new(policyFlags).load(); err == nil || !strings.Contains(err.Error(), "belongs to another user (uid 4711)") {
		t.Errorf("a policy of another user: %v", err)
	}
	t.Setenv("SUDO_UID", "4711")
	if _, err := new(policyFlags).load(); err != nil {
		t.Errorf("under sudo: %v", err)
	}
}
