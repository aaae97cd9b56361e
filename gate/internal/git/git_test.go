//go:build linux

package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostile is a repository with one commit, whose configuration, hooks and attributes run a program at every occasion
// that git knows. That program leaves a file, which makes the test fail.
func hostile(t *testing.T) string {
	t.Helper()
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_AUTHOR_NAME": "a",
		"GIT_AUTHOR_EMAIL":   "a@b",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GITHUB_ACTIONS": "", "GITLAB_CI": "",
	} {
		t.Setenv(name, value)
	}
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	shell(t, dir, `git init -q -b main . && mkdir -p .nsgate/k && echo one >a.txt && echo two >.nsgate/k/s.csv
		printf '* filter=evil diff=evil\nc.txt filter=\n' >.gitattributes && echo three >c.txt && git add . && git commit -q -m base`)
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >>"+ran+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, `for key in core.fsmonitor filter..clean filter..smudge filter..process filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.textconv diff.evil.command \
			diff.external gpg.program core.sshCommand core.pager core.askPass; do git config $key `+program+`; done
		touch -d '1 hour ago' c.txt && git config filter.evil.required true && git config log.showSignature true
		for hook in post-index-change post-checkout reference-transaction; do cp `+program+` .git/hooks/$hook; done`)
	t.Chdir(dir)
	t.Cleanup(func() {
		if text, err := os.ReadFile(ran); err == nil {
			t.Errorf("the repository ran a program:\n%s", text)
		}
	})
	return dir
}

func shell(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// touch gives a file another time, so that git has to look at its contents.
func touch(t *testing.T, file string) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Nothing that a repository configures runs, whatever is asked; and the answers are right nevertheless.
func TestHostile(t *testing.T) {
	dir, ctx := hostile(t), t.Context()
	// The variables of earlier steps name other configurations, whose attributes and filters do not count.
	own := filepath.Join(t.TempDir(), "own")
	write(t, own, "[core]\n\tattributesFile = "+own+".attributes\n\tbigFileThreshold = 1\n[diff]\n\torderFile = none\n"+
		"[filter \"own\"]\n\tclean = touch "+own+".ran; cat\n")
	write(t, own+".attributes", "* filter=own -diff\n")
	t.Setenv("GIT_CONFIG_GLOBAL", own)
	t.Setenv("GIT_CONFIG", os.DevNull)
	defer func() {
		if _, err := os.Stat(own + ".ran"); err == nil {
			t.Error("a filter of the user's attributes ran")
		}
	}()
	touch(t, "a.txt")
	index, err := os.ReadFile(".git/index")
	if err != nil {
		t.Fatal(err)
	}
	id, changed, err := Head(ctx, ".nsgate")
	if err != nil || len(id) != 40 || changed {
		t.Errorf("%q, changed %v, %v", id, changed, err)
	}
	if after, _ := os.ReadFile(".git/index"); !slices.Equal(index, after) {
		t.Error("the index was refreshed, which takes a lock")
	}
	files, err := Files(ctx, id, ".nsgate")
	if err != nil || len(files) != 1 || files[0].Name != "k/s.csv" || string(files[0].Text) != "two\n" {
		t.Errorf("files %v, %v", files, err)
	}
	if log, err := Output(ctx, "", "log", "--format=%s"); err != nil || log != "base" {
		t.Errorf("log %q, %v", log, err)
	}
	write(t, ".nsgate/k/s.csv", "two\nthree\n")
	if _, changed, err := Head(ctx, ".nsgate"); err != nil || changed {
		t.Errorf("a baseline changed: %v, %v", changed, err)
	}
	repository, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]Change{".nsgate": {{".nsgate/k/s.csv", 1, Edited}}, "a.txt": nil} {
		if edits, err := repository.Changed(ctx, id, name); err != nil || !slices.Equal(edits, want) {
			t.Errorf("changes of %s: %v, %v", name, edits, err)
		}
	}
	write(t, "a.txt", "ONE\n")
	if _, changed, err := Head(ctx, ".nsgate"); err != nil || !changed {
		t.Errorf("a file changed: %v, %v", changed, err)
	}
	hunks, err := repository.Hunks(ctx, id)
	if want := []Hunk{{".nsgate/k/s.csv", 2, 2, false}, {"a.txt", 1, 1, false}}; err != nil ||
		!slices.Equal(hunks, want) {
		t.Errorf("hunks %v, %v, want %v", hunks, err, want)
	}
	if err := errors.Join(os.MkdirAll("a", 0o755), os.MkdirAll("b", 0o755)); err != nil {
		t.Fatal(err)
	}
	write(t, "b/x", "1\n")
	if patch, err := Patch(ctx, dir); err != nil || !strings.HasSuffix(patch, "\n+1\n") ||
		!strings.Contains(patch, "+++ b/x") {
		t.Errorf("patch %q, %v", patch, err)
	}
}

// hidden are scripts by which a build changes a file of a baseline and lets git say otherwise, and the change.
var hidden = map[string]struct {
	script string
	want   []Change
}{
	"unchanged":         {`:`, nil},
	"other time":        {`touch -d 2001-01-01 s.csv`, nil},
	"other line ends":   {`printf 'one\r\ntwo\r\n' >s.csv`, nil},
	"kept in LFS":       {`printf large >large`, nil},
	"other than in LFS": {`printf small >large`, []Change{{"k/large", 3, Edited}}},
	"assumed unchanged": {`git update-index --assume-unchanged s.csv; echo 2 >>s.csv`,
		[]Change{{"k/s.csv", 1, Edited}}},
	"skipped":          {`git update-index --skip-worktree s.csv; echo 2 >>s.csv`, []Change{{"k/s.csv", 1, Edited}}},
	"skipped and gone": {`git update-index --skip-worktree s.csv; rm s.csv`, []Change{{"k/s.csv", 2, Edited}}},
	"time and size": {`touch -d 2001-01-01 s.csv; git add s.csv; git config core.trustctime false
		printf 'ONE\ntwo\n' >s.csv; touch -d 2001-01-01 s.csv`, []Change{{"k/s.csv", 1, Edited}}},
	"time alone": {`touch -d 2001-01-01 s.csv; git add s.csv; git config core.checkStat minimal
		git config core.ignoreStat true; printf 'ONE\ntwo\n' >s.csv; touch -d 2001-01-01 s.csv`,
		[]Change{{"k/s.csv", 1, Edited}}},
	"filter of the past": {`echo '* filter=old' >../.git/info/attributes
		git config filter.old.clean 'git cat-file blob HEAD:k/s.csv'; echo 2 >>s.csv; git add s.csv
		git config --unset filter.old.clean`, []Change{{"k/s.csv", 1, Edited}}},
	"encoding": {`echo '* working-tree-encoding=UTF-7' >../.git/info/attributes; printf 'o+AG4-e\ntwo\n' >s.csv`,
		[]Change{{"k/s.csv", 1, Edited}}},
	"identity": {`echo '* ident' >../.git/info/attributes; sed -i 's/Id/Id: 2/' id`,
		[]Change{{"k/id", 1, Edited}}},
	"committed":       {`echo 2 >more; git add more; git commit -q -m more`, []Change{{"k/more", 1, Edited}}},
	"staged":          {`echo 2 >more; git add more`, []Change{{"k/more", 0, Untracked}}},
	"ignored":         {`echo 2 >more; echo more >../.git/info/exclude`, []Change{{"k/more", 0, Untracked}}},
	"link in place":   {`ln -sf id s.csv`, []Change{{"k/s.csv", 1, Edited}}},
	"files elsewhere": {`git config core.worktree /; echo 2 >>s.csv`, []Change{{"k/s.csv", 1, Edited}}},
	"in a submodule":  {`echo 2 >>sub/s.csv`, []Change{{"k/sub/s.csv", 1, Edited}}},
	"submodule moved": {`git -C sub commit -q --allow-empty -m 2; echo 2 >>sub/s.csv; git -C sub commit -q -a -m 3`,
		[]Change{{"k/sub/s.csv", 1, Edited}}},
	"repository below": {`git init -q more; echo 2 >more/s.csv`, []Change{{"k/more", 0, Submodule}}},
	"submodule gone":   {`rm -rf sub; git init -q sub; echo 2 >sub/s.csv`, []Change{{"k/sub", 0, Submodule}}},
}

// TestChangedHidden holds that settings, attributes and an index of a build hide no change from a commit.
func TestChangedHidden(t *testing.T) {
	made := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(made, "config"))
	shell(t, made, `printf '[user]\nname = a\nemail = a@b\n[protocol "file"]\nallow = always\n' >config
		git init -q other; printf 'one\n' >other/s.csv; git -C other add .; git -C other commit -q -m base
		git init -q top; cd top; mkdir k; printf 'one\ntwo\n' >k/s.csv; echo '$Id$' >k/id
		sum=$(printf large | sha256sum | cut -c 1-64)
		printf "version https://git-lfs.github.com/spec/v1\noid sha256:$sum\nsize 5\n" >k/large
		git submodule --quiet add ../other k/sub; git add .; git commit -q -m base; printf large >k/large`)
	for how, tt := range hidden {
		dir := t.TempDir()
		shell(t, dir, "cp -a '"+made+"/top' .")
		dir = filepath.Join(dir, "top")
		t.Chdir(dir)
		id, err := Output(t.Context(), "", "rev-parse", "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		repository, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		shell(t, filepath.Join(dir, "k"), tt.script)
		if got, err := repository.Changed(t.Context(), id, "k"); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v", how, got, err, tt.want)
		}
	}
}

// A staged change is a change too.
func TestHeadStaged(t *testing.T) {
	dir := hostile(t)
	shell(t, dir, `echo 2 >b.txt && git -c filter..process= -c filter..clean= -c filter.evil.process= -c filter.evil.clean= -c filter.evil.required=false -c core.fsmonitor=false \
		-c core.hooksPath=/dev/null add b.txt`)
	if _, changed, err := Head(t.Context(), ".nsgate"); err != nil || !changed {
		t.Errorf("changed %v, %v", changed, err)
	}
}

// A file of Git LFS is its pointer, without its filter.
func TestHeadLFS(t *testing.T) {
	dir := hostile(t)
	const text = "large\n"
	write(t, "a.txt",
		"version https://git-lfs.github.com/spec/v1\noid "+
			"sha256:cbaa2d02c53b31a3abe8bca82f5c51b4ee7fc52dbee7f38d25ee36e9fc4c01ab\nsize 6\n")
	shell(t, dir, `sum=$(printf 'large\n' | sha256sum | cut -c1-64) && sed -i "s/sha256:.*/sha256:$sum/" a.txt
		git -c filter..process= -c filter..clean= -c filter.evil.process= -c filter.evil.clean= -c filter.evil.required=false -c core.fsmonitor=false -c core.hooksPath=/dev/null commit -q -a -m lfs`)
	write(t, "a.txt", text)
	if _, changed, err := Head(t.Context(), ".nsgate"); err != nil || changed {
		t.Errorf("changed %v, %v", changed, err)
	}
	write(t, "a.txt", "other\n")
	if _, changed, err := Head(t.Context(), ".nsgate"); err != nil || !changed {
		t.Errorf("of other contents: changed %v, %v", changed, err)
	}
}

// git reads the repository of another user only where it is exactly the checkout of a CI job.
func TestForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := hostile(t)
	shell(t, dir, "chown -R 65534:65534 .")
	// Whoever runs the test may trust every directory.
	t.Setenv("GIT_CONFIG_COUNT", "0")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	for _, c := range []struct {
		name, value string
		foreign     bool
	}{{"", "", true}, {"GITHUB_WORKSPACE", filepath.Dir(dir), true}, {"GITHUB_WORKSPACE", dir, false}} {
		t.Setenv("GITHUB_ACTIONS", "true")
		t.Setenv("GITHUB_WORKSPACE", c.value)
		_, _, err := Head(t.Context(), ".nsgate")
		if errors.Is(err, ErrForeign) != c.foreign || !c.foreign && err != nil {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
}

// A git that hangs, or whose children hold its output open, ends in time, and is not asked again.
func TestHang(t *testing.T) {
	defer func(was time.Duration) { limit = was; hung.Store(false) }(limit)
	limit = 50 * time.Millisecond
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\nsleep 600 & sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, want := range []string{"git did not answer within 50ms", "git: did not answer before"} {
		if _, err := Output(t.Context(), "", "status"); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	hung.Store(false)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := Output(ctx, "", "status"); !errors.Is(err, stopped) {
		t.Errorf("%v, want the cause of the end", err)
	}
}

// No other package calls git.
func TestOnlyHere(t *testing.T) {
	call := regexp.MustCompile(`\b(exec\.Command|exec\.CommandContext|proc\.Run|exec\.LookPath)\([^)]*"git"`)
	err := filepath.WalkDir("../../..", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") ||
			filepath.Dir(name) == "../git" {
			return err
		}
		text, err := os.ReadFile(name)
		if call.Match(text) && !strings.HasSuffix(name, "internal/git/git.go") {
			t.Errorf("%s calls git", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An object that a build put under the name of another one does not pass for it.
func TestGenuine(t *testing.T) {
	for planted := range 8 {
		dir := t.TempDir()
		script := "git init -q -b main --object-format=" + []string{"sha1", "sha256"}[planted/4] + `
			mkdir -p a/.nsgate; echo 1 >a/.nsgate/s.csv; git add -A; git commit -q -m base
			echo 2 >a/.nsgate/s.csv; git commit -q -a -m head; git rev-parse HEAD^
			at() { git rev-parse "$1" | sed 's,^..,.git/objects/&/,'; }
			plant() { set -- $(at "HEAD^$1") $(at "HEAD$1"); chmod u+w $1; cp $2 $1; }; `
		cmd := exec.Command("sh", "-ec", script+[]string{":", "plant ^{tree}", "plant :a/.nsgate",
			"plant :a/.nsgate/s.csv"}[planted%4])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		id, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		repository, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = repository.Genuine(t.Context(), strings.TrimSpace(string(id)), "a/.nsgate")
		if (err != nil) != (planted%4 > 0) {
			t.Errorf("%d: %v", planted, err)
		}
		t.Chdir(dir)
		files, err := Files(t.Context(), strings.TrimSpace(string(id)), "a/.nsgate")
		if (err != nil) != (planted%4 > 0) {
			t.Errorf("%d: %v, %v", planted, files, err)
		}
	}
}
