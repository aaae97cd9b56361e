// Package text puts what package gate says as data into English: the sentences of reports and calibrations, and the names
// of metrics. Numbers and plurals are printed by package measure.
package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/calibrate"
	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Tell fills in the sentences of a report: its reason and way out, the reasons and evidence of findings, warnings, notes,
// and what was skipped. A sentence that is there already stays, so that a report read from a file says what it said.
func Tell(r *result.Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Reason == "" && f.ReasonKey != "" {
			f.Reason = sentence(result.Remark{Key: f.ReasonKey, Args: f.ReasonArgs})
			for _, also := range f.Also {
				f.Reason += "; " + sentence(also)
			}
		}
		tell(f.Facts, &f.Evidence)
	}
	skipped(&r.Base)
	skipped(&r.Head)
	tell(r.Doubts, &r.Warnings)
	tell(r.Remarks, &r.Notes)
	tellRanks(r.Ranks)
	var fresh []string
	tell(r.Patterns, &fresh)
	for _, pattern := range fresh {
		r.Notes = append(r.Notes, "new in the head: "+pattern)
	}
	if r.Reason == "" && r.ReasonKey != "" {
		r.Reason, r.Next = reason(r, r.ReasonKey, r.ReasonArgs)
	}
}

// TellCalibration fills in the sentences of a calibration, as [Tell] does.
func TellCalibration(c *calibrate.Calibration) {
	skipped(&c.Measured)
	tell(c.Doubts, &c.Warnings)
	tell(c.Host, new([]string))
	if c.Reason == "" && c.ReasonKey != "" {
		c.Reason, c.Next = reason(nil, c.ReasonKey, c.ReasonArgs)
	}
}

// TellSummary fills in the sentences of a summary, as [Tell] does.
func TellSummary(s *result.Summary) {
	skipped(&s.Recorded)
	tell(s.Doubts, &s.Warnings)
	tell(s.Patterns, new([]string))
	tellRanks(s.Ranks)
}

func tellRanks(r *result.Ranks) {
	if r != nil {
		tell(r.Remarks, new([]string))
	}
}

// tell appends the sentences of remarks that have none yet.
func tell(remarks []result.Remark, to *[]string) {
	for i := range remarks {
		if x := &remarks[i]; x.Sentence == "" {
			x.Sentence = sentence(*x)
			*to = append(*to, x.Sentence)
		}
	}
}

func skipped(s *result.Side) {
	if s.Skipped == "" && s.Skip != nil {
		s.Skipped = sentence(*s.Skip)
	}
}

// reason is the sentence of a verdict, and of a refusal the way out. What it says of findings stands in those.
func reason(r *result.Report, key string, args result.Args) (told string, next []string) {
	about := result.Args{}
	maps.Copy(about, args)
	if i, ok := args["finding"].(result.Number); ok && r != nil && i >= 0 && int(i) < len(r.Findings) {
		about["reason"] = r.Findings[int(i)].Reason
	}
	if key == "regressed" {
		about["what"] = regressed(r)
	}
	if i := slices.IndexFunc([]model.Reason(decide.Reasons), func(x model.Reason) bool { return x.Key == key }); i >= 0 {
		return refused(decide.Reasons[i], about)
	}
	return sentence(result.Remark{Key: key, Args: about}), nil
}

// refused is a refusal in words, with the way out.
func refused(x model.Reason, about result.Args) (told string, next []string) {
	a := &args{of: about}
	told, way := x.Fill(func(name string) string {
		if detail, ok := details[x.Key+"."+name]; ok {
			return detail(a)
		}
		return a.text(name)
	})
	if a.lacking {
		return x.Key, nil
	}
	return told, []string{way}
}

// regressed names what failed, each subject once, worst first.
func regressed(r *result.Report) string {
	var told []string
	subjects, named := map[measure.Subject]bool{}, map[string]bool{}
	devices, most := 0, 4
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Scope == measure.ScopeDevice && f.Outcome == result.Regressed && f.Gates {
			devices++
		}
	}
	if devices > most {
		most = 1 // of many ranks the worst: what they have in common says more
	}
	shown := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Outcome != result.Regressed || !f.Gates || subjects[f.Subject()] {
			continue
		}
		subjects[f.Subject()] = true
		name := f.Title()
		if f.Scope == measure.ScopeRange {
			name = "range " + name
		}
		if f.Scope == measure.ScopeDevice {
			if shown++; shown > most {
				continue
			}
		}
		if len(told) < 4 && !named[name] {
			named[name] = true
			told = append(told, name+" "+Metric(f.Metric)+" "+moved(f))
		}
	}
	s := strings.Join(told, ", ")
	if more := len(subjects) - len(told); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// moved says how a finding got worse: the relative change where there is one, else the values.
func moved(f *result.Finding) string {
	head := quantity(f.Head, f.Unit)
	switch {
	case f.AtLeast != nil && f.Head < *f.AtLeast:
		return head + " under " + quantity(*f.AtLeast, f.Unit)
	case f.AtMost != nil && f.Head > *f.AtMost:
		return head + " over " + quantity(*f.AtMost, f.Unit)
	case f.Change.Known():
		return change(f.Change)
	case f.Base.Known():
		return quantity(f.Base, f.Unit) + " → " + head
	}
	return head
}

// sentence is a remark in words, its key where this release has none for it.
func sentence(x result.Remark) string {
	say, ok := sentences[x.Key]
	if !ok {
		return x.Key
	}
	a := &args{of: x.Args}
	if told := say(a); !a.lacking {
		return told
	}
	return x.Key
}

// Metric is a metric's name in a sentence: "total time".
func Metric(name string) string { return measure.Metric{Name: name}.Title() }

func quantity(n result.Number, unit string) string { return measure.Quantity(float64(n), unit) }
func number(n result.Number) string                { return measure.Number(float64(n)) }
func change(n result.Number) string                { return measure.Change(float64(n)) }
func percent(n result.Number) string               { return measure.Percent(float64(n)) }

func count(n result.Number, one string, more ...string) string {
	return measure.Count(int(n), one, more...)
}

// trodden is how far it is from an anchor.
func trodden(accepted, sessions result.Number) string {
	if accepted > 0 {
		return count(accepted, "accepted change")
	}
	return count(sessions, "session")
}

// few is a list that breaks off after three.
func few(names []string) string {
	if len(names) > 3 {
		names = append(slices.Clone(names[:3]), "others")
	}
	return strings.Join(names, ", ")
}

// binding is what a change is held against.
func binding(by string, size result.Number, unit string) string {
	switch by {
	case "limit":
		return "the limit of " + percent(size)
	case "floor":
		return "the floor of " + quantity(size, unit)
	case "tick":
		return "the timer's resolution of " + quantity(size, unit)
	}
	return "what one more in a whole run comes to"
}

// bounds is what the policy wants of a value: "at least 70 %".
func bounds(atLeast, atMost result.Number, unit string) string {
	switch {
	case !atLeast.Known():
		return "at most " + quantity(atMost, unit)
	case !atMost.Known():
		return "at least " + quantity(atLeast, unit)
	}
	return "between " + quantity(atLeast, unit) + " and " + quantity(atMost, unit)
}

func graphs(traced string) string {
	switch traced {
	case "graph":
		return "as a whole"
	case "node":
		return "node by node"
	}
	return "not at all"
}

func hosts(known string) string {
	switch known {
	case "different":
		return "the sides come from different hosts"
	case "times":
		return "the sides are sessions of one GPU at different times"
	}
	return "the sides may come from different hosts"
}
