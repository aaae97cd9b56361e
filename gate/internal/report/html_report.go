package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

const (
	// maxChanges, maxArticles and maxSights bound what a page shows of very many kernels; the report inside holds all.
	maxChanges, maxArticles = 300, 24
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
	if !guilty {
		s.ranks()
	}
	s.add(part{ID: "measured", Title: "How it was measured", Nav: "How it was measured", Facts: v.Facts, Commands: v.Commands})
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
