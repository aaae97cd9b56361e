package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// savedReports calls a function for each saved report of the tests, and for those that NSGATE_REPORTS names.
func savedReports(t *testing.T, read func(name string, r *result.Report)) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("NSGATE_REPORTS"); dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		files = append(files, more...)
	}
	some := false
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := saved.Read(in, file)
		in.Close()
		if err != nil {
			continue // of another kind
		}
		some = true
		read(filepath.Base(file), r)
	}
	if !some {
		t.Fatal("no report")
	}
}

// addedUp is the sum of the numbers that begin texts, and half of the last digit of each.
func addedUp(t *testing.T, texts ...string) (sum, slack float64) {
	for _, text := range texts {
		number := regexp.MustCompile(`^[-+]?[0-9.]+`).FindString(text)
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Errorf("no number in %q", text)
		}
		unit := strings.TrimSpace(strings.ReplaceAll(text[len(number):], story.NB, " "))
		unit, _, _ = strings.Cut(unit, " ")
		scale, ok := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "%": 1}[unit]
		if !ok {
			t.Errorf("unit %q in %q", unit, text)
		}
		_, decimals, _ := strings.Cut(number, ".")
		sum, slack = sum+v*scale, slack+scale*math.Pow10(-len(decimals))/2
	}
	return sum, slack
}

// TestSums adds up each list below a heading that is a sum: the parts of a step, of the rest of a step, of kernels that
// replace others, and of what no limit covers. Text, Markdown and page print the same rows.
func TestSums(t *testing.T) {
	lists := 0
	savedReports(t, func(name string, r *result.Report) {
		for _, v := range story.Tell(r, story.Options{Verbose: true}).Each {
			lists += sums(t, name, v.Document(), v)
		}
	})
	if lists == 0 {
		t.Error("no list")
	}
}

func sums(t *testing.T, name string, d story.Document, v *story.Story) (lists int) {
	texts := func(rows []story.FallRow) (out []string) {
		for _, x := range rows {
			out = append(out, x.Text)
		}
		return out
	}
	adds := func(what string, heading float64, list []string) {
		if len(list) == 0 {
			return
		}
		lists++
		sum, slack := addedUp(t, list...)
		slack *= 1 + 1/float64(len(list)) // the heading is rounded too
		if !(math.Abs(sum-heading) <= slack*1.001) {
			t.Errorf("%s: %s: %v is printed, and %q add up to %v", name, what, heading, list, sum)
		}
	}
	for _, b := range d {
		switch b := b.(type) {
		case story.Fold:
			lists += sums(t, name, b.Blocks, v)
		case story.Bars:
			adds("step", float64(v.Fall.Head-v.Fall.Base), texts(b.Rows))
			if len(b.Rest) > 0 {
				rest, _ := addedUp(t, b.Rows[len(b.Rows)-1].Text)
				adds("everything else", rest, texts(b.Rest))
			}
			for _, x := range append(b.Rows, b.Rest...) {
				if x.Low.Known() && !(x.Low <= x.Change && x.Change <= x.High) {
					t.Errorf("%s: %s %s is outside of its interval %s", name, x.What, x.Text, x.Interval())
				}
			}
			for _, format := range []string{"text", "markdown", "html"} {
				var out bytes.Buffer
				if err := Render(format, &out, v.Report, Options{Verbose: true, Width: 200}); err != nil {
					t.Fatal(err)
				}
				text := strings.NewReplacer(story.NB, " ", " ", " ").Replace(out.String())
				for _, x := range append(texts(b.Rows), texts(b.Rest)...) {
					if !strings.Contains(text, strings.ReplaceAll(x, story.NB, " ")) {
						t.Errorf("%s: %s lacks %q", name, format, x)
					}
				}
			}
		case story.Findings:
			for _, g := range v.Changed() {
				for _, gone := range []bool{true, false} {
					var list []string
					for _, x := range g[0].Parts {
						if x.Gone() == gone && !strings.Contains(x.Time(), "runs") { // of some runs
							list = append(list, x.Time())
						}
					}
					whole := g[0].F.Head
					if gone {
						whole = g[0].F.Base
					}
					adds(g[0].Subject+" "+strconv.FormatBool(gone), float64(whole), list)
				}
			}
		}
	}
	return lists
}
