// Package git owns every call of git. A repository may belong to somebody else, and its configuration can name
// programs: no hook, file system monitor, filter, textconv, external diff, signature check or transport of it is run,
// nothing is fetched, no lock is taken, and each call has a time limit. git itself refuses repositories of other users;
// in CI the checkout's own directory is exempt from that.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// limit is how long a question to git may take.
var limit = 10 * time.Second

// hashLimit is how long git may take to hash all files of a checkout.
const hashLimit = 2 * time.Minute

const maxOutput = 64 << 20

// ErrForeign is the error for a repository of another user, which git refuses to read.
var ErrForeign = errors.New("the repository belongs to another user, so git refuses it; trust it with git config " +
	"--global --add safe.directory DIR")

// options switch off programs from the configuration of a repository, and settings, also the user's, of answers.
var options = []string{"--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c",
	"core.hooksPath=" + os.DevNull, "--no-replace-objects", "-c", "safe.bareRepository=explicit", "-c",
	"log.showSignature=false", "-c", "core.quotePath=false", "-c", "core.commitGraph=false", "-c",
	"core.attributesFile=" + os.DevNull, "-c", "core.bigFileThreshold=512m", "-c", "diff.orderFile=" + os.DevNull}

// cleared are variables that tie git to a hook's repository or another configuration, run programs, or change paths.
var cleared = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF", "GIT_ATTR_SOURCE",
	"GIT_CONFIG", "GIT_SHALLOW_FILE", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
	"GIT_ICASE_PATHSPECS"}

// Command is a call of git in a directory ("" for the current one), which takes paths literally.
func Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", slices.Concat(options, exempt(dir), args)...)
	cmd.Dir = dir
	cmd.Env = append(Environment(), "LC_ALL=C", "GIT_GRAFT_FILE="+os.DevNull, "GIT_NO_LAZY_FETCH=1",
		"GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1")
	return cmd
}

// Environment is that of this process without those that tie git to the repository of a hook. git asks for no password.
func Environment() []string {
	env := os.Environ()
	for _, name := range cleared {
		env = proc.Setenv(env, name, nil)
	}
	return append(env, "GIT_TERMINAL_PROMPT=0")
}

// hung is set once git did not answer in time: further questions would take as long.
var hung atomic.Bool

// Output asks git about the repository around dir and returns its answer without the last line feed. The error is the
// last line that git printed to standard error, [ErrForeign], or the cause of the end of ctx.
func Output(ctx context.Context, dir string, args ...string) (string, error) {
	if Top(dir) == "" { // git would say the same, after its start
		return "", errors.New("git: not a git repository")
	}
	return answer(ctx, Command(ctx, dir, args...))
}

// CommitOf are the arguments of a question for the ID of a revision's commit. It fails where there is none.
func CommitOf(revision string) []string {
	return []string{"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}
}

// answer runs a question; cmd is made again with a time limit.
func answer(ctx context.Context, question *exec.Cmd) (string, error) {
	return within(ctx, question, limit)
}

func within(ctx context.Context, question *exec.Cmd, limit time.Duration) (string, error) {
	if hung.Load() {
		return "", errors.New("git: did not answer before")
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("git did not answer within %v", limit))
	defer cancel()
	cmd := exec.CommandContext(limited, question.Args[0], question.Args[1:]...)
	// Without GIT_NO_LAZY_FETCH, which is new in git 2.44, no protocol being allowed keeps git from fetching.
	cmd.Dir, cmd.Env, cmd.Stdin = question.Dir, append(question.Env, "GIT_ALLOW_PROTOCOL=none"), question.Stdin
	out, complaint := &bounded{}, &proc.Output{}
	cmd.Stdout, cmd.Stderr = out, complaint
	err := proc.Tool(cmd)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limited.Err() != nil:
		hung.Store(true)
		return "", context.Cause(limited)
	case out.over:
		return "", fmt.Errorf("git: the answer is longer than %d MB", maxOutput>>20)
	case err == nil:
		return strings.TrimSuffix(out.String(), "\n"), nil
	case strings.Contains(complaint.String(), "dubious ownership"):
		return "", ErrForeign
	}
	if why := proc.Said(complaint.String()); why != "" {
		err = fmt.Errorf("%s: %w", why, err)
	}
	// git diff has an answer where files differ
	return strings.TrimSuffix(out.String(), "\n"), fmt.Errorf("git: %w", err)
}

type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		b.over = true
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// differs reports whether err is exit code 1, git diff's code for a difference.
func differs(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 1
}

// Top is the directory at or above dir that holds .git, "" where none does.
func Top(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// checkouts are the variables of CI systems for their presence and for the directory of the checkout.
var checkouts = []struct{ running, dir string }{
	{"GITHUB_ACTIONS", "GITHUB_WORKSPACE"},
	{"GITLAB_CI", "CI_PROJECT_DIR"},
	{"BUILDKITE", "BUILDKITE_BUILD_CHECKOUT_PATH"},
	{"JENKINS_URL", "WORKSPACE"},
	{"TF_BUILD", "BUILD_SOURCESDIRECTORY"},
	{"BITBUCKET_BUILD_NUMBER", "BITBUCKET_CLONE_DIR"},
	{"bamboo_buildKey", "bamboo_build_working_directory"},
}

// exempt lets git read the repository around dir where it is exactly a CI job's checkout, which may be another user's.
func exempt(dir string) []string {
	top := Top(dir)
	here, err := os.Stat(top)
	if top == "" || err != nil {
		return nil
	}
	for _, ci := range checkouts {
		if os.Getenv(ci.running) == "" || os.Getenv(ci.dir) == "" {
			continue
		}
		if at, err := os.Stat(os.Getenv(ci.dir)); err == nil && os.SameFile(here, at) {
			if real, err := filepath.EvalSymlinks(top); err == nil {
				top = real
			}
			return []string{"-c", "safe.directory=" + top}
		}
	}
	return nil
}

// Within names a file relative to root, with slashes; as it is where root is "", "" where it lies elsewhere.
func Within(root, file string) string {
	if root == "" {
		return filepath.ToSlash(file)
	}
	path, err1 := filepath.Abs(file)
	root, err2 := filepath.Abs(root)
	if err1 != nil || err2 != nil {
		return ""
	}
	inside := func(root, path string) string {
		relative, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(relative) {
			return ""
		}
		return filepath.ToSlash(relative)
	}
	// Either may have been reached through a symbolic link.
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return inside(root, path)
	}
	realPath, _ := filepath.EvalSymlinks(path) // "" where it is not there, which lies in no root
	return cmp.Or(inside(root, path), inside(realRoot, path), inside(realRoot, realPath))
}

// Outward is the error of a file or directory to be written that lies behind a symbolic link which the repository
// around it has committed and which leads out of it: whoever made that commit would choose what is overwritten.
func Outward(ctx context.Context, name string) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		top := Top(filepath.Dir(at))
		real, err := filepath.EvalSymlinks(at)
		if top == "" || err != nil || Within(top, real) != "" {
			continue
		}
		listed, err := Output(ctx, top, "ls-files", "--stage", "--", Within(top, at))
		if err == nil && strings.HasPrefix(listed, "120000 ") {
			return fmt.Errorf("%s is a committed link that leads out of the repository, to %s: replace it, or name "+
				"a place behind it yourself", at, real)
		}
	}
	return nil
}
