package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// File is a file of a commit.
type File struct {
	Name string // relative to the directory, with slashes
	Text []byte
}

// Files reads the regular files of a directory of a commit, as they are stored: no filter and no line end is applied.
// dir is relative to the current directory.
func Files(ctx context.Context, commit, dir string) ([]File, error) {
	tree := commit + ":./" + strings.TrimPrefix(dir, "./")
	listed, err := Output(ctx, "", "ls-tree", "-r", "-z", "--long", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	r, err := Open(ctx, Top(""))
	if err != nil {
		return nil, err
	}
	if err = r.Genuine(ctx, commit, Within(r.Top, dir)); err != nil {
		return nil, err
	}
	var files []File
	var ids []string
	total := 0
	for row := range strings.SplitSeq(listed, "\x00") {
		head, name, ok := strings.Cut(row, "\t")
		cells := strings.Fields(head)
		if !ok || len(cells) != 4 || cells[1] != "blob" || !strings.HasPrefix(cells[0], "100") { // 120000 is a link
			continue
		}
		size, err := strconv.Atoi(cells[3])
		if err != nil {
			return nil, fmt.Errorf("git: %q is no size", cells[3])
		}
		total += size
		if total > maxOutput {
			return nil, fmt.Errorf("%s holds more than %d MB", dir, maxOutput>>20)
		}
		files = append(files, File{Name: name})
		ids = append(ids, cells[2])
	}
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := objects(ctx, Command(ctx, "", "cat-file", "--batch"), ids)
	for i, o := range stored {
		files[i].Text = []byte(o.text)
	}
	return files, err
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
