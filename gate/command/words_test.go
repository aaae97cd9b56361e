package command_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestWords wants nsgate explain to know every word that reports print: verdicts, labels, titles, columns, outcomes,
// metrics and causes, in the reports of the goldens and of recordings of testdata.
func TestWords(t *testing.T) {
	t.Parallel()
	words := map[string]string{} // each with a report that prints it
	for _, r := range wordyReports(t) {
		for _, verbose := range []bool{false, true} {
			v := story.Tell(r.report, story.Options{Verbose: verbose, ShowAll: "--verbose"})
			wordsOf(v.Document(), func(word string) { words[word] = r.name })
			for _, w := range v.Each {
				for _, row := range w.Rows {
					words[row.Metric], words[row.Result()] = r.name, r.name
				}
			}
		}
	}
	for _, file := range []string{"calibration/sound", "calibration/drift", "calibration/nothing", "summary/base.160",
		"summary/cupy.80", "once", "several"} {
		text, err := os.ReadFile("../internal/report/testdata/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		printedWords(string(text), func(word string) { words[word] = file })
	}
	if len(words) < 100 {
		t.Errorf("%d words found", len(words))
	}
	unknown := 0
	for word, in := range words {
		word = wordOf(word)
		if word != "" && len(manual.Explain(word)) == 0 {
			t.Errorf("nsgate explain does not know %q (%s)", word, in)
			unknown++
		}
	}
	t.Logf("%d words, %d unknown", len(words), unknown)
}

type wordy struct {
	name   string
	report *result.Report
}

// wordyReports are the saved reports of the goldens, and comparisons of recordings.
func wordyReports(t *testing.T) (out []wordy) {
	read := func(name string, text []byte) {
		r, err := saved.Read(bytes.NewReader(text), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		out = append(out, wordy{name, r})
	}
	for _, name := range []string{"empty", "fail", "noverdict", "once", "pass", "several", "step", "undecided"} {
		text, err := os.ReadFile("../internal/report/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		read(name, text)
	}
	data := "../../testdata/"
	sides := [][]string{{"h200/server/base", "h200/server/head"},
		{"h200/sessions/ddp/nvidia-h200", "h200/sessions/ddp-slow1/nvidia-h200"},
		{"h200/sessions/kernels-b/nvidia-h200", "h200/sessions/idle-200-a/nvidia-h200"},
		{"h200/sessions/transformer-b/nvidia-h200", "h200/sessions/item-sync-b/nvidia-h200"},
		{"h200/sessions/transformer-b/nvidia-h200", "h200/sessions/unfused-norm-b/nvidia-h200"},
		{"h200/sessions/jax-base/nvidia-h200", "h200/sessions/jax-tanhexp/nvidia-h200"},
		{"ncu/base.raw.csv", "ncu/spill.raw.csv"}, {"h200/cupy/cupy.000.sqlite", "h200/cupy/cupy.001.sqlite"}}
	kernels, _ := filepath.Glob(data + "h200/kernels/*")
	for _, dir := range kernels {
		sides = append(sides, []string{"h200/kernels/base", strings.TrimPrefix(dir, data)})
	}
	for _, s := range sides {
		if _, err := os.Stat(data + s[0]); err != nil {
			continue
		}
		var text, said bytes.Buffer
		code := cli.Main(context.Background(), []string{"compare", "--format", "json", data + s[0], data + s[1]},
			cli.Streams{Out: &text, Err: &said})
		if code == cli.ExitUsage {
			t.Errorf("%s: %s", s, said.String())
			continue
		}
		read(strings.Join(s, " "), text.Bytes())
	}
	return out
}

// wordsOf visits the words of a document that are not names or sentences.
func wordsOf(d story.Document, visit func(string)) {
	table := func(t *story.Table) {
		if t == nil || len(t.Rows) == 0 {
			return
		}
		visit(t.Title)
		for _, c := range t.Columns {
			visit(c.Title)
		}
	}
	facts := func(list []story.Fact) {
		for _, f := range list {
			visit(f.Label)
		}
	}
	for _, block := range d {
		switch b := block.(type) {
		case story.Top:
			for word := range strings.SplitSeq(b.Word.Text, ",") {
				visit(word)
			}
		case story.Labelled:
			for _, x := range b {
				if len(x.Lines) > 0 {
					visit(x.Label)
				}
			}
		case story.Lines:
			if len(b.List) > 0 {
				visit(b.Title)
			}
			for _, x := range b.List {
				visit(x.Label)
			}
		case story.Facts:
			visit(b.Title)
			facts(b.List)
		case story.Commands:
			facts(b.List)
		case *story.Table:
			table(b)
		case story.Bars:
			visit(b.Title)
			for _, x := range slices.Concat(b.Rows, b.Rest) {
				what, _, _ := strings.Cut(strings.TrimPrefix(x.What, "GPU idle: "), story.NB+"(")
				if class, _, ok := strings.Cut(what, ": "); x.Class != "compute" && x.Subject == (measure.Subject{}) {
					visit(what)
				} else if x.Class != "compute" && ok {
					visit(class)
				}
			}
		case story.InText:
			wordsOf(story.Document(b), visit)
		case story.Fold:
			visit(b.Title)
			wordsOf(b.Blocks, visit)
		case story.Section:
			wordsOf(b.Blocks, visit)
		}
	}
}

// printedWords visits the labels, titles and columns of a printed report.
func printedWords(text string, visit func(string)) {
	label := regexp.MustCompile(`^ ? ?([A-Z][a-zA-Z?]*(?: [a-z]+)?)  +\S`)
	title := regexp.MustCompile(`^([A-Z][a-zA-Z]*(?: [a-z]+)*)$`)
	titled := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if titled && strings.Count(line, "  ") > 2 {
			for _, column := range regexp.MustCompile(`  +`).Split(strings.TrimSpace(line), -1) {
				visit(column)
			}
		}
		titled = title.MatchString(line)
		for _, form := range []*regexp.Regexp{label, title} {
			if m := form.FindStringSubmatch(line); m != nil {
				visit(m[1])
			}
		}
	}
}

// wordOf is the word of a label or title without what follows it: "Where the time went, per step".
func wordOf(s string) string {
	s = strings.ReplaceAll(s, story.NB, " ")
	for _, end := range []string{",", ":", ";", " ("} {
		s, _, _ = strings.Cut(s, end)
	}
	return strings.TrimSpace(s)
}
