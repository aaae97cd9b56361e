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
)

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
	if plain.code != 2 && strict.code != 2 && plainJSON == strictJSON && plainText == strictText &&
		plain.err == strict.err && b.acts() {
		b.violation(strict, 5, b.setting.name+" for "+b.name, "%s = %s by %s changes nothing: exit %d\n%s",
			b.setting.name, b.setting.strict, b.source, strict.code, first(3, strictText))
	}
	b.holdSources(strict)
	b.holdPlace(strict)
	b.holdNext(strict)

	loose := b.judge(b.source, b.setting.loose)
	after, looseJSON := b.judged()
	if loose.code != 2 && looseJSON == strictJSON && looseJSON != "" && b.acts() {
		b.violation(loose, 5, "two values of "+b.setting.name, "%s = %s and %s give one report\n%s", b.setting.name,
			b.setting.strict, b.setting.loose, first(2, b.read(filepath.Join(b.cwd, "judged.txt"))))
	}
	b.holdOrder(plain, loose, strict)
	b.holdSaid(plain, loose, after)
	b.holdFormats(loose, b.setting.loose)
	b.holdSaved(loose, b.setting.loose)
}

// acts reports whether the setting changes the report on this subject.
func (b *bench) acts() bool {
	in := func(list string) bool { return slices.Contains(strings.Fields(list), strings.Fields(b.name)[0]) }
	return b.mode != "measured" && !strings.HasPrefix(b.pass, "no baseline") &&
		(b.setting.acts == "" || in(b.setting.acts)) && !(b.setting.table == "rule" && b.pass == "ignore") &&
		!(b.setting.key == "severity" && b.pass != "warn" && b.head == "same")
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
	if b.head == "slow" && (b.pass == "none" || b.pass == "undecided fails") && slices.Contains(strings.Fields(surely),
		b.name) && a.code == 0 {
		b.violation(a, 4, "worse "+b.name, "a worse program passes\n%s", first(4, a.out))
	}
	if b.head == "slow" && b.pass == "skip unchanged" && strings.Contains(a.out, "not measured") {
		b.violation(a, 7, "unchanged in "+b.place, "an input changed, and nothing is measured\n%s", first(3, a.out))
	}
	if b.head == "same" && a.code == 1 {
		b.violation(a, 4, "unchanged "+b.name, "an unchanged program fails\n%s", first(4, a.out))
	}
}

// holdOrder: a looser setting never fails more and a stricter one never less; the loosest passes, and the strictest
// does not.
func (b *bench) holdOrder(plain, loose, strict answer) {
	name := b.setting.name + " for " + b.name
	if b.setting.key == "severity" && loose.code == 3 {
		return // nothing is left to judge
	}
	if settled(loose.code) && settled(strict.code) && rank(loose.code) > rank(strict.code) {
		b.violation(loose, 4, name+", order", "%s fails with %d and %s with %d", b.setting.loose, loose.code,
			b.setting.strict, strict.code)
	}
	if settled(plain.code) && settled(loose.code) && rank(loose.code) > rank(plain.code) && b.setting.key != "drift" &&
		b.setting.key != "max" {
		b.violation(loose, 4, name+", looser than nothing", "%s fails with %d and without it the code is %d",
			b.setting.loose, loose.code, plain.code)
	}
	if !b.limits() {
		return
	}
	if loose.code == 1 {
		b.violation(loose, 4, name+", loosest", "with %s the gate fails\n%s", b.value(b.setting.loose),
			first(3, loose.out))
	}
	if plainPass(strict) && strict.code == 0 && b.setting.key != "severity" {
		b.violation(strict, 4, name+", strictest", "with %s a worse program passes without a word\n%s",
			b.value(b.setting.strict), first(3, strict.out))
	}
}

// plainPass reports whether a report in text or Markdown is a pass without a doubt.
func plainPass(a answer) bool {
	return regexp.MustCompile(`(?m)^PASS (?:[^,]|$)|✅`).MatchString(first(1, a.out))
}

// holdSaid: a setting that allows more, and that the change under review can make, is said.
func (b *bench) holdSaid(plain, loose answer, j judgement) {
	if b.setting.table == "rule" && b.setting.key != "max" ||
		slices.Contains([]string{"session_sd", "max_age", "undecided"}, b.setting.key) || !settled(loose.code) ||
		len(j.Findings)+len(j.Workloads) == 0 || b.mode == "compare" && b.source != "variable" ||
		b.source != "variable" && b.review == "none" {
		return
	}
	if b.pass == "ignore" && b.setting.table == "rule" || b.source == "flag" && b.setting.table != "both" {
		return // a flag may loosen the defaults in silence
	}
	said := loose.said() + b.read(filepath.Join(b.cwd, "judged.txt")) + b.read(filepath.Join(b.cwd, "judged.json"))
	if !regexp.MustCompile(`(?i)loosen|looser|judged\s+by`).MatchString(said) {
		b.violation(loose, 4, b.setting.name+" loosened by "+b.source+", said",
			"%s = %s by %s in review %q says nothing of it\n%s", b.setting.key,
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
			b.violation(a, 3, fmt.Sprintf("%s by %s and by %s", b.setting.name, b.source, source),
				"%s = %s: exit %d and %d\n%s", b.setting.key, b.setting.strict, strict.code, a.code,
				differing(want, got))
		}
	}
	b.judge(b.source, b.setting.strict)
}

// repeated is a notice of an edit that stands twice in a text, "" for none. Warnings of files may be of both sides.
func repeated(text string) string {
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "── "):
			clear(seen)
		case strings.HasPrefix(line, "  ! this change") && seen[line]:
			return line
		}
		seen[line] = true
	}
	return ""
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
	threshold := held("threshold", "3%")
	calls := [][]string{nil, {"--alpha", held("alpha", "1%")}, {"--threshold", threshold}}
	if b.setting.key == "cost" || threshold == "3%" { // below 3 % the cost that holds is less than its default
		calls = append(calls, []string{"--cost", held("cost", "0.15%")})
	}
	for _, flags := range calls {
		again := b.nsgate(b.cwd, nil,
			slices.Concat([]string{"report", "judged.json", "--report", "json=judged-again.json"}, flags)...)
		name := strings.Join(append([]string{"report"}, flags[:min(1, len(flags))]...), " ")
		if again.code == 2 && len(flags) > 0 && (b.mode == "compare" || len(j.Findings) == 0) {
			continue // there is no baseline, or no single one, that it could be judged by again, and it says so
		}
		if again.code != a.code {
			b.violation(again, 2, fmt.Sprintf("%s, exit %d after %d, %s, %s", name, again.code, a.code, b.pass,
				b.place),
				"judged with exit %d, %s exits with %d\n%s%s", a.code, name, again.code,
				first(2, b.read(filepath.Join(b.cwd, "judged.txt"))), first(2, again.said()))
			continue
		}
		if twice := repeated(again.said()); twice != "" {
			b.violation(again, 2, name+", notice", "%s says it twice: %s", name, twice)
		}
		var k judgement
		json.Unmarshal([]byte(b.read(filepath.Join(b.cwd, "judged-again.json"))), &k)
		if was, is := j.found(true), k.found(true); was != is {
			b.violation(again, 2, name+", findings, "+b.setting.table+" "+b.setting.key+" by "+b.source,
				"%s is not what was judged:\n%s", name, differing(was, is))
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
			b.violation(took, 6, "accept fails in "+b.place, "%s: exit %d: %s", command, took.code,
				first(4, took.said()))
			return
		}
	}
	then := b.judge(b.source, b.setting.strict)
	after, _ := b.judged()
	// New and gone rows are accepted; the others may still be undecided under the strict value.
	other := after.ReasonKey != before.ReasonKey && (b.pass == "no baseline shown" || b.head == "gone")
	if rank(then.code) >= rank(a.code) && !other {
		b.violation(then, 6, "accept changes nothing: "+b.setting.name+" in "+b.place,
			"%s, and the same program ends with %d again\n%s", commands[0], then.code, first(4, then.said()))
	}
	// The accepted baseline is taken back, for the other invariants.
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
		b.violation(strict, 7, "place "+b.place+", "+b.name+", "+b.mode,
			"in a plain directory exit %d, here %d\n%s\nplain: %shere: %s", a.code, strict.code,
			differing(was, is), first(2, a.said()), first(2, strict.said()))
	}
}
