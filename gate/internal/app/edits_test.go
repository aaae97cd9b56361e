package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// misled are scripts by which a build hides from git that its commits edit a baseline: another commit, X, seems to be
// the one where the change left its target.
var misled = map[string]string{
	"nothing":             ":",
	"replaced commits":    `git replace $(id main~1) $X; git replace $(id HEAD~1) $X`,
	"grafts":              `mkdir -p .git/info; for at in main HEAD; do echo "$(id $at~1) $X"; done >.git/info/grafts`,
	"forged commits":      `forge main~1; forge HEAD~1`,
	"forged head":         `forge HEAD`,
	"forged merge":        `git checkout -q merged; forge HEAD`,
	"forged target":       `forge main; forge HEAD~1`,
	"cut history":         `id HEAD~1 >.git/shallow`,
	"cut target":          `id main >.git/shallow`,
	"moved branch":        `git update-ref refs/remotes/origin/main HEAD; git update-ref refs/heads/main HEAD`,
	"branch named as one": `git update-ref refs/heads/$TARGET HEAD`,
}

// byBuild are variables of CI hosts with those of others that code of the change can set beside them.
var byBuild = map[string][]string{
	"GITHUB_BASE_REF":                 {"CI_MERGE_REQUEST_DIFF_BASE_SHA"},
	"SYSTEM_PULLREQUEST_TARGETBRANCH": {"BITBUCKET_PR_DESTINATION_COMMIT"},
	"CI_MERGE_REQUEST_DIFF_BASE_SHA":  {"CHANGE_TARGET"},
	"CHANGE_TARGET":                   {"GITHUB_SHA"},
}

func TestReviewedForged(t *testing.T) {
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		t.Setenv(name, os.DevNull)
	}
	for how, forge := range misled {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			shell := func(script string) string {
				cmd := exec.Command("sh", "-ec", `id() { git rev-parse "$1"; }
					forge() { # gives a commit X as its parent, twice
						new=$(git cat-file commit "$1" | sed "/^parent/d; s/^tree.*/&\nparent $X\nparent $X/" |
							git hash-object -t commit -w --stdin)
						at=$(id "$1" | sed 's,^..,.git/objects/&/,'); from=$(echo $new | sed 's,^..,.git/objects/&/,')
						chmod u+w $at; cp $from $at; }
					X=$(git rev-parse --verify -q x || :) TARGET=$(git rev-parse --verify -q main || :)
					export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
					`+script)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", script, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			shell(`git init -q -b main; mkdir k; for n in 1 2; do echo $n >n; echo base >k/s.csv; git add -A
				git commit -q -m $n; done
				git checkout -q -b change; echo edited >k/s.csv; git commit -q -a -m 3; echo 4 >n; git commit -q -a -m 4
				git checkout -q -b merged main; git merge -q --no-ff -m merge change; git checkout -q change
				git branch x $(git commit-tree -m x 'HEAD^{tree}')`)
			set := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "main",
				"GITHUB_REF": "refs/pull/1/merge", "GITHUB_SHA": shell("id merged"),
				"GITHUB_EVENT_PATH": filepath.Join(dir, ".git", "event.json")}
			shell(`printf '{"pull_request":{"base":{"sha":"%s"}}}' $(id main) >.git/event.json`)
			shell(forge)
			getenv := func(name string) string { return set[name] }
			r := Reviewed(t.Context(), getenv)
			edits, known := r.Edits(t.Context(), []string{"k"}, nil)
			t.Log(known, edits)
			if known && len(edits) == 0 || how == "nothing" && !known {
				t.Errorf("known %v, edits %v of the base %s", known, edits, r.base)
			}
			for of, names := range byBuild { // a build sets variables of another host, or the event of none
				set = map[string]string{"GITHUB_EVENT_PATH": set["GITHUB_EVENT_PATH"], of: "main"}
				for _, name := range names {
					set[name] = shell("id HEAD")
				}
				shell(`printf '{"pull_request":{"base":{"sha":"%s"}}}' $(id HEAD) >.git/event.json`)
				r := Reviewed(t.Context(), getenv)
				_, known := r.Edits(t.Context(), []string{"k"}, nil)
				if known && r.Branch == "" {
					t.Errorf("%s and %v name the base %s", of, names, r.base)
				}
			}
		})
	}
}
