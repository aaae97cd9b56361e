//go:build linux

package run

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The action lists the files of the base when it has built them, and what differs afterwards is named.
func TestUnchanged(t *testing.T) {
	script, err := filepath.Abs("../../../.github/base")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	dir := filepath.Join(work, "base")
	sh := func(command string) {
		t.Helper()
		cmd := exec.Command("bash", "-ec", command)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(work, "config"),
			"SCRIPT="+script, "WORKING_DIRECTORY=", "BASE_REF=HEAD",
			"BASE_DIR="+dir, "GITHUB_OUTPUT="+filepath.Join(work, "output"), "CACHE_BASE=true",
			"RUNNER_OS=Linux", "RUNNER_ARCH=X64",
			"BUILD=cp program built; ln -s built link; ln -s nowhere dead; echo x >$'a\\nb'; echo y >'c\\d  e'; "+
				"mkdir -p sub/.git; echo >sub/.git/x")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	sh(`mkdir -p template/hooks && printf '#!/bin/sh\ntouch "$BASE_DIR/ran"\n' >template/hooks/post-checkout &&
			chmod 755 template/hooks/*
		git config --global init.templateDir $PWD/template; git config --global core.hooksPath $PWD/template/hooks
		git config --global user.name a; git config --global user.email a@b
			git config --global core.fsmonitor "touch $PWD/ran;"
		git -c core.fsmonitor=false init -q repo && cd repo && echo program >program &&
			git -c core.fsmonitor=false add . && git -c core.fsmonitor=false commit -q -m one
		BUILD= bash "$SCRIPT" key; bash "$SCRIPT" build`)
	if err := Unchanged(dir, filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a hook ran in the base")
	}
	for _, change := range []string{"echo head >built", "echo >>program", "chmod 000 built; rm built",
		"ln -sf program link", "ln -sf /bin/sh dead", "touch new", "mkdir n && touch n/new", "rm link && cp built link",
		"rm dead", "rm program && ln -s built program", "echo >sub/.git/y", "printf head >$'a\\nb'", "mv 'c\\d  e' c"} {
		sh("rm -rf base && cd repo && bash $SCRIPT build && cd ../base && " + change)
		err := Unchanged(dir, filepath.Join(dir, ".git"))
		if err == nil || !strings.Contains(err.Error(), "of the build") {
			t.Errorf("%s: %v", change, err)
		}
	}
	sh("rm base/.git/nsgate-built")
	if err := Unchanged(dir, filepath.Join(dir, ".git")); !errors.Is(err, ErrNoList) {
		t.Error(err)
	}
}
