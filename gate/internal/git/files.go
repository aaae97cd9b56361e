package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
	var files []File
	var ids strings.Builder
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
		ids.WriteString(cells[2] + "\n")
	}
	cmd := Command(ctx, "", "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(ids.String())
	out, err := answer(ctx, cmd)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(strings.NewReader(out + "\n"))
	for i := range files {
		head, err := in.ReadString('\n') // ID blob SIZE
		cells := strings.Fields(head)
		if err != nil || len(cells) != 3 || cells[1] != "blob" {
			return nil, errors.New("git: an object is missing")
		}
		size, _ := strconv.Atoi(cells[2])
		files[i].Text = make([]byte, size)
		if _, err := io.ReadFull(in, files[i].Text); err != nil {
			return nil, errors.New("git: an object is cut short")
		}
		in.Discard(1) // the line feed behind it
	}
	return files, nil
}
