package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// readAll reads every JSON file of a directory, by its name.
func readAll[T any](t *testing.T, dir string) map[string]*T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing in %s: %v", dir, err)
	}
	out := make(map[string]*T)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v := new(T)
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = v
	}
	return out
}

// summariesIn reads every summary of testdata/summary: those of recordings are the output of nsgate show --format json
// on testdata/h200.
func summariesIn(t *testing.T) map[string]*result.Summary {
	return readAll[result.Summary](t, "testdata/summary")
}

// TestSummaryGolden renders every testdata/summary/*.json in every form. The JSON form is the file itself: nothing is
// lost.
func TestSummaryGolden(t *testing.T) {
	all := summariesIn(t)
	for _, form := range []struct {
		file, format string
		o            Options
	}{
		{"base.json", "json", Options{}},
		{"base.40.txt", "text", Options{Width: 40}},
		{"base.160.txt", "text", Options{Width: 160, Verbose: true}},
		{"base.md", "markdown", Options{}},
		{"cupy.80.txt", "text", Options{Width: 80}},
		{"idle_200us.80.txt", "text", Options{Width: 80}},
	} {
		t.Run(form.file, func(t *testing.T) {
			name, _, _ := strings.Cut(form.file, ".")
			golden(t, filepath.Join("testdata/summary", form.file),
				[]byte(renderSummary(t, form.format, all[name], form.o)))
		})
	}
}

func renderSummary(t *testing.T, format string, s *result.Summary, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Render(format, &b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSummaryText(t *testing.T) {
	for name, s := range summariesIn(t) {
		for _, width := range []int{1, 40, 60, 80, 100, 160} {
			for _, verbose := range []bool{false, true} {
				for l := range strings.Lines(renderSummary(t, "text", s, Options{Width: width, Verbose: verbose})) {
					l = strings.TrimSuffix(l, "\n")
					if n := story.Columns(l); n > max(width, 40) {
						t.Errorf("%s at %d: %d columns: %s", name, width, n, l)
					}
					checkLine(t, l)
				}
			}
		}
	}
}

// Markdown keeps its size, and takes no markup from recorded names.
func TestSummaryMarkdown(t *testing.T) {
	for name, s := range summariesIn(t) {
		for _, most := range []int{0, 200, 1000, 3000} {
			text := renderSummary(t, "markdown", s, Options{MaxBytes: most, Verbose: true})
			if most > 0 && len(text) > most {
				t.Errorf("%s: %d bytes of at most %d", name, len(text), most)
			}
			for _, markup := range []string{"<script>", "\x1b", "@octocat", " #123", "##[", "\n::"} {
				if strings.Contains(text, markup) {
					t.Errorf("%s: %q in\n%s", name, markup, text)
				}
			}
		}
	}
}

// A summary of nothing is one, and a format without one is an error.
func TestSummaryOfNothing(t *testing.T) {
	for _, format := range Formats(Summary) {
		if text := renderSummary(t, format, &result.Summary{}, Options{}); text == "" {
			t.Errorf("%s says nothing", format)
		}
	}
	err := Render("junit", io.Discard, new(result.Summary), Options{})
	if err == nil || !strings.Contains(err.Error(), "html, json, markdown, text") {
		t.Errorf("got %v", err)
	}
}
