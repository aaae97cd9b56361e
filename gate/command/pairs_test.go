//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pairSetting is a limit, or another setting that decides: its key in a table of the policy file, its flag, and two values, the
// first of which allows more.
type pairSetting struct {
	name, table, key, flag string
	loose, strict          string
	limits                 string // subjects on which the loose value lets a slow program pass, and the strict one does not; "" for none
	acts                   string // subjects whose report it changes; "" for all
}

// In the values of rules, FLOOR, WITHIN and BEYOND are those of the subject.
var pairSettings = []pairSetting{
	{name: "threshold", key: "threshold", flag: "threshold", loose: "90%", strict: "0.5%", limits: "kernels models workloads rows rates units junit results output"},
	{name: "workload threshold", table: "workload", key: "threshold", loose: "90%", strict: "0.5%", limits: "kernels models workloads rows rates units junit results output"},
	{name: "workload threshold and top", table: "both", key: "threshold", flag: "threshold", loose: "90%", strict: "0.5%", limits: "kernels models rows rates units junit results output"},
	{name: "step_threshold", key: "step_threshold", flag: "step-threshold", loose: "90%", strict: "0.5%", acts: "kernels step copies boards models workloads drift"},
	{name: "alpha", key: "alpha", flag: "alpha", loose: "0.01%", strict: "20%"},
	{name: "cost", key: "cost", flag: "cost", loose: "90%", strict: "0%",
		acts: "kernels step copies boards models workloads drift ranks rows rates units junit results output"},
	{name: "session_sd", key: "session_sd", loose: "5%", strict: "1%", acts: "boards"},
	{name: "warmup_threshold", key: "warmup_threshold", loose: "400%", strict: "1%", acts: "kernels"},
	{name: "outside_threshold", key: "outside_threshold", loose: "400%", strict: "1%", acts: "kernels"},
	{name: "undecided", key: "undecided", flag: "undecided", loose: "warn", strict: "fail", acts: "none"},
	{name: "max_age", key: "max_age", loose: "90000d", strict: "1d", acts: "none"},
	{name: "rule max", table: "rule", key: "max", loose: "900%", strict: "0.1%", limits: "kernels models workloads rows rates units junit results output raw"},
	{name: "rule floor", table: "rule", key: "floor", loose: "FLOOR", strict: "0", limits: "kernels models rows rates units junit output"},
	{name: "rule bound", table: "rule", key: "at_most", loose: "WITHIN", strict: "BEYOND", limits: "kernels models workloads rows rates units junit results output raw"},
	{name: "rule drift", table: "rule", key: "drift", loose: "900%", strict: "0.5%"},
	{name: "rule severity", table: "rule", key: "severity", loose: "ignore", strict: "fail", limits: "kernels models rows rates units junit results output"},
}

// The other parameters. A mode is how a program is judged; a way to pass is why a gate that found something exits with 0; a place is
// where the program lies and nsgate is called.
var (
	pairModes   = []string{"compare", "from", "measured"}
	pairHeads   = []string{"same", "slow", "gone"}
	pairSources = []string{"file", "flag", "variable"}
	pairPasses  = []string{"none", "no baseline", "no baseline shown", "shadow", "shadow by flag", "warn", "ignore", "undecided fails", "skip unchanged"}
	pairPlaces  = []string{"plain", "brackets", "blanks", "below", "elsewhere", "dir"}
	pairReviews = []string{"none", "target", "github"}
	pairFormats = []string{"text", "markdown", "json", "html", "csv", "junit", "sarif", "codequality", "rdjson", "dotenv", "openmetrics", "bencher", "customSmallerIsBetter"}
)

func pairParameters() []parameter {
	subjects, settings := make([]string, len(pairSubjects)), make([]string, len(pairSettings))
	for i, s := range pairSubjects {
		subjects[i] = s.name
	}
	for i, s := range pairSettings {
		settings[i] = s.name
	}
	return []parameter{{"subject", subjects}, {"setting", settings}, {"mode", pairModes}, {"head", pairHeads}, {"source", pairSources},
		{"pass", pairPasses}, {"place", pairPlaces}, {"review", pairReviews}, {"format", pairFormats}}
}

// pairRow is a row of the covering array.
type pairRow struct {
	pairSubject
	setting                                        pairSetting
	mode, head, source, pass, place, review, shown string
}

func newPairRow(p []parameter, row []int) pairRow {
	at := func(i int) string { return p[i].values[row[i]] }
	return pairRow{pairSubjects[row[0]], pairSettings[row[1]], at(2), at(3), at(4), at(5), at(6), at(7), at(8)}
}

func (r pairRow) String() string {
	return strings.Join([]string{r.name, r.setting.name, r.mode, r.head, "by " + r.source, "pass: " + r.pass, "place: " + r.place,
		"review: " + r.review, r.shown}, " | ")
}

// possiblePair says which rows exist.
func possiblePair(p []parameter) func(row []int) bool {
	return func(row []int) bool {
		has := func(i int) bool { return row[i] >= 0 }
		at := func(i int) string { return p[i].values[row[i]] }
		if has(0) {
			s := pairSubjects[row[0]]
			if has(2) && !slices.Contains(strings.Fields(s.modes), at(2)) || has(3) && at(3) == "gone" && s.gone == "" ||
				has(5) && strings.Contains(at(5), "shadow") && s.modes == "compare" {
				return false
			}
			if has(1) && s.floor == "" && pairSettings[row[1]].key == "floor" {
				return false
			}
		}
		if has(1) && has(4) && pairSettings[row[1]].flag == "" && at(4) != "file" {
			return false
		}
		if has(2) && at(2) == "compare" {
			if has(1) && slices.Contains([]string{"workload", "both"}, pairSettings[row[1]].table) {
				return false // what is compared belongs to no workload
			}
			if has(5) && slices.Contains([]string{"no baseline", "no baseline shown", "shadow", "shadow by flag", "skip unchanged"}, at(5)) {
				return false
			}
		}
		return !has(2) || at(2) == "measured" || (!has(5) || at(5) != "skip unchanged") && (!has(6) || at(6) != "dir")
	}
}

// pairSeeds are rows of three values and more that depend on each other: "parameter=value" each.
func pairSeeds(p []parameter) (seeds [][]int) {
	for _, seed := range []string{
		"mode=measured pass=skip_unchanged place=dir head=slow setting=rule_max",
		"subject=output mode=measured pass=none head=slow setting=threshold place=plain",
		"subject=boards setting=session_sd pass=none head=slow",
		"subject=kernels mode=from setting=workload_threshold_and_top source=variable pass=none head=slow review=target",
		"subject=drift mode=from setting=rule_drift pass=none head=slow place=plain",
		"subject=kernels mode=from place=elsewhere pass=none head=slow setting=alpha",
		"subject=results mode=measured place=brackets pass=none head=slow",
		"subject=junit mode=from pass=none head=gone place=plain",
		"mode=measured pass=skip_unchanged place=brackets head=slow subject=kernels",
		"subject=rows mode=from pass=shadow head=slow place=below",
		"subject=kernels mode=from pass=none head=slow setting=rule_bound",
		"subject=rows mode=from pass=none head=slow setting=rule_drift",
	} {
		row := make([]int, len(p))
		for i := range row {
			row[i] = -1
		}
		for _, word := range strings.Fields(seed) {
			name, value, _ := strings.Cut(word, "=")
			for i := range p {
				if p[i].name == name {
					row[i] = slices.Index(p[i].values, strings.ReplaceAll(value, "_", " "))
					if row[i] < 0 {
						row[i] = slices.Index(p[i].values, value)
					}
				}
			}
		}
		seeds = append(seeds, row)
	}
	return seeds
}

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
	env := []string{"NSGATE_FAKE_PROFILES=" + filepath.Join(b.inputs, dir), "SIDE=" + filepath.Join(b.inputs, dir), "TOKENS=" + printed[side]}
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
	for _, dir := range []string{b.program, strings.ReplaceAll(b.program, "[1]", "1")} { // b1 is what a pattern b[1] matches
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
		b.env = append(b.env, "GITHUB_ACTIONS=true", "GITHUB_API_URL="+b.host.URL, "GITHUB_REPOSITORY=team/app", "GITHUB_TOKEN="+hostToken,
			"GITHUB_SERVER_URL=https://github.example", "GITHUB_RUN_ID=42", "GITHUB_WORKFLOW=nsgate", "GITHUB_JOB=gate", "GITHUB_EVENT_PATH="+filepath.Join(b.dir, "event.json"))
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

// judge judges the head with a value of the setting, "" for none, from a source; its report is in judged.json and judged.txt.
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
	if text = b.policyText(text); text != b.read(b.policy) {
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
	Findings  []struct {
		Kernel, Grid, Block, Scope, Metric, Outcome, Severity string
		Limit                                                 *float64
	}
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
		if f.Limit != nil {
			limit = fmt.Sprintf("%.6g", *f.Limit)
		}
		line := strings.Join([]string{f.Scope, f.Kernel, f.Grid, f.Block, f.Metric, limit}, " ")
		if outcomes {
			line += " " + f.Outcome + " " + f.Severity
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out := j.Verdict + " " + j.ReasonKey
	if outcomes {
		// Commits and the place of the policy differ from lab to lab.
		out += fmt.Sprint(" ", regexp.MustCompile(` at [0-9a-f]{12}(-dirty)?|\S*\.toml:\d+`).ReplaceAllString(j.Reason, ""), " ", j.Undecided)
	}
	out += "\n" + strings.Join(lines, "\n")
	for _, w := range j.Workloads {
		out += "\n== " + w.Workload + " " + w.found(outcomes)
	}
	return out
}

// rank orders exit codes by how much they fail: 0, then no verdict, then a regression.
func rank(code int) int { return map[int]int{0: 0, 3: 1, 1: 2}[code] }

// settled reports whether the program itself was judged: any code but those of mistakes and of failures of the program.
func settled(code int) bool { return code == 0 || code == 1 || code == 3 }

// allPairs reports whether all pairs are tried, as in the step pairs of .ci/run: otherwise a sample, the same each time.
func allPairs() bool { return os.Getenv("NSGATE_PAIRS") == "all" }

// TestPairs judges recordings in every pair of settings, their sources, modes, subjects, ways to pass, places and formats, and holds
// the answers against invariants: nothing here knows an expected text.
func TestPairs(t *testing.T) {
	t.Parallel()
	inputs, err := pairInputs()
	if err != nil {
		t.Fatal(err)
	}
	parameters := pairParameters()
	rows := covering(parameters, possiblePair(parameters), pairSeeds(parameters)...)
	all := len(rows)
	if !allPairs() {
		rows = rows[:min(len(rows), pairSample)]
	}
	if only := os.Getenv("NSGATE_PAIRS_ROWS"); only != "" { // from:to
		var from, to int
		fmt.Sscanf(only, "%d:%d", &from, &to)
		rows = covering(parameters, possiblePair(parameters), pairSeeds(parameters)...)[from:min(to, all)]
	}
	found := &violations{}
	lock := make(chan *violations, 1)
	lock <- found
	t.Run("rows", func(t *testing.T) {
		for part := range pairParts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				own := &violations{}
				for i := part; i < len(rows); i += pairParts {
					row := newPairRow(parameters, rows[i])
					b := &bench{newLab(t, own, row.String()), row, siteOf(row.place), inputs, nil}
					b.hold()
				}
				all := <-lock
				all.join(own)
				lock <- all
			})
		}
	})
	t.Logf("%d of %d rows", len(rows), all)
	(<-lock).report(t)
}

const (
	pairSample = 5 // rows of a usual test
	pairParts  = 4 // that run at the same time
)

func (v *violations) join(other *violations) {
	if v.all == nil {
		v.all = map[string]*violation{}
	}
	for _, name := range other.order {
		if have := v.all[name]; have != nil {
			have.rows += other.all[name].rows
			continue
		}
		v.all[name] = other.all[name]
		v.order = append(v.order, name)
	}
}

// hold judges a row and holds it against the invariants.
func (b *bench) hold() {
	b.prepare()
	plain := b.judge("file", "")
	before, plainJSON := b.judged()
	plainText := b.read(filepath.Join(b.cwd, "judged.txt"))
	b.holdDirection(plain, before)
	strict := b.judge(b.source, b.setting.strict)
	_, strictJSON := b.judged()
	b.holdFormats(strict, b.setting.strict)
	b.holdSaved(strict, b.setting.strict)
	strictText := b.read(filepath.Join(b.cwd, "judged.txt"))
	if plain.code != 2 && strict.code != 2 && plainJSON == strictJSON && plainText == strictText && plain.err == strict.err && b.acts() {
		b.violation(strict, 5, b.setting.name+" for "+b.name, "%s = %s by %s changes nothing: exit %d\n%s", b.setting.name,
			b.setting.strict, b.source, strict.code, first(3, strictText))
	}
	b.holdSources(strict)
	b.holdPlace(strict)
	b.holdNext(strict)

	loose := b.judge(b.source, b.setting.loose)
	after, looseJSON := b.judged()
	if loose.code != 2 && looseJSON == strictJSON && looseJSON != "" && b.acts() {
		b.violation(loose, 5, "two values of "+b.setting.name, "%s = %s and %s give one report\n%s", b.setting.name, b.setting.strict,
			b.setting.loose, first(2, b.read(filepath.Join(b.cwd, "judged.txt"))))
	}
	b.holdOrder(plain, loose, strict)
	b.holdSaid(plain, loose, after)
	b.holdFormats(loose, b.setting.loose)
	b.holdSaved(loose, b.setting.loose)
}

// acts reports whether the setting changes the report on this subject.
func (b *bench) acts() bool {
	in := func(list string) bool { return slices.Contains(strings.Fields(list), strings.Fields(b.name)[0]) }
	return b.mode != "measured" && !strings.HasPrefix(b.pass, "no baseline") && (b.setting.acts == "" || in(b.setting.acts)) &&
		!(b.setting.table == "rule" && b.pass == "ignore") && !(b.setting.key == "severity" && b.pass != "warn" && b.head == "same")
}

// limits reports whether the loose and the strict value decide on a slow head.
func (b *bench) limits() bool {
	return b.head == "slow" && slices.Contains(strings.Fields(b.setting.limits), strings.Fields(b.name)[0]) &&
		(b.pass == "none" || b.pass == "undecided fails")
}

// holdDirection: a program that is worse by construction is not faster, and one that is unchanged does not fail.
func (b *bench) holdDirection(a answer, j judgement) {
	if b.head == "slow" && j.Counts["faster"] > 0 && j.Counts["slower"] == 0 && b.name != "step" && b.name != "copies" {
		b.violation(a, 4, "direction of "+b.name, "a worse program is faster\n%s", first(4, a.out))
	}
	surely := "kernels models workloads step ranks rows rates units junit results output"
	if b.head == "slow" && (b.pass == "none" || b.pass == "undecided fails") && slices.Contains(strings.Fields(surely), b.name) && a.code == 0 {
		b.violation(a, 4, "worse "+b.name, "a worse program passes\n%s", first(4, a.out))
	}
	if b.head == "slow" && b.pass == "skip unchanged" && strings.Contains(a.out, "not measured") {
		b.violation(a, 7, "unchanged in "+b.place, "an input changed, and nothing is measured\n%s", first(3, a.out))
	}
	if b.head == "same" && a.code == 1 {
		b.violation(a, 4, "unchanged "+b.name, "an unchanged program fails\n%s", first(4, a.out))
	}
}

// holdOrder: a looser setting never fails more and a stricter one never less; the loosest passes, and the strictest does not.
func (b *bench) holdOrder(plain, loose, strict answer) {
	name := b.setting.name + " for " + b.name
	if b.setting.key == "severity" && loose.code == 3 {
		return // nothing is left to judge
	}
	if settled(loose.code) && settled(strict.code) && rank(loose.code) > rank(strict.code) {
		b.violation(loose, 4, name+", order", "%s fails with %d and %s with %d", b.setting.loose, loose.code, b.setting.strict, strict.code)
	}
	if settled(plain.code) && settled(loose.code) && rank(loose.code) > rank(plain.code) && b.setting.key != "drift" && b.setting.key != "max" {
		b.violation(loose, 4, name+", looser than nothing", "%s fails with %d and without it the code is %d", b.setting.loose, loose.code, plain.code)
	}
	if !b.limits() {
		return
	}
	if loose.code == 1 {
		b.violation(loose, 4, name+", loosest", "with %s the gate fails\n%s", b.value(b.setting.loose), first(3, loose.out))
	}
	if plainPass(strict) && strict.code == 0 && b.setting.key != "severity" {
		b.violation(strict, 4, name+", strictest", "with %s a worse program passes without a word\n%s", b.value(b.setting.strict), first(3, strict.out))
	}
}

// plainPass reports whether a report in text or Markdown is a pass without a doubt.
func plainPass(a answer) bool {
	return regexp.MustCompile(`(?m)^PASS (?:[^,]|$)|✅`).MatchString(first(1, a.out))
}

// holdSaid: a setting that allows more, and that the change under review can make, is said.
func (b *bench) holdSaid(plain, loose answer, j judgement) {
	if b.setting.table == "rule" && b.setting.key != "max" || slices.Contains([]string{"session_sd", "max_age", "undecided"}, b.setting.key) ||
		!settled(loose.code) || len(j.Findings)+len(j.Workloads) == 0 || b.mode == "compare" && b.source != "variable" || b.source != "variable" && b.review == "none" {
		return
	}
	if b.pass == "ignore" && b.setting.table == "rule" || b.source == "flag" && b.setting.table != "both" {
		return // a flag may loosen the defaults in silence
	}
	said := loose.said() + b.read(filepath.Join(b.cwd, "judged.txt")) + b.read(filepath.Join(b.cwd, "judged.json"))
	if !regexp.MustCompile(`(?i)loosen|looser|judged\s+by`).MatchString(said) {
		b.violation(loose, 4, b.setting.name+" loosened by "+b.source+", said", "%s = %s by %s in review %q says nothing of it\n%s", b.setting.key,
			b.setting.loose, b.source, b.review, first(4, loose.out))
	}
}

// holdSources: the same setting by flag, variable and file gives the same report.
func (b *bench) holdSources(strict answer) {
	if b.setting.flag == "" || !settled(strict.code) {
		return
	}
	j, _ := b.judged()
	want := j.found(b.mode != "measured")
	for _, source := range pairSources {
		if source == b.source {
			continue
		}
		a := b.judge(source, b.setting.strict)
		j, _ := b.judged()
		got := j.found(b.mode != "measured")
		if b.mode == "measured" { // times of the machine differ from call to call
			got, want = fmt.Sprint(j.Verdict), strings.Fields(want + " none")[0]
		}
		if a.code != strict.code || got != want {
			b.violation(a, 3, fmt.Sprintf("%s by %s and by %s", b.setting.name, b.source, source), "%s = %s: exit %d and %d\n%s", b.setting.key,
				b.setting.strict, strict.code, a.code, differing(want, got))
		}
	}
	b.judge(b.source, b.setting.strict)
}

// differing is the lines that two texts do not share.
func differing(a, b string) string {
	in := func(text string) map[string]bool {
		lines := map[string]bool{}
		for line := range strings.Lines(text) {
			lines[strings.TrimSpace(line)] = true
		}
		return lines
	}
	var out []string
	x, y := in(a), in(b)
	for _, line := range slices.Sorted(maps.Keys(x)) {
		if !y[line] {
			out = append(out, "- "+line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(y)) {
		if !x[line] {
			out = append(out, "+ "+line)
		}
	}
	return strings.Join(out[:min(len(out), 8)], "\n")
}

// holdSaved: report of what was saved is what was judged, also with the limits that held.
func (b *bench) holdSaved(a answer, value string) {
	j, text := b.judged()
	if !settled(a.code) || text == "" {
		return
	}
	held := func(key, usual string) string {
		if b.setting.key == key && b.setting.table != "rule" {
			return value
		}
		if key == "threshold" && b.setting.table == "both" {
			return "1%"
		}
		return usual
	}
	calls := [][]string{nil, {"--alpha", held("alpha", "1%")}, {"--cost", held("cost", "0.15%")}, {"--threshold", held("threshold", "3%")}}
	for _, flags := range calls {
		again := b.nsgate(b.cwd, nil, slices.Concat([]string{"report", "judged.json", "--report", "json=judged-again.json"}, flags)...)
		name := strings.Join(append([]string{"report"}, flags[:min(1, len(flags))]...), " ")
		if again.code == 2 && len(flags) > 0 && (b.mode == "compare" || len(j.Findings) == 0) {
			continue // there is no baseline, or no single one, that it could be judged by again, and it says so
		}
		if again.code != a.code {
			b.violation(again, 2, fmt.Sprintf("%s, exit %d after %d, %s, %s", name, again.code, a.code, b.pass, b.place), "judged with exit %d, %s exits with %d\n%s%s", a.code, name, again.code,
				first(2, b.read(filepath.Join(b.cwd, "judged.txt"))), first(2, again.said()))
			continue
		}
		var k judgement
		json.Unmarshal([]byte(b.read(filepath.Join(b.cwd, "judged-again.json"))), &k)
		if was, is := j.found(true), k.found(true); was != is {
			b.violation(again, 2, name+", findings, "+b.setting.table+" "+b.setting.key+" by "+b.source, "%s is not what was judged:\n%s", name, differing(was, is))
		}
		if was, is := fmt.Sprint(j.Warnings), fmt.Sprint(k.Warnings); len(flags) == 0 && was != is {
			b.violation(again, 2, name+", warnings", "%s has other warnings:\n%s\n%s", name, was, is)
		}
		if was, is := first(1, b.read(filepath.Join(b.cwd, "judged.txt"))), first(1, again.out); was != is {
			b.violation(again, 2, name+", headline", "%s has another headline:\n%s%s", name, was, is)
		}
	}
}

// holdNext: red and amber have a next step, running it changes something, and after accept the same program passes.
func (b *bench) holdNext(a answer) {
	before, _ := b.judged()
	text := b.read(filepath.Join(b.cwd, "judged.txt"))
	if a.code != 1 && a.code != 3 || text == "" {
		return
	}
	step := regexp.MustCompile(`(?m)^\s+(Next|Settle|Intended\?|Do)\s|^Next`)
	if !step.MatchString(text + a.out) {
		b.violation(a, 6, fmt.Sprintf("no next step in %s, exit %d", b.mode, a.code), "%s", first(12, text))
	}
	again := b.nsgate(b.cwd, nil, "report", "judged.json")
	if settled(again.code) && step.MatchString(text) && !step.MatchString(again.out) {
		b.violation(again, 6, fmt.Sprintf("no next step read again, exit %d", a.code), "%s", first(12, again.out))
	}
	for _, named := range regexp.MustCompile(`did you mean (--\S+ [^;?]+)`).FindAllStringSubmatch(a.said(), -1) {
		if strings.Contains(strings.Join(a.args, " "), named[1]) {
			b.violation(a, 6, "advice that is followed already", "%s", named[0])
		}
	}
	commands := regexp.MustCompile(`nsgate accept(?: [^'\n]*)?(?: --reason '?WHY'?)`).FindAllString(text, -1)
	slices.Sort(commands)
	commands = slices.Compact(commands)
	if len(commands) == 0 || b.mode == "compare" {
		return
	}
	for _, command := range commands {
		words := strings.Fields(strings.ReplaceAll(command, "'", ""))[1:]
		took := b.nsgate(b.cwd, b.variables(b.head), words...)
		if took.code != 0 {
			b.violation(took, 6, "accept fails in "+b.place, "%s: exit %d: %s", command, took.code, first(4, took.said()))
			return
		}
	}
	then := b.judge(b.source, b.setting.strict)
	after, _ := b.judged()
	if rank(then.code) >= rank(a.code) && (b.pass != "no baseline shown" || after.ReasonKey == before.ReasonKey) {
		b.violation(then, 6, "accept changes nothing: "+b.setting.name+" in "+b.place, "%s, and the same program ends with %d again\n%s", commands[0], then.code,
			first(4, then.said()))
	}
	// What was accepted is taken back, for the other invariants.
	for name := range b.files(".") {
		if strings.Contains(name, ".nsgate/") {
			os.RemoveAll(filepath.Join(b.dir, filepath.Dir(name)))
		}
	}
	b.lines = append(b.lines, "find . -name .nsgate -prune -exec rm -r {} +")
	b.write(b.policy, b.policyText(""))
	changed := b.read(filepath.Join(b.program, "in.txt"))
	b.write(filepath.Join(b.program, "in.txt"), "v1\n")
	b.record()
	b.leave()
	b.write(filepath.Join(b.program, "in.txt"), changed)
	b.judge(b.source, b.setting.strict)
}

// holdPlace: an odd place gives the same report as a plain one.
func (b *bench) holdPlace(strict answer) {
	if b.place == "plain" || !settled(strict.code) {
		return
	}
	j, _ := b.judged()
	row := b.pairRow
	row.place, row.review = "plain", "none"
	other := &bench{newLab(b.t, b.found, b.header), row, siteOf("plain"), b.inputs, nil}
	other.prepare()
	a := other.judge(b.source, b.setting.strict)
	k, _ := other.judged()
	was, is := k.found(b.mode != "measured"), j.found(b.mode != "measured")
	if b.mode == "measured" {
		was, is = k.Verdict, j.Verdict
	}
	if a.code != strict.code || was != is {
		b.violation(strict, 7, "place "+b.place+", "+b.name+", "+b.mode, "in a plain directory exit %d, here %d\n%s\nplain: %shere: %s", a.code, strict.code,
			differing(was, is), first(2, a.said()), first(2, strict.said()))
	}
}
