//go:build linux

package command_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestInstall runs the script that puts nsgate on the PATH of a GitHub job, with a release on a server that is a
// directory.
func TestInstall(t *testing.T) {
	t.Parallel()
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
		{"a pinned commit", "release", commit, "## v1.2.3", "", 0, "built from source", "v1.2.3"},
		{"what is not released yet", "release", "v1", "## Unreleased\n\n## v1.2.3", "", 0, "built from source", ""},
		{"a branch", "release", "main", "## v1.2.3", "", 0, "built from source", ""},
		{"another major version", "release", "v12", "## v1.2.3", "", 0, "built from source", ""},
		{"a local copy", "release", "", "## v1.2.3", "", 0, "built from source", ""},
		{"no network", "release", "v1", "## v1.2.3", "gone", 0, "no binary of v1.2.3 for Linux X64 could be had", ""},
		{"another file than was released", "release", "v1", "## v1.2.3", "changed", 2,
			"::error title=nsgate::nsgate_linux_amd64.tar.gz of v1.2.3 is not what its checksums.txt says", "source"},
		{"a file without a checksum", "release", "v1", "## v1.2.3", "unlisted", 2, "is not what its checksums.txt says",
			"source"},
		{"version v1.2.3", "release", commit, "## Unreleased", "", 0, "v1.2.3", "source"},
		{"version v9.9.9", "", "v1", "## v1.2.3", "", 2, "no binary of v9.9.9 for Linux X64 could be had; name an",
			"source"},
		{"version ../x", "", "v1", "## v1.2.3", "", 2, "version is no release", "source"},
		{"from source", "source", "v1", "## v1.2.3", "", 0, "built from source", ""},
		{"none", "none", "v1", "## v1.2.3", "", 0, "/nsgate", "source"},
		{"no mode", "binary", "v1", "## v1.2.3", "", 2, "install-mode is none of release, source and none", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) { writeProgram(t, filepath.Join(dir, name), text) }
			write("action/.github/install", string(script))
			write("action/.github/CHANGELOG.md", "# Changelog\n\n"+tt.changelog+"\n")
			write("bin/go",
				"#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\nprintf '#!/bin/sh\\necho "+
					"built from source\\n' >$out/nsgate\nchmod 755 $out/nsgate\n")
			write("nsgate", released)
			write("temp/.keep", "")
			serve(t, dir, "server/nsgate/nsgate/releases/download/v1.2.3", "nsgate_linux_amd64.tar.gz", tt.server)
			cmd := exec.Command("bash", filepath.Join(dir, "action/.github/install"))
			path := dir + "/bin:" + os.Getenv("PATH")
			if tt.mode == "none" {
				path = dir + ":" + path
			}
			cmd.Env = []string{"PATH=" + path, "INSTALL_MODE=" + tt.mode, "ACTION_REF=" + tt.ref,
				"ACTION_REPOSITORY=nsgate/nsgate", "GITHUB_SERVER_URL=file://" + dir + "/server", "RUNNER_OS=Linux",
				"RUNNER_ARCH=X64", "RUNNER_TEMP=" + dir + "/temp", "GITHUB_PATH=" + dir + "/path",
				"GITHUB_OUTPUT=" + dir + "/output", "LD_LIBRARY_PATH=/a\nLD_PRELOAD=b", "LOCPATH=/l"}
			if version, ok := strings.CutPrefix(tt.name, "version "); ok {
				cmd.Env = append(cmd.Env, "INSTALL_VERSION="+version)
			}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(string(out), tt.says) || tt.not != "" && strings.Contains(string(out), tt.not) {
				t.Errorf("printed %q, want %q and not %q", out, tt.says, tt.not)
			}
			added, _ := os.ReadFile(filepath.Join(dir, "path"))
			if want := tt.code == 0; want != (strings.TrimSpace(string(added)) == dir+"/temp/nsgate-bin") {
				t.Errorf("the PATH gets %q", added)
			}
			output, _ := os.ReadFile(filepath.Join(dir, "output"))
			shell, _ := os.Readlink(filepath.Join(dir, "temp/nsgate-bin/nsgate-bash"))
			if want := "loader<<end of nsgate-loader\nLD_LIBRARY_PATH=/aLD_PRELOAD=b\nLOCPATH=/l\n" +
				"end of nsgate-loader\n"; tt.code == 0 && (string(output) != want || shell != "/bin/bash") {
				t.Errorf("outputs %q, shell %q", output, shell)
			}
		})
	}
}

// serve puts the program nsgate of a directory into an archive below it, with its checksum; wrong is the fault: "gone",
// "changed", "unlisted", or "" for none.
func serve(t *testing.T, dir, at, name, wrong string) {
	t.Helper()
	archive := filepath.Join(dir, at, name)
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		t.Fatal(err)
	}
	if wrong == "gone" {
		return
	}
	if out, err := exec.Command("tar", "-czf", archive, "-C", dir, "nsgate").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	switch wrong {
	case "changed":
		text = append(text, 0)
	case "unlisted":
		name = "other_" + name
	}
	writeProgram(t, filepath.Join(dir, at, "checksums.txt"), fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name))
}

// TestGitLabInstall runs the script of the GitLab job on machines with and without nsgate, a release and Go.
func TestGitLabInstall(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	text, err := os.ReadFile("../../.gitlab/nsgate.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, job, _ := strings.Cut(string(text), "\n---\n")
	var jobs map[string]struct{ Script []string }
	if err := yaml.Unmarshal([]byte(strings.Replace(job, "$[[ inputs.job-name ]]", "job", 1)), &jobs); err != nil {
		t.Fatal(err)
	}
	script := strings.Join(jobs["job"].Script, "\n")
	changelog, err := os.ReadFile("../../.github/CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(string(changelog), "\n## ")
	if own := strings.ToLower(strings.Fields(first)[0]); !strings.Contains(string(text),
		"    version:\n      default: "+own+"\n") {
		t.Errorf("the job's default version is not %s, which the changelog names first", own)
	}
	const released, check = "#!/bin/sh\necho released: $*\ncommand -v git\n", ": check --patch nsgate-accept.patch "
	for _, tt := range []struct {
		name, version, machine, server, tools string
		code                                  int
		says                                  string
	}{
		{"what is on the PATH", "v1.2.3", "x86_64", "gone", "nsgate go", 0, "there: check"},
		{"no release yet", "unreleased", "x86_64", "gone", "go", 0,
			"built github.com/nsgate/nsgate/cmd/nsgate@main" + check},
		{"a release", "v1.2.3", "x86_64", "", "", 0, "released" + check},
		{"for ARM", "v1.2.3", "aarch64", "", "", 0, "released" + check},
		{"no network", "v1.2.3", "x86_64", "gone", "go", 0, "built github.com/nsgate/nsgate/cmd/nsgate@v1.2.3" + check},
		{"no network and no Go", "v1.2.3", "x86_64", "gone", "", 2,
			"no nsgate_linux_amd64.tar.gz could be had from file://"},
		{"another machine", "v1.2.3", "riscv64", "", "", 2, "no release for Linux riscv64"},
		{"another file than was released", "v1.2.3", "x86_64", "changed", "go", 2,
			"is not what its checksums.txt says; nothing was installed"},
		{"a file without a checksum", "v1.2.3", "x86_64", "unlisted", "go", 2,
			"is not what its checksums.txt says; nothing was installed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeProgram(t, filepath.Join(dir, "nsgate"), released)
			at := "releases/download/" + tt.version
			name := "nsgate_linux_amd64.tar.gz"
			if tt.machine == "aarch64" {
				name = "nsgate_linux_arm64.tar.gz"
			}
			serve(t, dir, at, name, tt.server)
			programs := map[string]string{
				"uname": "#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo " + tt.machine + "\n",
				"go": "#!/bin/sh\nprintf '#!/bin/sh\\necho built %s: $*\\n' \"$2\" >$GOBIN/nsgate\nchmod 755 " +
					"$GOBIN/nsgate\n",
				"nsgate": "#!/bin/sh\necho there: $*\n",
			}
			for _, tool := range append(strings.Fields(tt.tools), "uname") {
				writeProgram(t, filepath.Join(dir, "bin", tool), programs[tool])
			}
			writeProgram(t, filepath.Join(dir, ".nsgate-bin", "git"), "#!/bin/sh\n") // planted in the checkout
			cmd := exec.Command("sh", "-e", "-c", script)
			// Without Go and nsgate of this machine.
			cmd.Env = []string{"PATH=" + dir + "/bin:/usr/bin:/bin", "CI_PROJECT_DIR=" + dir, "TMPDIR=" + dir,
				"INSTALL_VERSION=" + tt.version, "INSTALL_FROM=file://" + dir + "/releases"}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.says) ||
				strings.Contains(string(out), ".nsgate-bin") {
				t.Errorf("exit code %d, printed %q; want %d and %q", code, out, tt.code, tt.says)
			}
		})
	}
}
