package command_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestNumbersCompute reads every format of the comparisons of every recording, and of the reports in testdata, back:
// each change is the ratio of the values beside it, as precisely as they are printed.
func TestNumbersCompute(t *testing.T) {
	t.Parallel()
	const recordings = "../../testdata/h200"
	heads, err := filepath.Glob(recordings + "/kernels/*")
	if err != nil || len(heads) < 5 {
		t.Fatalf("%d recordings: %v", len(heads), err)
	}
	pairs := [][2]string{}
	for _, head := range heads {
		pairs = append(pairs, [2]string{recordings + "/kernels/base", head})
	}
	for _, group := range [][]string{{"kernels-a", "kernels-b", "kernels-batches", "kernels-e", "saxpy-102-a",
		"softmax-103-a"},
		{"transformer-b", "transformer-e", "unfused-norm-b"}, {"ddp", "ddp-slow1"}} {
		for _, head := range group[1:] {
			pairs = append(pairs, [2]string{recordings + "/sessions/" + group[0] + "/nvidia-h200",
				recordings + "/sessions/" + head + "/nvidia-h200"})
		}
	}
	var seen atomic.Int64
	t.Run("recorded", func(t *testing.T) {
		for i, p := range pairs {
			if !full() && i%2 == 1 {
				continue
			}
			t.Run(strings.TrimPrefix(p[1], recordings+"/"), func(t *testing.T) {
				t.Parallel()
				out, err := exec.Command("nsgate", "compare", "--format", "json", p[0], p[1]).Output()
				if len(out) == 0 {
					t.Fatal(err)
				}
				r := new(result.Report)
				if err := json.Unmarshal(out, r); err != nil {
					t.Fatal(err)
				}
				if len(r.Findings) == 0 || r.Detects == nil {
					t.Errorf("%s: %s: %d findings, and detects %v", r.Verdict, r.Reason, len(r.Findings), r.Detects)
				}
				seen.Add(int64(recompute(t, r)))
			})
		}
	})
	for _, name := range []string{"fail", "several", "step", "undecided", "once", "pass"} {
		file, err := os.Open("../internal/report/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := saved.Read(file, name)
		if err != nil {
			t.Fatal(err)
		}
		seen.Add(int64(recompute(t, r)))
	}
	if seen.Load() < 1000 {
		t.Errorf("only %d changes were read", seen.Load())
	}
}

// besideValues is a change beside the two values that it is of, as every format but CSV and JSON prints it.
var besideValues = regexp.MustCompile(`([0-9.]+)(?: ([kMGT]?[a-zµ%]+(?:/s)?))? → ([0-9.]+) ?([kMGT]?[a-zµ%]+(?:/s)?)?[^+×→\n-]{0,40}?(?:([+-][0-9.]+) %|×([0-9.]+)\b)`)

var markup = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)

// recompute checks all formats of a report, and says how many printed changes it read.
func recompute(t *testing.T, r *result.Report) (seen int) {
	for _, of := range r.Each() {
		for _, f := range of.Findings {
			if got := f.Head/f.Base - 1; f.Change.Known() && math.Abs(float64(got-f.Change)) > 1e-9 {
				t.Errorf("json: %s %s: %v → %v is %+.6f, and the change is %+.6f", f.Kernel, f.Metric, f.Base, f.Head,
					float64(got), float64(f.Change))
			}
			if f.Change.Known() && f.Low.Known() && f.High.Known() &&
				!(f.Low <= f.Change+1e-12 && f.Change <= f.High+1e-12) {
				t.Errorf("json: %s %s: the change %v is not in its interval %v … %v", f.Kernel, f.Metric, f.Change,
					f.Low, f.High)
			}
		}
	}
	texts := map[string]string{}
	for _, format := range []string{"text", "markdown", "html", "junit", "sarif", "codequality", "csv"} {
		for verbose, name := range map[bool]string{false: format, true: format + " --verbose"} {
			var b bytes.Buffer
			if err := report.Render(format, &b, r, report.Options{Width: 400, Verbose: verbose}); err != nil {
				t.Fatal(err)
			}
			texts[name] = b.String()
		}
	}
	heads(t, r)
	var annotations bytes.Buffer
	if err := github.Publish(r, "", github.Options{Writer: &annotations}); err != nil {
		t.Fatal(err)
	}
	texts["github"] = strings.NewReplacer("%0A", "\n", "%25", "%", "%2C", ",", "%3A", ":").Replace(annotations.String())
	for _, row := range readCSV(t, texts["csv"]) {
		if row["base"] == "" || row["head"] == "" || row["change"] == "" || number(t, row["base"]) == 0 {
			continue
		}
		if base, head, change := number(t, row["base"]), number(t, row["head"]),
			number(t, row["change"]); math.Abs(head/base-1-change) > 1e-9 {
			t.Errorf("csv: %v → %v is not %v", base, head, change)
		}
	}
	delete(texts, "csv")
	for format, text := range texts {
		text = html.UnescapeString(markup.ReplaceAllString(text, " "))
		text = strings.NewReplacer("\u00a0", " ", "**", "", "| ", "").Replace(text)
		for line := range strings.Lines(text) {
			line = strings.Join(strings.Fields(line), " ")
			for _, m := range besideValues.FindAllStringSubmatch(line, -1) {
				seen += computes(t, format, m)
			}
		}
	}
	return seen
}

// heads checks that the formats without changes hold the head's values that the others compare, and the counts of the
// report.
func heads(t *testing.T, r *result.Report) {
	texts := map[string]string{}
	for _, format := range []string{"openmetrics", "bencher", "dotenv", "json"} {
		var b bytes.Buffer
		if err := report.Render(format, &b, r, report.Options{}); err != nil {
			t.Fatal(err)
		}
		texts[format] = b.String()
	}
	values := map[string][]float64{}
	for _, m := range regexp.MustCompile(`(?m)^nsgate_.*} (\S+)$`).FindAllStringSubmatch(texts["openmetrics"], -1) {
		values["openmetrics"] = append(values["openmetrics"], number(t, m[1]))
	}
	for _, m := range regexp.MustCompile(`"value": ([^,\n]+)`).FindAllStringSubmatch(texts["bencher"], -1) {
		values["bencher"] = append(values["bencher"], number(t, m[1]))
	}
	for _, of := range r.Each() {
		for _, f := range of.Findings {
			if !f.Head.Known() || f.SumsListed() {
				continue
			}
			seconds := float64(f.Head)
			if f.Unit == "ns" {
				seconds /= 1e9
			}
			near := func(want, slack float64) func(float64) bool {
				return func(v float64) bool { return math.Abs(v-want) <= slack*math.Abs(want) }
			}
			if !slices.ContainsFunc(values["openmetrics"], near(seconds, 1e-3)) {
				t.Errorf("openmetrics: no sample is the %s of %s, %v", f.Metric, f.Kernel, f.Head)
			}
			if judged := of.Verdict == result.Pass || of.Verdict == result.Fail; judged &&
				!slices.ContainsFunc(values["bencher"], near(float64(f.Head), 1e-12)) {
				t.Errorf("bencher: no value is the %s of %s, %v", f.Metric, f.Kernel, f.Head)
			}
		}
	}
	read, err := saved.Read(strings.NewReader(texts["json"]), "json")
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"SLOWER": read.Counts.Slower, "FASTER": read.Counts.Faster,
		"UNDECIDED": read.Counts.Undecided} {
		if line := "NSGATE_RESULT_" + name + "=" + strconv.Itoa(n) + "\n"; !strings.Contains(texts["dotenv"], line) {
			t.Errorf("dotenv lacks %q:\n%s", line, texts["dotenv"])
		}
	}
}

// computes checks one printed change: text, base, its unit, head, its unit, the change in per cent or as a factor.
func computes(t *testing.T, format string, m []string) int {
	scales := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
	a, b, scale := number(t, m[1]), number(t, m[3]), 1.0
	if m[2] != "" && m[4] != "" && m[2] != m[4] {
		scale = scales[m[4]] / scales[m[2]]
	}
	if a == 0 || scale == 0 || math.IsNaN(scale) {
		return 0
	}
	low, high := scale*(b-half(m[3]))/(a+half(m[1])), scale*(b+half(m[3]))/math.Max(a-half(m[1]), 1e-9)
	got, slack := 0.0, 0.0
	if m[6] != "" {
		got, slack = number(t, m[6]), half(m[6])
	} else {
		got, slack = 1+number(t, m[5])/100, half(m[5])/100
	}
	if got+slack < low-1e-9 || got-slack > high+1e-9 {
		t.Errorf("%s: %q does not compute: between ×%.5g and ×%.5g", format, m[0], low, high)
	}
	return 1
}

// half is half of the last digit of a printed number.
func half(number string) float64 {
	_, after, _ := strings.Cut(number, ".")
	return 0.5 * math.Pow(10, -float64(len(after)))
}

func number(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readCSV(t *testing.T, text string) (rows []map[string]string) {
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, c := range cells {
			row[all[0][i]] = c
		}
		rows = append(rows, row)
	}
	return rows
}
