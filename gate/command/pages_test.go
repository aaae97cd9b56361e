package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is a text of the documentation: the README, or a page of the manual.
type page struct {
	name string // "README", or that of the topic
	file string
	text string
}

// block is a fenced block of a page.
type block struct {
	line int
	text string
}

func pages(t *testing.T) (out []page) {
	t.Helper()
	files, err := filepath.Glob("../../cmd/nsgate/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page{strings.TrimSuffix(filepath.Base(file), ".md"), file, string(text)})
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks are the page's blocks of a language.
func (p page) blocks(language string) (out []block) {
	for _, at := range fence.FindAllStringSubmatchIndex(p.text, -1) {
		if p.text[at[2]:at[3]] == language {
			out = append(out, block{1 + strings.Count(p.text[:at[0]], "\n"), p.text[at[4]:at[5]]})
		}
	}
	return out
}
