package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

const (
	// maxChanges, maxArticles and maxSights bound what a page shows of very many kernels; the report inside holds all.
	maxChanges, maxArticles, maxSights = 300, 24, 120
	// maxName is how many columns of a name a page shows; all of it is a click away.
	maxName = 120
)

// reportSheet is the page of a report, from the whole to the part.
type reportSheet struct {
	*sheet
	*view
	links    map[measure.Subject]string // the name by which a subject is linked to
	articles map[measure.Subject]bool   // subjects that have an article
}

// htmlReport writes one page with the verdict and all that there is of a workload; of several the verdict on all, and below it each.
func htmlReport(v *view, _ Options) (string, error) {
	saved, err := jsonReport(v, Options{})
	if err != nil {
		return "", err
	}
	s := newReportSheet(v, "")
	for i, w := range v.each {
		if v.several() {
			s.Sheets = append(s.Sheets, newReportSheet(w, fmt.Sprintf("w%d-%s-", i+1, slug(w.Workload))))
		}
	}
	return s.html(saved)
}

func newReportSheet(v *view, at string) *sheet {
	s := &reportSheet{view: v, links: make(map[measure.Subject]string), articles: make(map[measure.Subject]bool)}
	s.sheet = &sheet{At: at, Word: v.Word, Mark: toneClass(v.Tone), Kicker: join(" · ", "nsgate", v.Workload, trimmed(v.Report.Head.Environment.GPU))}
	s.Headline = strings.TrimLeft(strings.TrimPrefix(v.headline(), v.Word), nb+" ")
	if v.several() {
		s.Headline = v.Reason
	}
	s.Title = join(" · ", v.Workload+": "+strings.ToLower(v.Word), Elide(Clean(v.Report.Head.Commit), 12), "nsgate")
	if at != "" {
		s.Title = v.Workload + ": " + v.Word
	}
	for i, commit := range commits(v.Report) {
		text := []string{"", "head "}[i]
		if len(commits(v.Report)) > 1 {
			text = []string{"baseline ", "head "}[i]
		}
		s.Source = append(s.Source, sourceLink{text + Elide(Clean(commit), 12), v.source.commit(commit)})
	}
	all := groups(untold(v.Rows))
	s.name(all)
	s.figures()
	if len(v.Causes) > 0 && v.Report.Verdict == result.Fail {
		s.add(part{ID: "why", Title: "Why", Said: slices.Concat(v.Causes[0].Why, v.Causes[0].places())})
	}
	s.sheet.next(v.Next)
	s.warnings(v.Warnings)
	guilty := len(v.Causes) > 0 && v.Causes[0].rank && v.Report.Verdict == result.Fail
	if guilty {
		s.ranks()
	}
	s.falls()
	s.steps()
	articles := s.findings()
	s.changes(all)
	s.add(articles)
	s.flame()
	if !guilty {
		s.ranks()
	}
	s.add(part{ID: "measured", Title: "How it was measured", Nav: "How it was measured", Facts: v.Facts, Commands: v.Commands,
		Fold: &fold{"What each comparison could show, and what was not judged", s.sights()}})
	return s.sheet
}

func toneClass(t tone) string {
	return [...]string{good: "good", bad: "bad", doubtful: "doubtful"}[t]
}

// commits are what was compared, as far as it is known.
func commits(r *result.Report) []string {
	base, head := r.Base.Commit, r.Head.Commit
	if base == "" || head == "" || base == head {
		return nonempty(cmp.Or(head, base))
	}
	return []string{base, head}
}

// name gives each subject the name by which it is linked to.
func (s *reportSheet) name(all []group) {
	taken := map[string]bool{}
	for _, g := range all {
		link := slug(g[0].Subject)
		for i := 2; taken[link]; i++ {
			link = fmt.Sprintf("%s-%d", slug(g[0].Subject), i)
		}
		taken[link] = true
		s.links[g[0].F.Subject()] = s.At + link
	}
}

// link leads to a subject, "" where nothing on the page is about it.
func (s *reportSheet) link(subject measure.Subject) string {
	if at := s.links[subject]; at != "" {
		return "#" + at
	}
	return ""
}

// names are the names that parts of a page have.
var names = map[string]bool{"": true, "why": true, "where": true, "step": true, "changes": true, "findings": true, "ranges": true, "ranks": true,
	"measured": true, "report": true, "search": true, "told": true, "tip": true, "falls": true, "rows": true, "warnings": true, "next": true}

// slug is a name as a part of an address: lower case letters, digits and hyphens.
func slug(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
		if b.Len() > 80 {
			break
		}
	}
	if names[b.String()] {
		return "k-" + b.String()
	}
	return b.String()
}

// figures are the numbers of the whole program, and how many of its parts are in which state.
func (s *reportSheet) figures() {
	add := func(label string, r row) {
		s.Figures = append(s.Figures, figure{label, r.Values, r.delta(), rowClass(r), true})
	}
	for _, x := range []string{measure.StepTime.Name, measure.GPUTime.Name} {
		for _, r := range s.Rows {
			if r.F.Subject() == measure.Workload && r.F.Metric == x {
				add(metric(x), r)
			}
		}
	}
	for _, r := range s.Rows {
		if r.F.Scope == measure.ScopeOutput && len(s.Figures) < 4 {
			add(Elide(r.Subject, 30), r)
		}
	}
	c := s.Report.Counts
	for _, x := range []struct {
		n                  int
		label, note, class string
	}{{c.Regressed, "regressed", "that fail the gate", "worse"}, {c.Warned, "slower", "without failing the gate", "doubt"},
		{len(s.of(open)), "undecided", "that could fail the gate", "doubt"}, {c.Improved, "improved", "", "better"}, {c.Unchanged, "unchanged", "within their limits", ""}} {
		if x.n > 0 && len(s.Rows) > 0 {
			s.Figures = append(s.Figures, figure{x.label, fmt.Sprint(x.n), x.note, x.class, false})
		}
	}
}

// rowClass is how a row is coloured and filtered.
func rowClass(r row) string {
	switch r.Class {
	case failing, warned, increased:
		return "worse"
	case open, harmless:
		return "doubt"
	case improved:
		return "better"
	case added, removed, differing:
		return "new"
	}
	return "same"
}

// changes are the rows, those that add most to a step first.
func (s *reportSheet) changes(all []group) {
	type entry struct {
		row
		adds result.Number
	}
	var list []entry
	for _, g := range all {
		if g[0].F.Scope != measure.ScopeWorkload {
			e := entry{g[0], unknown}
			for i := range g {
				if e.adds = g[i].cost(); e.adds.Known() {
					break
				}
			}
			list = append(list, e)
			continue
		}
		for _, r := range g { // each of its metrics is one of its own
			if r.Class != unchanged || r.F.Unit == ns {
				list = append(list, entry{r, r.cost()})
			}
		}
	}
	size := func(e entry) float64 {
		if !e.adds.Known() {
			return -1
		}
		return math.Abs(float64(e.adds))
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Class/same, b.Class/same), cmp.Compare(size(b), size(a)))
	})
	untold := max(len(list)-maxChanges, 0)
	list = list[:len(list)-untold]
	var limits, seen []float64
	for _, e := range list {
		seen = append(seen, float64(e.F.Change))
		if e.F.Limit.Known() && e.F.Limit > 0 {
			limits = append(limits, float64(e.F.Limit))
		}
	}
	bend := 0.03
	if slices.Sort(limits); len(limits) > 0 {
		bend = limits[len(limits)/2]
	}
	forest := plot.NewForest(bend, seen)
	t := &table{Title: "Every comparison, by what it adds to a step", Class: "rows", Columns: []column{{Title: "Name", Sorted: true, Up: true}, {Title: "Baseline → head"},
		{Title: "Change", Right: true, Sorted: true}, {Title: "Interval", Pic: true, Head: forest.Axis(func(c float64) string { return tidy(measure.Change(c)) })},
		{Title: "A step", Right: true, Sorted: true}, {Title: "GPU time", Right: true, Sorted: true}, {Title: "Outcome", Sorted: true, Up: true}}}
	told := map[measure.Subject]bool{}
	for _, e := range list {
		t.Rows = append(t.Rows, s.change(e.row, e.adds, forest, told))
	}
	if untold > 0 {
		t.More = fmt.Sprintf("%d more rows, which changed a step least, are not drawn; the report inside has them.", untold)
	}
	s.add(part{ID: "changes", Title: "Changes", Nav: "Changes", Table: t, Search: s.At == "", About: "Each row is a kernel, range or number of the workload, those that changed a step most first: " +
		"its change as a dot with the interval, in the shaded band what its limit allows. The scale is linear up to " + percent(result.Number(bend)) + ", logarithmic beyond."})
}

func (s *reportSheet) change(r row, adds result.Number, forest plot.Forest, told map[measure.Subject]bool) tableRow {
	f, subject := r.F, r.F.Subject()
	name := cell{Text: Elide(r.Subject, maxName), Full: r.FullName, Note: Elide(Clean(f.Role), maxName)}
	about := r.Metric
	if subject == measure.Workload {
		name.Text, about = r.Metric, "of the workload"
	}
	if f.Scope == measure.ScopeKernel && len(r.Parts) == 0 {
		name.Full = join(" ", name.Full, wrapped("[", r.Geometry, "]"))
	}
	out := tableRow{Outcome: rowClass(r)}
	switch {
	case s.articles[subject]:
		name.Link = s.link(subject)
	case !told[subject]:
		out.ID = s.links[subject]
	}
	told[subject] = true
	class, calm := out.Outcome, out.Outcome
	if class == "same" {
		class = ""
	}
	if calm == "same" || calm == "new" {
		calm = "calm"
	}
	step := ""
	if adds.Known() {
		step = signed(adds)
	}
	result := strings.TrimLeft(r.Result(), "❌⚠️✅ ")
	out.Cells = []cell{name, {Text: r.Values, Note: about}, {Text: r.Change, Sort: brief(f.Change), Class: class},
		{Text: r.Interval, SVG: forest.Row(calm, float64(f.Change), float64(f.Low), float64(f.High), float64(f.Limit))},
		{Text: step, Sort: brief(adds)}, {Text: r.Share, Sort: brief(f.Share)}, {Text: result, Class: class}}
	return out
}

// brief is a number to sort by, "" where it is not known.
func brief(n result.Number) string {
	if !n.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', 4, 64)
}

// tidy takes zeros off the end of a number that has a unit behind it: "84.00 µs" is "84 µs".
func tidy(text string) string {
	number, unit, ok := strings.Cut(text, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if !ok {
		return number
	}
	return number + nb + unit
}

// tick prints a value at an axis.
func tick(unit string) func(float64) string {
	return func(v float64) string { return tidy(measure.Quantity(v, Clean(unit))) }
}

// sights lists every comparison with what it could have shown.
func (s *reportSheet) sights() *table {
	t := &table{Title: "MDE", Class: "sights", About: "MDE: the smallest change that this data would show in 80 % of cases", Columns: []column{{Title: "Name"}, {Title: "Metric"},
		{Title: "Runs", Right: true, Label: "runs"}, {Title: "MDE", Right: true, Label: "MDE"}, {Title: "Limit", Right: true, Label: "limit"}, {Title: "Outcome"}}}
	for _, r := range s.Rows[:min(len(s.Rows), maxSights)] {
		x := cells(Elide(r.Subject, maxName), r.Metric, "", "", r.Limit, strings.TrimLeft(r.Result(), "❌⚠️✅ "))
		if r.Class != unchanged {
			x[5].Note = r.Reason
		}
		if n := [2]int{len(known(r.F.BaseRuns)), len(known(r.F.HeadRuns))}; n != [2]int{} {
			x[2].Text = fmt.Sprintf("%d / %d", n[0], n[1])
		}
		if r.F.MDE.Known() && r.F.MDE > 0 {
			x[3].Text = mde(r.F.MDE)
		}
		t.Rows = append(t.Rows, tableRow{Cells: x})
	}
	return t
}

// ranks lists ranks by what they compute in a step, or else devices by their kernel time.
func (s *reportSheet) ranks() {
	type rank struct {
		name             string
		base, head, wait result.Number
		class            string
	}
	var list []rank
	var said []string
	if s.view.Ranks != nil {
		for _, k := range s.Report.Ranks.Ranks {
			class := ""
			if k.Base.Known() && k.Compute > k.Base*1.01 {
				class = "worse"
			}
			list = append(list, rank{Clean(k.Name), k.Base, k.Compute, k.Wait, class})
		}
		if len(s.Causes) == 0 || !s.Causes[0].rank {
			said = s.view.Ranks.Told
		}
	} else {
		for _, r := range s.Rows {
			if r.F.Scope == measure.ScopeDevice && r.F.Metric == measure.GPUTime.Name {
				list = append(list, rank{r.Subject, r.F.Base, r.F.Head, unknown, rowClass(r)})
			}
		}
		slices.SortStableFunc(list, func(a, b rank) int { return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name)) })
	}
	most := 0.0
	for _, x := range list {
		for _, v := range []result.Number{x.base, x.head} {
			if v.Known() {
				most = max(most, float64(v))
			}
		}
	}
	t := &table{Title: "Compute time by rank", Columns: []column{{Title: "Rank"}, {Title: "Bars", Pic: true}, {Title: "Baseline", Right: true, Label: "baseline"},
		{Title: "Head", Right: true, Label: "head"}, {Title: "Waits", Right: true, Label: "waits"}}}
	for _, x := range list[:min(len(list), maxChanges)] {
		t.Rows = append(t.Rows, tableRow{Cells: []cell{{Text: Elide(x.name, 40)}, {SVG: plot.Pair(float64(x.base)/most, float64(x.head)/most, x.class)},
			{Text: cellOf(x.base, ns)}, {Text: cellOf(x.head, ns), Class: x.class}, {Text: cellOf(x.wait, ns)}}})
	}
	if len(t.Rows) == 0 {
		return
	}
	s.add(part{ID: "ranks", Title: "Ranks", Nav: "Ranks", Said: said, Table: t,
		About: "What each rank or device computes in a step: the baseline above, the head below, on one scale. A rank waits in collectives for the others."})
}

// falls is the waterfall: what the change of the step is made of, each part drawn around zero.
func (s *reportSheet) falls() {
	if s.Fall == nil || len(s.Fall.Rows) == 0 {
		return
	}
	var parts [][3]float64
	for _, x := range s.Fall.Rows {
		parts = append(parts, [3]float64{float64(x.Change), float64(x.Low), float64(x.High)})
	}
	draw := plot.NewFall(parts)
	t := &table{Title: "Parts of the change of the step", Class: "falls", Columns: []column{{Title: "Part"}, {Title: "Bar", Pic: true}, {Title: "Change", Right: true}, {Title: "Interval", Class: "in"}}}
	for i, x := range s.Fall.Rows {
		class := "worse"
		if x.Change < 0 {
			class = "better"
		}
		name := cell{Text: x.What}
		if x.Subject != (measure.Subject{}) {
			name.Link = s.link(x.Subject)
		}
		t.Rows = append(t.Rows, tableRow{Cells: []cell{name, {SVG: draw.Bar(i)}, {Text: x.Text, Class: class}, {Text: between(x.Own)}}})
	}
	s.add(part{ID: "where", Title: "Where the time went", Nav: "Where the time went", Table: t,
		About: "The " + s.Fall.about() + ". Each bar is a part of that change that is certain, longer to the right, shorter to the left; with the last one they add up."})
}
