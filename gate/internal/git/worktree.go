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
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Head is the commit that is checked out here, and whether tracked files differ from it, apart from those below
// directories of the name except. In CI, where a build can write the index, each file is hashed.
func Head(ctx context.Context, except string) (commit string, changed bool, err error) {
	r, err := Open(ctx, Top(""))
	if err != nil {
		return "", false, err
	}
	commit, err = r.Output(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil || len(commit) < 40 || strings.Trim(commit, "0123456789abcdef") != "" {
		return "", false, cmp.Or(err, errors.New("git: HEAD is no commit"))
	}
	believed := os.Getenv("CI") == ""
	for _, ci := range checkouts {
		believed = believed && os.Getenv(ci.running) == ""
	}
	name, err := r.unlike(ctx, commit, &index{believed: believed}, func(name string) bool {
		return strings.Contains("/"+name, "/"+except+"/")
	})
	return commit, name != "", err
}

// Intact is an error that names a tracked file of another checkout of the repository around top that differs from a
// commit. Index, configuration and objects of that checkout have no say.
func Intact(ctx context.Context, top, checkout, commit string) error {
	r, err := Open(ctx, top)
	if err != nil {
		return err
	}
	r.Top = checkout
	name, err := r.unlike(ctx, commit, nil, func(string) bool { return false })
	if name != "" {
		return fmt.Errorf("tracked files differ from commit %s, such as %q", commit[:12], name)
	}
	return err
}

// index is what git's index says of the files of a checkout, by names.
type index struct {
	believed bool              // it tells which files differ, unless it marks some
	changed  map[string]bool   // by size and time
	marked   map[string]string // their size and time do not count: S of skip-worktree, or another tag of ls-files -v
}

// read asks for the index, with no setting of the repository for times and sizes, and for a file that differs from a
// commit there, "" for none.
func (x *index) read(ctx context.Context, r Repository, commit string, excepted func(string) bool) (string, error) {
	disable, err := r.noFilters(ctx)
	if err != nil {
		return "", err
	}
	ask := func(args ...string) (names []string) {
		out, failed := r.Output(ctx, slices.Concat(disable, args)...)
		err = cmp.Or(err, failed)
		return strings.FieldsFunc(out, func(c rune) bool { return c == 0 })
	}
	staged := slices.DeleteFunc(ask("diff-index", "--cached", "--name-only", "-z", commit), excepted)
	changed := ask("-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.ignoreStat=false", "-c",
		"core.symlinks=true", "diff-files", "--name-only", "-z", "--ignore-submodules=dirty")
	x.changed, x.marked = map[string]bool{}, map[string]string{}
	for _, name := range slices.DeleteFunc(changed, excepted) {
		x.changed[name] = true
	}
	for _, row := range ask("ls-files", "-v", "-z") { // TAG NAME
		if tag, name, _ := strings.Cut(row, " "); tag != "H" {
			x.marked[name] = tag
		}
	}
	return strings.Join(staged, ", "), err
}

// unlike is a tracked file that differs from a commit, but for line ends and Git LFS, "" for none. x is the index, nil
// where it has no say; a file behind another filter, which is not run, is as x says.
func (r Repository) unlike(ctx context.Context, commit string, x *index, excepted func(string) bool) (string, error) {
	entries, err := r.tree(ctx, commit)
	name := ""
	if err == nil && x != nil {
		name, err = x.read(ctx, r, commit, excepted)
	}
	if err != nil || name != "" {
		return name, err
	}
	if x == nil || !x.believed || len(x.changed)+len(x.marked) > 0 {
		if name, err := r.hashed(ctx, commit, entries, x, excepted); err != nil || name != "" {
			return name, err
		}
	}
	for name, e := range entries {
		at := filepath.Join(r.Top, name)
		switch inside, _ := os.ReadDir(at); {
		case e.kind != "commit" || excepted(name) || len(inside) == 0:
		case Top(at) != at:
			return name, nil
		default:
			in := Repository{at, filepath.Join(at, ".git")} // of the owner of the checkout
			head, err := in.Output(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
			if err != nil || head != e.id {
				return name, err
			}
			if file, err := in.unlike(ctx, e.id, x, excepted); err != nil || file != "" {
				return path.Join(name, file), err
			}
		}
	}
	return "", nil
}

// hashed is [Repository.unlike] by hashes, in a repository of its own: no setting, filter, attribute, index or forged
// object of the one here has a say.
func (r Repository) hashed(ctx context.Context, commit string, entries map[string]entry, x *index,
	excepted func(string) bool) (name string, err error) {
	dirs := []string{"."}
	for name, e := range entries {
		if e.kind == "tree" {
			dirs = append(dirs, name)
		}
	}
	if _, err := r.wanted(ctx, commit, entries, func(string, entry) bool { return false }); err != nil {
		return "", err
	}
	for _, dir := range dirs { // attributes count from here on
		name := path.Join(dir, ".gitattributes")
		if _, err := os.Lstat(filepath.Join(r.Top, name)); err == nil && entries[name].kind == "" {
			return name, nil
		}
	}
	objects, err := r.Output(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return "", err
	}
	err = proc.InPrivate(func(dir string) error {
		in := func(stdin string, args ...string) (out string, err error) {
			cmd := Command(ctx, r.Top, slices.Concat([]string{"--git-dir=" + dir, "--work-tree=" + r.Top, "-c",
				"core.autocrlf=input", "-c", "core.safecrlf=false"}, args)...)
			cmd.Stdin = strings.NewReader(stdin)
			own := func(v string) bool { return strings.HasPrefix(v, "GIT_CONFIG") }
			cmd.Env = append(slices.DeleteFunc(cmd.Env, own), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
				"GIT_ATTR_NOSYSTEM=1", "HOME="+os.DevNull, "XDG_CONFIG_HOME="+os.DevNull,
				"GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoted(objects))
			return within(ctx, cmd, hashLimit)
		}
		_, err := in("", "init", "--quiet", "--template=", "--object-format="+formatOf(commit))
		_, failed := in("", "read-tree", commit)
		if err = cmp.Or(err, failed); err != nil {
			return err
		}
		in("", "update-index", "-q", "--refresh", "--ignore-submodules") // fails where files differ
		rows, err := in("", "diff-files", "-z", "--ignore-submodules=all")
		if err != nil {
			return err
		}
		cells := strings.Split(rows, "\x00") // ":MODE MODE ID ID STATUS", name, …
		for i := 0; i+1 < len(cells) && name == ""; i += 2 {
			if file := cells[i+1]; !excepted(file) && !r.explained(ctx, strings.Fields(cells[i]), file, x, in) {
				name = file
			}
		}
		return nil
	})
	return name, err
}

// quoted is a path in the list of a variable, where git ends one at a colon but for text in quotes.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// explained reports whether a row of git diff-files is that of a file which a sparse checkout leaves out, which Git LFS
// keeps, or which lies behind another filter and is unchanged by the index.
func (r Repository) explained(ctx context.Context, row []string, file string, x *index,
	in func(stdin string, args ...string) (string, error)) bool {
	switch {
	case len(row) != 5:
		return false
	case row[4] == "D":
		return x != nil && x.marked[file] == "S"
	case row[4] != "M" || row[0] != ":"+row[1] || !strings.HasPrefix(row[1], "100"):
		return false
	case r.stored(ctx, row[2], file):
		return true
	case x == nil || x.changed[file] || x.marked[file] != "":
		return false
	}
	said, err := in(file+"\x00", "check-attr", "-z", "--stdin", "filter") // NAME filter VALUE
	cells := strings.Split(said, "\x00")
	return err == nil && len(cells) > 2 && !slices.Contains([]string{"unspecified", "unset", "set"}, cells[2])
}

var filterKey = input.Pattern(`^filter\.([^=\n]*)\.(clean|smudge|process|required)$`)

// noFilters are the options that switch off every filter of the configuration. Another name is an error.
func (r Repository) noFilters(ctx context.Context) (disable []string, err error) {
	keys, err := r.Output(ctx, "config", "--null", "--name-only", "--get-regexp", `^filter\.`)
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
func (r Repository) stored(ctx context.Context, id, name string) bool {
	texts, err := r.genuine(ctx, []string{id})
	return err == nil && pointsTo(texts[id], filepath.Join(r.Top, filepath.FromSlash(name)))
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
	was, err := r.tree(ctx, commit, name)
	texts, failed := r.wanted(ctx, commit, was, func(name string, e entry) bool { return !r.holds(name, e) })
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
		text, differs := texts[old.id]
		if old.kind == "blob" && !differs {
			return nil
		}
		lines, err := changedLines(path, e, old, text)
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

// holds reports whether a regular file here has the text that its entry's hash is of.
func (r Repository) holds(name string, e entry) bool {
	f, err := input.OpenOwn(filepath.Join(r.Top, filepath.FromSlash(name)))
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := input.All(f, maxOutput)
	return err == nil && strings.HasPrefix(e.mode, "100") && idOf(object{e.id, e.kind, string(text)}) == e.id
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
	disable, err := r.noFilters(ctx)
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
