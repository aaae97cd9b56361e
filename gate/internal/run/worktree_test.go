//go:build linux

package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// repository makes a git repository with two commits; their file "version" says "base" and "head". Its directory sub is
// the current one. At the end of the test the temporary directory must be empty, and the repository unchanged.
func repository(t *testing.T) (dir string) {
	t.Helper()
	session(t, 1, "true")
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_AUTHOR_NAME": "a",
		"GIT_AUTHOR_EMAIL":   "a@b",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
	} {
		t.Setenv(name, value)
	}
	dir = t.TempDir()
	shell(t, dir, `git init -q -b main . && mkdir sub && echo base >sub/version && git add . && git commit -q -m base
		echo head >sub/version && git commit -q -a -m head
		echo mine >sub/version && echo staged >staged && git add staged
		printf '#!/bin/sh\necho hook >>'"$PWD"'/hooked\n' >.git/hooks/post-checkout && chmod +x .git/hooks/post-checkout`)
	t.Chdir(filepath.Join(dir, "sub"))
	const state = `git status --porcelain; git worktree list; cat .git/config; ls .git; git hash-object .git/index`
	before := shell(t, dir, state)
	t.Cleanup(func() {
		// The context of the test is done by now.
		if after := shell(t, dir, state); after != before {
			t.Errorf("the repository was changed:\n%s\nit was:\n%s", after, before)
		}
	})
	return dir
}

func shell(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

// checkout makes a worktree of a commit, which goes with the test.
func checkout(t *testing.T, ref string) *Worktree {
	t.Helper()
	r, err := FindRevision(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestCheckout(t *testing.T) {
	dir := repository(t)
	// As in a git hook.
	t.Setenv("GIT_DIR", filepath.Join(dir, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, ".git", "index"))
	w := checkout(t, "main~1")
	if info, err := os.Stat(w.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the private directory has mode %v, want 0700 (%v)", info.Mode(), err)
	}
	err := w.Build(t.Context(), `cat version >built; git add built; mkdir locked; touch locked/x; chmod 500 locked`)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"", ".", filepath.Join(dir, "sub")} {
		at, err := w.Counterpart(w.Root(), where)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(at, "built")); string(text) != "base\n" {
			t.Errorf("counterpart of %q: built from %q, want the base (%v)", where, text, err)
		}
	}
	if _, err := w.Counterpart(w.Root(), t.TempDir()); err == nil {
		t.Error("a directory outside the checkout has a counterpart")
	}
	os.Mkdir(filepath.Join(dir, "new"), 0o755)
	var refusal *model.Refusal
	if _, err := w.Counterpart(w.Root(), filepath.Join(dir, "new")); !errors.As(err, &refusal) {
		t.Errorf("a directory that the base does not have: %v is no refusal", err)
	}
	os.Remove(filepath.Join(dir, "new"))
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "hooked")); err == nil {
		t.Error("the user's hook ran")
	}
}

func TestCheckoutBesideOthers(t *testing.T) {
	dir := repository(t)
	other := filepath.Join(t.TempDir(), "other")
	shell(t, dir, "git -c core.hooksPath=/dev/null worktree add -q "+other+" main~1 2>&1; rm -r "+other)
	r, err := FindRevision(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if list := shell(t, dir, "git worktree list"); !strings.Contains(list, other) {
		t.Errorf("a worktree of somebody else's was pruned: %s", list)
	}
	shell(t, dir, "git worktree prune")
}

func TestCheckoutSubmodules(t *testing.T) {
	dir := repository(t)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
	t.Setenv("GIT_CONFIG_VALUE_0", "always")
	outer := filepath.Join(t.TempDir(), "outer")
	shell(t, t.TempDir(),
		"git init -q -b main "+outer+" && cd "+outer+" && git submodule --quiet add "+dir+" lib && git commit -q -m x"+
			" && git clone -q "+outer+" ../clone")
	clone := filepath.Join(filepath.Dir(outer), "clone")
	t.Chdir(clone)
	shell(t, clone, "git config submodule.lib.update '!echo x >lib/sub/version; touch "+
		filepath.Dir(outer)+"/ran; true'")
	config := shell(t, clone, "cat .git/config; ls .git")
	w := checkout(t, "HEAD")
	if err := w.Build(t.Context(), "grep head lib/sub/version"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(outer), "ran")); err == nil {
		t.Error("a command of the checkout's configuration ran")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if now := shell(t, clone, "cat .git/config; ls .git"); now != config {
		t.Errorf("the repository was changed:\n%s\nit was:\n%s", now, config)
	}
}

func TestBuildFails(t *testing.T) {
	repository(t)
	w := checkout(t, "main~1")
	err := w.Build(t.Context(), "echo no rule for that; exit 2")
	var failure *BuildError
	var refusal *model.Refusal
	if !errors.As(err, &failure) || failure.Output != "no rule for that\n" || !errors.As(err, &refusal) {
		t.Fatalf("%v (%+v)", err, failure)
	}
	if want := "the build of the base main~1 failed: exit status 2"; refusal.Reason != want || refusal.Next == "" {
		t.Errorf("reason %q, want %q; next %q", refusal.Reason, want, refusal.Next)
	}
	// A daemon that holds the output open is ended and is no failure.
	if err := w.Build(t.Context(), "setsid sleep 60 & exit 0"); err != nil {
		t.Error(err)
	}
}

func TestBuildCancelled(t *testing.T) {
	repository(t)
	stopped := errors.New("stopped")
	for name, command := range map[string]string{
		"polite":   "touch built; sleep 60 & sleep 60",
		"stubborn": "trap '' TERM INT; touch built; setsid sleep 60; sleep 60; :",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			r, err := FindRevision(ctx, "main~1")
			if err != nil {
				t.Fatal(err)
			}
			w, err := r.Checkout(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			go func() {
				until := time.Now().Add(10 * time.Second)
				for ; time.Now().Before(until); time.Sleep(time.Millisecond) {
					if _, err := os.Stat(filepath.Join(w.Root(), "sub", "built")); err == nil {
						break
					}
				}
				cancel(stopped)
			}()
			if err := w.Build(ctx, command); !errors.Is(err, stopped) {
				t.Errorf("error %v, want the cause of the cancellation", err)
			}
		})
	}
	// Nothing is begun either.
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := FindRevision(ctx, "main~1")
	if err != nil {
		t.Fatal(err)
	}
	cancel(stopped)
	if _, err := r.Checkout(ctx); !errors.Is(err, stopped) {
		t.Errorf("checkout: error %v, want the cause of the cancellation", err)
	}
}

func TestFindRevisionRefuses(t *testing.T) {
	repository(t)
	for _, ref := range []string{"", "-", "--all", "-h", "nowhere", "main:sub", "main\n"} {
		if r, err := FindRevision(t.Context(), ref); err == nil {
			t.Errorf("%q is %+v", ref, r)
		}
	}
	t.Chdir(t.TempDir())
	if _, err := FindRevision(t.Context(), "HEAD"); err == nil || !strings.Contains(err.Error(), "git checkout") {
		t.Errorf("outside a repository: %v", err)
	}
}

func TestHolds(t *testing.T) {
	dir := repository(t)
	link := filepath.Join(t.TempDir(), "link")
	python := filepath.Join(dir, "python")
	for name, target := range map[string]string{link: dir, python: "/bin/sh"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Remove(python)
	r, err := FindRevision(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	held := []string{dir, dir + "/sub/version", "--config=" + dir + "/sub", link + "/sub", dir + "/not/yet/built"}
	other := []string{"version", "../sub/version", dir + "-other", "/bin/sh", "--x=/bin/sh", "", "=", python,
		filepath.Dir(dir)}
	for _, word := range slices.Concat(held, other) {
		if got, want := r.Holds(word), slices.Contains(held, word); got != want {
			t.Errorf("Holds(%q) = %v", word, got)
		}
	}
}

// Where somebody dies while a private directory is removed, the next one can go on: what says whose it is goes last.
func TestRemovePrivate(t *testing.T) {
	repository(t)
	r, err := FindRevision(t.Context(), "main~1")
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Build(t.Context(), "mkdir locked; touch locked/x; chmod 500 locked"); err != nil {
		t.Fatal(err)
	}
	// As far as it may have come.
	if err := os.RemoveAll(w.Root()); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	w.Lock.Close()
	proc.Sweep()
	if _, err := os.Stat(w.Path); err == nil {
		t.Error("the private directory is still there")
	}
}

// forgeries change the checkout around the base, as code of the change can that ran in it before. None of them may
// change the base: it holds "base", or is refused.
var forgeries = map[string]string{
	"blob": `at() { git rev-parse "$1" | sed 's,^..,.git/objects/&/,'; }
		to=$(at main~1:sub/version); chmod u+w $to; cp $(at main:sub/version) $to`,
	"tree": `at() { git rev-parse "$1" | sed 's,^..,.git/objects/&/,'; }
		to=$(at main~1:sub); chmod u+w $to; cp $(at main:sub) $to`,
	"commit": `at() { git rev-parse "$1" | sed 's,^..,.git/objects/&/,'; }
		to=$(at main~1); chmod u+w $to; cp $(at main) $to`,
	"packed blob": `at() { git rev-parse "$1" | sed 's,^..,.git/objects/&/,'; }
		from=$(at main:sub/version) id=$(git rev-parse main~1:sub/version); to=$(at main~1:sub/version)
		mkdir ../loose; cp $from ../loose/blob; rm -f $to; mkdir -p ${to%/*}; cp ../loose/blob $to`,
	"alternate": `mkdir -p ../other/objects; to=$(git rev-parse main~1:sub/version | sed 's,^..,&/,')
		mkdir -p ../other/objects/${to%/*}
		cp $(git rev-parse main:sub/version | sed 's,^..,.git/objects/&/,') ../other/objects/$to
		rm -f .git/objects/$to; echo "$PWD/../other/objects" >.git/objects/info/alternates`,
	"replacement": `git replace $(git rev-parse main~1:sub/version) $(git rev-parse main:sub/version)`,
	"graft":       `mkdir -p .git/info; git rev-parse main >.git/info/grafts`,
	"filter of the checkout": `git config filter.x.smudge "sed s/base/head/"; mkdir -p .git/info
		echo '* filter=x' >.git/info/attributes`,
	"line ends":          `git config core.autocrlf true; git config core.eol crlf`,
	"line ends by names": `mkdir -p .git/info; echo '* text eol=crlf' >.git/info/attributes`,
	"encoding":           `mkdir -p .git/info; echo '* text working-tree-encoding=UTF-16' >.git/info/attributes`,
	"attributes elsewhere": `echo '* text eol=crlf' >../attributes
		git config core.attributesFile "$PWD/../attributes"`,
	"sparse checkout": `git config core.sparseCheckout true; mkdir -p .git/info
		echo /staged >.git/info/sparse-checkout`,
	"sparse by worktree": `git config extensions.worktreeConfig true
		git config --worktree core.sparseCheckout true; mkdir -p .git/info; echo /no >.git/info/sparse-checkout`,
	"hook of the checkout": `printf '#!/bin/sh\necho head >sub/version\n' >.git/hooks/post-checkout
		chmod 755 .git/hooks/post-checkout`,
	"directory of hooks": `mkdir ../h; printf '#!/bin/sh\necho head >sub/version\n' >../h/post-checkout
		chmod 755 ../h/post-checkout; git config core.hooksPath "$PWD/../h"`,
	"watch of files": `printf '#!/bin/sh\necho head >sub/version\n' >../w; chmod 755 ../w
		git config core.fsmonitor "$PWD/../w"`,
	"graph of commits": `git commit-graph write --reachable; cd .git/objects/info; chmod u+w commit-graph
		tr '\000' '\001' <commit-graph >g; mv -f g commit-graph`,
	"template of the checkout": `mkdir -p ../t/hooks
		printf '#!/bin/sh\necho head >sub/version\n' >../t/hooks/post-checkout
		chmod 755 ../t/hooks/post-checkout; git config init.templateDir "$PWD/../t"`,
	// An earlier step can write the user's own configuration too.
	"own filter": `echo '* filter=x' >../own; git config --global core.attributesFile "$PWD/../own"
		git config --global filter.x.smudge "sed s/base/head/"`,
	"own line ends":          `git config --global core.autocrlf true`,
	"own line ends by names": `echo '* text eol=crlf' >../own; git config --global core.attributesFile "$PWD/../own"`,
	"own links":              `git config --global core.symlinks false`,
	"own hooks": `mkdir ../h; printf '#!/bin/sh\necho head >sub/version\n' >../h/post-checkout
		chmod 755 ../h/post-checkout; git config --global core.hooksPath "$PWD/../h"`,
}

func TestForgeries(t *testing.T) {
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			session(t, 1, "true")
			for name, value := range map[string]string{
				"GIT_CONFIG_GLOBAL": filepath.Join(t.TempDir(), "config"), "GIT_CONFIG_SYSTEM": os.DevNull,
				"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
				"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
			} {
				t.Setenv(name, value)
			}
			dir := filepath.Join(t.TempDir(), "checkout")
			shell(t, filepath.Dir(dir), `git init -q -b main checkout && cd checkout && mkdir sub && ln -s sub link
				echo base >sub/version && git add . && git commit -q -m base
				echo head >sub/version && git commit -q -a -m head`)
			t.Chdir(dir)
			r, err := FindRevision(t.Context(), "main~1")
			if err != nil {
				t.Fatal(err)
			}
			shell(t, dir, forge)
			w, err := r.Checkout(t.Context())
			if err != nil {
				t.Log("refused:", err)
				return
			}
			defer w.Close()
			if text, err := os.ReadFile(filepath.Join(w.Root(), "sub", "version")); string(text) != "base\n" {
				t.Errorf("the base holds %q, %v", text, err)
			}
			if link, err := os.Readlink(filepath.Join(w.Root(), "link")); link != "sub" {
				t.Errorf("a link of the base leads to %q, %v", link, err)
			}
		})
	}
}

// A base build finds the history and tags that version numbers are made of, also in a shallow clone, a large file where
// Git LFS is set up, and no file in place of one.
func TestCheckoutHistory(t *testing.T) {
	session(t, 1, "true")
	dir := filepath.Join(t.TempDir(), "checkout")
	config := filepath.Join(filepath.Dir(dir), "config")
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": config, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
	} {
		t.Setenv(name, value)
	}
	// As git lfs smudge does, which takes what lies in its storage.
	program := `[filter "lfs"]
	clean = "cat >/dev/null; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:` +
		`9bfce334a37bd1bc1d36b0370195b31fe9a9389dd43d0873891a3544ef1140a1\\nsize 6\\n'"
	smudge = "cat >/dev/null; cat \"$(git config lfs.storage || echo .git/lfs)/file\""
	required = true
`
	if err := os.WriteFile(config, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	shell(t, filepath.Dir(dir), `git init -q -b main checkout && cd checkout && mkdir .git/lfs
		echo large >.git/lfs/file; echo large >large; echo '/large filter=lfs' >.gitattributes; echo 1 >a; git add .
		git commit -q -m 1; git tag -a -m x v1.0; echo 2 >a; git commit -q -a -m 2; git tag light
		echo 3 >a; git commit -q -a -m 3; git clone -q -n --depth 2 "file://$PWD" ../shallow 2>&1
		mkdir -p ../shallow/.git/lfs; cp .git/lfs/file ../shallow/.git/lfs; cd ../shallow; git checkout -q -f HEAD`)
	t.Chdir(dir)
	w := checkout(t, "main~1")
	err := w.Build(t.Context(), `test "$(git describe --match 'v*')" = "v1.0-1-g$(git rev-parse --short HEAD)" &&
		test "$(git describe --tags)" = light && test "$(git rev-list --count HEAD)" = 2 &&
		test "$(cat large)" = large && test -z "$(git status --porcelain)" && git log --oneline`)
	if failed := (*BuildError)(nil); errors.As(err, &failed) {
		t.Error(err, failed.Output)
	}
	w.Close()
	shell(t, dir, "echo other >.git/lfs/file")
	r, err := FindRevision(t.Context(), "main~1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Checkout(t.Context()); err == nil || !strings.Contains(err.Error(), "of Git LFS is not that") {
		t.Errorf("another file of Git LFS: %v", err)
	}
	t.Chdir(filepath.Join(filepath.Dir(dir), "shallow"))
	w = checkout(t, "HEAD~1")
	err = w.Build(t.Context(), `test "$(git rev-list --count HEAD)" = 1 && test "$(cat large)" = large`)
	if err != nil {
		t.Error(err)
	}
}
