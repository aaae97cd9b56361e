package report

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/report/saved"
)

// look is one way to render a report.
type look struct {
	format  string
	options Options
}

// name is the look in a key: "text.80.verbose.colour".
func (l look) name() string {
	name := l.format
	if l.options.Width > 0 {
		name += fmt.Sprint(".", l.options.Width)
	}
	if l.options.Verbose {
		name += ".verbose"
	}
	if l.options.Color {
		name += ".colour"
	}
	return name
}

// looks lists every format, verbose or not; text in three widths, with colour and without.
func looks() (all []look) {
	for _, format := range Formats(Report) {
		for _, verbose := range []bool{false, true} {
			if format != "text" {
				all = append(all, look{format, Options{Verbose: verbose}})
				continue
			}
			for _, width := range []int{40, 80, 160} {
				for _, colour := range []bool{false, true} {
					all = append(all, look{format, Options{Verbose: verbose, Width: width, Color: colour}})
				}
			}
		}
	}
	return all
}

// TestTexts writes the text oracle: a row of a key and a hash for each saved report of a directory in each look. The
// script .ci/texts makes the reports, compares two commits and shows what differs.
//
//	NSGATE_TEXTS=after.tsv NSGATE_REPORTS=/tmp/reports go test -count=1 -run='^TestTexts$' ./gate/internal/report
//
// NSGATE_TEXTS_OF lists keys, one a line, whose texts are written into the directory NSGATE_TEXTS instead.
func TestTexts(t *testing.T) {
	out := os.Getenv("NSGATE_TEXTS")
	if out == "" {
		t.Skip("NSGATE_TEXTS names no output file")
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("NSGATE_REPORTS"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports in %q: %v", os.Getenv("NSGATE_REPORTS"), err)
	}
	wanted := wantedTexts(t)
	rows := make([]string, len(files))
	next := make(chan int, len(files))
	for i := range files {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				rows[i] = textsOf(t, files[i], out, wanted)
			}
		})
	}
	workers.Wait()
	if wanted == nil {
		if err := os.WriteFile(out, []byte(strings.Join(rows, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d reports in %d looks", len(files), len(looks()))
}

// wantedTexts are the keys whose texts are written, nil for none.
func wantedTexts(t *testing.T) []string {
	list := os.Getenv("NSGATE_TEXTS_OF")
	if list == "" {
		return nil
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// textsOf renders a report in every look: a row for each, or the wanted texts in files of the directory out.
func textsOf(t *testing.T, file, out string, wanted []string) string {
	in, err := os.Open(file)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer in.Close()
	r, err := saved.Read(in, filepath.Base(file))
	if err != nil {
		t.Error(err)
		return ""
	}
	var rows strings.Builder
	for _, l := range looks() {
		key := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + l.name()
		if wanted != nil && !slices.Contains(wanted, key) {
			continue
		}
		var text bytes.Buffer
		if err := Render(l.format, &text, r, l.options); err != nil {
			fmt.Fprint(&text, "cannot be rendered: ", err)
		}
		if wanted == nil {
			fmt.Fprintf(&rows, "%s\t%x\n", key, sha256.Sum256(text.Bytes()))
			continue
		}
		if err := os.WriteFile(filepath.Join(out, strings.ReplaceAll(key, "/", ".")), text.Bytes(), 0o600); err != nil {
			t.Error(err)
		}
	}
	return rows.String()
}
