package git

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	return err == nil && pointsTo(all[0].text, filepath.Join(top, filepath.FromSlash(name)))
}

// pointsTo reports whether a text is a Git LFS pointer that stands for a file.
func pointsTo(text, file string) bool {
	m := pointer().FindStringSubmatch(text[:min(len(text), 1024)] + "\n")
	if m == nil {
		return false
	}
	f, err := input.OpenOwn(file)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	sum, wrong := input.Hash(f, err)
	return wrong == nil && strconv.FormatInt(info.Size(), 10) == m[2] && hex.EncodeToString(sum) == m[1]
}

// Change is a file that differs from a commit.
type Change struct {
	File  string // relative to the top of the repository, with slashes
	Lines int    // added or deleted, whichever is more
	How   string
}

// Ways in which a file differs.
const (
	Edited    = "edited"
	Untracked = "untracked" // neither the commit nor HEAD has it
	Submodule = "submodule" // it is in one that the commit lacks, or that lacks its commit of the commit
)

// Changed lists the files at a name, relative to the repository, or below it, that differ from a commit byte for byte,
// but for line ends and Git LFS. Index, attributes and settings have no say, because a build can change them.
func (r Repository) Changed(ctx context.Context, commit, name string) (out []Change, err error) {
	for i, c := range name {
		if c == '/' && Top(filepath.Join(r.Top, name[:i])) != r.Top {
			return r.below(ctx, commit, name[:i], name[i+1:])
		}
	}
	texts, err := r.Genuine(ctx, commit, name)
	was, failed := r.tree(ctx, commit, name)
	head, unborn := r.tree(ctx, "HEAD", name)
	if err = cmp.Or(err, failed, unborn); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(filepath.Join(r.Top, name), func(path string, e fs.DirEntry, err error) error {
		file, _ := filepath.Rel(r.Top, path)
		old, known := was[file]
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(file+"/", ".git/"):
			return nil
		case e.IsDir() && Top(path) != r.Top:
			all, err := r.below(ctx, commit, file, ".")
			out = append(out, all...)
			return cmp.Or(err, fs.SkipDir)
		case e.IsDir():
			return nil
		}
		delete(was, file)
		lines, err := changedLines(path, e, old, texts[old.id])
		if _, committed := head[file]; !known && !committed {
			out = append(out, Change{file, 0, Untracked})
		} else if !known || lines > 0 {
			out = append(out, Change{file, lines, Edited})
		}
		return err
	})
	for _, file := range slices.Sorted(maps.Keys(was)) {
		if old := was[file]; old.kind == "blob" {
			out = append(out, Change{file, strings.Count(texts[old.id], "\n"), Edited})
		}
	}
	return out, err
}

// below is [Repository.Changed] of a name in the repository at a directory of this one.
func (r Repository) below(ctx context.Context, commit, dir, name string) ([]Change, error) {
	entries, err := r.tree(ctx, commit, dir)
	in, failed := Open(ctx, filepath.Join(r.Top, dir))
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	was := entries[dir]
	if _, err := in.Output(ctx, "cat-file", "-e", was.id+"^{commit}"); was.kind != "commit" || err != nil {
		return []Change{{dir, 0, Submodule}}, nil
	}
	all, err := in.Changed(ctx, was.id, name)
	for i := range all {
		all[i].File = dir + "/" + all[i].File
	}
	return all, err
}

// changedLines is how many lines of a file were added or deleted, the larger: 1 or more if it differs, all if new.
func changedLines(file string, e fs.DirEntry, old entry, was string) (int, error) {
	text, err := "", error(nil)
	if link := e.Type()&fs.ModeSymlink != 0; link != (old.mode == "120000") {
		return 1, nil
	} else if link {
		text, err = os.Readlink(file)
	} else {
		read, failed := input.Read(file, maxOutput)
		text, err = string(read), failed
	}
	now := strings.ReplaceAll(text, "\r\n", "\n")
	if err != nil || text == was || now == was || pointsTo(was, file) {
		return 0, err
	}
	before, added, deleted := map[string]int{}, 0, 0
	for line := range strings.Lines(was) {
		before[line]++
		deleted++
	}
	for line := range strings.Lines(now) {
		if before[line]--; before[line] < 0 {
			added++
		} else {
			deleted--
		}
	}
	return max(1, added, deleted), nil
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

// Hunk is lines of a file of the working tree that a commit has otherwise or not at all.
type Hunk struct {
	File        string // relative to the top of the repository, with slashes
	First, Last int
	Removed     bool // lines that stood behind First were removed, and none took their place
}

// hunkHeader matches the line that begins a hunk: lines of the commit, first line of the tree and their number.
var hunkHeader = input.Pattern(`^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// Hunks lists the lines that differ between a commit and the working tree, but for spaces and CR at their ends. A file
// with another name has those that differ from the old one. Without autoRefreshIndex git writes no index.
func (r Repository) Hunks(ctx context.Context, commit string) ([]Hunk, error) {
	disable, err := noFilters(func(args ...string) (string, error) { return r.Output(ctx, args...) })
	if err != nil {
		return nil, err
	}
	text, err := r.Output(ctx, append(disable, "-c", "diff.autoRefreshIndex=false", "-c", "diff.relative=false", "diff",
		"--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--unified=0",
		"--inter-hunk-context=0", "--dst-prefix=b/", "--submodule=short", "--find-renames", "--ignore-space-at-eol",
		"--end-of-options", commit, "--")...)
	var out []Hunk
	file, left := "", 0 // left is the number of lines until the hunk ends
	for line := range strings.SplitSeq(text, "\n") {
		if name, ok := strings.CutPrefix(line, "+++ "); ok && left == 0 {
			name = strings.TrimSuffix(name, "\t")
			if quoted, err := strconv.Unquote(name); err == nil { // bytes beyond ASCII in octal
				name = quoted
			}
			if file, ok = strings.CutPrefix(name, "b/"); !ok { // removed
				file = ""
			}
		}
		m := hunkHeader().FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, `\`): // no line end at the end of the file
		case left > 0:
			left--
		case m != nil:
			before, after := count(m[1]), count(m[3])
			first, _ := strconv.Atoi(m[2])
			left = before + after
			if file != "" {
				out = append(out, Hunk{file, first, max(first, first+after-1), after == 0})
			}
		}
	}
	return out, err
}

// count is a number of lines in the header of a hunk, which is left out where it is one.
func count(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return 1
}
