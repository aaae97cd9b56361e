package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// CheckoutArgs are the arguments of git that check a commit out in a directory.
func CheckoutArgs(dir, commit string) []string {
	return []string{"-C", dir, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit}
}

// copying makes the repository dir out of the one around top. run runs each command of git to its end.
type copying struct {
	ctx              context.Context
	top, dir, commit string
	run              func(*exec.Cmd) error
}

// Checkout makes dir a repository of its own in which a commit of the one around top is checked out, with the commits
// and tags of its history. git computes the names of all objects anew: code that ran in the checkout can have put
// others under them. No filter, attribute, hook, graft or other setting of it counts; addresses of submodules and of
// origin are taken along. run runs each command to its end.
func Checkout(ctx context.Context, top, commit, dir string, run func(*exec.Cmd) error) error {
	c := copying{ctx, top, dir, commit, run}
	tags, err := c.objects()
	if err == nil {
		err = c.settings(tags)
	}
	if err != nil {
		return err
	}
	if _, err = c.in(dir, "rev-list", "--objects", "--no-walk", "--quiet", commit); err != nil {
		return fmt.Errorf("objects of the checkout are not those of %s; check it out again: %w", commit[:12], err)
	}
	if _, err = c.in(dir, CheckoutArgs(dir, commit)...); err == nil {
		err = c.large()
	}
	if _, none := os.Stat(filepath.Join(dir, ".gitmodules")); err == nil && none == nil {
		if _, err = c.in(dir, "-c", "submodule.active=.", "submodule", "--quiet", "update", "--recursive"); err != nil {
			err = fmt.Errorf("its submodules: %w", err)
		}
	}
	return err
}

// in is the answer of a call of git in a directory, of any size and duration.
func (c copying) in(dir string, args ...string) (string, error) {
	var out strings.Builder
	err := c.to(&out, nil, dir, args...)
	return out.String(), err
}

// to runs git in a directory. The error is the last line that it printed to standard error.
func (c copying) to(out io.Writer, in io.Reader, dir string, args ...string) error {
	complaint, cmd := &proc.Output{}, Command(c.ctx, dir, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, complaint
	err := c.run(cmd)
	if why := proc.Said(complaint.String()); err != nil && why != "" {
		err = errors.New(why)
	}
	return err
}

// objects copies the objects of the commit, the commits before it and their tags, which it lists.
func (c copying) objects() (tags string, err error) {
	files, err1 := c.in(c.top, "rev-list", "--objects", "--no-object-names", "--no-walk", c.commit)
	history, err2 := c.in(c.top, "rev-list", c.commit)
	tags, err3 := c.in(c.top, "for-each-ref", "--merged="+c.commit, "--format=%(objectname) %(refname)", "refs/tags")
	form := "--object-format=sha1"
	if len(c.commit) > 40 {
		form = "--object-format=sha256"
	}
	_, err4 := c.in(c.top, "init", "--quiet", "--template=", form, c.dir)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return "", err
	}

	names := bytes.NewBufferString(files + history)
	for tag := range strings.Lines(tags) {
		id, _, _ := strings.Cut(tag, " ")
		fmt.Fprintln(names, id)
	}
	pack, err := output.New(filepath.Join(c.dir, ".git", "objects", "pack", "pack-base.pack"))
	if err != nil {
		return "", err
	}
	err = c.to(pack, names, c.top, "pack-objects", "--quiet", "--stdout")
	if err = errors.Join(err, pack.Close()); err == nil {
		_, err = c.in(c.dir, "index-pack", pack.Name())
	}
	return tags, err
}

// settings writes the refs and the configuration of the copy.
func (c copying) settings(tags string) error {
	own := filepath.Join(c.dir, ".git")
	err := output.Text(filepath.Join(own, "packed-refs"), 0o600, []byte(tags))
	shallow, err2 := Output(c.ctx, c.top, "rev-parse", "--is-shallow-repository")
	if shallow == "true" && err2 == nil {
		var roots string
		if roots, err2 = c.in(c.top, "rev-list", "--max-parents=0", c.commit); err2 == nil {
			err2 = output.Text(filepath.Join(own, "shallow"), 0o600, []byte(roots))
		}
	}
	common, err3 := Output(c.ctx, c.top, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	if large := filepath.Join(common, "lfs"); isDir(large) {
		if _, err := c.in(c.dir, "config", "lfs.storage", large); err != nil {
			return err
		}
	}
	addresses, err := Output(c.ctx, c.top, "config", "--null", "--get-regexp",
		`^(submodule\..*|remote\.origin|lfs)\.url$`)
	if err != nil && !differs(err) { // of which there are none
		return err
	}
	for entry := range strings.SplitSeq(addresses, "\x00") {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			if _, err := c.in(c.dir, "config", key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// large compares the files of Git LFS with their pointers: Git LFS takes them unseen from where the checkout has them.
func (c copying) large() error {
	cmd := Command(c.ctx, c.dir, "ls-files", "--stage", "-z", "--", ":(attr:filter=lfs)")
	cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=0")
	rows, err := answer(c.ctx, cmd)
	if err != nil || rows == "" {
		return err
	}
	var entries strings.Builder // as differ takes them
	for row := range strings.SplitSeq(rows, "\x00") {
		head, name, _ := strings.Cut(row, "\t")
		if cells := strings.Fields(head); len(cells) == 3 && strings.HasPrefix(cells[0], "100") {
			fmt.Fprintf(&entries, ":%[1]s %[1]s %[2]s %[2]s M\x00%[3]s\x00", cells[0], cells[1], name)
		}
	}
	disable, err := noFilters(func(args ...string) (string, error) { return Output(c.ctx, c.dir, args...) })
	if err != nil {
		return err
	}
	changed, err := differ(c.ctx, c.dir, entries.String(), disable, func(string) bool { return false })
	if changed {
		return fmt.Errorf("a file of Git LFS is not that of %s: remove .git/lfs", c.commit[:12])
	}
	return err
}
