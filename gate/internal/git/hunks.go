package git

import (
	"context"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Hunk is lines of a file of the working tree that a commit has otherwise or not at all.
type Hunk struct {
	File        string // relative to the top of the repository, with slashes
	First, Last int
	// Removed is true where lines that stood behind First were removed, and none took their place.
	Removed bool
}

// hunkHeader matches the line that begins a hunk: lines of the commit, first line of the tree and their number.
var hunkHeader = input.Pattern(`^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// Hunks lists the lines that differ between a commit and the working tree, but for spaces and CR at their ends. A file
// with another name has those that differ from the old one.
func (r Repository) Hunks(ctx context.Context, commit string) ([]Hunk, error) {
	diff, err := r.diff(ctx, "--unified=0", "--inter-hunk-context=0", "--dst-prefix=b/", "--submodule=short",
		"--find-renames", "--ignore-space-at-eol", "--end-of-options", commit, "--")
	if err != nil {
		return nil, err
	}
	text, err := r.Output(ctx, diff...)
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
