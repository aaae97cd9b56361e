// Command manpages writes the manual and the help of each command as man pages: manpages DIRECTORY.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra/doc"

	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/manual"
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
	root := cli.Root()
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "nsgate", Manual: "nsgate"},
		dir); err != nil {
		return err
	}
	for _, t := range manual.Topics() {
		if err := os.WriteFile(filepath.Join(dir, "nsgate-"+t.Name+".7"), topic(t), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// topic makes a man page of a page of the manual.
func topic(t manual.Topic) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %q \"7\" \"\" \"nsgate\" \"nsgate\"\n\n# NAME\n\nnsgate-%s - %s\n\n# DESCRIPTION\n",
		"nsgate-"+t.Name, t.Name, t.Title)
	_, text, _ := strings.Cut(string(t.Text), "\n")
	fenced := false
	for line := range strings.Lines(text) {
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
