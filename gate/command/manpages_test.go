package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/manual"
)

// Every command and topic has a page without a warning of groff.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "../internal/manpages", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"nsgate.1", "nsgate-check.1", "nsgate-baseline-show.1", "nsgate-policy.7"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	pages := []string{"-k", "-t", "-man", "-Tutf8", "-Wbreak", "-z"}
	for _, t7 := range manual.Topics() {
		name := "nsgate-" + t7.Name
		file := filepath.Join(dir, name+".7")
		page, unread := os.ReadFile(file)
		if unread != nil || !regexp.MustCompile(`(?mi)^\.TH "`+name+`" "7"`).Match(page) ||
			!strings.Contains(string(page), ".SH NAME") || regexp.MustCompile("(?m)^<!--|^```").Match(page) {
			t.Errorf("%s: %.300s (%v)", name, page, unread)
		}
		pages = append(pages, file)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	out, err := exec.Command(groff, pages...).CombinedOutput()
	// A table of many columns is wider than a page, and has to be.
	wide := regexp.MustCompile(`(?m).*\n +table wider than line width\n`)
	if said := wide.ReplaceAllString(string(out), ""); err != nil || said != "" {
		t.Errorf("%v: %.500s", err, said)
	}
}
