package git

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Repository is a repository and its files, both as they were found: whatever its configuration names later, git is
// told where they are. The zero value is none.
type Repository struct {
	Top string // directory of the files
	dir string // of git
}

// Open finds the repository whose files are below top. Errors are those of [Output].
func Open(ctx context.Context, top string) (Repository, error) {
	dir, err := Output(ctx, top, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return Repository{}, err
	}
	if top, err = filepath.Abs(top); err != nil {
		return Repository{}, err
	}
	return Repository{top, dir}, nil
}

// Output is [Output] about the repository.
func (r Repository) Output(ctx context.Context, args ...string) (string, error) {
	return answer(ctx, r.command(ctx, args...))
}

func (r Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	return Command(ctx, r.Top, append([]string{"--git-dir=" + r.dir, "--work-tree=" + r.Top}, args...)...)
}

// Genuine reads a commit and its directories and files that lead to names or lie below them, by their hashes. An object
// other than its hash says is an error: git does not compare them, and whoever writes there can replace one.
func (r Repository) Genuine(ctx context.Context, commit string, files ...string) (map[string]string, error) {
	entries, err := r.tree(ctx, commit, files...)
	texts, failed := r.wanted(ctx, commit, entries, func(string, entry) bool { return true })
	return texts, cmp.Or(err, failed)
}

// wanted reads a commit, directories of it and those of its files that are wanted, like [Repository.Genuine].
func (r Repository) wanted(ctx context.Context, commit string, entries map[string]entry,
	want func(name string, e entry) bool) (map[string]string, error) {
	names := []string{commit + "^{commit}", commit + "^{tree}"}
	for name, e := range entries {
		if e.kind == "tree" || e.kind == "blob" && want(name, e) { // else a submodule
			names = append(names, e.id)
		}
	}
	return r.genuine(ctx, names)
}

// genuine reads objects by their hashes.
func (r Repository) genuine(ctx context.Context, names []string) (texts map[string]string, err error) {
	stored, err := objects(ctx, r.command(ctx, "cat-file", "--batch"), names)
	texts = map[string]string{}
	for i, o := range stored {
		texts[o.id] = o.text
		if (o.kind == "commit") != strings.HasSuffix(names[i], "^{commit}") || idOf(o) != o.id {
			return nil, fmt.Errorf("git: %s %s is not the object of that name", o.kind, names[i])
		}
	}
	return texts, err
}

// mergeBase copies the history of two commits, whose names git index-pack computes anew, and asks the copy.
const mergeBase = `dir=$1 format=$2 a=$3 b=$4
shift 4
git init --quiet --bare --template= "--object-format=$format" "$dir"
"$@" rev-list "$a" "$b" | "$@" pack-objects --quiet --stdout | git "--git-dir=$dir" index-pack --stdin >/dev/null
git "--git-dir=$dir" merge-base "$a" "$b"`

// MergeBase is the commit where two others part, by full names; an error where an object is not what its name says.
func (r Repository) MergeBase(ctx context.Context, a, b string) (base string, err error) {
	err = proc.InPrivate(func(dir string) error {
		git := r.command(ctx)
		args := slices.Concat([]string{"-ec", mergeBase, "sh", dir, formatOf(a), a, b}, git.Args)
		cmd := exec.CommandContext(ctx, "sh", args...)
		cmd.Dir, cmd.Env = git.Dir, git.Env
		base, err = answer(ctx, cmd)
		return err
	})
	return base, err
}

// formatOf is the kind of hash that names an object.
func formatOf(id string) string {
	if len(id) > 2*sha1.Size {
		return "sha256"
	}
	return "sha1"
}

// entry is an entry of a tree.
type entry struct{ mode, kind, id string }

// tree are the entries of a commit that lead to some names or lie below them, by their names.
func (r Repository) tree(ctx context.Context, commit string, names ...string) (map[string]entry, error) {
	rows, err := r.Output(ctx, slices.Concat([]string{"ls-tree", "-r", "-t", "-z", "--full-tree", commit, "--"},
		names)...)
	all := map[string]entry{}
	for row := range strings.SplitSeq(rows, "\x00") {
		head, name, _ := strings.Cut(row, "\t")
		if cells := strings.Fields(head); len(cells) == 3 {
			all[name] = entry{cells[0], cells[1], cells[2]}
		}
	}
	return all, err
}

func idOf(o object) string {
	sum := sha1.New()
	if len(o.id) == 2*sha256.Size {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "%s %d\x00", o.kind, len(o.text))
	io.WriteString(sum, o.text)
	return hex.EncodeToString(sum.Sum(nil))
}

// File is a file of a commit.
type File struct {
	Name string // relative to the directory, with slashes
	Text []byte
}

// Files reads the regular files of a commit's directory, relative to the current one, as stored: no filter is applied.
func Files(ctx context.Context, commit, dir string) (files []File, err error) {
	r, err := Open(ctx, Top(""))
	if err != nil {
		return nil, err
	}
	below := Within(r.Top, dir)
	objects, failed := r.Genuine(ctx, commit, below)
	entries, err := r.tree(ctx, commit, below)
	for _, full := range slices.Sorted(maps.Keys(entries)) {
		e := entries[full]
		name, inside := strings.CutPrefix(full, below+"/")
		if inside && e.kind == "blob" && strings.HasPrefix(e.mode, "100") { // 120000 is a link
			files = append(files, File{name, []byte(objects[e.id])})
		}
	}
	return files, cmp.Or(failed, err)
}

type object struct{ id, kind, text string }

// objects are those of some names, by a call of git cat-file --batch.
func objects(ctx context.Context, cmd *exec.Cmd, names []string) (all []object, err error) {
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := answer(ctx, cmd)
	if err != nil {
		return nil, err
	}
	out += "\n"
	for range names {
		head, rest, _ := strings.Cut(out, "\n") // ID KIND SIZE
		cells := strings.Fields(head)
		if len(cells) != 3 {
			return nil, errors.New("git: an object is missing")
		}
		size, err := strconv.Atoi(cells[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, errors.New("git: an object is cut short")
		}
		all, out = append(all, object{cells[0], cells[1], rest[:size]}), rest[size+1:]
	}
	return all, nil
}
