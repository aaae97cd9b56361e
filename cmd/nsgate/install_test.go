//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstall runs the script that puts nsgate on the PATH of a GitHub job, with a release on a server that is a directory.
func TestInstall(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl, which every runner has")
	}
	script, err := os.ReadFile("../../.github/install")
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.Repeat("ab", 20)
	released := "#!/bin/sh\necho '{\"version\":\"v1.2.3\",\"commit\":\"" + commit + "\"}'\n"
	for _, tt := range []struct {
		name, mode, ref, changelog string
		server                     string // what is wrong with it: "gone", "changed", "unlisted", "" for nothing
		code                       int
		says, not                  string
	}{
		{"the release of a tag", "release", "v1.2.3", "## v1.2.3", "", 0, "v1.2.3", "source"},
		{"the release of a major tag", "", "v1", "## v1.2.3 (2026-11-22)", "", 0, "v1.2.3", "source"},
		{"the release of a minor tag", "release", "v1.2", "## v1.2.3", "", 0, "v1.2.3", "source"},
		{"the release of a commit", "release", commit, "## v1.2.3", "", 0, "v1.2.3", "source"},
		{"a later commit is no release", "release", strings.Repeat("cd", 20), "## v1.2.3", "", 0, "the action's commit is not that of v1.2.3", ""},
		{"what is not released yet", "release", "v1", "## Unreleased\n\n## v1.2.3", "", 0, "built from source", ""},
		{"a branch", "release", "main", "## v1.2.3", "", 0, "built from source", ""},
		{"another major version", "release", "v12", "## v1.2.3", "", 0, "built from source", ""},
		{"a local copy", "release", "", "## v1.2.3", "", 0, "built from source", ""},
		{"no network", "release", "v1", "## v1.2.3", "gone", 0, "no binary of v1.2.3 for Linux X64 could be had", ""},
		{"another file than was released", "release", "v1", "## v1.2.3", "changed", 2, "::error title=nsgate::nsgate_linux_amd64.tar.gz of v1.2.3 is not what its checksums.txt says", "source"},
		{"a file without a checksum", "release", "v1", "## v1.2.3", "unlisted", 2, "is not what its checksums.txt says", "source"},
		{"from source", "source", "v1", "## v1.2.3", "", 0, "built from source", ""},
		{"none", "none", "v1", "## v1.2.3", "", 0, "/nsgate", "source"},
		{"no mode", "binary", "v1", "## v1.2.3", "", 2, "install-mode is none of release, source and none", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				name = filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write("action/.github/install", string(script))
			write("action/.github/CHANGELOG.md", "# Changelog\n\n"+tt.changelog+"\n")
			write("bin/go", "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\nprintf '#!/bin/sh\\necho built from source\\n' >$out/nsgate\nchmod 755 $out/nsgate\n")
			write("nsgate", released)
			write("temp/.keep", "")
			at := "server/nsgate/nsgate/releases/download/v1.2.3/"
			write(at+".keep", "")
			if tt.server != "gone" {
				archive := filepath.Join(dir, at, "nsgate_linux_amd64.tar.gz")
				if out, err := exec.Command("tar", "-czf", archive, "-C", dir, "nsgate").CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				text, err := os.ReadFile(archive)
				if err != nil {
					t.Fatal(err)
				}
				name := "nsgate_linux_amd64.tar.gz"
				switch tt.server {
				case "changed":
					text = append(text, 0)
				case "unlisted":
					name = "other_" + name
				}
				write(at+"checksums.txt", fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name))
			}
			cmd := exec.Command("bash", filepath.Join(dir, "action/.github/install"))
			path := dir + "/bin:" + os.Getenv("PATH")
			if tt.mode == "none" {
				path = dir + ":" + path
			}
			cmd.Env = []string{"PATH=" + path, "INSTALL_MODE=" + tt.mode, "ACTION_REF=" + tt.ref, "ACTION_REPOSITORY=nsgate/nsgate",
				"GITHUB_SERVER_URL=file://" + dir + "/server", "RUNNER_OS=Linux", "RUNNER_ARCH=X64", "RUNNER_TEMP=" + dir + "/temp",
				"GITHUB_PATH=" + dir + "/path"}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(string(out), tt.says) || tt.not != "" && strings.Contains(string(out), tt.not) {
				t.Errorf("printed %q, want %q and not %q", out, tt.says, tt.not)
			}
			added, _ := os.ReadFile(filepath.Join(dir, "path"))
			if want := tt.code == 0 && tt.mode != "none"; want != (strings.TrimSpace(string(added)) == dir+"/temp/nsgate-bin") {
				t.Errorf("the PATH gets %q", added)
			}
		})
	}
}
