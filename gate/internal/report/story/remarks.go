package story

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Remark is a note that a code host shows beside the code: a cause that fails, warns or is undecided, or a gate without
// a verdict. A CI runner obeys nothing in its texts.
type Remark struct {
	Class Severity
	Gate  bool   // about the gate as a whole
	Check string // identifier of the rule: "nsgate/step_time"
	About string // metric of the rule, "" for the gate as a whole
	Title string
	Lines []string
	File  string // relative to the repository, "" where that is unknown
	Line  int
	// Fingerprint holds no measured value, so that it is the same from run to run.
	Fingerprint string

	Brief string // the title and why, in one line
	limit string // where the policy states the limit: "nsgate.toml:12"
}

// Severity orders remarks.
type Severity int

// The severities, the worst first.
const (
	NoVerdict Severity = iota
	Fails
	Warns
	Undecided
	Noted // a gate that passes without a verdict
)

// Remarks are the remarks on a report, the worst first, each fingerprint once: code hosts drop repeated ones.
func (v *Story) Remarks() []Remark {
	var out []Remark
	seen := make(map[string]bool)
	add := func(x Remark) {
		if !seen[x.Fingerprint] {
			seen[x.Fingerprint] = true
			out = append(out, x)
		}
	}
	for _, w := range v.Each {
		at, of := len(out), measure.Either(v.Several(), w.Workload+": ", "")
		passes := w.Gate.Code == 0
		switch failing := slices.ContainsFunc(w.Causes, func(c Cause) bool { return c.Class == Failing }); {
		case !w.Judged() && passes:
			add(w.whole(of, "no verdict", Noted))
		case !w.Judged():
			add(w.whole(of, "no verdict", NoVerdict))
		case w.Gate.Way == result.Interrupted && w.Gate.Does != result.Fails:
			add(w.whole(of, "interrupted", NoVerdict))
		case w.Gate.Does == result.Fails && !failing:
			add(w.whole(of, "fail", Fails))
		}
		for _, c := range slices.Concat(w.Causes, w.Open) {
			i := slices.Index([]Class{Failing, Warned, Open}, c.Class)
			if i == 0 && passes {
				i = 1
			}
			if i >= 0 {
				add(w.remark(of, c, Fails+Severity(i)))
			}
		}
		if steps := w.Steps(); at < len(out) { // the first is the worst
			out[at].Lines = append(out[at].Lines, lines(steps)...)
			out[at].Brief = Clean(strings.Join(append([]string{out[at].Brief}, steps...), "; "))
		}
	}
	measure.Sort(out, func(a, b Remark) int { return int(a.Class - b.Class) })
	return out
}

// whole is the remark on a gate as a whole, where no cause says why it does not pass; of goes before its title.
func (v *Story) whole(of, answer string, class Severity) Remark {
	id := strings.ReplaceAll(answer, " ", "-")
	return Remark{Class: class, Gate: true, Check: "nsgate/" + id, Title: Clean(of + answer),
		Fingerprint: v.fingerprint(id), Lines: lines(slices.Concat([]string{v.Reason}, v.Fall.Lines())),
		Brief: oneLine(of + answer + ": " + v.Reason)}
}

// remark puts a cause into a title and lines; of goes before the title.
func (v *Story) remark(of string, c Cause, class Severity) Remark {
	lead := c.Lead()
	f := lead.F
	title := v.effectLine(&lead, 200, false) + measure.Either(c.Rank, ": "+c.Short, "")
	said := slices.Clone(c.Why)
	if len(said) > 0 && !c.Rank && c.idle == nil && len(lead.Parts) == 0 {
		// the title has the numbers
		said[0] = Join(", ", Wrapped("in range ", Clean(f.Role), ""), Wrapped("", lead.Share, " of GPU time"))
	}
	x := Remark{Class: class, Check: "nsgate/" + Word(f.Metric), About: Word(f.Metric), Title: Clean(Flat(of + title)),
		limit:       f.Rule,
		Fingerprint: v.fingerprint(strings.Join([]string{string(f.Scope), f.Name, f.Grid, f.Block, f.Metric}, "\x00"))}
	x.File, x.Line = v.PlaceOf(c)
	if class == Undecided {
		of += "undecided: "
	}
	x.Brief = oneLine(Join("; ", append([]string{of + title}, said[:min(len(said), 3)]...)...))
	if class != Fails {
		said = append(said, lead.Reason)
	}
	said = append(said, c.Do)
	if Group(c.Rows).of(measure.StepTime.Name) != nil {
		said = append(said, v.Fall.Lines()...)
	}
	if x.Lines = lines(slices.Concat(said, c.Places(), []string{Elide(lead.FullName, 600)})); len(x.Lines) == 0 {
		x.Lines = lines([]string{lead.Describe()})
	}
	return x
}

// Whereabouts are the source lines that launch the kernels of a cause, or make its CUDA calls; before a function
// without a line, and without any, the place of the kernel's definition.
func (v *Story) Whereabouts(c *Cause) []string {
	f := c.Lead().F
	if file, line := v.Place(f); file != "" && !f.Origin.Known() {
		return append([]string{fmt.Sprintf("%s:%d, definition of %s", file, line, Clean(f.Kernel))}, c.Places()...)
	}
	return c.Places()
}

// PlaceOf is the first place in the source of a cause.
func (v *Story) PlaceOf(c Cause) (file string, line int) {
	for _, r := range c.Rows {
		file, line = v.Place(r.F)
		if file != "" {
			return file, line
		}
	}
	return "", 0
}

// Place is the file and line of the remark: in the source, else the limit in the policy, because code hosts require a
// place.
func (x Remark) Place() (file string, line int) {
	if x.File != "" {
		return relative(x.File), max(x.Line, 1)
	}
	if file, line, ok := fileLine(x.limit); ok && strings.HasSuffix(file, ".toml") && relative(file) != "" {
		return relative(file), line
	}
	return "nsgate.toml", 1
}

func (v *Story) fingerprint(key string) string {
	sum := sha256.Sum256([]byte(v.Workload + "\x00" + key))
	return hex.EncodeToString(sum[:])
}

func oneLine(s string) string { return Clean(Elide(Flat(s), MaxProse)) }

// lines are texts that are not empty, each made harmless.
func lines(texts []string) []string {
	out := Nonempty(texts...)
	for i, t := range out {
		out[i] = Clean(Flat(t))
	}
	return out
}
