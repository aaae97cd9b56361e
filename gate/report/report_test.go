package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// reports reads every report of testdata.
func reports(t testing.TB) map[string]*gate.Report {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports in testdata: %v", err)
	}
	out := make(map[string]*gate.Report)
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ReadJSON(f, file)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return out
}

// TestGolden renders every testdata/*.json in every form: a new case is one file and a run with -update.
func TestGolden(t *testing.T) {
	forms := []struct {
		ext, format string
		o           Options
	}{
		{"json", "json", Options{}},
		{"md", "markdown", Options{}},
		{"txt", "text", Options{Width: 80}},
		{"wide.txt", "text", Options{Width: 160, Verbose: true}},
		{"color.txt", "text", Options{Width: 80, Color: true}},
		{"quiet.txt", "text", Options{Width: 80, Quiet: true}},
		{"junit.xml", "junit", Options{}},
		{"codequality", "codequality", Options{}},
		{"metrics.txt", "openmetrics", Options{}},
		{"env", "dotenv", Options{}},
		{"html", "html", Options{}},
	}
	for name, r := range reports(t) {
		for _, form := range forms {
			t.Run(name+"."+form.ext, func(t *testing.T) {
				var b bytes.Buffer
				if err := Render(form.format, &b, r, form.o); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", name+"."+form.ext), b.Bytes())
			})
		}
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", file, got)
	}
}

func TestRenderUnknownFormat(t *testing.T) {
	err := Render("xml", io.Discard, new(gate.Report), Options{})
	if err == nil || !strings.Contains(err.Error(), `"xml"`) || !strings.Contains(err.Error(), "json, junit, markdown, openmetrics, text") {
		t.Errorf("got %v", err)
	}
}

func TestTextKeepsWidth(t *testing.T) {
	for name, r := range reports(t) {
		r.Reproduce, r.Accept = "", ""
		for _, width := range []int{40, 60, 80, 100, 160} {
			for _, verbose := range []bool{false, true} {
				for _, l := range strings.Split(render(t, Text, r, Options{Width: width, Verbose: verbose}), "\n") {
					if n := utf8.RuneCountInString(l); n > width {
						t.Errorf("%s at %d: %d columns: %s", name, width, n, l)
					}
				}
			}
		}
	}
}

// Colour changes no character of the text.
func TestColorIsOnlyPaint(t *testing.T) {
	for name, r := range reports(t) {
		plain := render(t, Text, r, Options{Width: 80})
		painted := render(t, Text, r, Options{Width: 80, Color: true})
		if got := sgr.ReplaceAllString(painted, ""); got != plain {
			t.Errorf("%s: colour changes the text:\n%s", name, got)
		}
		if name == "fail" && !sgr.MatchString(painted) {
			t.Errorf("%s: no colour", name)
		}
	}
}

func render(t testing.TB, f func(io.Writer, *gate.Report, Options) error, r *gate.Report, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := f(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
