//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// site is where a row is judged.
type site struct {
	cwd, policy, program string
	flags                []string
}

func siteOf(place string) site {
	switch place {
	case "brackets":
		return site{"b[1]", "b[1]/nsgate.toml", "b[1]", nil}
	case "blanks":
		return site{"a b ü-日本", "a b ü-日本/nsgate.toml", "a b ü-日本", nil}
	case "below":
		return site{"sub", "nsgate.toml", ".", nil}
	case "elsewhere":
		return site{".", "conf/p.toml", "conf", []string{"--policy", "conf/p.toml"}}
	case "dir":
		return site{".", "nsgate.toml", "b[1]", nil}
	}
	return site{".", "nsgate.toml", ".", nil}
}

// bench runs the rows of a covering array in labs.
type bench struct {
	*lab
	pairRow
	site
	inputs string
	host   *codeHost
}

// value is a value of the setting in the words of the subject.
func (r pairRow) value(text string) string {
	switch text {
	case "FLOOR":
		return r.floor
	case "WITHIN":
		return r.within
	case "BEYOND":
		return r.beyond
	}
	return text
}

// policyText is the policy file, with a value of the setting where it is not "".
func (b *bench) policyText(value string) string {
	var root, own, rules strings.Builder
	line := func(w *strings.Builder, key, text string) { fmt.Fprintf(w, "%s = %q\n", key, b.value(text)) }
	rule := func(lines string) {
		fmt.Fprintf(&rules, "[[rule]]\n%s\nmetric = %q\n%s", b.selector, b.metric, lines)
	}
	if value != "" {
		switch b.setting.table {
		case "":
			line(&root, b.setting.key, value)
		case "both":
			line(&own, b.setting.key, value)
		case "workload":
			line(&own, b.setting.key, value)
		case "rule":
			key := b.setting.key
			if key == "at_most" {
				key = b.at
			}
			rule(fmt.Sprintf("%s = %q\n", key, b.value(value)))
		}
	}
	if b.setting.table == "both" { // the top has what the setting loosens the workload's own to
		line(&root, b.setting.key, b.setting.loose)
		if value == "" {
			line(&own, b.setting.key, "1%")
		}
	}
	switch b.pass {
	case "shadow":
		fmt.Fprintln(&root, "shadow = true")
	case "warn", "ignore":
		rule(fmt.Sprintf("severity = %q\n", b.pass))
	case "undecided fails":
		if b.setting.key != "undecided" || value == "" {
			fmt.Fprintln(&root, `undecided = "fail"`)
		}
	case "skip unchanged":
		fmt.Fprintln(&own, "inputs = [\"in.txt\"]\ncode = [\"x.cubin\"]\nskip_unchanged = true")
	}
	if b.place == "dir" {
		fmt.Fprintln(&own, `dir = "b[1]"`)
	}
	text := root.String() + "[[workload]]\nname = \"app\"\n"
	if b.mode == "measured" {
		text += "command = \"./app\"\n"
	}
	text += own.String()
	switch {
	case b.name == "output":
		text += "throughput = 'tokens/s: ([0-9.]+)'\n"
	case b.name == "results":
		text += "[[workload.results]]\nfiles = \"out/*.json\"\n"
	case b.name == "workloads":
		text += "[[workload]]\nname = \"other\"\ncommand = \"./app\"\n" + own.String()
		if b.place == "dir" {
			text = strings.TrimSuffix(text, own.String()) + own.String()
		}
	}
	return text + rules.String()
}

func (b *bench) side() string {
	return map[string]string{"base": b.base, "same": b.same, "slow": b.slow, "gone": b.gone}[b.head]
}

// variables are those of a measurement of a side.
func (b *bench) variables(side string) []string {
	if b.mode != "measured" {
		return nil
	}
	printed := map[string]string{"base": "1,950.0", "same": "1,951.0", "slow": "1,100.0"}
	dir := map[string]string{"base": b.base, "same": b.same, "slow": b.slow, "gone": b.gone}[side]
	env := []string{"NSGATE_FAKE_PROFILES=" + filepath.Join(b.inputs, dir), "SIDE=" + filepath.Join(b.inputs, dir),
		"TOKENS=" + printed[side]}
	if b.name == "results" {
		env[0] = "NSGATE_FAKE_PROFILES=" + filepath.Join(b.inputs, "kernels-base")
	}
	return env
}

const resultsProgram = `#!/bin/sh
mkdir -p out
i=$(cat run 2>/dev/null || echo 0)
cp "$SIDE/r$((i % 5)).json" out/h.json
echo $((i + 1)) >run
`

// prepare makes the state before a change: program, policy, baseline.
func (b *bench) prepare() {
	b.t.Helper()
	b.lab.must(os.MkdirAll(filepath.Join(b.dir, b.cwd), 0o755))
	b.lines = append(b.lines, "mkdir -p "+quoted(b.cwd))
	b.write(b.policy, b.policyText(""))
	program := map[string]string{"results": resultsProgram, "output": "#!/bin/sh\necho \"tokens/s: $TOKENS\"\n"}[b.name]
	if program == "" {
		program = "#!/bin/sh\ntrue\n"
	}
	for _, dir := range []string{b.program, strings.ReplaceAll(b.program, "[1]",
		"1")} { // b1 is what a pattern b[1] matches
		b.write(filepath.Join(dir, "app"), program)
		b.write(filepath.Join(dir, "in.txt"), "v1\n")
		if b.pass == "skip unchanged" {
			b.copyFile("code/x.cubin", filepath.Join(dir, "x.cubin"))
		}
		if dir != b.program && b.name == "results" {
			b.write(filepath.Join(dir, "out/h.json"), "{}\n")
		}
	}
	b.copied(filepath.Join(b.inputs, b.base), filepath.Join(b.cwd, "in-base"))
	b.copied(filepath.Join(b.inputs, b.side()), filepath.Join(b.cwd, "in-head"))
	b.write(".gitignore", "in-*\njudged*\nevent.json\nrun\nout\n")
	b.record()
	b.leave()
	if b.review != "none" {
		b.env = append(b.env, "GITHUB_BASE_REF=main")
	}
	if b.review == "github" {
		b.host = newCodeHost(b.t)
		b.write("event.json", pullRequest("opened", "team/app"))
		b.env = append(b.env, "GITHUB_ACTIONS=true", "GITHUB_API_URL="+b.host.URL, "GITHUB_REPOSITORY=team/app",
			"GITHUB_TOKEN="+hostToken, "GITHUB_SERVER_URL=https://github.example", "GITHUB_RUN_ID=42",
			"GITHUB_WORKFLOW=nsgate", "GITHUB_JOB=gate", "GITHUB_EVENT_PATH="+filepath.Join(b.dir, "event.json"))
	}
	if b.pass == "skip unchanged" && b.head != "same" {
		b.write(filepath.Join(b.program, "in.txt"), "v2\n")
	}
}

// copyFile copies a file of the inputs.
func (b *bench) copyFile(from, to string) {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.inputs, from))
	b.must(err)
	b.must(os.WriteFile(filepath.Join(b.dir, to), data, 0o644))
	b.lines = append(b.lines, fmt.Sprintf("cp \"$INPUTS\"/%s %s", from, quoted(to)))
}

// leave commits the state that a change starts from, on the branch that it is for.
func (b *bench) leave() {
	b.commit("base")
	b.run(".", "git", "update-ref", "refs/remotes/origin/main", "HEAD")
}

func (b *bench) commit(subject string) {
	b.run(".", "git", "add", "-A")
	b.run(".", "git", "commit", "-q", "--allow-empty", "-m", subject)
}

// record writes the baseline, where the mode and the way to pass want one.
func (b *bench) record() {
	if b.mode == "compare" || strings.HasPrefix(b.pass, "no baseline") {
		return
	}
	from := func(more ...string) {
		a := b.nsgate(b.cwd, nil, slices.Concat([]string{"record", "-q", "-w", "app"}, b.flags, more)...)
		if a.code != 0 {
			b.violation(a, 0, "record", "record ends with %d: %s", a.code, a.said())
		}
	}
	for _, gpu := range []string{"v100", "a100"} {
		if b.name == "models" {
			b.copied(filepath.Join(b.inputs, "models-"+gpu), filepath.Join(b.cwd, "in-"+gpu))
			from("--from", "in-"+gpu)
		}
	}
	switch {
	case b.name == "drift":
		for day := range 7 {
			b.copied(filepath.Join(b.inputs, fmt.Sprintf("drift-%d", day)), filepath.Join(b.cwd, "in-day"))
			more := []string{"--from", "in-day"}
			if day == 0 {
				more = append(more, "--anchor=v1")
			}
			from(more...)
		}
	case b.mode == "from":
		from("--from", "in-base")
	default:
		a := b.nsgate(b.cwd, b.variables("base"), slices.Concat([]string{"record", "-q"}, b.flags)...)
		if a.code != 0 {
			b.violation(a, 0, "record of "+b.name+" in "+b.place, "record ends with %d: %s", a.code, a.said())
		}
	}
}

// judge judges the head with a value of the setting, "" for none, from a source; its report is in judged.json and
// judged.txt.
func (b *bench) judge(source, value string, more ...string) answer {
	b.t.Helper()
	args, env := []string{"check"}, b.variables(b.head)
	switch b.mode {
	case "compare":
		args = []string{"compare", "in-base", "in-head"}
	case "from":
		args = append(args, "--from", "in-head")
	}
	switch b.pass {
	case "no baseline":
		args = append(args, "--no-baseline=pass")
	case "shadow by flag":
		args = append(args, "--shadow")
	}
	text := ""
	switch {
	case value == "" || source == "file":
		text = value
	case source == "flag":
		args = append(args, "--"+b.setting.flag, b.value(value))
	default:
		env = append(env, "NSGATE_"+strings.ToUpper(strings.ReplaceAll(b.setting.flag, "-", "_"))+"="+b.value(value))
	}
	text = b.policyText(text)
	if text != b.read(b.policy) {
		b.write(b.policy, text)
		b.commit("head")
	}
	args = slices.Concat(args, b.flags, []string{"--report", "json=judged.json", "--report", "text=judged.txt"}, more)
	os.Remove(filepath.Join(b.dir, b.cwd, "judged.json"))
	os.Remove(filepath.Join(b.dir, b.cwd, "judged.txt"))
	return b.nsgate(b.cwd, env, args...)
}

// judgement is a report's JSON, of which only what the invariants compare is named.
type judgement struct {
	Verdict   string   `json:"verdict"`
	Reason    string   `json:"reason"`
	ReasonKey string   `json:"reason_key"`
	Undecided bool     `json:"undecided"`
	Workload  string   `json:"workload"`
	Shadow    bool     `json:"shadow"`
	Next      []string `json:"next"`
	Warnings  []any    `json:"warnings"`
	Counts    map[string]int
	Findings  result.Findings `json:"subjects"`
	Workloads []judgement
}

func (b *bench) judged() (j judgement, text string) {
	text = b.read(filepath.Join(b.cwd, "judged.json"))
	json.Unmarshal([]byte(text), &j)
	return j, text
}

// found is what a judgement found, for comparison: verdicts and reasons; with limits, and with outcomes.
func (j judgement) found(outcomes bool) string {
	var lines []string
	for _, f := range j.Findings {
		limit := "none"
		if f.Limit.Known() {
			limit = fmt.Sprintf("%.6g", f.Limit)
		}
		line := strings.Join([]string{string(f.Scope), f.Kernel, f.Grid, f.Block, f.Metric, limit}, " ")
		if outcomes {
			line += " " + string(f.Outcome) + " " + f.Severity
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out := j.Verdict + " " + j.ReasonKey
	if outcomes {
		// Commits and the place of the policy differ from lab to lab.
		out += fmt.Sprint(" ", regexp.MustCompile(` at [0-9a-f]{12}(-dirty)?|\S*\.toml:\d+`).ReplaceAllString(j.Reason,
			""),
			" ", j.Undecided)
	}
	out += "\n" + strings.Join(lines, "\n")
	for _, w := range j.Workloads {
		out += "\n== " + w.Workload + " " + w.found(outcomes)
	}
	return out
}
