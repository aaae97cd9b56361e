//go:build browser

package command_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

var shots = flag.String("shots", "", "write pictures of the pages into this directory")

// browser is a browser that every page of a test is looked at in; the test is skipped where there is none.
func browser(t testing.TB) context.Context {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no chromium on the PATH: what pages look like in a browser is not tested")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.UserDataDir(profileDir(t)), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	limited, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(cancel)
	quiet := func(string, ...any) {}
	ctx, _ = chromedp.NewContext(ctx, chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // which waits for the browser's end
	if err := chromedp.Run(ctx); err != nil {
		t.Skipf("chromium does not start here: %v", err)
	}
	return ctx
}

// profileDir is where a browser keeps its own files. Its children may still write there for a moment after its end.
func profileDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "nsgate-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Error(err)
	})
	return dir
}

// printed runs nsgate and keeps what it prints as a page.
func printed(t *testing.T, name string, args ...string) string {
	var out, said bytes.Buffer
	code := cli.Main(context.Background(), append(args, "--format", "html"), cli.Streams{Out: &out, Err: &said})
	if code == cli.ExitUsage {
		t.Fatalf("%s: %s", name, said.String())
	}
	return kept(t, name, out.Bytes())
}

// past is a repository whose baseline held sessions of several hosts, one after the other.
func past(t *testing.T, sessions ...string) string {
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %s", strings.Join(args, " "), out)
		}
	}
	git("init", "-q")
	for _, s := range sessions {
		if err := os.RemoveAll(filepath.Join(dir, ".nsgate")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, ".nsgate", "default", "nvidia-h200"), os.DirFS(s)); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-q", "-m", filepath.Base(s))
	}
	t.Chdir(dir)
	return filepath.Join(dir, ".nsgate")
}

func kept(t testing.TB, name string, text []byte) string {
	file := filepath.Join(t.TempDir(), name+".html")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// many is a report on very many kernels, some slower and some faster.
func many(t testing.TB, kernels, runs int) *result.Report {
	random := rand.New(rand.NewPCG(1, 2))
	side := func(slower bool) []model.Session {
		s := model.Session{Environment: model.Environment{GPU: "NVIDIA H200", Tool: "nsys 2025.3.2", Tick: 32,
			Start: time.Unix(1e9, 0)}, Step: "step"}
		s.GPUHash = "01234567"
		for i := range runs {
			s.Runs = append(s.Runs, model.Run{Total: 60, Skipped: 6, Launches: kernels, Steady: true,
				Start: time.Unix(1e9+int64(i), 0)})
		}
		whole := make(model.Values, runs)
		for k := range kernels {
			subject := measure.Subject{Scope: measure.ScopeKernel,
				Name: fmt.Sprintf("void ns::apply<ns::Op%d<float>>(int, float *)", k),
				Grid: measure.Dim3{X: 64, Y: 1, Z: 1}, Block: measure.Dim3{X: 128, Y: 1, Z: 1}}
			time := model.Series{Subject: subject, Metric: measure.Time, Role: fmt.Sprintf("step/layer %d", k%12)}
			total := model.Series{Subject: subject, Metric: measure.Total, Role: time.Role}
			launches := model.Series{Subject: subject, Metric: measure.Launches, Role: time.Role}
			typical := 5000 + 100*float64(k%97)
			if slower && k%40 == 0 {
				typical *= 1.2
			} else if slower && k%60 == 1 {
				typical *= 0.8
			}
			for i := range runs {
				v := math.Round(typical*(1+0.002*random.NormFloat64())*1000) / 1000
				time.Values, total.Values, launches.Values = append(time.Values, v), append(total.Values, 2*v),
					append(launches.Values, 2)
				whole[i] += 2 * v
			}
			s.Series = append(s.Series, time, total, launches)
		}
		s.Series = append(s.Series, model.Series{Subject: measure.Workload, Metric: measure.GPUTime, Values: whole})
		s.SortSeries()
		return []model.Session{s}
	}
	return insight.Judge(decide.Input{Baseline: side(false), Head: side(true),
		Policy: thresholds.Default().For("")}).Shown(nil)
}

func rendered(t testing.TB, name string, r *result.Report) string {
	var b bytes.Buffer
	if err := report.Render("html", &b, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return kept(t, name, b.Bytes())
}

// tooPale lists visible texts whose contrast against what is behind them is under that of WCAG's level AA.
const tooPale = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = c => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] / 255 + b[i] * (1 - a[3] / 255)).concat(255);
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const out = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim()).map(n => n.data.trim()).join(" ");
    if (!own || ["SCRIPT", "STYLE", "TITLE", "DESC"].includes(e.tagName.toUpperCase()) || !e.getClientRects().length || e.closest(".sr")) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    let behind = [255, 255, 255, 255];
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.push(rgba(getComputedStyle(p).backgroundColor));
    layers.reverse().forEach(l => { behind = over(l, behind); });
    if (svg && e.classList.contains("inside")) {
      const at = e.parentElement.previousElementSibling;
      if (at && at.tagName === "rect") behind = over(rgba(getComputedStyle(at).fill), behind);
    }
    const ink = over(rgba(svg ? style.fill : style.color), behind);
    const [a, b] = [light(ink), light(behind)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) out.push(ratio.toFixed(2) + " " + own.slice(0, 40));
  }
  return [...new Set(out)].slice(0, 5);
})()`

// spills lists elements that are wider than the page.
const spills = `(() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  return [...document.querySelectorAll("body *")].filter(e => !e.closest("svg svg") && e.getBoundingClientRect().right > wide + 1).slice(0, 5).map(e => e.tagName + "." + (e.getAttribute("class") || "") + " " + e.textContent.slice(0, 40));
})()`

// unnamed lists what people who do not see the page would miss: pictures without a title, cells of a head without a
// scope, tables without a caption, fields without a label, names that stand twice.
const unnamed = `[
  ...[...document.querySelectorAll("svg[role=img]")].filter(e => !e.querySelector(":scope > title")).map(e => "no title: " + e.getAttribute("class")),
  ...[...document.querySelectorAll("svg:not([role]):not([aria-hidden])")].filter(e => !e.parentElement.closest("svg")).map(e => "neither picture nor hidden: " + e.outerHTML.slice(0, 60)),
  ...[...document.querySelectorAll("th:not([scope])")].map(e => "no scope: " + e.textContent),
  ...[...document.querySelectorAll("table")].filter(e => !e.caption).map(e => "no caption: " + e.textContent.slice(0, 40)),
  ...[...document.querySelectorAll("input")].filter(e => !e.labels.length).map(e => "no label: " + e.id),
  ...[...document.querySelectorAll("[id]")].filter((e, i, all) => all.some((x, j) => j < i && x.id === e.id)).map(e => "twice: " + e.id),
  ...[...document.querySelectorAll("a[href^='#']")].filter(e => !document.getElementById(e.getAttribute("href").slice(1))).map(e => "leads nowhere: " + e.getAttribute("href")),
  ...(document.querySelectorAll("main").length === 1 && !/<\/?\w+>/.test([...document.body.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join()) ? [] : ["no main part, or markup as text"]),
  ...(document.querySelectorAll("h1").length === 1 && document.title && document.documentElement.lang ? [] : ["no heading, title or language"]),
]`

// narrow lists pictures that do not take the width that they have.
const narrow = `[...document.querySelectorAll("figure>svg, .zoom>svg, td>svg")].filter(e => e.getClientRects().length && e.getBoundingClientRect().width < e.parentElement.clientWidth * .8).slice(0, 5).map(e => e.getAttribute("class") + " " + e.getBoundingClientRect().width + " of " + e.parentElement.clientWidth)`

// axisless lists tables of changes whose scale is not seen.
const axisless = `[...document.querySelectorAll(".rows")].filter(t => t.getClientRects().length && !t.querySelector("th.axis svg").getClientRects().length).map(t => t.caption.textContent)`

// TestPictureFits wants the README's picture as high as what is in it.
func TestPictureFits(t *testing.T) {
	ctx := browser(t)
	file, err := filepath.Abs("../../cmd/nsgate/docs/page.svg")
	if err != nil {
		t.Fatal(err)
	}
	var has, needs float64
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(600, 900), chromedp.Navigate("file://"+file),
		chromedp.Evaluate(`Number(document.documentElement.getAttribute("height"))`, &has),
		chromedp.Evaluate(`document.querySelector(".main").getBoundingClientRect().height`, &needs)); err != nil {
		t.Fatal(err)
	}
	if needs > has || needs < has-60 {
		t.Errorf("the picture is %g pixels high, what is in it %g", has, needs)
	}
}

// onPaper are pages that may take more than four sheets.
var onPaper = map[string]int{"together": 8}

var sheet = regexp.MustCompile(`/Type\s*/Page\b`)

// sheets prints a page and says on how many sheets.
func sheets(t *testing.T, ctx context.Context, name string) int {
	var pdf []byte
	if err := chromedp.Run(ctx, emulation.ClearDeviceMetricsOverride(), emulation.SetEmulatedMedia(),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			pdf, _, err = cdp.PrintToPDF().WithPrintBackground(true).WithPaperWidth(8.27).WithPaperHeight(11.69).Do(ctx)
			return err
		})); err != nil {
		t.Fatal(err)
	}
	if *shots != "" {
		if err := os.WriteFile(filepath.Join(*shots, name+".pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return len(sheet.FindAll(pdf, -1))
}

// TestPages looks at every page in a browser: nothing is asked for from elsewhere, nothing goes wrong, nothing is wider
// than the page or too pale, in the light and in the dark, on a phone, a tablet and a screen.
func TestPages(t *testing.T) {
	ctx := browser(t)
	h200, err := filepath.Abs("../../testdata/h200")
	if err != nil {
		t.Fatal(err)
	}
	ncu := filepath.Join(filepath.Dir(h200), "ncu")
	in := func(parts ...string) string { return filepath.Join(append([]string{h200}, parts...)...) }
	session := func(name string) string { return in("sessions", name, "nvidia-h200") }
	pages := map[string]string{
		"kernels": printed(t, "kernels", "compare", in("kernels", "base"), in("kernels", "saxpy_1.05")),
		"spill": printed(t, "spill", "compare", in("kernels", "base"), in("kernels", "spill"), "--ncu-pages",
			filepath.Join(ncu, "base.raw.csv")+","+filepath.Join(ncu, "spill.raw.csv")),
		"transformer": printed(t, "transformer", "compare", session("transformer-b"), session("unfused-norm-b")),
		"sessions":    printed(t, "sessions", "compare", session("kernels-batches"), session("saxpy-105-a")),
		"ranks":       printed(t, "ranks", "compare", session("ddp"), session("ddp-slow1")),
		"none":        printed(t, "none", "compare", in("kernels", "base"), session("ddp")),
		"unchanged":   printed(t, "unchanged", "compare", in("kernels", "base"), in("kernels", "unchanged")),
		"many":        rendered(t, "many", many(t, 2000, 10)),
		"hostile":     printed(t, "hostile", "report", "../../gate/internal/report/testdata/hostile.json"),
		"show":        printed(t, "show", "show", in("kernels", "base")),
		"benchmarks":  printed(t, "benchmarks", "compare", benchmarkFiles(t, 1, 0.02), benchmarkFiles(t, 1.05, 0.03)),
		"server":      printed(t, "server", "compare", in("server", "base"), in("server", "head")),
		"together": rendered(t, "together", together(t,
			map[string][2]string{"kernels": {in("kernels", "base"), in("kernels", "saxpy_1.05")},
				"training":  {session("transformer-b"), session("unfused-norm-b")},
				"unchanged": {in("kernels", "base"), in("kernels", "unchanged")}})),
		"history": printed(t, "history", "history", "--baseline", in("sessions"), "--workload", "kernels-batches"),
		"hosts": printed(t, "hosts", "history", "--baseline",
			past(t, session("transformer-b"), session("transformer-e"), session("transformer-f"),
				session("transformer-g"))),
	}
	for name, file := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := chromedp.NewContext(ctx)
			defer cancel()
			var wrong []string
			chromedp.ListenTarget(ctx, func(ev any) {
				switch ev := ev.(type) {
				case *network.EventRequestWillBeSent:
					if ev.Request.URL != "file://"+file {
						wrong = append(wrong, "asks for "+ev.Request.URL)
					}
				case *runtime.EventExceptionThrown:
					wrong = append(wrong, ev.ExceptionDetails.Error())
				case *runtime.EventConsoleAPICalled:
					wrong = append(wrong, "writes to the console: "+string(ev.Type))
				case *log.EventEntryAdded: // what the browser itself has to say, such as what its policy forbids
					wrong = append(wrong, ev.Entry.Text)
				}
			})
			if err := chromedp.Run(ctx, network.Enable(), runtime.Enable(), log.Enable(),
				chromedp.Navigate("file://"+file)); err != nil {
				t.Fatal(err)
			}
			var lacking []string
			if err := chromedp.Run(ctx, chromedp.Evaluate(unnamed, &lacking)); err != nil || len(lacking) > 0 {
				t.Errorf("not for everybody: %s (%v)", strings.Join(lacking, "; "), err)
			}
			for _, theme := range []string{"light", "dark"} {
				var pale []string
				if err := chromedp.Run(ctx,
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
						Value: theme}}),
					chromedp.Evaluate(tooPale, &pale)); err != nil || len(pale) > 0 {
					t.Errorf("%s, too pale: %s (%v)", theme, strings.Join(pale, "; "), err)
				}
				for _, width := range []int64{360, 768, 1440} {
					var wide []string
					if err := chromedp.Run(ctx, emulation.SetDeviceMetricsOverride(width, 900, 1, false),
						chromedp.Evaluate(spills, &wide)); err != nil || len(wide) > 0 {
						t.Errorf("%d %s, too wide: %s (%v)", width, theme, strings.Join(wide, "; "), err)
					}
					var small, unscaled []string
					if err := chromedp.Run(ctx, chromedp.Evaluate(axisless, &unscaled)); err != nil ||
						len(unscaled) > 0 {
						t.Errorf("%d %s, changes without a scale: %s (%v)", width, theme, unscaled, err)
					}
					if err := chromedp.Run(ctx, chromedp.Evaluate(narrow, &small)); err != nil || len(small) > 0 {
						t.Errorf("%d %s, pictures too narrow: %s (%v)", width, theme, strings.Join(small, "; "), err)
					}
					if *shots != "" {
						var picture []byte
						if err := chromedp.Run(ctx, chromedp.FullScreenshot(&picture, 100)); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, width, theme)),
							picture, 0o644); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			// On paper a report takes at most four pages, but for one on very much.
			if n, most := sheets(t, ctx, name), cmp.Or(onPaper[name], 4); n > most {
				t.Errorf("%d pages when printed", n)
			}
			// Recorded names are text: the page has its own two scripts, and no element from a name.
			var strange []string
			var scripts int
			if err := chromedp.Run(ctx,
				chromedp.Evaluate(`[...document.querySelectorAll("script:not(#report):not(:last-of-type),img,iframe,object,embed,form,link,base,[onclick],[onerror],[onload],[style]")].filter(e => e.id !== "tip").map(e => e.outerHTML.slice(0, 80))`, &strange),
				chromedp.Evaluate(`document.querySelectorAll("script").length - 2`, &scripts)); err != nil {
				t.Fatal(err)
			}
			wrong = append(wrong, strange...)
			if scripts != 0 || len(wrong) > 0 {
				t.Errorf("%d scripts too many; %s", scripts, strings.Join(wrong, "; "))
			}
		})
	}
}

// TestPageAnswers uses a page as people do: sorting, searching, filtering, links to one kernel.
func TestPageAnswers(t *testing.T) {
	ctx := browser(t)
	file := rendered(t, "many", many(t, 200, 10))
	visible := `[...document.querySelectorAll("#changes tbody tr")].filter(r => r.getClientRects().length).map(r => r.querySelector("th").textContent.trim().split(" step/")[0])`
	column := func(i int) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#changes tbody tr")].filter(r => !r.hidden).map(r => Number(r.children[%d].dataset.v)).slice(0, 20)`, i)
	}
	var first, slower, phone, found []string
	var down, up []float64
	var told, at string
	press := func(selector string) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).click()`, selector), nil)
	}
	for i, step := range []chromedp.Action{
		chromedp.EmulateViewport(1200, 900), chromedp.Navigate("file://" + file), chromedp.Evaluate(visible, &first),
		press("button[data-f=worse]"), chromedp.Evaluate(visible, &slower),
		chromedp.EmulateViewport(400, 900), chromedp.Evaluate(visible, &phone), chromedp.EmulateViewport(1200, 900),
		press("#changes thead th:nth-child(3) button"), chromedp.Evaluate(column(2), &down),
		press("#changes thead th:nth-child(3) button"), chromedp.Evaluate(column(2), &up),
		chromedp.Evaluate(`document.querySelector("#search").focus()`, nil), chromedp.KeyEvent("op80"),
		chromedp.Evaluate(visible, &found),
		chromedp.Evaluate(`document.querySelector("#told").textContent`, &told),
		chromedp.Evaluate(`location.hash = "apply-op80-float"; 1`, nil),
		chromedp.Sleep(50 * time.Millisecond),
		chromedp.Evaluate(`document.querySelector(":target")?.querySelector("h3").textContent ?? ""`, &at),
	} {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		err := chromedp.Run(ctx, step)
		cancel()
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if len(first) == 0 || len(slower) == 0 || len(slower) >= len(first) {
		t.Errorf("%d rows at first, %d that are slower", len(first), len(slower))
	}
	if !slices.Equal(phone, slower) {
		t.Errorf("%d rows that are slower, on a phone %d", len(slower), len(phone))
	}
	if !slices.IsSortedFunc(down, func(a, b float64) int { return int((b - a) * 1e9) }) || !slices.IsSorted(up) ||
		slices.Equal(up, down) {
		t.Errorf("sorted by change: %v, and the other way: %v", down, up)
	}
	if len(found) != 1 || !strings.Contains(found[0], "Op80<float>") || !strings.HasPrefix(told, "1 of ") {
		t.Errorf("found %q, told %q", found, told)
	}
	if at != "apply · Op80<float>" {
		t.Errorf("the link leads to %q", at)
	}
}

// TestPageStep uses the drawing of a step: both sides are of the same rank and zoom together by keys, a click on a mark
// leads to its kernel, and commands are copied.
func TestPageStep(t *testing.T) {
	ctx := browser(t)
	const kernels = "../../testdata/h200/kernels/"
	page, err := os.Open(printed(t, "compared", "compare", kernels+"base", kernels+"saxpy_1.05"))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	r, err := saved.Read(page, "compared.html")
	if err != nil {
		t.Fatal(err)
	}
	r.Reproduce = "nsgate compare base 'a b'"
	for _, side := range []*model.Drawing{r.Drawn.Base, r.Drawn.Head} {
		side.Step.Rank = "rank 1"
	}
	file := rendered(t, "step", r)
	key := func(k string) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf(`document.querySelector(".zoom").dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, k), nil)
	}
	const widths = `[...document.querySelectorAll(".zoom")].map(z => z.firstElementChild.style.width)`
	const left = `[...document.querySelectorAll(".zoom")].map(z => Math.round(z.scrollLeft))`
	var titles, wide, narrow []string
	var moved []int
	var at, hash, copied, told string
	for i, step := range []chromedp.Action{
		chromedp.EmulateViewport(1200, 900), chromedp.Navigate("file://" + file),
		chromedp.Evaluate(`[...document.querySelectorAll("#step figure h3")].map(h => h.textContent)`, &titles),
		key("+"), key("+"), chromedp.Evaluate(widths, &wide),
		chromedp.Evaluate(`new Promise(done => { const z = document.querySelector(".zoom"); z.scrollLeft = 500; requestAnimationFrame(() => requestAnimationFrame(done)); })`, nil, awaited),
		chromedp.Evaluate(left, &moved), key("0"), chromedp.Evaluate(widths, &narrow),
		chromedp.Evaluate(`document.querySelector("#step .worse[data-to]").dispatchEvent(new MouseEvent("click", {bubbles: true}))`, nil),
		chromedp.Evaluate(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil,
			awaited),
		chromedp.Evaluate(`document.querySelector("article:target")?.querySelector("h3").textContent ?? ""`, &at),
		chromedp.Evaluate(`location.hash`, &hash),
		chromedp.Evaluate(`navigator.clipboard.writeText = async t => { window.copied = t; }; document.querySelector("pre .copy").click()`, nil),
		chromedp.Evaluate(`new Promise(done => requestAnimationFrame(done))`, nil, awaited),
		chromedp.Evaluate(`window.copied`, &copied),
		chromedp.Evaluate(`document.querySelector("pre .copy").textContent`, &told),
	} {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		err := chromedp.Run(ctx, step)
		cancel()
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if len(titles) != 2 || !strings.HasPrefix(titles[0], "baseline rank 1, run ") ||
		!strings.HasPrefix(titles[1], "head rank 1, run ") {
		t.Errorf("drawn are %q", titles)
	}
	if !slices.Equal(wide, []string{"400%", "400%"}) || !slices.Equal(narrow, []string{"100%", "100%"}) {
		t.Errorf("zoomed to %q, then to %q", wide, narrow)
	}
	if !slices.Equal(moved, []int{500, 500}) {
		t.Errorf("moved to %v", moved)
	}
	if at != "saxpy" || hash != "#saxpy" {
		t.Errorf("the click leads to %q, %s", at, hash)
	}
	if copied != r.Reproduce || told != "Copied" {
		t.Errorf("copied %q, the button says %q", copied, told)
	}
}

// awaited waits for what an expression promises.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// TestPageTogether shows of long tables of several workloads what changed, and the rest when asked for it.
func TestPageTogether(t *testing.T) {
	ctx := browser(t)
	file := rendered(t, "together", verdict.Several([]*result.Report{many(t, 200, 5), many(t, 20, 5)}).Shown(nil))
	shown := `[...document.querySelectorAll(".rows tr.same")].filter(r => r.getClientRects().length).length`
	var before, after int
	if err := chromedp.Run(ctx, chromedp.Navigate("file://"+file), chromedp.Evaluate(shown, &before),
		chromedp.Evaluate(`document.querySelector(".main .tools button").click()`, nil),
		chromedp.Evaluate(shown, &after)); err != nil {
		t.Fatal(err)
	}
	if before == 0 || before > 20 || after < before+150 {
		t.Errorf("%d unchanged rows at first, then %d", before, after)
	}
}

// TestPageSize holds a page of 200 kernels in 10 runs a side under 400 kB, with a script of its own under 20 kB, and
// reads the report back out of it.
func TestPageSize(t *testing.T) {
	r := many(t, 200, 10)
	file := rendered(t, "many", r)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 400_000 {
		t.Errorf("%d bytes", len(text))
	}
	_, script, _ := bytes.Cut(text, []byte("<script>"))
	script, _, _ = bytes.Cut(script, []byte("</script>"))
	if len(script) == 0 || len(script) > 20_000 {
		t.Errorf("a script of %d bytes", len(script))
	}
	var want, got bytes.Buffer
	if err := report.Render("json", &want, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	code := cli.Main(context.Background(), []string{"report", file, "--format", "json"},
		cli.Streams{Out: &got, Err: &got})
	reproduce := regexp.MustCompile(`(?m)^  "reproduce": .*\n|"reproduce":"(?:[^"\\]|\\.)*",`)
	same := reproduce.ReplaceAllString(got.String(), "") // is of the command
	if code != cli.ExitFail || same != want.String() {
		t.Errorf("exit code %d; another report came back: %.200s", code, got.String())
	}
}

// BenchmarkPageOpens is how long a browser takes to open a page of 200 kernels in 10 runs a side, its script run:
//
//	go test -run=NONE -bench=PageOpens -benchtime=5x ./gate/command
func BenchmarkPageOpens(b *testing.B) {
	ctx := browser(b)
	file := "file://" + rendered(b, "many", many(b, 200, 10))
	total := 0.0
	for b.Loop() {
		var ms float64
		if err := chromedp.Run(ctx, chromedp.Navigate(file),
			chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].loadEventEnd`, &ms)); err != nil {
			b.Fatal(err)
		}
		total += ms
	}
	b.ReportMetric(total/float64(b.N), "ms-to-load")
}
