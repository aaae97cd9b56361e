package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/command"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const h200 = "../../testdata/h200/"

// reported is the report of nsgate compare on two sides.
func reported(t testing.TB, base, head string) *result.Report {
	t.Helper()
	var out, said bytes.Buffer
	args := []string{"compare", base, head, "--format", "json"}
	if code := command.Main(context.Background(), args, command.Streams{Out: &out, Err: &said}); code == 2 {
		t.Fatal(said.String())
	}
	r := new(result.Report)
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// together is a report on workloads, from nsgate compare of each.
func together(t testing.TB, sides map[string][2]string) *result.Report {
	t.Helper()
	var each []*result.Report
	for _, name := range slices.Sorted(maps.Keys(sides)) {
		r := reported(t, sides[name][0], sides[name][1])
		r.Workload = name
		each = append(each, r)
	}
	return verdict.Several(each).Shown(nil)
}

// benchmarkFiles writes the files of five processes of a harness: fourteen rows, of which one is half as fast and all
// vary by so much, as a part.
func benchmarkFiles(t testing.TB, slow, noise float64) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 5 {
		var rows []string
		for k := range 14 {
			v := float64(1000*(k+1)) * (1 + noise*float64((i*7+k*3)%5-2))
			if k == 3 {
				v *= slow
			}
			rows = append(rows, fmt.Sprintf(`{"name":"BM/%d","run_name":"BM/%[1]d","run_type":"iteration",`+
				`"real_time":%g,"time_unit":"ns"}`, k, v))
		}
		text := fmt.Sprintf(`{"context":{"host_name":"h","num_cpus":8,"date":"2026-11-20T10:0%d:00+00:00"},`+
			`"benchmarks":[%s]}`, i, strings.Join(rows, ","))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pageKinds are reports of every kind of page.
func pageKinds(t testing.TB) map[string]*result.Report {
	t.Helper()
	session := func(name string) string { return h200 + "sessions/" + name + "/nvidia-h200" }
	pass, fail := reported(t, h200+"kernels/base", h200+"kernels/unchanged"),
		reported(t, h200+"kernels/base", h200+"kernels/idle_200us")
	fail.Base.Commit, fail.Head.Commit = "0123456789ab", "ba9876543210"
	return map[string]*result.Report{
		"pass": pass, "fail": fail,
		"refused":    reported(t, h200+"kernels/base", session("ddp")),
		"no verdict": reported(t, session("kernels-batches"), session("saxpy-105-a")),
		"benchmarks": reported(t, benchmarkFiles(t, 1, 0.0005), benchmarkFiles(t, 2, 0.0005)),
		"undecided":  reported(t, benchmarkFiles(t, 1, 0.02), benchmarkFiles(t, 1.05, 0.03)),
		"server":     reported(t, h200+"server/base", h200+"server/head"),
		"ranks":      reported(t, session("ddp"), session("ddp-slow1")),
		"several": together(t, map[string][2]string{"kernels": {h200 + "kernels/base", h200 + "kernels/idle_200us"},
			"serving": {h200 + "server/base", h200 + "server/base"}}),
	}
}

func renderedAs(t testing.TB, format string, r *result.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Render(format, &b, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	unseen       = regexp.MustCompile(`(?s)<style>.*?</style>|<script.*?</script>`)
	pageMarkup   = regexp.MustCompile(`<[^>]*>`)
	whyPart      = regexp.MustCompile(`(?s)<section id="[\w-]*why">.*?</section>`)
	outcomeCells = regexp.MustCompile(`<td class="outcome[^"]*">([^<]*)</td>`)
)

// Pages of files have the words of files; those of recordings show that the words are looked for as they are written.
func TestPageWords(t *testing.T) {
	ofKernels := []string{"Kernels, ranges and numbers", "A step", "GPU time"}
	for name, r := range pageKinds(t) {
		page := unseen.ReplaceAllString(renderedAs(t, "html", r), "")
		visible := pageMarkup.ReplaceAllString(whyPart.ReplaceAllString(page, ""), "\n")
		for _, w := range ofKernels {
			switch has := strings.Contains(visible, w); name {
			case "benchmarks", "undecided", "server":
				if has {
					t.Errorf("%s: %q on a page of files", name, w)
				}
			case "fail":
				if !has {
					t.Errorf("no %q on a page of a recording", w)
				}
			}
		}
		if strings.Contains(visible, "earch kernels") {
			t.Errorf("%s: the search is for kernels", name)
		}
		if name == "server" || name == "undecided" {
			_, runs, _ := strings.Cut(page, `<section id="runs">`)
			runs, _, _ = strings.Cut(runs, "</section>")
			if n := strings.Count(runs, `<svg class="runs"`); n < 5 || strings.Contains(page, "<article") {
				t.Errorf("%s: the runs of %d rows in one table, and articles beside", name, n)
			}
		}
	}
}

// Every scale has a second tick, and an interval that leaves the scale of changes an arrow.
func TestPageScales(t *testing.T) {
	arrows := 0
	for name, r := range pageKinds(t) {
		page := renderedAs(t, "html", r)
		scales := 0
		for _, svg := range strings.Split(page, `<svg class="`)[1:] {
			kind, _, _ := strings.Cut(svg, `"`)
			if !slices.Contains([]string{"axis", "runs", "step", "spread"}, kind) {
				continue
			}
			scales++
			svg, _, _ = strings.Cut(svg, "</table>")
			if n := strings.Count(svg, `<text class="tick`); n < 2 {
				t.Errorf("%s: a scale of %d ticks: %.300s", name, n, svg)
			}
		}
		if scales == 0 && name != "refused" {
			t.Errorf("%s: no scale", name)
		}
		arrows += strings.Count(page, `x2="100%" y2="10"`) / 3
	}
	if arrows == 0 {
		t.Error("no interval leaves a scale")
	}
}

// The outcomes of a page are those of the JSON, and one that JSON calls below floor is not within its limit.
func TestPageOutcomes(t *testing.T) {
	for name, r := range pageKinds(t) {
		known := map[string]bool{}
		for _, w := range append(slices.Clone(r.Workloads), r) {
			for _, f := range w.Findings {
				known[string(f.Outcome)] = true
			}
		}
		shown := map[string]bool{}
		for _, m := range outcomeCells.FindAllStringSubmatch(renderedAs(t, "html", r), -1) {
			word, _, _ := strings.Cut(m[1], ", an increased count")
			shown[word] = true
			if !known[word] {
				t.Errorf("%s: an outcome %q, which the JSON has not: %v", name, m[1], known)
			}
		}
		if name == "fail" && !(shown["below floor"] && shown["slower"] && shown["within limit"]) {
			t.Errorf("outcomes %v", shown)
		}
		text := renderedAs(t, "markdown", r)
		if name == "fail" && !strings.Contains(text, "slower, an increased count") {
			t.Errorf("Markdown has another word for an increased count:\n%s", text)
		}
	}
}

// The first lines of a page have days and commits of both sides, and of several workloads the verdict on each.
func TestPageTop(t *testing.T) {
	kinds := pageKinds(t)
	for name, want := range map[string][]string{
		"pass":       {"baseline 2026-11-21", "head 2026-11-21"},
		"fail":       {"baseline 0123456789ab of 2026-11-21", "head ba9876543210 of 2026-11-21"},
		"benchmarks": {"baseline 2026-11-20", "head 2026-11-20"},
		"server":     {"baseline 2026-11-27", "head 2026-11-27"},
		"no verdict": {"baseline 2026-11-22", "head 2026-11-21"},
	} {
		_, header, _ := strings.Cut(renderedAs(t, "html", kinds[name]), "<header>")
		header, _, _ = strings.Cut(header, "</p>")
		for _, w := range want {
			if !strings.Contains(header, w) {
				t.Errorf("%s: no %q in %s", name, w, header)
			}
		}
	}
	for name, r := range kinds {
		_, title, _ := strings.Cut(renderedAs(t, "html", r), "<h1>")
		title, _, _ = strings.Cut(title, "</h1>")
		title = html.UnescapeString(title)
		if title == "" || strings.ContainsAny(title[len(title)-1:], ":;,") {
			t.Errorf("%s: the headline is cut: %q", name, title)
		}
	}
	page := renderedAs(t, "html", kinds["several"])
	_, first, _ := strings.Cut(page, "<section ")
	first, _, _ = strings.Cut(first, "</section>")
	plain := strings.Join(strings.Fields(pageMarkup.ReplaceAllString(first, " ")), " ")
	for _, want := range []string{"kernels FAIL step 571", "serving PASS 14 comparisons", "2026-11-21", "2026-11-27"} {
		if !strings.HasPrefix(first, `id="workloads"`) || !strings.Contains(plain, want) {
			t.Errorf("no %q in the first part %s", want, plain)
		}
	}
	for i, name := range []string{"kernels", "serving"} {
		at := fmt.Sprintf("w%d-%s-", i+1, name)
		if !strings.Contains(first, `href="#`+at+`"`) || !strings.Contains(page, `id="`+at+`"`) {
			t.Errorf("the verdict on %s does not lead to its part", name)
		}
	}
}
