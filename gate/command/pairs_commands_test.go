//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// TestPairsOfCommands calls the commands that read with every variable of a job, in every format, and with baselines of
// several GPUs.
func TestPairsOfCommands(t *testing.T) {
	wantPairs(t)
	found := &violations{}
	l := commandLab(t, found, "a100", "h200", "v100")
	start := len(l.lines)
	reads := []string{"show in-base", "show in-rows", "history -w app", "history -w rows", "baseline", "baseline list",
		"policy", "explain time", "version", "demo", "schema report", "report saved.json"}
	values := []flagValue{{"format", "junit", ""}, {"threshold", "10%", ""}, {"runs", "3..5", ""},
		{"workload", "app", ""}, {"undecided", "fail", ""}, {"timeout", "1s", ""}, {"no-baseline", "pass", ""},
		{"shadow", "true", ""}, {"comment", "false", ""}, {"explain", "never", ""}, {"annotations", "never", ""},
		{"profiler", "ncu", ""}, {"gpu-metrics", "true", ""}, {"base-ref", "HEAD", ""}, {"reason", "x", ""},
		{"output", "judged.sarif", ""}, {"report", "junit=judged.xml", ""}}
	for i, read := range reads {
		words := strings.Fields(read)
		plain := -1
		for k, v := range values {
			if !allPairs() && (i*5+k)%21 != 0 {
				continue
			}
			l.lines = l.lines[:start]
			if plain < 0 {
				plain = l.nsgate(".", nil, words...).code
			}
			env := "NSGATE_" + strings.ToUpper(strings.ReplaceAll(v.name, "-", "_")) + "=" + v.value
			if a := l.nsgate(".", []string{env}, words...); a.code != plain && !(words[0] == "report" && a.code == 0) {
				l.violation(a, 5, env+" ends "+read, "exit %d without and %d with %s: %s", plain, a.code, env,
					first(2, a.said()))
			}
		}
	}
	l.lines = l.lines[:start]
	l.holdFormatsOfCommands()
	l.lines = l.lines[:start]
	l.holdRanges()
	l.holdModels(t, found)
	l.holdWords()
	l.holdPolicy()
	l.holdNames(t, found)
	l.holdSelectors()
	l.holdTwo()
	if allPairs() {
		l.holdTimeout()
	}
	holdLegs(t, found)
	found.report(t)
}

// holdFormatsOfCommands: the exit code of a command that reads does not depend on its format.
func (l *lab) holdFormatsOfCommands() {
	for _, c := range []struct{ line, formats string }{
		{"history -w app", "csv html json text"}, {"history -w counts --baseline .nsgate/counts/nvidia-h200",
			"csv html json text"},
		{"show in-base", "html json markdown text"}, {"show in-rows", "html json markdown text"},
		{"baseline", "text json"},
		{"calibrate -w app --from in-base", "json text"}, {"calibrate -w rows --from in-rows", "json text"},
	} {
		plain := l.nsgate(".", nil, strings.Fields(c.line)...)
		for _, format := range strings.Fields(c.formats) {
			if a := l.nsgate(".", nil, append(strings.Fields(c.line), "--format", format)...); a.code != plain.code ||
				a.code == 2 && strings.HasPrefix(c.line, "history") {
				l.violation(a, 1, "format of "+c.line, "exit %d, and %d with --format %s: %s", plain.code, a.code,
					format, first(2, a.said()))
			}
		}
		runs := regexp.MustCompile(`(?m)\b0 runs\b`).FindString(plain.said())
		if runs != "" {
			l.violation(plain, 6, "runs of "+c.line, "five runs were given, and it says %q: %s", runs,
				first(8, plain.said()))
		}
		if plain.code == 3 && regexp.MustCompile(`no session .* was recorded`).MatchString(plain.said()) {
			l.violation(plain, 6, "sessions of "+c.line, "%s", plain.said())
		}
	}
}

// holdRanges: a range of runs is the same by key, flag and variable.
func (l *lab) holdRanges() {
	for _, command := range []string{"record", "check"} {
		codes := map[string]int{}
		old := l.read("nsgate.toml")
		l.write("nsgate.toml", strings.Replace(old, "command = \"./app\"\n", "command = \"./app\"\nruns = \"3..5\"\n",
			1))
		codes["key"] = l.nsgate(".", nil, command, "-w", "app", "--dry-run").code
		l.write("nsgate.toml", old)
		a := l.nsgate(".", []string{"NSGATE_RUNS=3..5"}, command, "-w", "app", "--dry-run")
		codes["variable"] = a.code
		if codes["key"] != codes["variable"] {
			l.violation(a, 3, "runs of "+command, "a range of runs: exit %v\n%s", codes, a.said())
		}
	}
}

// holdModels: baselines of other GPU models change no plan.
func (l *lab) holdModels(t *testing.T, found *violations) {
	one := commandLab(t, found, "h200")
	for _, line := range []string{"check -w counts --profiler ncu --dry-run", "check -w app --dry-run"} {
		kernels := regexp.MustCompile(`-k '[^']*'`)
		alone, beside := one.nsgate(".", nil, strings.Fields(line)...), l.nsgate(".", nil, strings.Fields(line)...)
		if x, y := kernels.FindString(alone.out), kernels.FindString(beside.out); x != y || alone.code != beside.code {
			l.violation(beside, 7, "plan beside other models",
				"%s: with the baseline of this GPU alone %s, beside others %s", line, x, y)
		}
	}
	if a := l.nsgate(".", nil, "check", "-w", "counts"); strings.Contains(a.said(), "did you mean --workload counts") {
		l.violation(a, 6, "advice that is followed already", "%s", a.said())
	}
}

// holdWords: each metric that a rule can name is explained, and a refusal of two selectors names both.
func (l *lab) holdWords() {
	metrics := measure.Metrics()
	for i, m := range metrics {
		if !allPairs() && i%23 != 0 {
			continue
		}
		if a := l.nsgate(".", nil, "explain", m.Name); a.code != 0 {
			l.violation(a, 5, "explain", "%s is not explained: %s", m.Name, a.said())
		}
	}
	selectors := []string{"kernel", "range", "device", "copy", "output", "benchmark", "section"}
	for i, a := range selectors {
		for _, b := range selectors[i+1:] {
			l.write("p.toml", fmt.Sprintf("[[rule]]\n%s = \"x\"\n%s = \"y\"\nmax = \"5%%\"\n", a, b))
			got := l.nsgate(".", nil, "policy", "p.toml")
			if got.code != 2 || !strings.Contains(got.err, a) || !strings.Contains(got.err, b) {
				l.violation(got, 5, "refusal of "+a+" and "+b, "exit %d: %s", got.code, got.err)
			}
			if !allPairs() {
				break
			}
		}
	}
	// A table that is written as a value is refused with its form, which is accepted then.
	for _, table := range []string{"output", "results", "server"} {
		head := "[[workload]]\nname = \"a\"\ncommand = \"x\"\n"
		l.write("p.toml", head+table+" = \"x\"\n")
		wrong := l.nsgate(".", nil, "policy", "p.toml")
		form := regexp.MustCompile(`\[+workload\.` + table + `\]+`).FindString(wrong.err)
		if form == "" {
			continue
		}
		l.write("p.toml", head+form+"\n"+map[string]string{"output": "name = \"a\"\npattern = 'a: ([0-9]+)'\n",
			"results": "files = \"x\"\n", "server": "command = \"y\"\nready = \"http://127.0.0.1:8000/\"\n"}[table])
		if a := l.nsgate(".", nil, "policy", "p.toml"); a.code == 2 && strings.Contains(a.err, "must be written") {
			l.violation(a, 6, "form of "+table, "%s was advised: %s", form, a.err)
		}
	}
}

// holdPolicy: the limits that nsgate policy prints are those that hold.
func (l *lab) holdPolicy() {
	for _, threshold := range []string{"1%", "2%", "10%"} {
		for _, c := range [][2]string{{"threshold", "gpu_time"}, {"step_threshold", "step_time"}} {
			printed := l.nsgate(".", nil, "policy", "--threshold", threshold)
			l.nsgate(".", nil, "compare", "in-base", "in-same", "--threshold", threshold, "-q", "--report",
				"json=judged.json")
			var report struct {
				Findings result.Findings `json:"subjects"`
			}
			json.Unmarshal([]byte(l.read("judged.json")), &report)
			for _, f := range report.Findings {
				text := f.Limit.Percent()
				if f.Scope == "workload" && f.Metric == c[1] &&
					!regexp.MustCompile(`(?m)^`+c[0]+`\s.*`+regexp.QuoteMeta(text)).MatchString(printed.out) {
					l.violation(printed, 3, "printed "+c[0], "judged with %s at --threshold %s; printed: %s", text,
						threshold, regexp.MustCompile(`(?m)^`+c[0]+`\s.*`).FindString(printed.out))
				}
			}
		}
	}
}

// holdNames: where one workload was recorded, naming it changes nothing.
func (l *lab) holdNames(t *testing.T, found *violations) {
	inputs, _ := pairInputs()
	one := newLab(t, found, "one workload without a policy")
	one.copied(filepath.Join(inputs, "kernels-base"), "in-base")
	one.copied(filepath.Join(inputs, "kernels-same"), "in-same")
	one.run(".", "nsgate", "record", "-q", "-w", "Train_GPT2", "--from", "in-base")
	for _, line := range []string{"check --from in-same --format csv", "history", "baseline list",
		"history --format json"} {
		named, bare := append(strings.Fields(line), "--workload", "Train_GPT2"), strings.Fields(line)
		x, y := one.nsgate(".", nil, named...), one.nsgate(".", nil, bare...)
		if x.code != y.code || x.out != y.out {
			one.violation(y, 3, "the only workload, "+line, "named: exit %d, not named: exit %d\n%s\n%s", x.code,
				y.code, differing(x.out, y.out), first(2, y.err))
		}
	}
}

// holdSelectors: a rule that is refused because an earlier one takes all that it would is one whose subjects the
// earlier one judges.
func (l *lab) holdSelectors() {
	const general = "[[rule]]\nmax = \"77%\"\n"
	l.write("p.toml", general)
	l.nsgate(".", nil, "compare", "--policy", "p.toml", "in-base", "in-same", "-q", "--report", "json=judged.json")
	var j judgement
	l.must(json.Unmarshal([]byte(l.read("judged.json")), &j))
	for _, selector := range []string{"kernel", "range", "copy", "section"} {
		other := ""
		for _, f := range j.Findings {
			copies := selector == "copy" && strings.HasPrefix(f.Kernel, "memcpy")
			if (string(f.Scope) == selector || copies) && f.Limit.Known() && f.Limit != 0.77 {
				other = f.Kernel + " " + f.Metric
			}
		}
		name := map[string]string{"section": "warm-up", "copy": "memcpy HtoD"}[selector]
		if name == "" {
			name = "*"
		}
		l.write("p.toml", general+fmt.Sprintf("[[rule]]\n%s = %q\nmax = \"10%%\"\n", selector, name))
		if a := l.nsgate(".", nil, "policy", "p.toml"); a.code != 0 && other != "" {
			l.violation(a, 5, "rule for a "+selector+" behind one for all",
				"the first rule does not judge %s, and the second is refused: %s", other, a.err)
		}
	}
}

// holdTwo: two policy files, as a hook of pre-commit passes them, are each checked.
func (l *lab) holdTwo() {
	l.write("a/nsgate.toml", "threshold = \"2%\"\n")
	l.write("b/nsgate.toml", "threshold = \"2%\"\n")
	if a := l.nsgate(".", nil, "policy", "a/nsgate.toml", "b/nsgate.toml"); a.code != 0 {
		l.violation(a, 5, "two policies", "exit %d: %s", a.code, a.err)
	}
	l.write("b/nsgate.toml", "threshhold = \"2%\"\n")
	if a := l.nsgate(".", nil, "policy", "a/nsgate.toml", "b/nsgate.toml"); a.code != 2 || !strings.Contains(a.err,
		"b/nsgate.toml") {
		l.violation(a, 5, "the second of two policies", "exit %d: %s", a.code, a.err)
	}
}

// holdTimeout: a limit of time holds for the runs of every profiler.
func (l *lab) holdTimeout() {
	l.write("slow", "#!/bin/sh\nsleep 3\n")
	l.copied(filepath.Join(l.inputs(), "counts-h200-base"), "fake")
	l.command(".", nil, "cp", "fake/run0.csv", "fake/slow.csv")
	for _, profiler := range []string{"nsys", "ncu"} {
		workload := map[string]string{"nsys": "app", "ncu": "counts"}[profiler]
		a := l.nsgate(".", []string{"NSGATE_FAKE_NCU=" + filepath.Join(l.dir, "fake")}, "check", "-w", workload,
			"--profiler", profiler, "--runs", "1", "--timeout", "300ms", "--", "./slow")
		if !regexp.MustCompile(`(?i)time\s?out|300\s?ms|longer than`).MatchString(a.said()) {
			l.violation(a, 5, "timeout with "+profiler, "a run of 3 s under --timeout 300ms: exit %d: %s", a.code,
				first(4, a.said()))
		}
	}
}

func (l *lab) inputs() string {
	dir, _ := pairInputs()
	return dir
}

// holdLegs: the legs of a matrix, one a GPU model, have a comment and a name of a check run each.
func holdLegs(t *testing.T, found *violations) {
	l := commandLab(t, found)
	l.copied(filepath.Join(l.inputs(), "models-a100"), "in-a100")
	l.run(".", "nsgate", "record", "-q", "-w", "app", "--from", "in-a100")
	h := newCodeHost(t)
	l.write("event.json", pullRequest("opened", "team/app"))
	l.env = append(l.env, "GITHUB_ACTIONS=true", "GITHUB_API_URL="+h.URL, "GITHUB_REPOSITORY=team/app",
		"GITHUB_TOKEN="+hostToken, "GITHUB_SERVER_URL=https://github.example", "GITHUB_RUN_ID=42",
		"GITHUB_WORKFLOW=nsgate", "GITHUB_JOB=gate", "GITHUB_EVENT_PATH="+filepath.Join(l.dir, "event.json"))
	var a answer
	for _, from := range []string{"in-slow", "in-a100"} {
		a = l.nsgate(".", nil, "check", "-w", "app", "--from", from, "--comment", "true", "--check")
	}
	names := regexp.MustCompile(`(?m)^  name: .*`).FindAllString(h.log.String(), -1)
	slices.Sort(names)
	if len(h.comments) != 2 || len(slices.Compact(names)) != 2 {
		l.violation(a, 1, "legs of a matrix", "%d comments and the check runs %q of two legs, one of which fails",
			len(h.comments), names)
	}
}
