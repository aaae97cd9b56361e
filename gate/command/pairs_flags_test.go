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
)

// flagValue is a flag of check with a value that changes a call, and the calls in which it may wait for a situation
// without a word.
type flagValue struct {
	name, value string // of a flag without a value, ""
	waits       string // names of flagCalls
}

var flagValues = []flagValue{
	{"runs", "9", ""}, {"unprofiled", "4", ""}, {"starts", "2", "plan ncu-plan record-plan"}, {"timeout", "1s",
		"plan ncu-plan"},
	{"warmup", "30", "plan ncu-plan record-plan rows record-rows compare-rows"},
	{"step", "none", "plan ncu-plan record-plan rows record-rows compare-rows"}, {"memory-usage", "", ""},
	{"gpu-metrics", "", ""},
	{"allow-busy", "", "plan ncu-plan record-plan"}, {"no-gpu", "skip", "plan ncu-plan"}, {"keep-profiles", "kp",
		"plan ncu-plan record-plan"},
	{"nsys-arg", "--cuda-event-trace=false", ""}, {"base-cmd", "./app --old", ""}, {"base-ref", "HEAD", ""}, {"build",
		"true", ""},
	{"base-dir", "in-old", ""}, {"paired", "", ""}, {"budget", "60s", ""}, {"gather", "g", ""}, {"ranks", "0", ""},
	{"launch-skip", "3", ""},
	{"launch-count", "2", ""}, {"set", "basic", ""}, {"section", "SpeedOfLight", ""}, {"nvtx-range", "step/", ""},
	{"kernel", "saxpy", ""},
	{"explain", "always", "plan ncu-plan fails"}, {"patch-reason", "x", ""}, {"accept-label", "x", ""}, {"patch",
		"judged.patch", "*"}, {"bisect", "", "*"},
	{"shadow", "", "plan ncu-plan"}, {"skip-unchanged", "", "plan ncu-plan"}, {"no-baseline", "pass",
		"from fails plan ncu-plan rows report"}, {"undecided", "fail", "*"},
	{"threshold", "1%", "plan ncu-plan"}, {"step-threshold", "1%", "plan ncu-plan rows compare-rows"}, {"alpha", "5%",
		"plan ncu-plan"}, {"cost", "50%", "*"},
	{"color", "always", "*"}, {"quiet", "", "*"}, {"annotations", "always", "*"}, {"summary", "false", "*"},
	{"json", "", "plan ncu-plan"},
	{"verbose", "", "plan ncu-plan"}, {"reason", "x", "record-plan"}, {"replace", "", "record record-plan record-rows"},
	{"anchor", "v2", "record-plan"}, {"if-due", "", "*"},
	{"ncu-pages", "in-ncu/run0.csv,in-ncu/run1.csv", "compare-rows"}, {"host", "", ""},
}

type flagCall struct{ name, line string }

// flagCalls are calls whose flags are tried: each is a command line without the flag.
var flagCalls = []flagCall{
	{"from", "check -w app --from in-same"},
	{"fails", "check -w app --from in-slow"},
	{"rows", "check -w rows --from in-rows"},
	{"plan", "check -w app --dry-run"},
	{"ncu-plan", "check -w counts --profiler ncu --dry-run"},
	{"record", "record -w fresh --from in-same"},
	{"record-rows", "record -w fresh --from in-rows"},
	{"record-plan", "record -w app --dry-run"},
	{"compare", "compare in-base in-slow"},
	{"compare-rows", "compare in-rows in-rows"},
	{"report", "report saved.json"},
}

// commandLab is a repository with baselines of a workload of kernels, one of benchmark rows and one of counters of
// three GPU models.
func commandLab(t *testing.T, found *violations, models ...string) *lab {
	t.Helper()
	inputs, err := pairInputs()
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, found, "commands")
	l.env = append(l.env, "NSGATE_FAKE_PROFILES="+filepath.Join(inputs, "kernels-base"))
	for _, c := range [][2]string{{"kernels-base", "in-base"}, {"kernels-same", "in-same"}, {"kernels-slow", "in-slow"},
		{"rows-base", "in-rows"}, {"ncu-base", "in-ncu"}} {
		l.copied(filepath.Join(inputs, c[0]), c[1])
	}
	l.write("app", "#!/bin/sh\ntrue\n")
	l.write("old/app", "#!/bin/sh\ntrue\n")
	l.write("nsgate.toml",
		"[[workload]]\nname = \"app\"\ncommand = \"./app\"\n[[workload]]\nname = \"rows\"\n[[workload]]\nname = "+
			"\"counts\"\ncommand = \"./app\"\n[[workload]]\nname = \"fresh\"\n")
	l.write(".gitignore", "in-*\njudged*\n")
	l.run(".", "nsgate", "record", "-q", "-w", "app", "--from", "in-base")
	l.run(".", "nsgate", "record", "-q", "-w", "rows", "--from", "in-rows")
	for _, model := range models {
		l.copied(filepath.Join(inputs, "counts-"+model+"-base"), "in-"+model)
		l.run(".", "nsgate", "record", "-q", "-w", "counts", "--from", "in-"+model)
	}
	l.run(".", "git", "add", "-A")
	l.run(".", "git", "commit", "-q", "-m", "base")
	l.run(".", "git", "clone", "-q", ".", "in-old")
	l.nsgate(".", nil, "check", "-w", "app", "--from", "in-slow", "-q", "-o", "saved.json")
	return l
}

// changes is what a call says and does, without what differs from call to call.
func (l *lab) changes(a answer) string {
	clean := regexp.MustCompile(`[0-9.]+ s\b|/tmp/nsgate-\w+|20\d\d-\d\d-\d\dT[0-9:]+Z?`)
	text := clean.ReplaceAllString(fmt.Sprintln(a.code, a.out, a.err), "")
	for _, name := range keysOf(l.files(".")) {
		text += name + "\n" + l.files(".")[name]
	}
	var report map[string]any
	if json.Unmarshal([]byte(l.read("judged.json")), &report) == nil {
		delete(report, "reproduce") // repeats the command line
		data, _ := json.Marshal(report)
		text += string(data)
	}
	return text
}

func keysOf[V any](of map[string]V) []string {
	var keys []string
	for k := range of {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// restore takes back what a call wrote.
func (l *lab) restore() {
	l.command(".", nil, "git", "reset", "-q", "--hard")
	l.command(".", nil, "git", "clean", "-q", "-fdx", "-e", "in-*", "-e", "saved.json")
	l.lines = l.lines[:len(l.lines)-2]
}

// TestPairsOfFlags tries every flag of check in every kind of call, by the command line and by its variable. A flag has
// an effect or is refused. Its variable does what the flag does, and is ignored by a command that has no such flag.
func TestPairsOfFlags(t *testing.T) {
	wantPairs(t)
	found := &violations{}
	l := commandLab(t, found, "h200")
	start, at := len(l.lines), 0
	for c, call := range flagCalls {
		words := strings.Fields(call.line)
		if !strings.HasPrefix(call.line, "record") && !strings.Contains(call.line, "--dry-run") {
			words = append(words, "--report", "json=judged.json")
		}
		l.lines = l.lines[:start]
		var before, still string
		for f, flag := range flagValues {
			at++
			if !allPairs() && (c*7+f*3)%flagStride != 0 || strings.Contains(call.line, flag.name+" ") {
				continue
			}
			l.lines = l.lines[:start]
			if before == "" {
				plain := l.nsgate(".", nil, words...)
				before, still = l.changes(plain), l.changes(answer{code: plain.code, out: plain.out})
				l.restore()
			}
			text := "--" + flag.name
			if flag.value != "" {
				text += "=" + flag.value
			}
			by := l.nsgate(".", nil, append(slices.Clone(words), text)...)
			refused := by.code == 2 || strings.Contains(by.err, "unknown flag")
			got, quiet := l.changes(by), l.changes(answer{code: by.code, out: by.out})
			l.restore()
			acts := quiet != still // and does not only say that it has no effect
			waits := flag.waits == "*" || slices.Contains(strings.Fields(flag.waits), call.name)
			if got == before && !waits && !refused {
				l.violation(by, 5, "--"+flag.name+" in "+call.name, "%s changes nothing in %s: exit %d", text,
					call.line, by.code)
			}
			value := flag.value
			if value == "" {
				value = "true"
			}
			env := "NSGATE_" + strings.ToUpper(strings.ReplaceAll(flag.name, "-", "_")) + "=" + value
			variable := l.nsgate(".", []string{env}, words...)
			did := l.changes(variable)
			l.restore()
			switch {
			case strings.Contains(by.err, "unknown flag") && variable.code == 2:
				l.violation(variable, 5, env+" in "+call.name, "%s cannot be used, and ends the call: %s", env, first(2,
					variable.said()))
			// variables of limits are for other commands
			case !refused && variable.code != by.code && words[0] != "report":
				l.violation(variable, 3, env+" in "+call.name, "%s ends with %d, %s with %d: %s", text, by.code, env,
					variable.code, first(3, variable.said()))
			case !refused && acts && did == before && words[0] != "report":
				l.violation(variable, 3, env+" has no effect in "+call.name, "%s changes the call, and %s does not",
					text, env)
			}
		}
	}
	t.Logf("%d pairs", at)
	found.report(t)
}

// flagStride is the part of the calls of a usual test: one in so many.
const flagStride = 41

// TestPairsOfTwoFlags tries pairs of flags that act alone in a call: each acts beside the other, or is refused.
func TestPairsOfTwoFlags(t *testing.T) {
	wantPairs(t)
	// Formats for programs are complete and without colour; nothing is posted outside of CI, which is said once.
	more := []flagValue{{"format", "csv", ""}, {"ncu", "", ""}, {"explain-time", "1s", ""}, {"keep", "", ""},
		{"save", "x", ""}, {"against", "last", ""}, {"watch", "", ""}, {"open", "", ""}, {"output", "kept.json", ""}}
	found := &violations{}
	l := commandLab(t, found, "h200")
	start, at := len(l.lines), 0
	calls := append(slices.Clone(flagCalls), flagCall{"plan", "check -w app --base-ref HEAD --paired --dry-run"},
		flagCall{"plan", "check -w app --gather g --dry-run"},
		flagCall{"fails", "check -w app --from in-slow --patch judged.patch"})
	for c, call := range calls {
		words := strings.Fields(call.line)
		if !strings.HasPrefix(call.line, "record") && !strings.Contains(call.line, "--dry-run") {
			words = append(words, "--report", "json=judged.json")
		}
		try := func(flags ...flagValue) (a answer, changed string) {
			l.lines = l.lines[:start]
			all := slices.Clone(words)
			for _, f := range flags {
				all = append(all, strings.TrimSuffix("--"+f.name+"="+f.value, "="))
			}
			a = l.nsgate(".", nil, all...)
			changed = l.changes(a)
			l.restore()
			return a, changed
		}
		plain, alone := "", map[string]string{}
		acts := func(f flagValue) bool {
			if _, tried := alone[f.name]; !tried {
				if plain == "" {
					_, plain = try()
				}
				a, changed := try(f)
				alone[f.name] = changed
				if a.code == 2 || a.code == 125 {
					alone[f.name] = plain
				}
			}
			return alone[f.name] != plain
		}
		tried := slices.DeleteFunc(slices.Concat(flagValues, more), func(f flagValue) bool {
			return f.waits == "*" || strings.Contains(call.line+" ", "--"+f.name+" ")
		})
		for i, f := range tried {
			for j, g := range tried[:i] {
				if !allPairs() && (c*7+i*31+j)%(20*flagStride) != 0 || !acts(f) || !acts(g) {
					continue
				}
				at++
				a, both := try(f, g)
				for _, x := range [][2]flagValue{{f, g}, {g, f}} {
					waits := slices.Contains(strings.Fields(x[1].waits), call.name) || x[1].name == "verbose" &&
						(x[0].name == "json" || x[0].name == "format")
					if a.code != 2 && both == alone[x[0].name] && !waits {
						l.violation(a, 5, "--"+x[1].name+" beside --"+x[0].name+" in "+call.name,
							"--%s changes nothing beside --%s in %s: exit %d", x[1].name, x[0].name, call.line, a.code)
					}
				}
			}
		}
	}
	t.Logf("%d pairs", at)
	found.report(t)
}
