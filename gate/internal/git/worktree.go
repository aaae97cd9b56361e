package git

import (
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Head is the commit that is checked out at dir, and whether tracked files differ from it, apart from those below
// directories of the name except. No filter is run to find out: a file behind a filter other than that of Git LFS
// counts as changed where size and time do not tell.
func Head(ctx context.Context, dir, except string) (commit string, changed bool, err error) {
	commit, err = Output(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return "", false, err
	}
	if len(commit) < 40 || strings.Trim(commit, "0123456789abcdef") != "" {
		return "", false, errors.New("git: HEAD is no commit")
	}
	excepted := func(name string) bool { return strings.Contains("/"+name, "/"+except+"/") }
	staged, err := Output(ctx, dir, "diff-index", "--cached", "--name-only", "-z", "HEAD")
	if err != nil {
		return commit, true, err
	}
	for name := range strings.SplitSeq(staged, "\x00") {
		if name != "" && !excepted(name) {
			return commit, true, nil
		}
	}
	disable, err := noFilters(func(args ...string) (string, error) { return Output(ctx, dir, args...) })
	if err != nil {
		return commit, false, err
	}
	rows, err := Output(ctx, dir, append(slices.Clip(disable), "diff-files", "-z", "--ignore-submodules=dirty")...)
	if err != nil {
		return commit, false, err
	}
	changed, err = differ(ctx, Top(dir), rows, disable, excepted)
	return commit, changed, err
}

// differ reports whether a file of some rows of git diff-files that is not excepted differs from its index entry: rows
// are files that were written later. A checkout that was copied has a row for every file: one process hashes all.
func differ(ctx context.Context, top, rows string, disable []string, excepted func(name string) bool) (bool, error) {
	var names, ids []string
	cells := strings.Split(rows, "\x00") // ":MODE MODE ID ID STATUS", name, …
	for i := 0; i+1 < len(cells); i += 2 {
		entry, name := strings.Fields(cells[i]), cells[i+1]
		if excepted(name) {
			continue
		}
		if len(entry) != 5 || entry[4] != "M" || entry[0] != ":"+entry[1] || !strings.HasPrefix(entry[1], "100") ||
			strings.ContainsAny(name, "\n\"") {
			return true, nil
		}
		names, ids = append(names, name), append(ids, entry[2])
	}
	if len(names) == 0 {
		return false, nil
	}
	cmd := Command(ctx, top, slices.Concat(disable, []string{"hash-object", "--stdin-paths"})...)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := answer(ctx, cmd)
	if err != nil {
		return false, err
	}
	for i, id := range strings.Split(out, "\n") {
		if i < len(ids) && id != ids[i] && !stored(ctx, top, disable, ids[i], names[i]) {
			return true, nil
		}
	}
	return false, nil
}

// Intact is an error that names a tracked file of another checkout of the repository around top that differs from a
// commit. Index, configuration and objects of that checkout have no say; a submodule counts by its commit.
func Intact(ctx context.Context, top, checkout, commit string) error {
	r, err := Open(ctx, top)
	if err != nil {
		return err
	}
	r.Top = checkout
	ask := func(args ...string) (string, error) { return r.Output(ctx, args...) }
	disable, err := noFilters(ask)
	if err != nil {
		return err
	}
	disable = append(disable, "--git-dir="+r.dir, "--work-tree="+checkout)
	return proc.InPrivate(func(dir string) error {
		in := func(args ...string) (string, error) {
			all := slices.Concat(disable, []string{"-c", "core.sparseCheckout=false"}, args)
			return r.with(ctx, "GIT_INDEX_FILE="+filepath.Join(dir, "index"), all...)
		}
		if _, err := in("read-tree", commit); err != nil {
			return err
		}
		in("update-index", "-q", "--refresh", "--ignore-submodules") // fails where files differ
		rows, err := in("diff-files", "-z", "--ignore-submodules=dirty")
		if err != nil {
			return err
		}
		changed, err := differ(ctx, r.Top, rows, disable, func(string) bool { return false })
		_, name, _ := strings.Cut(rows, "\x00")
		if changed {
			name, _, _ = strings.Cut(name, "\x00")
			return fmt.Errorf("tracked files differ from commit %s, such as %q", commit[:12], name)
		}
		return err
	})
}

var filterKey = input.Pattern(`^filter\.([^=\n]*)\.(clean|smudge|process|required)$`)

// noFilters are the options that switch off every filter of the configuration. Another name is an error.
func noFilters(ask func(args ...string) (string, error)) (disable []string, err error) {
	keys, err := ask("config", "--null", "--name-only", "--get-regexp", `^filter\.`)
	if differs(err) { // there is none
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for key := range strings.SplitSeq(keys, "\x00") {
		if strings.TrimSpace(key) == "" {
			continue
		}
		m := filterKey().FindStringSubmatch(key)
		if m == nil {
			if strings.ContainsAny(key, "=\n") {
				return nil, errors.New("git: a filter whose name cannot be switched off")
			}
			continue
		}
		disable = append(disable, "-c", "filter."+m[1]+".clean=", "-c", "filter."+m[1]+".smudge=",
			"-c", "filter."+m[1]+".process=", "-c", "filter."+m[1]+".required=false")
	}
	return disable, nil
}

var pointer = input.Pattern(`^version https://git-lfs[^\n]*\n(?:[^\n]*\n)*?` +
	`oid sha256:([0-9a-f]{64})\n(?:[^\n]*\n)*?size (\d+)\n`)

// stored reports whether an object is a Git LFS pointer that stands for a file.
func stored(ctx context.Context, top string, options []string, id, name string) bool {
	all, err := objects(ctx, Command(ctx, top, append(slices.Clip(options), "cat-file", "--batch")...), []string{id})
	if err != nil || len(all[0].text) > 1024 {
		return false
	}
	m := pointer().FindStringSubmatch(all[0].text + "\n")
	if m == nil {
		return false
	}
	f, err := input.OpenOwn(filepath.Join(top, filepath.FromSlash(name)))
	if err != nil {
		return false
	}
	info, err := f.Stat()
	sum, wrong := input.Hash(f, err)
	return wrong == nil && strconv.FormatInt(info.Size(), 10) == m[2] && hex.EncodeToString(sum) == m[1]
}

// Change is a file that differs.
type Change struct {
	File  string // relative to the top of the repository, with slashes
	Lines int    // added or deleted, whichever is more
}

// Changed lists which of some files or directories, relative to the repository, differ between a commit and the tree.
func (r Repository) Changed(ctx context.Context, commit string, files ...string) ([]Change, error) {
	if len(files) == 0 {
		return nil, nil
	}
	diff, err := r.diff(ctx, "--numstat", "-z", commit, "--")
	if err != nil {
		return nil, err
	}
	rows, err := r.Output(ctx, slices.Concat(diff, files)...)
	if err != nil {
		return nil, err
	}
	out := changes(rows)
	hidden, err := r.hidden(ctx, files)
	if err != nil || len(hidden) == 0 {
		return out, err
	}
	// An index of the commit here, without flags.
	dir, err := os.MkdirTemp("", proc.Prefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	index := "GIT_INDEX_FILE=" + filepath.Join(dir, "index")
	if _, err := r.with(ctx, index, "read-tree", "HEAD"); err != nil {
		return nil, err
	}
	rows, err = r.with(ctx, index, slices.Concat(diff, hidden)...)
	for _, c := range changes(rows) {
		out = append(slices.DeleteFunc(out, func(o Change) bool { return o.File == c.File }), c)
	}
	return out, err
}

// diff is git diff with the working tree, with some more arguments. Without autoRefreshIndex git writes no index. It
// then lists also files with another time alone, with zero lines.
func (r Repository) diff(ctx context.Context, more ...string) ([]string, error) {
	disable, err := noFilters(func(args ...string) (string, error) { return r.Output(ctx, args...) })
	return slices.Concat(disable, []string{"-c", "diff.autoRefreshIndex=false", "-c", "diff.relative=false", "diff",
		"--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"}, more), err
}

func changes(rows string) (out []Change) {
	for row := range strings.SplitSeq(rows, "\x00") {
		if cells := strings.SplitN(row, "\t", 3); len(cells) == 3 && cells[0]+cells[1] != "00" {
			added, _ := strconv.Atoi(cells[0]) // "-" for a file that is not text
			deleted, _ := strconv.Atoi(cells[1])
			out = append(out, Change{cells[2], max(added, deleted)})
		}
	}
	return out
}

// hidden lists, as paths for git, the files among paths that the index calls unchanged (git update-index
// --assume-unchanged, --skip-worktree) and that stand in the working tree: a sparse checkout lacks those that it skips.
func (r Repository) hidden(ctx context.Context, paths []string) (files []string, err error) {
	rows, err := r.Output(ctx, slices.Concat([]string{"ls-files", "-v", "-z", "--full-name", "--"}, paths)...)
	if err != nil {
		return nil, err
	}
	for row := range strings.SplitSeq(rows, "\x00") {
		tag, name, ok := strings.Cut(row, " ")
		if !ok || tag == "H" || tag == "M" {
			continue
		}
		if _, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(name))); err == nil {
			files = append(files, name)
		}
	}
	return files, nil
}

// Patch is how the directory b below dir differs from a, as git apply takes it.
func Patch(ctx context.Context, dir string) (string, error) {
	cmd := Command(ctx, dir, "diff", "--no-index", "--no-prefix", "--no-ext-diff", "--no-textconv", "--no-color",
		"--no-renames", "a", "b")
	cmd.Env = append(cmd.Env, "GIT_DIR="+os.DevNull) // no repository around dir has a say
	out, err := answer(ctx, cmd)
	if differs(err) {
		return out + "\n", nil
	}
	return out, err
}

//go:embed checkout.sh
var checkout string

// Checkout is a command that makes dir a repository of its own in which a commit of the one around top is checked out:
// the script says how. Nothing that the repository around top configures runs.
func Checkout(ctx context.Context, top, commit, dir string) *exec.Cmd {
	args := []string{"-c", checkout, "sh", top, commit, dir}
	cmd := exec.CommandContext(ctx, "sh", append(args, exempt(top)...)...)
	cmd.Env = Command(ctx, top).Env
	return cmd
}
