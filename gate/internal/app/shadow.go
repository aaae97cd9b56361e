package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// ShadowFile holds the verdicts of a gate in shadow, beside the baselines: one line a commit of the default branch.
const ShadowFile = "shadow.csv"

const (
	shadowHead   = "commit,verdict,date"
	maxShadow    = 1 << 20 // bytes that are read
	shadowKept   = 5000    // commits that are kept, the newest
	shadowLevel  = 0.95    // confidence of the bound
	shadowPassed = "pass"
)

// shadowLine is a commit, the verdict on it, and its day.
var shadowLine = input.Pattern(`^([0-9a-f]{12}),(pass|fail|no-verdict),\d{4}-\d\d-\d\d$`)

// Score counts the commits of the default branch that a gate in shadow would have failed.
type Score struct{ Failed, Commits int }

// Bound is the largest rate of failures that the score does not exclude with 95 % confidence (Clopper-Pearson).
func (s Score) Bound() float64 { return stats.RateBound(s.Failed, s.Commits, shadowLevel) }

// More is the number of further commits without a failure that bring the bound to a target, 0 where it is there.
func (s Score) More(target float64) int {
	const most = 10_000_000
	return sort.Search(most, func(n int) bool { return Score{s.Failed, s.Commits + n}.Bound() <= target })
}

// Text is the score in words.
func (s Score) Text() string {
	return fmt.Sprintf("%d of %s of the default branch would have failed (at most %s with 95 %% confidence)", s.Failed,
		measure.Count(s.Commits, "commit"), result.Number(s.Bound()).Percent())
}

// ReadScore reads the score below the root of the baselines; the empty one where nothing is kept.
func ReadScore(root string) (Score, error) {
	lines, err := readShadow(root)
	return scoreOf(lines), err
}

func scoreOf(lines []string) (s Score) {
	for _, line := range lines {
		s.Commits++
		if shadowLine().FindStringSubmatch(line)[2] != shadowPassed {
			s.Failed++
		}
	}
	return s
}

func readShadow(root string) (lines []string, err error) {
	file := filepath.Join(root, ShadowFile)
	text, err := input.ReadWithin(new(bytes.Buffer), root, ShadowFile, maxShadow)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w; restore the file, or remove it to count anew", file, err)
	}
	seen := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		found := shadowLine().FindStringSubmatch(line)
		switch {
		case i == 0 && line == shadowHead:
			continue
		case i == 0 || found == nil || seen[found[1]]:
			return nil, fmt.Errorf("%s:%d is no line COMMIT,VERDICT,DATE of a commit of its own; restore the file, "+
				"or remove it to count anew", file, i+1)
		}
		seen[found[1]] = true
		lines = append(lines, line)
	}
	return lines, nil
}

// KeepScore adds the verdict ("pass", "fail" or "no-verdict") on a commit to the score below the root of the baselines.
// A commit counts once, with its first failure where it has one: a run that is repeated until it passes hides nothing.
func KeepScore(ctx context.Context, root, commit, verdict string) (Score, error) {
	lines, err := readShadow(root)
	if err != nil {
		return Score{}, err
	}
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, commit+",") })
	line := strings.Join([]string{commit, verdict, time.Now().UTC().Format(time.DateOnly)}, ",")
	switch {
	case at < 0:
		lines = append(lines, line)
	case shadowLine().FindStringSubmatch(lines[at])[2] == shadowPassed:
		lines[at] = line
	}
	lines = lines[max(len(lines)-shadowKept, 0):]
	file := filepath.Join(root, ShadowFile)
	if err = git.Outward(ctx, file); err == nil {
		err = os.MkdirAll(root, 0o755)
	}
	if err == nil {
		err = output.Text(file, 0o644, []byte(shadowHead+"\n"+strings.Join(lines, "\n")+"\n"))
	}
	if err != nil {
		return Score{}, fmt.Errorf("%s: %w; let this user write it", file, err)
	}
	return scoreOf(lines), nil
}

// hosts are the variables of CI hosts that tell a job of the default branch: its branch, the default one, its commit,
// its start, and the starts that check out a commit of that branch: others run code of anybody in its name.
var hosts = []struct {
	branch, standard, commit, start string
	starts                          []string
}{
	{"CI_COMMIT_BRANCH", "CI_DEFAULT_BRANCH", "CI_COMMIT_SHA", "CI_PIPELINE_SOURCE",
		[]string{"push", "schedule", "web"}},
	{"BUILDKITE_BRANCH", "BUILDKITE_PIPELINE_DEFAULT_BRANCH", "BUILDKITE_COMMIT", "BUILDKITE_PULL_REQUEST",
		[]string{"false"}},
	{"GITHUB_REF", "", "GITHUB_SHA", "GITHUB_EVENT_NAME", []string{"push", "schedule", "workflow_dispatch"}},
}

// DefaultCommit is the commit of a CI job of GitHub, GitLab or Buildkite on the default branch, else "", also where two
// of them name a branch. The error: the checkout is of another commit, or does not hold the files that are measured.
func DefaultCommit(ctx context.Context, getenv func(string) string) (string, error) {
	named := strings.Fields(getenv(hosts[0].branch) + " " + getenv(hosts[1].branch) + " " + getenv(hosts[2].branch))
	for _, host := range hosts {
		branch, standard, start := getenv(host.branch), getenv(host.standard), getenv(host.start)
		if host.standard == "" {
			standard = "refs/heads/" + codehost.DefaultBranch(getenv)
		}
		if len(named) > 1 || branch == "" || branch != standard || !slices.Contains(host.starts, start) {
			continue
		}
		id, err := commit(ctx)
		of := getenv(host.commit)
		switch {
		case err != nil:
		case id == "" || strings.HasSuffix(id, dirty):
			err = errors.New("tracked files of the checkout were changed, or it has no commit; measure a clean " +
				"checkout")
		case !strings.HasPrefix(of, id):
			err = fmt.Errorf("commit %s is checked out, not that of the job (%s); measure that", id, host.commit)
		}
		return id, err
	}
	return "", nil
}

var _ = result.Keyed("shadow", InShadow{}, "The gate is in shadow: the exit code is 0.")

// InShadow is a gate in shadow with its score. Bound is unknown without a commit.
type InShadow struct {
	Failed, Commits int
	Bound           result.Number
}

func (r InShadow) String() string {
	const shadow = "in shadow, the exit code is 0 whatever the verdict"
	return measure.Either(r.Commits == 0, shadow+"; no verdict on the default branch is kept yet",
		shadow+"; "+Score{r.Failed, r.Commits}.Text())
}
