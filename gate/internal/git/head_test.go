//go:build linux

package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// lies are scripts by which a build changes a tracked file in k and lets the index, the configuration, attributes or
// objects say otherwise. Those of "same" change none.
var lies = map[string]string{
	"same":              `:`,
	"same, other time":  `touch -d 2001-01-01 s.csv`,
	"same, line ends":   `printf 'one\r\ntwo\r\n' >s.csv`,
	"same, sparse":      `cd ..; git sparse-checkout set --no-cone /k/s.csv /k/large; test ! -e k/id`,
	"same, crypt":       `:; test "$(cat secret)" = tercex`,
	"same, moved":       `git commit -q --allow-empty -m 2`,
	"same, built":       `echo o >out.o; mkdir b; echo o >b/o`,
	"same, none below":  `git submodule --quiet deinit -f sub`,
	"mode":              `git config core.fileMode false; chmod +x s.csv`,
	"crypt, other time": `echo 2 >>secret`,
	"crypt, unseen":     `git update-index --assume-unchanged secret; echo 2 >>secret`,
	"attributes beside": `printf '* filter=past\n' >.gitattributes; git config filter.past.clean 'git cat-file blob HEAD:k/s.csv'
		echo 2 >>s.csv; git add s.csv; git config --unset filter.past.clean`,
	"attributes of the user": `mkdir -p $HOME/git; printf '* filter=past\n' >$HOME/git/attributes
		git config --global core.attributesFile $HOME/git/attributes
		git config --global filter.past.clean 'git cat-file blob HEAD:k/s.csv'; echo 2 >>s.csv; git add s.csv`,
	"encoding beside": `echo '*.csv working-tree-encoding=UTF-7' >.gitattributes; printf 'o+AG4-e\ntwo\n' >s.csv`,
	"forged index": `echo 2 >>s.csv; touch -d 2001-01-01 s.csv; git add s.csv; git rev-parse HEAD:k/s.csv :k/s.csv >../.git/ids; perl -0777 -i -pe '
		BEGIN { $/ = "\n"; open F, "../.git/ids"; @i = map { chomp; pack "H*", $_ } <F>; undef $/ } s/\Q$i[1]\E/$i[0]/;
		use Digest::SHA; $_ = substr($_, 0, -20); $_ .= Digest::SHA::sha1($_)' ../.git/index; git fsck 2>/dev/null || :
		git diff --quiet HEAD -- s.csv`,
	"replaced":     `echo 2 >>s.csv; git replace HEAD:k/s.csv $(git hash-object -w s.csv)`,
	"planted blob": `echo 2 >>s.csv; new=$(git hash-object -w s.csv); ` + plantAs + `plant $(git rev-parse HEAD:k/s.csv) $new`,
	"planted pointer": `sum=$(sha256sum <s.csv | cut -c 1-64); echo 2 >>s.csv; sum=$(sha256sum <s.csv | cut -c 1-64)
		printf "version https://git-lfs.github.com/spec/v1\noid sha256:$sum\nsize $(stat -c %s s.csv)\n" >../.git/p
		` + plantAs + `plant $(git rev-parse HEAD:k/s.csv) $(git hash-object -w ../.git/p)`,
	"in a submodule":      `echo 2 >>sub/s.csv`,
	"in one, unseen":      `cd sub; git update-index --assume-unchanged s.csv; echo 2 >>s.csv`,
	"in one, of settings": `git config diff.ignoreSubmodules all; git config submodule.k/sub.ignore all; echo 2 >>sub/s.csv`,
	"submodule alone":     `rm sub/.git; echo 2 >>sub/s.csv`,
	"split index":         `git update-index --split-index; git update-index --assume-unchanged s.csv; echo 2 >>s.csv`,
	"sparse index": `git sparse-checkout set --cone --sparse-index k; git update-index --skip-worktree s.csv
		echo 2 >>s.csv`,
	"settings of a worktree": `mkdir $HOME/w; cp -r . $HOME/w/k; git config extensions.worktreeConfig true
		git config --worktree core.worktree $HOME/w; echo 2 >>s.csv`,
	"objects elsewhere": `new=$(git hash-object s.csv | sed 's,^..,&/,'); echo 2 >>s.csv; mkdir -p $HOME/alt/${new%/*}
		cp ../.git/objects/$(git hash-object -w s.csv | sed 's,^..,&/,') $HOME/alt/$new
		rm -f ../.git/objects/$new; echo $HOME/alt >../.git/objects/info/alternates`,
	"common directory": `cp -r ../.git $HOME/c; echo $HOME/c >../.git/commondir; echo 2 >>s.csv
		git update-index --assume-unchanged s.csv`,
	"gone, marked": `git update-index --assume-unchanged s.csv; rm s.csv`,
}

const plantAs = `plant() { at=../.git/objects/$(echo $1 | sed 's,^..,&/,'); chmod u+w $at; cat ../.git/objects/$(echo $2 | sed 's,^..,&/,') >$at; }; `

// TestHeadHidden holds that no index, setting, attribute or object of a build hides a changed file from the commit, in
// CI and where the index says that it was told to look away.
func TestHeadHidden(t *testing.T) {
	made := t.TempDir()
	t.Setenv("HOME", made)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(made, "config"))
	t.Setenv("CI", "true")
	shell(t, made, `printf '[user]\nname = a\nemail = a@b\n[protocol "file"]\nallow = always\n[filter "crypt"]\nclean = tr x y\nsmudge = tr y x\n' >config
		git init -q other; printf 'one\n' >other/s.csv; git -C other add .; git -C other commit -q -m base
		git init -q top; cd top; mkdir k; printf 'one\ntwo\n' >k/s.csv; echo id >k/id; echo 'secret filter=crypt' >k/.gitattributes
		echo tercex >k/secret; sum=$(printf large | sha256sum | cut -c 1-64)
		printf "version https://git-lfs.github.com/spec/v1\noid sha256:$sum\nsize 5\n" >k/large
		git submodule --quiet add ../other k/sub; touch -d 2001-01-01 k/*
		git add .; git commit -q -m base; printf large >k/large`)
	told := []string{"assumed unchanged", "skipped", "time alone", "in one, unseen", "submodule alone",
		"gone, marked"}
	for _, scripts := range []map[string]string{lies, hiddenScripts()} {
		for how, script := range scripts {
			dir := filepath.Join(t.TempDir(), "a:b") // git ends a path in a list at a colon
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			shell(t, dir, "cp -a ~/top . && rm -f ~/git/attributes && cp ~/config saved && "+
				"git -C top update-index -q --refresh || :")
			t.Chdir(filepath.Join(dir, "top"))
			shell(t, filepath.Join(dir, "top", "k"), script)
			_, changed, err := Head(t.Context(), ".nsgate")
			if want := len(how) < 4 || how[:4] != "same"; changed != want && err == nil || err != nil && !want {
				t.Errorf("%s: changed %v, %v", how, changed, err)
			}
			if t.Setenv("CI", ""); slices.Contains(told, how) { // the index or the submodule itself says so
				if _, changed, err := Head(t.Context(), ".nsgate"); err != nil || !changed {
					t.Errorf("%s, outside of CI: changed %v, %v", how, changed, err)
				}
			}
			t.Setenv("CI", "true")
			shell(t, dir, "cp saved ~/config")
		}
	}
}

// hiddenScripts are those of [hidden] that change a tracked file.
func hiddenScripts() map[string]string {
	out := map[string]string{}
	for how, tt := range hidden {
		switch how {
		case "committed", "ignored", "repository below", "unchanged", "other time", "other line ends", "kept in LFS":
		case "identity", "skipped and gone": // the attribute is there on purpose, or the file as in a sparse checkout
		default:
			out[how] = tt.script
		}
	}
	return out
}

// TestHeadForeign: a checkout of a CI job that belongs to another user is read with its submodules.
func TestHeadForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	made := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(made, "config"))
	t.Setenv("GIT_CONFIG_COUNT", "0")
	shell(t, made, `printf '[user]\nname = a\nemail = a@b\n[protocol "file"]\nallow = always\n' >config
		git init -q other; echo 1 >other/s; git -C other add .; git -C other commit -q -m base
		git init -q top; cd top; git submodule --quiet add ../other sub; git commit -q -m base; chown -R 65534:65534 .`)
	t.Chdir(filepath.Join(made, "top"))
	t.Setenv("GITHUB_ACTIONS", "true")
	t.Setenv("GITHUB_WORKSPACE", filepath.Join(made, "top"))
	for _, want := range []bool{false, true} {
		if _, changed, err := Head(t.Context(), ".nsgate"); err != nil || changed != want {
			t.Errorf("changed %v, %v", changed, err)
		}
		write(t, "sub/s", "2\n")
	}
}
