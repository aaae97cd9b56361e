package thresholds

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/measure"
)

func ptr[T any](v T) *T { return &v }

// places are lines of nsgate.toml, each behind its key.
func places(keysAndLines ...any) Places {
	p := Places{}
	for i := 0; i < len(keysAndLines); i += 2 {
		p[keysAndLines[i].(string)] = fmt.Sprintf("nsgate.toml:%d", keysAndLines[i+1])
	}
	return p
}

func TestParse(t *testing.T) {
	data, err := os.ReadFile("testdata/full.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := &Policy{
		File: "ci/nsgate.toml", Alpha: 0.05, Cost: 0.001, SessionSD: 0.011, Undecided: "fail",
		Threshold: 0.015, StepThreshold: 0.05, WarmupThreshold: 0.25, OutsideThreshold: 0.25,
		MaxAge: 90 * 24 * time.Hour, Places: places("threshold", 2, "alpha", 3, "cost", 4, "session_sd", 5, "undecided",
			6),
		Workloads: []Workload{{
			Name: "kernels", Command: []string{"./kernels", "--steps", "60"}, Launcher: []string{"srun", "-n", "1"},
			Dir: "bench", Timeout: 2 * time.Minute, Warmup: "auto", Step: "step", Runs: FixedRuns(7),
			Threshold: ptr(0.01), Where: "nsgate.toml:8",
			Places: places("name", 9, "command", 10, "launcher", 11, "dir", 12, "timeout", 13, "warmup", 14, "step", 15,
				"runs", 16, "threshold", 17),
		}, {
			Name: "train", Command: []string{"python3", "train.py", "--name", "two words"}, Warmup: "3",
			Where:  "nsgate.toml:19",
			Places: places("name", 20, "command", 21, "warmup", 22),
		}},
		Rules: []Rule{
			{Kernel: "sgemm*", Metric: "time", Max: ptr(0.05), Floor: &measure.Amount{Value: 1000, Unit: "ns"},
				Severity: Fail, Where: "nsgate.toml:24",
				Places: places("kernel", 25, "metric", 26, "max", 27, "floor", 28, "severity", 29)},
			{Range: "load", Severity: Warn, Where: "nsgate.toml:31", Places: places("range", 32, "severity", 33)},
			{Copy: "memcpy HtoD", Metric: "copy_bytes", Max: ptr(0.0), Floor: &measure.Amount{Value: 65536, Unit: "B"},
				Where: "nsgate.toml:35", Places: places("copy", 36, "metric", 37, "max", 38, "floor", 39)},
			{Metric: "registers", Max: ptr(0.0), Where: "nsgate.toml:41", Places: places("metric", 42, "max", 43)},
		},
	}
	for name, data := range map[string]string{
		"as is": string(data),
		"CRLF":  strings.ReplaceAll(string(data), "\n", "\r\n"),
		"BOM":   "\uFEFF" + string(data),
	} {
		got, err := Parse("ci/nsgate.toml", []byte(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseNothing(t *testing.T) {
	got, err := Parse("nsgate.toml", []byte("# only a comment\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.File = "nsgate.toml"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"syntax", "threshold = \n", `x.toml:1: `},
		{"duplicate key", "alpha = \"1%\"\nalpha = \"2%\"\n", `x.toml:2: `},
		{"unknown key", "\ntreshold = \"3%\"\n", `x.toml:2: unknown key "treshold"; did you mean "threshold"?`},
		{"far key", "zzzzzz = 1\n", `x.toml:1: unknown key "zzzzzz"; known are alpha, base, build, cost, max_age, ` +
			`outside_threshold, same_host, session_sd, shadow, step_threshold, threshold, undecided, warmup_threshold`},
		{"unknown table", "[[rules]]\n", `x.toml:1: unknown table "rules"; did you mean "rule"?`},
		{"single table", "\n[rule]\nmax = \"3%\"\n",
			`x.toml:2: [rule] must be written [[rule]], since there may be several`},
		{"inline", "rule = [{max = \"3%\"}]\n", `x.toml:1: rule: every element of the list must be a string in quotes`},
		{"inline table", "workload = {}\n", `x.toml:1: workload must be written as a table [[workload]]`},
		{"dotted", "rule.max = \"3%\"\n",
			`x.toml:1: unknown key "rule.max"; known are alpha, base, build, cost, max_age, outside_threshold, ` +
				`same_host, session_sd, shadow, step_threshold, threshold, undecided, warmup_threshold`},
		{"ratio without a row", "[[ratio]]\nname = 'a'\nof = 'b'\n",
			`x.toml:1: a ratio has a name and two rows; add name = "speed-up", of = "ROW" and over = "ROW"`},
		{"two ratios of one name", "[[ratio]]\nname = 'a'\nof = 'b'\nover = 'c'\n[[ratio]]\nname = 'a'\nof = 'b'\n" +
			"over = 'd'\n", `x.toml:5: another [[ratio]] has the name "a"; rename one of them`},
		{"empty name", "[['']]\n", `x.toml:1: unknown table ""; known are ratio, rule, workload, workload.output, ` +
			"workload.results, workload.server"},
		{"deep table", "\n[" + strings.Repeat("a.", 450_000) + "a]\n",
			`x.toml:2: a key of more than 8 parts; remove it, keys of a policy have one part and tables at most two`},
		{"deep key", "\n\n" + strings.Repeat("a.", 450_000) + "a = 1\n",
			`x.toml:3: a key of more than 8 parts; remove it, keys of a policy have one part and tables at most two`},
		{"deep key in a table", "a = [{" + strings.Repeat("a.", 450_000) + "a = 1}]\n",
			`x.toml:1: a key of more than 8 parts; remove it, keys of a policy have one part and tables at most two`},
		{"long key", strings.Repeat("a", 450_000) + " = 1\n", `x.toml:1: unknown key "` + strings.Repeat("a", 80) +
			`…"; known are alpha, base, build, cost, max_age, ` +
			`outside_threshold, same_host, session_sd, shadow, step_threshold, threshold, undecided, warmup_threshold`},
		{"many tables", strings.Repeat("[[rule]]\nkernel = \"a\"\nmax = \"1%\"\n", 25_000),
			`x.toml:6001: more than 2000 tables; ` + `one rule with a pattern (kernel = "gemm*") limits many kernels`},
		{"key of another table", "[[rule]]\nseverity = \"warn\"\nstep = \"s\"\n",
			`x.toml:3: unknown key "step"; it is a key of [[workload]]`},
		{"filter without a name", "[[workload]]\nname = \"a\"\n[[workload.results]]\nfiles = \"*\"\n" +
			"filter = [\"-k\", \"a\"]\n",
			`x.toml:5: filter: no {} stands for the name of the benchmark; write it like "--benchmark_filter=^{}$"`},
		{"results of two forms", "[[workload]]\nname = \"a\"\n[[workload.results]]\nfiles = \"*\"\nrows = \".\"\n" +
			"[[workload.results]]\nfiles = \"*\"\n",
			`x.toml:6: rows: all [[workload.results]] of a workload have the same filter, or none`},
		{"empty rows", "[[workload]]\nname = \"a\"\n[[workload.results]]\nfiles = \"*\"\nrows = \" \"\n",
			`x.toml:5: rows: a filter of jq or the name of its file is expected, in quotes`},
		{"two filters", "[[workload]]\nname = \"a\"\n[[workload.results]]\nfiles = \"*\"\nfilter = \"{}\"\n" +
			"[[workload.results]]\nfiles = \"*\"\nfilter = \"{}\"\n",
			`x.toml:8: filter: the workload has one already; leave one of them out`},
		{"number", "threshold = 0.03\n", `x.toml:1: threshold: a string in quotes is expected, not a number: ` +
			`write it with its unit, like "3%"`},
		{"whole number", "threshold = 3\n", `x.toml:1: threshold: a string in quotes is expected, not a number: write "3%"`},
		{"all mistakes", "threshold = 3\ntreshold = \"3%\"\n[[rule]]\nkernel = \"a\"\n",
			"x.toml:1: threshold: a string in quotes is expected, not a number: write \"3%\"\n" +
				"x.toml:2: unknown key \"treshold\"; did you mean \"threshold\"?\n" +
				"x.toml:3: the rule sets nothing; add max, floor, at_most, at_least, drift, better or severity"},
		{"boolean", "threshold = true\n", `x.toml:1: threshold: a string in quotes is expected, not true or false`},
		{"empty", "threshold = \" \"\n", `x.toml:1: threshold: must not be empty; leave the key out instead`},
		{"bare fraction", "threshold = \"0.03\"\n",
			`x.toml:1: threshold: "0.03" has no unit; write "3%", or "0.03%" if that was meant`},
		{"bare number", "threshold = \"3\"\n", `x.toml:1: threshold: "3" has no unit; write "3%"`},
		{"negative", "threshold = \"-3%\"\n",
			`x.toml:1: threshold: "-3%" is not a percentage; write it like "3%" or "0.5%"`},
		{"no room", "threshold = \"0%\"\n",
			`x.toml:1: threshold: "0%" leaves no room for noise, so that nothing passes; write a small limit such as "0.5%"`},
		{"too wide", "[[workload]]\nname = \"a\"\nthreshold = \"500%\"\n",
			`x.toml:3: threshold: "500%" lets a time more than double; write a limit of at most 100%`},
		{"conflict", "<<<<<<< HEAD\nthreshold = \"3%\"\n",
			`x.toml:1: a merge left its conflict here (<<<<<<<): choose one side, and remove the marks`},
		{"open string", "threshold = \"3%\nalpha = \"1%\"\n",
			`x.toml:1: the string is not closed: end it with the quote that begins it`},
		{"alpha", "alpha = \"0%\"\n",
			`x.toml:1: alpha: "0%" must be more than 0% and less than 50%; the default is "1%"`},
		{"cost", "cost = \"101%\"\n", `x.toml:1: cost: "101%" is more than all of a step; the default is "0.15%"`},
		{"undecided", "undecided = \"pass\"\n", `x.toml:1: undecided: "pass" is unknown; write "warn" or "fail"`},
		{"severity", "[[rule]]\nseverity = \"error\"\n",
			`x.toml:2: severity: "error" is unknown; write "fail", "warn" or "ignore"`},
		{"nothing set", "\n[[rule]]\nkernel = \"*\"\n",
			`x.toml:2: the rule sets nothing; add max, floor, at_most, at_least, drift, better or severity`},
		{"two selectors", "[[rule]]\nkernel = \"*\"\nrange = \"*\"\nmax = \"1%\"\n",
			`x.toml:1: a rule has one selector (kernel, range, device, copy, output, benchmark or section); write one [[rule]] for each`},
		{"shadowed", "[[rule]]\nkernel = \"a\"\nmax = \"1%\"\n[[rule]]\nkernel = \"a\"\nmax = \"2%\"\n",
			`x.toml:4: the rule never applies: the one at x.toml:1 comes first and matches all that it would; put this one before it, or remove one`},
		{"metric", "[[rule]]\nmetric = \"tme\"\nmax = \"1%\"\n",
			`x.toml:2: metric: no metric matches "tme"; did you mean "time"?`},
		{"pattern", "[[rule]]\nkernel = \"a \"\nmax = \"1%\"\n",
			`x.toml:2: kernel: pattern "a " begins or ends with space and matches no name; remove it`},
		{"control", "[[rule]]\nkernel = \"a\\u001b[2J\"\nmax = \"1%\"\n",
			`x.toml:2: kernel: must not hold control characters`},
		{"floor", "[[rule]]\nmetric = \"time\"\nfloor = \"64KiB\"\n",
			`x.toml:3: floor: the unit of time is ns; write it like "1us"`},
		{"floor of counts", "[[rule]]\nmetric = \"launches\"\nfloor = \"1us\"\n",
			`x.toml:3: floor: the unit of launches is count; write it like "3"`},
		{"bound of registers", "[[rule]]\nmetric = \"registers\"\nat_most = \"1us\"\n",
			`x.toml:3: at_most: the unit of registers is per thread; write it like "3"`},
		{"metric by a part of its name", "[[rule]]\nmetric = \"step\"\nmax = \"1%\"\n",
			`x.toml:2: metric: no metric matches "step"; the nearest are step_time, mean_step_time, ` +
				`rank_step_time (nsgate help policy lists all)`},
		{"raw metric without a direction", "[[rule]]\nmetric = \"ncu:lts__t_sectors.sum.per_second\"\nmax = \"5%\"\n",
			"x.toml:2: metric: whether more or less of ncu:lts__t_sectors.sum.per_second is better is not known; " +
				`add better = "higher" or better = "lower"`},
		{"bytes per block", "[[rule]]\nmetric = \"ncu:launch__shared_mem_per_block\"\nat_most = \"5us\"\n",
			`x.toml:3: at_most: the unit of ncu:launch__shared_mem_per_block is B per block; write it like "64KiB"`},
		{"bound", "[[rule]]\nmetric = \"dram_throughput\"\nat_least = \"70\"\n",
			`x.toml:3: at_least: the unit of dram_throughput is %; write it like "70%"`},
		{"bound of what", "[[rule]]\nmetric = \"local_*\"\nat_most = \"0\"\n",
			`x.toml:3: at_most bounds one metric; name it in full with metric`},
		{"bounds", "[[rule]]\nmetric = \"registers\"\nat_least = \"9\"\nat_most = \"8\"\n",
			`x.toml:4: no value is at most 8 and at least 9`},
		{"limit of what is ignored", "[[rule]]\nkernel = \"a\"\nmax = \"5%\"\nseverity = \"ignore\"\n",
			`x.toml:3: max does nothing beside severity = "ignore", by which nothing is judged; leave one of them out`},
		{"bound of what is ignored",
			"[[rule]]\nmetric = \"registers\"\nseverity = \"ignore\"\nat_most = \"8\"\n",
			`x.toml:4: at_most does nothing beside severity = "ignore", by which nothing is judged; ` +
				`leave one of them out`},
		{"direction of a bound", "[[rule]]\nmetric = \"value\"\nat_least = \"8\"\nbetter = \"higher\"\n",
			`x.toml:4: better is of changes, which a bound allows; add max, or leave better out`},
		{"floor of a bound", "[[rule]]\nmetric = \"time\"\nfloor = \"1us\"\nat_most = \"8us\"\n",
			`x.toml:3: floor is of changes, which a bound allows; add max, or leave floor out`},
		{"floor unit", "[[rule]]\nfloor = \"1 h\"\n",
			`x.toml:2: floor: "1 h" is not an amount; write a time ("1us", "500ns"), a size ("64KiB"), a rate ("2TB/s"), a part of the peak ("70%") or a count ("3")`},
		{"no name", "\n[[workload]]\nruns = 3\n", `x.toml:2: [[workload]] has no name; add name = "…"`},
		{"name", "[[workload]]\nname = \"../x\"\n",
			`x.toml:2: name: "../x" is not a name; use up to 64 letters, digits, ".", "_" and "-"`},
		{"name twice", "[[workload]]\nname = \"a\"\n[[workload]]\nname = \"a\"\n",
			`x.toml:4: name: "a" is already the workload at x.toml:1; give one of them another name`},
		{"runs", "[[workload]]\nname = \"a\"\nruns = 0\n", `x.toml:3: runs: 0 is not between 1 and 1000`},
		{"runs of a range", "[[workload]]\nname = \"a\"\nruns = \"9..5\"\n",
			`x.toml:3: runs: 9..5 ends before it begins`},
		{"runs as text", "[[workload]]\nname = \"a\"\nruns = \"many\"\n",
			`x.toml:3: runs: "many" is neither a number of runs nor a range such as 5..12`},
		{"timeout", "[[workload]]\nname = \"a\"\ntimeout = \"90\"\n",
			`x.toml:3: timeout: "90" is not a positive duration; write it like "90s" or "2m30s", or "none"`},
		{"warmup", "[[workload]]\nname = \"a\"\nwarmup = -1\n",
			`x.toml:3: warmup: warm-up "-1" is not a rule; write "auto", "capture" or the number of steps to skip`},
		{"throughput", "[[workload]]\nname = \"a\"\nthroughput = \"x\"\n",
			`x.toml:3: throughput: "x" has no group; put parentheses around the number, as in 'throughput: ([0-9.]+)'`},
		{"output of nothing", "[[workload.output]]\nname = \"a\"\n",
			`x.toml:1: [[workload.output]] belongs below the [[workload]] that prints it`},
		{"output as value", "[[workload]]\nname = \"a\"\noutput = \"x\"\n",
			`x.toml:3: output must be written as a table [[workload.output]]`},
		{"single output", "[[workload]]\nname = \"a\"\n[workload.output]\nname = \"b\"\n",
			`x.toml:3: [workload.output] must be written [[workload.output]], since there may be several`},
		{"output without a name", anOutput("pattern = '(x)'"),
			`x.toml:3: [[workload.output]] has no name; add name = "…"`},
		{"output without a pattern", anOutput("name = 'a'"),
			`x.toml:3: [[workload.output]] has no pattern; add pattern = '…', with parentheses around the number`},
		{"output name", anOutput("name = ' a'"),
			`x.toml:4: name: " a" is not a name; use up to 64 characters, without space at the ends`},
		{"bad pattern", anOutput("name = 'a'\npattern = '(x'"),
			"x.toml:5: pattern: \"(x\" is not a regular expression: missing closing ): `(x`"},
		{"two groups", anOutput("name = 'a'\npattern = '(x)(y)'"),
			`x.toml:5: pattern: "(x)(y)" has 2 groups; keep the one around the number and write (?:…) for the others`},
		{"unknown better", anOutput("name = 'a'\npattern = '(x)'\nbetter = 'more'"),
			`x.toml:6: better: "more" is unknown; write "higher" or "lower"`},
		{"output twice", anOutput("name = 'a'\npattern = '(x)'\n[[workload.output]]\nname = 'a'\npattern = '(y)'"),
			`x.toml:7: name: "a" is already the output at x.toml:3; give one of them another name`},
		{"throughput twice",
			"[[workload]]\nname = 'a'\nthroughput = '(x)'\n[[workload.output]]\nname = 'throughput'\npattern = '(y)'\n",
			`x.toml:5: name: "throughput" is already the output at x.toml:3; give one of them another name`},
		{"floor of an output", "[[rule]]\nmetric = \"rate\"\nfloor = \"1us\"\n",
			`x.toml:3: floor: the unit of rate is the program's own; write it like "3"`},
		{"pipe", "[[workload]]\nname = \"a\"\ncommand = \"a | b\"\n",
			`x.toml:3: command: command holds '|', which only a shell understands; quote it, or run a shell: ["sh", "-c", "…"]`},
		{"empty command", "[[workload]]\nname = \"a\"\ncommand = []\n",
			`x.toml:3: command: command is empty; write the program and its arguments`},
		{"command kind", "[[workload]]\nname = \"a\"\ncommand = 3\n",
			`x.toml:3: command: a string or a list of strings is expected, not a number`},
		{"too large", strings.Repeat("#", maxFile+1), `x.toml: larger than 1048576 bytes; this is not a policy file`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("x.toml", []byte(c.in))
			if err == nil {
				t.Fatal("no error")
			}
			// A want that ends in a space is followed by another library's words.
			if got := err.Error(); got != c.want && !(strings.HasSuffix(c.want, " ") &&
				strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	p, err := Parse("dir/nsgate.toml", []byte(`threshold = "2%"
[[rule]]
kernel = "sgemm#16x16x1/*"
metric = "time"
max = "5%"
floor = "1us"
[[rule]]
kernel = "sgemm*"
max = "7%"
severity = "warn"
[[rule]]
kernel = "ns::softmax<float*>(float*)"
severity = "ignore"
[[rule]]
range = "load"
max = "9%"
floor = "2us"
[[rule]]
copy = "memcpy ????"
metric = "copy_*"
floor = "64KiB"
[[rule]]
metric = "registers"
max = "0%"
[[rule]]
device = "GPU ?"
max = "4%"
`))
	if err != nil {
		t.Fatal(err)
	}
	kernel := func(name string, grid, block uint32) measure.Subject {
		return measure.Subject{Scope: measure.ScopeKernel, Name: name, Grid: measure.Dim3{X: grid, Y: grid, Z: 1},
			Block: measure.Dim3{X: block, Y: 1, Z: 1}}
	}
	sgemm := kernel("void ns::sgemm<64>(float const*)", 16, 256)
	saxpy := kernel("saxpy(float*)", 1, 32)
	load := measure.Subject{Scope: measure.ScopeRange, Name: "load"}
	htod := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
	memset := measure.Subject{Scope: measure.ScopeWorkload, Name: "memset"}
	for _, c := range []struct {
		name    string
		subject measure.Subject
		metric  measure.Metric
		want    Limit
	}{
		{"time by default", saxpy, measure.Time, Limit{Max: 0.02, Severity: Fail, Rule: "nsgate.toml:1"}},
		{"counts have their own default", saxpy, measure.Launches, Limit{Max: 0.03, Severity: Fail, Rule: "default"}},
		{"explanations are not judged", saxpy, named("static_shared"),
			Limit{Max: 0.03, Severity: Ignore, Rule: "default"}},
		{"the step follows a stricter threshold", measure.Workload, measure.StepTime,
			Limit{Max: 0.02 * 5 / 3, Severity: Fail, Rule: "nsgate.toml:1"}},
		{"unless named", saxpy, named("registers"), Limit{Max: 0, Severity: Fail, Rule: "nsgate.toml:22"}},
		{"even where a rule matches the kernel first", sgemm, named("registers"),
			Limit{Max: 0, Severity: Fail, Rule: "nsgate.toml:22"}},
		{"short name and geometry", sgemm, measure.Time,
			Limit{Max: 0.05, Floor: 1000, Severity: Fail, Rule: "nsgate.toml:2"}},
		{"another geometry", kernel(sgemm.Name, 8, 256), measure.Time,
			Limit{Max: 0.07, Severity: Warn, Rule: "nsgate.toml:7"}},
		{"another metric", sgemm, measure.Total, Limit{Max: 0.07, Severity: Warn, Rule: "nsgate.toml:7"}},
		{"a full name is its own pattern", kernel("ns::softmax<float*>(float*)", 1, 1), measure.Time,
			Limit{Max: 0.02, Severity: Ignore, Rule: "nsgate.toml:11"}},
		{"range", load, measure.GPUTime, Limit{Max: 0.09, Floor: 2000, Severity: Fail, Rule: "nsgate.toml:14"}},
		{"a floor in ns is none for counts", load, measure.Launches,
			Limit{Max: 0.09, Severity: Fail, Rule: "nsgate.toml:14"}},
		{"a kernel is no range", kernel("load", 1, 1), measure.Time,
			Limit{Max: 0.02, Severity: Fail, Rule: "nsgate.toml:1"}},
		{"device", measure.Subject{Scope: measure.ScopeDevice, Name: "GPU 3"}, measure.GPUTime,
			Limit{Max: 0.04, Severity: Fail, Rule: "nsgate.toml:25"}},
		{"another device", measure.Subject{Scope: measure.ScopeDevice, Name: "GPU 10"}, measure.GPUTime,
			Limit{Max: 0.02, Severity: Fail, Rule: "nsgate.toml:1"}},
		{"copy", htod, metric(t, "copy_bytes"), Limit{Max: 0.03, Floor: 65536, Severity: Fail, Rule: "nsgate.toml:18"}},
		{"copies vary more: a stricter limit of times is not theirs", htod, measure.CopyTime,
			Limit{Max: 0.1, Severity: Fail, Rule: "nsgate.toml:18"}},
		{"the whole workload is no copy", measure.Workload, measure.GPUTime,
			Limit{Max: 0.02, Severity: Fail, Rule: "nsgate.toml:1"}},
	} {
		if got := p.Limit(c.subject, c.metric); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if got, want := Default().Limit(measure.Workload, measure.StepTime),
		(Limit{Max: 0.05, Severity: Fail, Rule: "default"}); got != want {
		t.Errorf("the step by default: got %+v, want %+v", got, want)
	}
	if got, want := Default().Limit(measure.Warmup, measure.GPUTime),
		(Limit{Max: 0.03, Severity: Fail, Rule: "default"}); got != want {
		t.Errorf("GPU time of a section: got %+v, want %+v", got, want)
	}
	if got, want := Default().Limit(measure.Warmup, metric(t, "elapsed_time")),
		(Limit{Max: 0.25, Severity: Fail, Rule: "default"}); got != want {
		t.Errorf("wall time of a section: got %+v, want %+v", got, want)
	}
	if got, want := Default().Limit(saxpy, measure.Time),
		(Limit{Max: 0.03, Severity: Fail, Rule: "default"}); got != want {
		t.Errorf("Default: got %+v, want %+v", got, want)
	}
	loose := Default()
	if err := loose.Set("threshold", "20%", "--threshold"); err != nil {
		t.Fatal(err)
	}
	if got, want := loose.Limit(memset, measure.CopyTime),
		(Limit{Max: 0.2, Severity: Fail, Rule: "--threshold"}); got != want {
		t.Errorf("a looser limit of times is one of copies: got %+v, want %+v", got, want)
	}
}

// Counters of Nsight Compute are judged only by a rule that names them, and a rule can bound the value itself.
func TestBounds(t *testing.T) {
	p, err := Parse("nsgate.toml", []byte(`[[rule]]
kernel = "sgemm"
metric = "time"
max = "9%"
[[rule]]
metric = "local_*"
max = "0%"
[[rule]]
metric = "dram_throughput"
at_least = "70 %"
[[rule]]
metric = "registers"
at_most = "64"
max = "0%"
[[rule]]
metric = "dram_bandwidth"
at_least = "2.5 TB/s"
severity = "warn"
[[rule]]
kernel = "*"
max = "50%"
`))
	if err != nil {
		t.Fatal(err)
	}
	kernel := measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy"}
	inf := math.Inf(1)
	for _, c := range []struct {
		metric measure.Metric
		want   Limit
	}{
		{named("ncu_time"), Limit{Max: 0.5, Severity: Fail, Rule: "nsgate.toml:19"}},
		{named("sm_throughput"), Limit{Max: 0.03, Severity: Ignore, Rule: "default"}},
		{named("local_loads"), Limit{Max: 0, Severity: Fail, Rule: "nsgate.toml:5"}},
		{named("dram_throughput"), Limit{Max: inf, Severity: Fail, Rule: "nsgate.toml:8", AtLeast: new(70.0)}},
		{named("dram_bandwidth"), Limit{Max: inf, Severity: Warn, Rule: "nsgate.toml:15", AtLeast: new(2.5e12)}},
		{named("registers"), Limit{Max: 0, Severity: Fail, Rule: "nsgate.toml:11", AtMost: new(64.0)}},
	} {
		got := p.Limit(kernel, c.metric)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.metric.Name, diff)
		}
	}
	bound := p.Limit(kernel, named("dram_throughput"))
	for v, want := range map[float64]bool{69.9: false, 70: true, 99: true, math.NaN(): false} {
		if bound.Keeps(v) != want {
			t.Errorf("Keeps(%v) is %v", v, !want)
		}
	}
}

func TestFor(t *testing.T) {
	p, err := Parse("nsgate.toml",
		[]byte("[[workload]]\nname = \"a\"\nthreshold = \"1%\"\n[[workload]]\nname = \"b\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Limit{
		"a": {Max: 0.01, Severity: Fail, Rule: "nsgate.toml:3"},
		"b": {Max: 0.03, Severity: Fail, Rule: "default"},
		"c": {Max: 0.03, Severity: Fail, Rule: "default"},
	} {
		if got := p.For(name).Limit(measure.Workload, measure.GPUTime); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if p.Threshold != 0.03 {
		t.Error("For changed the policy itself")
	}
}

// TestGlobLong: a pattern with more characters than a name has is compared with none of them.
func TestGlobLong(t *testing.T) {
	long := Glob(strings.Repeat("*a?", 300_000))
	if n := testing.AllocsPerRun(10, func() { long.Match("a name") }); n > 0 {
		t.Errorf("%g allocations, such as a copy of the pattern for each name", n)
	}
	for pattern, name := range map[Glob]string{"*é?": "éé", "???": "äöü", "*?*": "b", "**": "", "a*": "a"} {
		if !pattern.Match(name) {
			t.Errorf("%q does not match %q", pattern, name)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"**", "abc", true}, {"?", "µ", true}, {"?", "", false},
		{"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abbbc", true}, {"a*c", "abbbd", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*ab", "aab", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"abc", "abcd", false},
		{"a[b]", "a[b]", true},
		{`a\*`, "a*", false}, {"ns::*", "ns::a/b", true},
	} {
		if got := Glob(c.pattern).Match(c.name); got != c.want {
			t.Errorf("Glob(%q).Match(%q) = %v", c.pattern, c.name, got)
		}
	}
}

// A pattern made of a name by replacing pieces with wildcards matches that name, and without wildcards nothing else.
func TestGlobProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, pattern := "", ""
		for range rapid.IntRange(0, 8).Draw(t, "pieces") {
			piece := rapid.StringMatching(`[ab:<>µ]{1,3}`).Draw(t, "piece")
			name += piece
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				pattern += piece
			case 1:
				pattern += "*"
			case 2:
				pattern += strings.Repeat("?", len([]rune(piece)))
			}
		}
		if !Glob(pattern).Match(name) {
			t.Fatalf("%q does not match %q", pattern, name)
		}
		if g := Glob(name); g.Match(name+"x") || g.Match("x"+name) {
			t.Fatalf("%q matches more than itself", name)
		}
	})
}

func TestParseWarmup(t *testing.T) {
	for in, want := range map[string]string{"auto": "auto", "capture": "capture", "0": "0", " 007": "7"} {
		if got, err := parseWarmup(in); err != nil || got != want {
			t.Errorf("parseWarmup(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "1.5", "Auto", "99999999999"} {
		if got, err := parseWarmup(in); err == nil {
			t.Errorf("parseWarmup(%q) = %q; want an error", in, got)
		}
	}
}

func TestSplitCommand(t *testing.T) {
	for in, want := range map[string][]string{
		"a":                       {"a"},
		"  a\tb  c ":              {"a", "b", "c"},
		`a "b c" 'd "e'`:          {"a", "b c", `d "e`},
		`a b\ c "\"$"`:            nil,
		`a b\ c "\"\$" '$(x)|*' `: {"a", "b c", `"$`, "$(x)|*"},
		`a "" ''`:                 {"a", "", ""},
		`a"b"'c'd`:                {"abcd"},
		`a "b\c"`:                 {"a", `b\c`},
		"":                        nil,
		`""`:                      nil,
		`a "b`:                    nil,
		`a 'b`:                    nil,
		`a \`:                     nil,
		"a > b":                   nil,
		"a *.bin":                 nil,
		"a\x00":                   nil,
		"a #1":                    {"a", "#1"},
		`a "$(x)"`:                nil,
		`a \;`:                    {"a", ";"},
	} {
		got, err := splitCommand(in)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("splitCommand(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

// Whatever is quoted with single quotes comes back unchanged.
func TestSplitCommandProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[ -~µ]{1,8}`), 1, 5).Draw(t, "words")
		quoted := make([]string, len(want))
		for i, w := range want {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		got, err := splitCommand(strings.Join(quoted, " "))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/full.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("[['']]\n''.\"\" = [{}]"))
	f.Add([]byte("[[rule]]\nkernel = \"*\"\nfloor = \"1us\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("x.toml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.toml:") {
				t.Fatalf("error without place: %v", err)
			}
			return
		}
		for _, m := range measure.Metrics() {
			l := p.Limit(measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy(float*)"}, m)
			if !(l.Max >= 0 && l.Max < 10 && l.Floor >= 0) || l.Severity != Fail && l.Severity != Warn &&
				l.Severity != Ignore || l.Rule == "" {
				t.Fatalf("%s: %+v", m.Name, l)
			}
		}
		for _, w := range p.Workloads {
			if w.Name == "" || w.Command != nil && w.Command[0] == "" {
				t.Fatalf("%+v", w)
			}
		}
	})
}

// anOutput is a policy file with an output of these lines, beginning at line 4.
// aServer is a workload with a server.
const aServer = "[[workload]]\nname = \"a\"\n[workload.server]\ncommand = \"x\"\nready = \"log:x\"\n"

func anOutput(lines string) string {
	return "[[workload]]\nname = 'w'\n[[workload.output]]\n" + lines + "\n"
}

func TestOutputs(t *testing.T) {
	p, err := Parse("nsgate.toml", []byte(`threshold = "2%"
[[workload]]
name = "a"
throughput = 'tokens/s: ([0-9.]+)'
[[rule]]
output = "lo*"
max = "5%"
[[workload.output]]
name = "loss"
pattern = 'loss=([0-9.e-]+)'
better = "lower"
[[workload]]
name = "b"
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Output{
		{Output: measure.Output{Name: "throughput", Pattern: "tokens/s: ([0-9.]+)", Better: measure.Higher},
			Where: "nsgate.toml:4"},
		{Output: measure.Output{Name: "loss", Pattern: "loss=([0-9.e-]+)", Better: measure.Lower},
			Where:  "nsgate.toml:8",
			Places: Places{"name": "nsgate.toml:9", "pattern": "nsgate.toml:10", "better": "nsgate.toml:11"}},
	}
	if diff := cmp.Diff(want, p.Workloads[0].Outputs); diff != "" || p.Workloads[1].Outputs != nil {
		t.Errorf("-want +got:\n%s\nb: %v", diff, p.Workloads[1].Outputs)
	}
	for i, want := range []Limit{
		{Max: 0.02, Severity: Fail, Rule: "nsgate.toml:1"}, {Max: 0.05, Severity: Fail, Rule: "nsgate.toml:5"},
	} {
		o := p.Workloads[0].Outputs[i].Output
		if diff := cmp.Diff(want, p.Limit(o.Subject(), o.Metric())); diff != "" {
			t.Errorf("limit of %s (-want +got):\n%s", o.Name, diff)
		}
	}
	if l := p.Limit(measure.Workload, metric(t, "wall_time")); l.Severity != Ignore {
		t.Errorf("the wall time is judged without a rule: %+v", l)
	}
}

// The limit of a kernel's time covers the sum of its launches too, unless a rule names the sum.
func TestRuleOfTimeCoversTheTotal(t *testing.T) {
	saxpy := measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy"}
	for _, tt := range []struct {
		name, rules string
		max         float64
		severity    Severity
	}{
		{"looser", "[[rule]]\nkernel = \"saxpy\"\nmetric = \"time\"\nmax = \"10%\"\n", 0.1, Fail},
		{"tighter", "[[rule]]\nkernel = \"saxpy\"\nmetric = \"time\"\nmax = \"1%\"\n", 0.03, Fail},
		{"a warning", "[[rule]]\nkernel = \"saxpy\"\nmetric = \"time\"\nseverity = \"warn\"\n", 0.03, Warn},
		{"a bound", "[[rule]]\nkernel = \"saxpy\"\nmetric = \"time\"\nat_most = \"90us\"\n", math.Inf(1), Fail},
		{"a rule of its own", "[[rule]]\nkernel = \"saxpy\"\nmetric = \"total\"\nmax = \"5%\"\n[[rule]]\nkernel = " +
			"\"saxpy\"\nmetric = \"time\"\nmax = \"10%\"\n", 0.05, Fail},
		{"another kernel", "[[rule]]\nkernel = \"sgemm\"\nmetric = \"time\"\nmax = \"10%\"\n", 0.03, Fail},
	} {
		p, err := Parse("nsgate.toml", []byte(tt.rules))
		if err != nil {
			t.Fatal(err)
		}
		if l := p.Limit(saxpy, measure.Total); l.Max != tt.max || l.Severity != tt.severity {
			t.Errorf("%s: %v %s, want %v %s", tt.name, l.Max, l.Severity, tt.max, tt.severity)
		}
	}
}

// named is a metric of measure's table.
func named(name string) measure.Metric {
	m, _ := measure.MetricByName(name)
	return m
}

// Domain and category select ranges, alone or with their name.
func TestLimitOfTaggedRanges(t *testing.T) {
	p, err := Parse("x.toml", []byte(`
[[rule]]
range = "NCCL:*"
category = "io"
max = "4%"

[[rule]]
domain = "NCCL"
max = "5%"

[[rule]]
category = "io"
max = "6%"

[[rule]]
range = "load"
max = "7%"
`))
	if err != nil {
		t.Fatal(err)
	}
	r := p.For("").In(map[string]string{"load": "io", "NCCL:send": "io", "store": "7"})
	for name, want := range map[string]float64{"NCCL:send": 0.04, "NCCL:reduce": 0.05, "load": 0.06, "NCCL": 0.03,
		"store": 0.03, "myNCCL:x": 0.03} {
		if got := r.Limit(measure.Subject{Scope: measure.ScopeRange, Name: name}, measure.GPUTime).Max; got != want {
			t.Errorf("range %s: %g, want %g", name, got, want)
		}
	}
	if got := r.Limit(measure.Subject{Scope: measure.ScopeKernel, Name: "NCCL:send"}, measure.Time).Max; got != 0.03 {
		t.Errorf("a kernel of that name: %g", got)
	}
	for _, text := range []string{"domain = \"N*\"\nmax = \"1%\"\n[[rule]]\ndomain = \"NCCL\"",
		"category = \"*\"\nmax = \"1%\"\n[[rule]]\ncategory = \"io\"\nrange = \"load\""} {
		if _, err := Parse("x.toml", []byte("[[rule]]\n"+text+"\nmax = \"2%\"")); err == nil ||
			!strings.Contains(err.Error(), "never applies") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"domain = \"NCCL\"\nmax = \"1%\"\n[[rule]]\nrange = \"load\"",
		"category = \"io\"\nmax = \"1%\"\n[[rule]]\nmetric = \"*\""} {
		if _, err := Parse("x.toml", []byte("[[rule]]\n"+text+"\nmax = \"2%\"")); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// metric is the metric of a name.
func metric(t *testing.T, name string) measure.Metric {
	t.Helper()
	m, ok := measure.MetricByName(name)
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	return m
}
