package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// Clean makes hostile text fit for one line of a terminal or log: white space of every kind becomes a space, control
// and format characters (escapes, right-to-left marks, zero-width ones) and invalid UTF-8 become U+FFFD.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

// Elide shortens s to at most n runes by cutting out its middle: names differ most at their ends.
func Elide(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	if n <= 1 {
		return "…"
	}
	head := (n - 1) * 3 / 5
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}

// Group splits findings into those of one kernel, range or workload each, in the order of their first one.
func Group(findings []gate.Finding) [][]gate.Finding {
	type subject struct {
		scope             measure.Scope
		name, grid, block string
	}
	var groups [][]gate.Finding
	index := make(map[subject]int)
	for _, f := range findings {
		key := subject{f.Scope, f.Name, f.Grid, f.Block}
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// Failing are the regressions that fail the gate, Warned those that do not, Open the comparisons that the data could
// not decide although a regression would have failed the gate. All keep the report's order, worst first; what the
// policy ignores is in none of them.
func Failing(r *gate.Report) []gate.Finding {
	return pick(r, func(f gate.Finding) bool { return f.Outcome == gate.Regressed && f.Gates })
}

// Warned is described at [Failing].
func Warned(r *gate.Report) []gate.Finding {
	return pick(r, func(f gate.Finding) bool {
		return f.Outcome == gate.Regressed && !f.Gates && f.Severity != "ignore"
	})
}

// Open is described at [Failing].
func Open(r *gate.Report) []gate.Finding {
	return pick(r, func(f gate.Finding) bool { return f.Undecided })
}

func pick(r *gate.Report, keep func(gate.Finding) bool) []gate.Finding {
	var out []gate.Finding
	for _, f := range r.Findings {
		if keep(f) {
			out = append(out, f)
		}
	}
	return out
}

// Title is a finding in a few words: "saxpy: time +4.87 %". It is clean and at most 100 runes long.
func Title(f gate.Finding) string {
	what := percentChange(f.Change)
	if !f.Change.Known() {
		what = string(f.Outcome)
	}
	return unbind(Elide(subject(f), 60) + ": " + Elide(Metric(f), 20) + " " + Elide(what, 16))
}

// Describe is a finding's numbers: "21.20 µs → 22.26 µs (+5.00 %, interval +4.60 … +5.20 %), limit 3 %".
func Describe(f gate.Finding) string {
	s := values(f)
	if c := change(f); c != "" {
		s += " (" + c + ")"
	}
	if l := limit(f); l != "" {
		s += ", " + l
	}
	return unbind(s)
}

// unbind turns the binding spaces of quantities into plain ones.
func unbind(s string) string { return strings.ReplaceAll(s, nb, " ") }

// subject is the name by which a finding's kernel, range or workload is called, cleaned.
func subject(f gate.Finding) string {
	name := strings.TrimSpace(Clean(f.Kernel))
	switch {
	case name == "" && f.Scope == measure.ScopeWorkload:
		return "workload"
	case name == "":
		return "(no name)"
	case f.Scope == measure.ScopeRange:
		return "range " + name
	}
	return name
}

// Metric is the metric of a finding in words: "total time".
func Metric(f gate.Finding) string {
	switch f.Metric {
	case measure.Total.Name:
		return "total time"
	case measure.GPUTime.Name:
		return "GPU time"
	case measure.CopyBytes.Name:
		return "bytes copied"
	case measure.MemoryPeak.Name:
		return "peak memory"
	}
	return strings.ReplaceAll(Clean(f.Metric), "_", " ")
}

// values prints what was measured: before → after, or the one side that there is.
func values(f gate.Finding) string {
	base, head := quantity(f.Base, f.Unit), quantity(f.Head, f.Unit)
	if base == head && f.Base.Known() && f.Base != f.Head && f.Outcome != gate.Unchanged {
		base, head = full(f.Base, f.Unit), full(f.Head, f.Unit)
	}
	switch {
	case f.Outcome == gate.Added && !f.Base.Known():
		return head
	case f.Outcome == gate.Removed && !f.Head.Known():
		return "was" + nb + base
	}
	return base + nb + "→" + nb + head
}

// change prints the relative change and its interval, "" where it is unknown.
func change(f gate.Finding) string {
	if !f.Change.Known() {
		return ""
	}
	s := percentChange(f.Change)
	if i := interval(f.Change, f.Low, f.High); i != "" {
		s += ", interval" + nb + i
	}
	return s
}

// limit prints the regression allowed, the bounds of the value, and, unless it is the default, where they are said.
func limit(f gate.Finding) string {
	var parts []string
	if f.Limit.Known() && f.Outcome != gate.Added && f.Outcome != gate.Removed {
		parts = append(parts, "limit"+nb+percent(f.Limit))
	}
	if f.AtLeast != nil {
		parts = append(parts, "at"+nb+"least"+nb+quantity(*f.AtLeast, f.Unit))
	}
	if f.AtMost != nil {
		parts = append(parts, "at"+nb+"most"+nb+quantity(*f.AtMost, f.Unit))
	}
	s := strings.Join(parts, ", ")
	if rule := Clean(f.Rule); s != "" && rule != "" && rule != "default" {
		s += " (" + rule + ")"
	}
	return s
}

// allowed is the limit in a cell of a table: "3 %", "≥ 70 %".
func allowed(f gate.Finding) string {
	var parts []string
	if f.Limit.Known() {
		parts = append(parts, percent(f.Limit))
	}
	if f.AtLeast != nil {
		parts = append(parts, "≥"+nb+quantity(*f.AtLeast, f.Unit))
	}
	if f.AtMost != nil {
		parts = append(parts, "≤"+nb+quantity(*f.AtMost, f.Unit))
	}
	return strings.Join(parts, ", ")
}

// share prints a finding's part of the GPU time, "" where it is unknown or the whole.
func share(f gate.Finding) string {
	if !f.Share.Known() || f.Scope == measure.ScopeWorkload {
		return ""
	}
	return part(f.Share) + nb + "of GPU time"
}

// geometry prints grid and block of a kernel, "" for others.
func geometry(f gate.Finding) string {
	if f.Grid == "" && f.Block == "" {
		return ""
	}
	return Clean(f.Grid + "/" + f.Block)
}

// match says how base and head were put together where that is not plain.
func match(f gate.Finding) string {
	var names []string
	for _, n := range f.BaseNames[:min(len(f.BaseNames), 3)] {
		names = append(names, Elide(Clean(n), 60))
	}
	if more := len(f.BaseNames) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	was := ""
	if len(names) > 0 {
		was = " in place of " + strings.Join(names, ", ")
	}
	switch f.Match {
	case "geometry":
		return "launched with another grid or block" + was
	case "name":
		return "matched by its short name" + was
	case "stem":
		return "matched by its name without the code generator's number" + was
	case "role":
		if role := Clean(f.Role); role != "" {
			was += " in " + role
		}
		return "matched by its role" + was
	}
	return strings.TrimSpace(was)
}

// evidence collects the distinct facts that go with a group of findings.
func evidence(group []gate.Finding) []string {
	var out []string
	for _, f := range group {
		for _, e := range f.Evidence {
			if e = Clean(e); !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// cause is why the kernel of a group of findings got slower, nil where that is not known.
func cause(group []gate.Finding) *gate.Cause {
	for _, f := range group {
		if f.Cause != nil {
			return f.Cause
		}
	}
	return nil
}

// told is a cause in words.
func told(c *gate.Cause) string {
	s := strings.TrimSpace(Clean(c.Summary))
	if note := strings.TrimSpace(Clean(c.Note)); note != "" {
		s += " (" + note + ")"
	}
	return s
}

// verdict is the verdict's word and its sentence, made from the counts where the report has none.
func verdict(r *gate.Report) (word, reason string) {
	switch {
	case r.Verdict == gate.Fail:
		word, reason = "FAIL", count(r.Counts.Regressed, "regression")
	case r.Verdict == gate.Pass && r.Undecided:
		word, reason = "PASS, UNDECIDED", count(r.Counts.Inconclusive, "comparison")+" undecided"
	case r.Verdict == gate.Pass:
		word, reason = "PASS", count(len(r.Findings), "comparison")
	default:
		word, reason = "NO VERDICT", "the measurement cannot be judged"
	}
	if s := Clean(r.Reason); strings.TrimSpace(s) != "" {
		reason = s
	}
	return word, reason
}

// count prints a number of things: "1 run", "5 runs".
func count(n int, thing string) string {
	if n == 1 {
		return "1" + nb + thing
	}
	return fmt.Sprint(n) + nb + thing + "s"
}

// fact is one line about what was compared.
type fact struct{ label, text string }

// comparison describes both sides: hardware, runs, warm-up, pairing and what such data can see.
func comparison(r *gate.Report) []fact {
	var facts []fact
	add := func(label, text string) {
		if text != "" {
			facts = append(facts, fact{label, Clean(text)})
		}
	}
	add("workload", r.Workload)
	base, head := machine(r.Base.Environment), machine(r.Head.Environment)
	if base == head || base == "" {
		add("GPU", head)
	} else {
		add("base GPU", base)
		add("head GPU", head)
	}
	add("base", side(r.Base))
	add("head", side(r.Head))
	if r.Base.Runs > 0 && r.Head.Runs > 0 {
		if r.Paired {
			add("pairing", "measured in one session: no spread between hosts in the intervals")
		} else {
			add("pairing", "different sessions: the spread between hosts widens the intervals")
		}
	}
	var mdes []float64
	for _, f := range r.Findings {
		if f.MDE.Known() && f.MDE > 0 {
			mdes = append(mdes, float64(f.MDE))
		}
	}
	if slices.Sort(mdes); len(mdes) > 0 {
		s := "a change of " + percent(gate.Number(mdes[len(mdes)/2])) + " in 80 % of cases (median MDE)"
		if r.Family > 0 && r.Alpha > 0 {
			s += fmt.Sprintf("; at most %s false alarms a gate, over %s", percent(r.Alpha), count(r.Family, "comparison"))
		}
		add("sees", s)
	}
	add("baseline", r.Baseline)
	for _, note := range r.Notes {
		add("course", note)
	}
	return facts
}

// machine prints GPU, driver, CUDA and profiler of an environment, "" for none.
func machine(e measure.Environment) string {
	var parts []string
	gpu := e.GPU
	if e.GPUs > 1 && gpu != "" {
		gpu = fmt.Sprintf("%d × %s", e.GPUs, gpu)
	}
	for _, p := range []struct{ word, value string }{
		{"", gpu}, {"driver ", e.Driver}, {"CUDA ", e.CUDA}, {"", e.Tool},
	} {
		if p.value != "" {
			parts = append(parts, p.word+p.value)
		}
	}
	if e.ClockMHz > 0 {
		parts = append(parts, fmt.Sprintf("SM clock %d MHz", e.ClockMHz))
	}
	return strings.Join(parts, ", ")
}

// side prints how many runs a side has, of what, and what was taken for warm-up.
func side(s gate.Side) string {
	if s.Runs == 0 {
		return "nothing measured"
	}
	parts := []string{count(s.Runs, "run")}
	if s.Sessions > 0 {
		parts[0] += " in " + count(s.Sessions, "session")
	}
	if s.Step != "" {
		parts = append(parts, fmt.Sprintf("per step %q", Clean(s.Step)))
	}
	switch {
	case s.Skipped != "" && s.Warmup != "":
		parts = append(parts, "warm-up "+s.Warmup+": "+s.Skipped)
	case s.Skipped != "":
		parts = append(parts, s.Skipped)
	case s.Warmup != "":
		parts = append(parts, "warm-up "+s.Warmup)
	}
	if s.Commit != "" {
		parts = append(parts, "commit "+Elide(Clean(s.Commit), 12))
	}
	return strings.Join(parts, ", ")
}
