package thresholds

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the reference of the policy file in the manual")

// Every row's example may stand in a file, and so may its default where that is said to be literal.
func TestKeys(t *testing.T) {
	// The other lines that make a table with the key valid.
	besides := map[string]string{
		"": "", "workload": "[[workload]]\nname = \"a\"\n", "workload.name": "[[workload]]\n",
		"ratio.name":    "[[ratio]]\nof = \"a\"\nover = \"b\"\n",
		"ratio.of":      "[[ratio]]\nname = \"a\"\nover = \"b\"\n",
		"ratio.over":    "[[ratio]]\nname = \"a\"\nof = \"b\"\n",
		"rule":          "[[rule]]\nseverity = \"warn\"\n",
		"rule.severity": "[[rule]]\n", "rule.at_most": "[[rule]]\nmetric = \"time\"\n",
		"rule.at_least":           "[[rule]]\nmetric = \"time\"\n",
		"workload.output":         anOutput("name = 'a'\npattern = '(x)'"),
		"workload.results":        "[[workload]]\nname = \"a\"\n[[workload.results]]\n",
		"workload.results.filter": "[[workload]]\nname = \"a\"\n[[workload.results]]\nfiles = \"*\"\n",
		"workload.results.rows":   "[[workload]]\nname = \"a\"\n[[workload.results]]\nfiles = \"*\"\n",
		"workload.server":         aServer,
		"workload.server.command": strings.ReplaceAll(aServer, "command = \"x\"\n", ""),
		"workload.server.ready":   strings.ReplaceAll(aServer, "ready = \"log:x\"\n", ""),
		"rule.better":             "[[rule]]\nmax = \"1%\"\nmetric = \"dram_read\"\n",
		"workload.output.name":    anOutput("pattern = '(x)'"),
		"workload.output.pattern": anOutput("name = 'a'"),
	}
	seen := map[string]bool{}
	for _, k := range Keys() {
		id := k.Table + "." + k.Name
		if seen[id] {
			t.Errorf("%s is listed twice", id)
		}
		seen[id] = true
		if k.Type == "" || k.Doc == "" || strings.HasSuffix(k.Doc, ".") ||
			strings.Contains(k.Doc+k.Default+k.Type+k.Example, "|") {
			t.Errorf("%s cannot stand in the reference: %+v", id, k)
		}
		values := []string{k.Example}
		if k.Literal() {
			values = append(values, k.Default)
		}
		for _, v := range values {
			before, ok := besides[id]
			if !ok {
				before = besides[k.Table]
			}
			if _, err := Parse("x.toml", []byte(before+k.Name+" = "+v+"\n")); err != nil {
				t.Errorf("%s = %s: %v", id, v, err)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	const file = `alpha = "5%"

[[workload]]
name = "app"
command = ["./app", "two words", "it's"]
timeout = "90s"
threshold = "0.5%"

[[workload.output]]
name = "tokens/s"
pattern = 'tokens/s: (.*)'

[[rule]]
kernel = "sgemm*"
metric = "time"
floor = "1us"
`
	p, err := Parse("ci/nsgate.toml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	list := func(p *Policy) (lines []string) {
		for _, s := range p.Settings() {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s", s.Table,
				s.Of)+" "+s.Name)+" = "+s.Value+" # "+s.Where)
		}
		return lines
	}
	want := []string{
		"threshold = 3 % # default",
		"step_threshold = 5 % # default",
		"warmup_threshold = 25 % # default",
		"outside_threshold = 25 % # default",
		"alpha = 5 % # nsgate.toml:1",
		"cost = 0.15 % # default",
		"session_sd = 0.5 % # default",
		"same_host = true # default",
		"undecided = warn # default", "shadow = false # default",
		"max_age = 90d # default",
		"base = none # default",
		"build = none # default",
		"workload app name = app # nsgate.toml:4",
		`workload app command = ./app 'two words' 'it'\''s' # nsgate.toml:5`,
		"workload app launcher = none # default",
		"workload app gather = none # default",
		"workload app ranks = all # default",
		"workload app dir = where this file lies # default",
		"workload app timeout = 1m30s # nsgate.toml:6",
		"workload app warmup = auto # default",
		"workload app step = found by itself # default",
		"workload app runs = of a check 3 to 5, of a baseline 5 # default",
		"workload app starts = half of the CPUs # default",
		"workload app budget = none # default",
		"workload app explain_time = less than the runs, 20s to 55s # default",
		"workload app code = none # default",
		"workload app inputs = none # default",
		"workload app skip_unchanged = false # default",
		"workload app threshold = 0.5 % # nsgate.toml:7",
		"workload app profile = never with results, else always # default",
		"workload app throughput = none # default",
		"workload.output tokens/s name = tokens/s # nsgate.toml:10",
		"workload.output tokens/s pattern = tokens/s: (.*) # nsgate.toml:11",
		"workload.output tokens/s better = higher # default",
		"workload.output tokens/s measures = what its name says # default",
		"rule nsgate.toml:13 kernel = sgemm* # nsgate.toml:14",
		"rule nsgate.toml:13 range = any # default",
		"rule nsgate.toml:13 domain = any # default",
		"rule nsgate.toml:13 category = any # default",
		"rule nsgate.toml:13 device = any # default",
		"rule nsgate.toml:13 copy = any # default",
		"rule nsgate.toml:13 output = any # default",
		"rule nsgate.toml:13 benchmark = any # default",
		"rule nsgate.toml:13 section = any # default",
		"rule nsgate.toml:13 metric = time # nsgate.toml:15",
		"rule nsgate.toml:13 max = that of the metric; none with at_most or at_least # default",
		"rule nsgate.toml:13 floor = 1.000 µs # nsgate.toml:16",
		"rule nsgate.toml:13 at_most = none # default",
		"rule nsgate.toml:13 at_least = none # default",
		"rule nsgate.toml:13 drift = none: a warning beyond max # default",
		"rule nsgate.toml:13 better = that of the metric # default",
		"rule nsgate.toml:13 severity = fail # default",
	}
	if diff := cmp.Diff(want, list(p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// A flag wins over the top of the file and over the workload.
	if err := p.Set("threshold", "1%", "--threshold"); err != nil {
		t.Fatal(err)
	}
	want[0], want[1] = "threshold = 1 % # --threshold", "step_threshold = 1.67 % # --threshold"
	want[slices.Index(want,
		"workload app threshold = 0.5 % # nsgate.toml:7")] = "workload app threshold = 1 % # --threshold"
	if diff := cmp.Diff(want, list(p)); diff != "" {
		t.Errorf("with a flag (-want +got):\n%s", diff)
	}
	if app := p.For("app"); app.Threshold != 0.01 || app.Places.Of("threshold") != "--threshold" {
		t.Errorf("the workload's threshold is %v of %s", app.Threshold, app.Places.Of("threshold"))
	}

	// A workload without a threshold of its own has that at the top.
	p, err = Parse("nsgate.toml", []byte("threshold = \"2%\"\n[[workload]]\nname = \"a\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := list(p); lines[len(lines)-3] != "workload a threshold = 2 % # nsgate.toml:1" {
		t.Errorf("inherited: %s", lines[len(lines)-3])
	}
}

func TestSetErrors(t *testing.T) {
	for key, want := range map[string]string{
		"alpha":     `alpha: "x" is not a percentage; write it like "3%" or "0.5%"`,
		"undecided": `undecided: "x" is unknown; write "warn" or "fail"`,
		"tresholds": `unknown key "tresholds"; did you mean "threshold"?`,
	} {
		p := Default()
		if err := p.Set(key, "x", "--"+key); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if diff := cmp.Diff(Default(), p); diff != "" {
			t.Errorf("%s was refused and changed the policy:\n%s", key, diff)
		}
	}
}

// reference is the reference of all keys in Markdown, a table for each place that a key may stand in.
func reference() string {
	var b strings.Builder
	table := "none"
	for _, k := range Keys() {
		if k.Table != table {
			table = k.Table
			title := "At the top of the file"
			if table != "" {
				title = "In each `" + heading(table) + "`"
			}
			fmt.Fprintf(&b, "\n%s:\n\n| key | value | default | |\n| --- | --- | --- | --- |\n", title)
		}
		standard := strings.Trim(k.Default, " ")
		if standard == "none" || standard == "any" {
			standard = ""
		}
		if k.Literal() {
			standard = "`" + standard + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s: `%s` | %s | %s |\n", k.Name, k.Type, k.Example, standard, k.Doc)
	}
	return b.String()[1:]
}

// TestReference holds the reference in the manual against the rows; -update rewrites it.
func TestReference(t *testing.T) {
	const file, begin, end = "../cmd/nsgate/docs/policy.md", "<!-- policy -->\n", "<!-- end -->"
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("policy.md has no reference of the policy file between %q and %q", begin, end)
	}
	if want := "\n" + reference() + "\n"; old != want {
		if !*update {
			t.Fatal("the reference of the policy file in policy.md is not that of the code; go test ./thresholds " +
				"-update rewrites it")
		}
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestJoinCommand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := append([]string{"a"}, rapid.SliceOfN(rapid.StringMatching(`[ -9;-~µ]{0,8}`), 0, 5).Draw(t, "words")...)
		want = slices.DeleteFunc(want, obeyed().MatchString)
		got, err := splitCommand(JoinCommand(want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// A command line is printable, begins no command of a CI runner, and is the same to a shell, whatever its words hold.
func TestJoinCommandForShells(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	words := []string{"", "::error::x", "a::b", ":::", "##[error]x", "##vso[task.x]", "a#b", "\x1b[31mred\x1b[0m",
		"two\nlines\t", "it's", `back\slash'` + "\n", "\u202e\u0085\u00a0", "\xff\xe6\xbc", "\u009b1", "µ\x7f9",
		"\ufffd\n", "!x\a", "$x`y`\r"}
	line := JoinCommand(append([]string{"printf", `%s\0`}, words...))
	if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }); i >= 0 ||
		obeyed().MatchString(line) {
		t.Errorf("%q is not plain", line)
	}
	for _, w := range words {
		if first := JoinCommand([]string{w}); obeyed().MatchString(first) {
			t.Errorf("%q is written as %q", w, first)
		}
	}
	cmd := exec.Command(bash, "-c", line)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, words) {
		t.Errorf("%s\nbecomes %q, want %q (%v)", line, got, words, err)
	}
}

func TestRuleNamesEverySelector(t *testing.T) {
	for selector, value := range map[string]string{"kernel": "sgemm*", "range": "forward", "device": "GPU 3",
		"copy": "memcpy HtoD", "output": "tokens/s", "section": "warm-up"} {
		p, err := Parse("nsgate.toml", []byte("[[rule]]\n"+selector+" = \""+value+"\"\nmax = \"5%\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.Rules[0].String(), selector+" "+value+": max 5 %"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// However long its spans are, a list of ranks fills no memory.
func TestParseRanks(t *testing.T) {
	for s, want := range map[string]string{
		"0,7": "[0 7]", "0-2,8": "[0 1 2 8]", "3,3,1-2": "[1 2 3]", "": "names no ranks", "7-3": "names no ranks",
		"0-1048577": "names no ranks", "x": "names no ranks",
		"0-65536": "names more than 65536 ranks", strings.Repeat("0-1048576,", 1000) +
			"1": "names more than 65536 ranks", "0-40000,0-40000": "names more than 65536 ranks",
	} {
		got, err := parseRanks(s)
		if text := fmt.Sprint(got); err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %.60v, %v, want %q", s, got, err, want)
		}
		if again, wrong := parseRanks(printRanks(got)); err == nil && (wrong != nil || !slices.Equal(again, got)) {
			t.Errorf("%q is printed as %q", s, printRanks(got))
		}
	}
}
