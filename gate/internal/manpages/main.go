// Command manpages writes the manual and the help of each command as man pages: manpages DIRECTORY. It is no part of nsgate, which it
// would make a quarter of a megabyte larger.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"

	"github.com/nsgate/nsgate/gate/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manpages DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

// write writes nsgate.1, nsgate-COMMAND.1 and nsgate-TOPIC.7.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range cli.Manual() {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%d", p.Name, p.Section)), render(p), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render makes a man page of a page in Markdown.
func render(p cli.Page) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %q \"%d\" \"\" \"nsgate\" \"nsgate\"\n\n# NAME\n\n%s - %s\n\n# DESCRIPTION\n", p.Name, p.Section, p.Name, p.About)
	fenced := false
	for line := range strings.Lines(p.Text) {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced && strings.HasPrefix(line, "<!--"), !fenced && strings.HasPrefix(line, "#:"):
			continue
		case !fenced && strings.HasPrefix(line, "##"):
			line = line[1:]
		}
		b.WriteString(line)
	}
	return md2man.Render([]byte(b.String()))
}
