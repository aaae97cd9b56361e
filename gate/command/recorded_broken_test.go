//go:build linux

package command_test

import (
	"maps"
	"slices"
	"testing"
)

// brokenCheckouts are scripts of a measured program that point git of the checkout elsewhere, or leave nothing of it:
// the delivery may fail, and runs and pushes nothing of them.
var brokenCheckouts = map[string]string{
	"includeIf": `printf '[core]\n\tfsmonitor = %s\n\thooksPath = %s\n\tsshCommand = %s\n' $WORK/evil $WORK $WORK/evil \
			>$WORK/included
		for if in gitdir:/ gitdir/i:** onbranch:** hasconfig:remote.*.url:**
			do git config includeIf.$if.path $WORK/included; git config --global includeIf.$if.path $WORK/included; done`,
	"aliases": `for c in rev-parse ls-files hash-object update-index init pack-objects index-pack read-tree write-tree \
			commit-tree push diff-tree ls-tree; do git config alias.$c "!$WORK/evil"; done`,
	"promisor": `git config extensions.partialClone origin; git config remote.origin.promisor true
		git config remote.origin.url "ext::$WORK/evil"; git config protocol.ext.allow always
		git config protocol.allow always; git config --global protocol.ext.allow always; rm -rf .git/objects/??`,
	"remote of the branch": `git config remote.origin.url "ext::$WORK/evil"; git config protocol.ext.allow always
		git config remote.pushDefault origin; git config branch.main.pushRemote origin
		git config remote.$GITHUB_SERVER_URL/team/app.pushurl "ext::$WORK/evil"`,
	"common directory": `cp -r .git $WORK/common; echo evil >code; git -c user.name=e -c user.email=e@e commit -q -a -m e
		git -C . push -q $WORK/common HEAD:refs/heads/evil 2>/dev/null; echo $WORK/common >.git/commondir
		git --git-dir=$WORK/common config core.fsmonitor $WORK/evil`,
	"file in place of git": `mv .git $WORK/moved; echo "gitdir: $WORK/moved" >.git
		git config core.fsmonitor $WORK/evil`,
	"link in place of git": `mv .git $WORK/moved; ln -s $WORK/moved .git; git config core.hooksPath $WORK`,
	"another repository":   `mv .git $WORK/moved; git init -q; git config core.fsmonitor $WORK/evil`,
	"sparse index": `git config index.sparse true; git config core.sparseCheckout true
		git config core.sparseCheckoutCone true; mkdir -p .git/info; echo /none/ >.git/info/sparse-checkout`,
	"submodules": `git config submodule.x.update "!$WORK/evil"; git config submodule.x.url "ext::$WORK/evil"
		git config submodule.recurse true; git config push.recurseSubmodules on-demand
		printf '[submodule "x"]\n\tpath = .nsgate/app\n\turl = x\n\tupdate = !%s\n' $WORK/evil >.gitmodules`,
	"format of objects": `git config core.repositoryFormatVersion 1; git config extensions.objectFormat sha256`,
	"format of refs":    `git config core.repositoryFormatVersion 1; git config extensions.refStorage reftable`,
	"unknown extension": `git config core.repositoryFormatVersion 1; git config extensions.evil true`,
	"attributes": `git config core.attributesFile $WORK/attributes; echo '* export-subst ident eol=crlf' >$WORK/attributes
		echo '* working-tree-encoding=UTF-16 export-subst ident' >.git/info/attributes`,
	"forged objects": `echo evil >code; git add code; at() { git rev-parse $1 | sed 's,^..,.git/objects/&/,'; }
		chmod u+w $(at HEAD:code); cp $(at :code) $(at HEAD:code)`,
	"forged tree": `echo evil >code; git add code; tree=$(git write-tree)
		at() { git rev-parse $1 | sed 's,^..,.git/objects/&/,'; }
		chmod u+w $(at HEAD^{tree}); cp $(at $tree) $(at HEAD^{tree})`,
	"no objects":       `rm -rf .git/objects`,
	"pipe as objects":  `rm -rf .git/objects/pack; mkfifo .git/objects/pack`,
	"pipe as baseline": `rm .nsgate/app/gpu/b.csv; mkfifo .nsgate/app/gpu/b.csv`,
	"loop of links":    `ln -s . .nsgate/loop; ln -s ../.. .nsgate/app/up`,
	"names": `echo 1 >".nsgate/app/gpu/--output=x.csv"; echo 1 >'.nsgate/$(touch $WORK/ran).csv'
		echo 1 >.nsgate/-.csv`,
	"signal trap":       `kill -USR1 $PPID 2>/dev/null; trap '' TERM`,
	"summary as a link": `rm -f $GITHUB_STEP_SUMMARY; ln -s $WORK/leaked2 $GITHUB_STEP_SUMMARY`,
	"patch as a link":   `ln -s $WORK/bin/nsgate nsgate.patch`,
	"shallow":           `git rev-parse HEAD >.git/shallow`,
}

func TestRecordedBroken(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(brokenCheckouts)) {
		if !full() && i%4 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t)
			log, ok := w.run(brokenCheckouts[name])
			switch {
			case name == "names" && ok: // more files of a baseline
				w.kept(log, ".nsgate/$(touch $WORK/ran).csv", ".nsgate/-.csv", ".nsgate/app/gpu/--output=x.csv",
					newFile)
			case ok:
				w.kept(log, newFile)
			default:
				w.kept(log)
			}
		})
	}
}
