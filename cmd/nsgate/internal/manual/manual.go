// Package manual is the manual in the binary: its topics, for a terminal and as man pages.
package manual

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"

	"github.com/nsgate/nsgate/cmd/nsgate/docs"
)

// Topic is a page of the manual.
type Topic struct {
	Name  string // by which nsgate help knows it
	Title string // its heading, in plain words
	Text  []byte // Markdown as GitHub has it
}

// Topics are all pages, where to start first, then by name.
func Topics() []Topic {
	files, err := fs.Glob(docs.Files, "*.md")
	if err != nil {
		panic(err) // of a pattern that is constant
	}
	topics := make([]Topic, len(files))
	for i, file := range files {
		text, err := docs.Files.ReadFile(file)
		if err != nil {
			panic(err) // of a file that is compiled in
		}
		heading, _, _ := bytes.Cut(text, []byte("\n"))
		topics[i] = Topic{strings.TrimSuffix(file, ".md"), strings.TrimPrefix(string(heading), "# "), text}
	}
	slices.SortStableFunc(topics, func(a, b Topic) int {
		switch {
		case a.Name == "start":
			return -1
		case b.Name == "start":
			return 1
		}
		return 0
	})
	return topics
}

// Lookup finds a topic by its name.
func Lookup(name string) (Topic, bool) {
	for _, t := range Topics() {
		if t.Name == name {
			return t, true
		}
	}
	return Topic{}, false
}

// Schemas are the names of the JSON schemas.
func Schemas() (names []string) {
	files, _ := fs.Glob(docs.Files, "schema/*.json")
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".json"))
	}
	return names
}

// Schema is the JSON schema of a name.
func Schema(name string) ([]byte, error) { return docs.Files.ReadFile("schema/" + name + ".json") }

// Man is the topic as a man page of section 7, nsgate-TOPIC.
func (t Topic) Man() []byte {
	_, rest, _ := bytes.Cut(t.Text, []byte("\n"))
	return ManPage("nsgate-"+t.Name, 7, t.Title, string(rest))
}

// ManPage makes a man page of a section from a text in Markdown, whose sections have headings of the second level.
func ManPage(name string, section int, about, text string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %q %q \"\" \"nsgate\" \"nsgate\"\n\n# NAME\n\n%s - %s\n\n# DESCRIPTION\n", name, fmt.Sprint(section), name, about)
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
