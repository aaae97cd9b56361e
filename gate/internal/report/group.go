package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// group is the findings on one kernel, range or workload.
type group []row

// groups splits rows by what they are about, in the order of their first one.
func groups(rows []row) []group {
	var out []group
	index := make(map[measure.Subject]int)
	for _, r := range rows {
		s := r.F.Subject()
		i, ok := index[s]
		if !ok {
			i = len(out)
			index[s] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// about is what is known of the subject beside its name: its share of the GPU time, its geometry, and how it was matched.
func (g group) about(match string) string {
	share := ""
	if g[0].Share != "" {
		share = g[0].Share + nb + "of GPU time"
	}
	geometry := g[0].Geometry
	if len(g[0].Parts) > 0 {
		geometry = "" // each has its own
	}
	return join(" · ", g[0].Adds, share, geometry, match)
}

// origin is how base and head were put together, or else the ranges around a kernel.
func (g group) origin() string {
	if g[0].Match == "" && g[0].F.Role != "" {
		return "in " + g[0].F.Role
	}
	return g[0].Match
}

// evidence is the distinct facts that go with the group.
func (g group) evidence() []string {
	var out []string
	for _, r := range g {
		for _, e := range r.Evidence {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// said is all that there is to say of the group beside numbers and cause.
func (g group) said() []string {
	out := []string{g[0].Match}
	for _, r := range g {
		if r.Reason != "" && r.Class != differing {
			out = append(out, r.Metric+": "+r.Reason)
		}
	}
	return nonempty(append(out, g.evidence()...)...)
}

// cause is why a kernel got slower.
type cause struct {
	Summary  string
	Before   string // what bound it
	After    string
	Counters [][3]string // metric, before and after
	Guides   []result.Guide
}

// documentation is where the links of a cause lead; a saved report may hold others, which are not shown.
var documentation = regexp.MustCompile(`^https://docs\.nvidia\.com/[A-Za-z0-9/_.#-]+$`)

// cause is the cause of the first finding that has one; nil where that is not known.
func (g group) cause() *cause {
	for _, r := range g {
		f := r.F.Cause
		if f == nil {
			continue
		}
		c := cause{Summary: r.Cause, Before: trimmed(f.Base), After: trimmed(f.Head)}
		if c.Before != "" || c.After != "" {
			c.Before, c.After = cmp.Or(c.Before, measure.Unknown), cmp.Or(c.After, measure.Unknown)
		}
		for _, m := range f.Metrics {
			c.Counters = append(c.Counters, [3]string{Elide(metric(m.Name), 30), quantity(m.Base, m.Unit), quantity(m.Head, m.Unit)})
		}
		for _, guide := range f.Guides {
			if documentation.MatchString(guide.Link) && len(c.Guides) < 3 {
				c.Guides = append(c.Guides, guide)
			}
		}
		return &c
	}
	return nil
}

// list is what a format that does not show all shows of a class.
type list struct {
	classification
	class  class
	Rows   []row // of what is shown as one table, which then has no groups
	Groups []group
	More   int // that are left out
}

// Lists are the classes whose findings are shown, with all of their groups or the first ones; rest says in a line what is
// not shown, "" where that is nothing.
func (v *view) Lists(all bool) (lists []list, rest string) {
	var counted []string
	hidden := false
	for c, x := range classes {
		if x.most == 0 {
			n := 0
			for i := range v.Rows {
				if v.Rows[i].Class == class(c) && !v.Rows[i].Told {
					n++
				}
			}
			if n > 0 {
				counted = append(counted, fmt.Sprintf("%d %s", n, strings.ToLower(x.title)))
			}
			continue
		}
		rows := untold(v.of(class(c)))
		if class(c) == differing {
			rows = unfollowed(rows)
			if len(rows) > x.most && !all {
				rows, hidden = rows[:x.most], true
			}
			lists = append(lists, list{classification: x, class: class(c), Rows: rows})
			continue
		}
		l := list{classification: x, class: class(c), Groups: groups(rows)}
		if n := len(l.Groups); !all {
			l.Groups = fewDevices(l.Groups)
			l.Groups = l.Groups[:min(len(l.Groups), x.most)]
			l.More = n - len(l.Groups)
			hidden = hidden || l.More > 0
		}
		lists = append(lists, l)
	}
	if !all && (hidden || counted != nil) {
		slices.Reverse(counted)
		shows := ""
		if v.showAll != "" {
			shows = v.showAll + " shows all."
		}
		rest = join("; ", strings.Join(counted, ", "), shows)
	}
	return lists, rest
}

// fewDevices puts the ranks or GPUs, where there are many, behind all else but for the first of them, and leaves out those behind
// [rankRows]: what they have in common says more.
func fewDevices(list []group) []group {
	var others, devices []group
	for _, g := range list {
		if g[0].F.Scope == measure.ScopeDevice && len(devices) > 0 {
			devices = append(devices, g)
			continue
		}
		if others = append(others, g); g[0].F.Scope == measure.ScopeDevice {
			devices = append(devices, g)
		}
	}
	if len(devices) <= rankRows {
		return list
	}
	return append(others, devices[1:rankRows]...)
}

// join puts facts behind each other, leaving out those that are unknown.
func join(between string, facts ...string) string {
	return strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == "" }), between)
}
