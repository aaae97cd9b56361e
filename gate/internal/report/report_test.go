package report

import (
	"bytes"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// reports reads every report of testdata.
func reports(t testing.TB) map[string]*result.Report {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports in testdata: %v", err)
	}
	out := make(map[string]*result.Report)
	for _, file := range files {
		if strings.Count(file, ".") > 1 { // JSON of another format
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := saved.Read(f, file)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return out
}

// TestGolden renders one failing report in every format and in the variants of text, several workloads in the formats
// that show them apart, and the other reports as text. Pages are held by [checkHTML] and in a browser.
func TestGolden(t *testing.T) {
	type form struct {
		format string
		o      Options
	}
	normal := Options{Width: 80, ShowAll: "--verbose"}
	forms := map[string]form{
		".wide.txt":  {"text", Options{Width: 160, Verbose: true}},
		".color.txt": {"text", Options{Width: 80, Color: true, ShowAll: "--verbose"}},
		".quiet.txt": {"text", Options{Width: 80, Quiet: true}},
	}
	for _, name := range Formats(Report) {
		about, suffix := About(name)
		if suffix == "" || about == "" {
			t.Errorf("%s does not say what it is for", name)
		}
		if name != "html" {
			forms[suffix] = form{name, normal}
		}
	}
	shown := map[string][]string{"fail": slices.Sorted(maps.Keys(forms)), "several": {".txt", ".md", ".junit.xml"},
		"hostile": nil, "empty": nil}
	all := reports(t)
	for name, r := range all {
		suffixes, ok := shown[name]
		if !ok {
			suffixes = []string{".txt"}
		}
		for _, suffix := range suffixes {
			t.Run(name+suffix, func(t *testing.T) {
				golden(t, filepath.Join("testdata", name+suffix),
					[]byte(render(t, forms[suffix].format, r, forms[suffix].o)))
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
	err := Render("xml", io.Discard, new(result.Report), Options{})
	if err == nil || !strings.Contains(err.Error(), `"xml"`) ||
		!strings.Contains(err.Error(), strings.Join(Formats(Report), ", ")) {
		t.Errorf("got %v", err)
	}
	for _, name := range strings.Fields("codequality customBiggerIsBetter customSmallerIsBetter dotenv html json " +
		"junit markdown openmetrics rdjson text") {
		if about, _ := About(name); about == "" || !strings.Contains(err.Error(), name) {
			t.Errorf("no %s in %v", name, err)
		}
	}
}

func TestTextKeepsWidth(t *testing.T) {
	for name, r := range reports(t) {
		for _, w := range append(r.Each(), r) {
			w.Reproduce, w.Accept = "", ""
		}
		for _, width := range []int{40, 60, 80, 100, 160} {
			for _, verbose := range []bool{false, true} {
				for _, l := range strings.Split(render(t, "text", r, Options{Width: width, Verbose: verbose}), "\n") {
					if n := story.Columns(l); n > width {
						t.Errorf("%s at %d: %d columns: %s", name, width, n, l)
					}
				}
			}
		}
	}
}

// Characters that take two columns of a terminal, or none, neither break the width nor the columns of a table.
func TestTextCountsColumns(t *testing.T) {
	for _, s := range []string{strings.Repeat("行列積", 60), strings.Repeat("e\u0301", 200),
		"🚀" + strings.Repeat("é", 30)} {
		r := hostile(s)
		r.Reproduce, r.Accept = "", ""
		for _, width := range []int{40, 80, 160} {
			for l := range strings.Lines(render(t, "text", r, Options{Width: width, Verbose: true})) {
				if n := story.Columns(l); n > width {
					t.Errorf("%d: %d columns: %s", width, n, l)
				}
			}
		}
	}
	r := &result.Report{Verdict: result.Pass}
	for _, name := range []string{"saxpy", "行列積", "e\u0301te\u0301"} {
		r.Findings = append(r.Findings, result.Finding{Kernel: name, Outcome: result.WithinLimit, Metric: "the_metric"})
	}
	at := make(map[int]bool)
	for l := range strings.Lines(render(t, "text", r, Options{Verbose: true})) {
		if before, _, ok := strings.Cut(l, "the metric"); ok {
			at[story.Columns(before)] = true
		}
	}
	if len(at) != 1 {
		t.Errorf("the metric stands in the columns %v", at)
	}
}

// Colour changes no character of the text.
func TestColorIsOnlyPaint(t *testing.T) {
	for name, r := range reports(t) {
		plain := render(t, "text", r, Options{Width: 80})
		painted := render(t, "text", r, Options{Width: 80, Color: true})
		if got := sgr.ReplaceAllString(painted, ""); got != plain {
			t.Errorf("%s: colour changes the text:\n%s", name, got)
		}
		if name == "fail" && !sgr.MatchString(painted) {
			t.Errorf("%s: no colour", name)
		}
	}
}

func render(t testing.TB, format string, r *result.Report, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := Render(format, &b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
