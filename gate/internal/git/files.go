package git

import (
	"context"
	"errors"
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
func Files(ctx context.Context, commit, dir string) (files []File, err error) {
	r, err := Open(ctx, Top(""))
	if err != nil {
		return nil, err
	}
	objects, err := r.Genuine(ctx, commit, Within(r.Top, dir))
	if err != nil {
		return nil, err
	}
	listed, err := Output(ctx, "", "ls-tree", "-r", "-z", "--full-tree", commit+":./"+strings.TrimPrefix(dir, "./"))
	for row := range strings.SplitSeq(listed, "\x00") {
		head, name, _ := strings.Cut(row, "\t")
		cells := strings.Fields(head)
		if len(cells) == 3 && cells[1] == "blob" && strings.HasPrefix(cells[0], "100") { // 120000 is a link
			files = append(files, File{name, []byte(objects[cells[2]])})
		}
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
