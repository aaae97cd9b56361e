//go:build linux

package command_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestRecordedGitLab runs the job of GitLab that records by hand after programs that leave hooks, filters,
// configuration and files where git meets them: none runs, and the patch is the new file of the baseline alone.
func TestRecordedGitLab(t *testing.T) {
	t.Parallel()
	var jobs map[string]any
	text, err := os.ReadFile("../../testdata/examples/gitlab/.gitlab/nsgate.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &jobs)
	}
	if err != nil {
		t.Fatal(err)
	}
	var script []string
	for _, line := range jobs["nsgate-record"].(map[string]any)["script"].([]any) {
		script = append(script, line.(string))
	}
	programs := maps.Clone(hostileCheckouts)
	maps.Copy(programs, map[string]string{
		"another change": `echo evil >code; git add code; git config diff.external 'cat .nsgate/app/gpu/a.csv; echo evil; :'`,
		"another name":   `printf evil >".nsgate/app/gpu/-x y.csv.sh"; mkdir '.nsgate/app/ a'; echo evil >'.nsgate/app/ a/x'`,
		"linked":         `ln -s ../code .nsgate/app/c.csv; mkdir dir; echo evil >dir/d.csv; ln -s ../dir .nsgate/dir`,
		"pipe":           `mkfifo .nsgate/app/p.csv`,
		"attributes": `printf '* -diff -text export-ignore ident eol=crlf working-tree-encoding=UTF-16\n' \
			>.gitattributes`,
		"no index": `rm -f .git/index; git config core.sparseCheckout true; git config index.version 4`,
	})
	delete(programs, "own script") // of GitHub's action
	for i, name := range slices.Sorted(maps.Keys(programs)) {
		if !full() && i%3 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t)
			w.shell("touch github")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", "-eo", "pipefail", "-c", strings.Join(script, "\n"))
			cmd.Dir, cmd.WaitDelay = w.repo, time.Second
			cmd.Env = []string{"CI_PROJECT_DIR=" + w.repo, "CI_COMMIT_SHA=" + w.pushed, "PROGRAM=" + programs[name],
				"GITHUB_ENV=" + filepath.Join(w.dir, "github"), "GITHUB_PATH=" + filepath.Join(w.dir, "github"),
				"TMPDIR=" + filepath.Join(w.dir, "temp"), "GITHUB_SHA=" + w.pushed, "GITHUB_SERVER_URL=" + w.server.URL}
			for _, of := range []string{"HOME", "PATH", "WORK", "GITHUB_ACTION_PATH"} {
				cmd.Env = append(cmd.Env, of+"="+w.set[of])
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if ran, _ := os.ReadFile(filepath.Join(w.dir, "ran")); len(ran) > 0 {
				t.Errorf("%s ran: %s", ran, out)
			}
			got := w.shell(`git clone -q -s server/team/app again 2>&1; cd again; git reset -q --hard ` + w.pushed + `
				git apply --index ../checkout/nsgate-baseline.patch && git diff --cached --name-only && cat ` + newFile)
			if got != newFile+"\nnew" {
				t.Errorf("the patch changes %q\n%s", got, out)
			}
		})
	}
}
