package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// builtList is the list of the files of a base build, below its directory of git, as sha256sum -z writes it: a
// hash, two spaces, a name and a NUL. Who builds the base writes it before code of the change runs.
const builtList = "nsgate-built"

const maxList = 64 << 20 // bytes

// ErrNoList is the error for a base build without a list of its files.
var ErrNoList = errors.New("has no list of its files")

// Unchanged compares the files of a base build with the list in its directory of git. A link counts by its target.
func Unchanged(dir, gitDir string) error {
	list := filepath.Join(gitDir, builtList)
	text, err := input.Read(list, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoList
	}
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	listed := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
		sum, name, _ := strings.Cut(entry, "  ")
		listed[strings.TrimPrefix(name, "./")] = sum
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case name == ".git" && entry.IsDir():
			return fs.SkipDir
		case name == ".git" || entry.IsDir():
			return nil
		}
		sum, err := hashOf(path, entry)
		if err == nil && sum != listed[name] {
			err = fmt.Errorf("%s is not the file of the build", name)
		}
		delete(listed, name)
		return err
	})
	if gone := slices.Sorted(maps.Keys(listed)); err == nil && len(gone) > 0 {
		return fmt.Errorf("%s of the build is gone", gone[0])
	}
	return err
}

func hashOf(path string, entry fs.DirEntry) (string, error) {
	if entry.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return fmt.Sprintf("%x", sha256.Sum256([]byte(target))), err
	}
	sum, err := input.Hash(input.OpenOwn(path))
	return hex.EncodeToString(sum), err
}
