package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// sheet is the page of a report, from the whole to the part.
type sheet struct {
	*view
	At        string   // before each name that is linked to: "" or, of one of several workloads, its own
	Workloads []*sheet // of a report on several, each
	Mark      string   // class of the verdict
	Kicker    string
	Figures   []figure
	Falls     []fallLine
	FallAbout string
	Steps     []stepPicture
	StepAbout string
	Axis      plot.SVG
	Changes   []change
	Untold    int // rows that are left out
	Bend      string
	Articles  []article
	More      int // findings without an article
	Flame     plot.SVG
	Ranks     []rankRow
	RanksTold []string
	Sights    []sight
	links     map[measure.Subject]string
	told      map[measure.Subject]bool // what has an article, or else a row, that is linked to
}

// figure is one of the numbers at the top.
type figure struct {
	Label, Value, Note, Class string
	Wide                      bool // a value of two sides
}

const (
	// maxChanges and maxArticles bound what a page shows of very many kernels; the report inside holds all.
	maxChanges, maxArticles, maxSights = 300, 24, 120
	// maxName is how many columns of a name a page shows; all of it is a click away.
	maxName = 120
)

// htmlReport writes one page with the verdict and all that there is of a workload; of several the verdict on all, and below it each.
func htmlReport(v *view, _ Options) (string, error) {
	saved, err := jsonReport(v, Options{})
	if err != nil {
		return "", err
	}
	s := newSheet(v, "")
	for i, w := range v.each {
		if v.several() {
			s.Workloads = append(s.Workloads, newSheet(w, fmt.Sprintf("w%d-%s-", i+1, slug(w.Workload))))
		}
	}
	title := "nsgate: " + strings.ToLower(v.Word) + " · " + v.Workload
	if c := Elide(Clean(v.Report.Head.Commit), 12); c != "" {
		title += " @ " + c
	}
	return htmlPage(title, saved, s.page()...)
}

func newSheet(v *view, at string) *sheet {
	s := &sheet{view: v, At: at, Mark: toneClass(v.Tone), links: make(map[measure.Subject]string), told: make(map[measure.Subject]bool)}
	s.Kicker = join(" · ", "nsgate", v.Workload, commits(v.Report), trimmed(v.Report.Head.Environment.GPU))
	all := groups(untold(v.Rows))
	s.name(all)
	s.figures()
	s.steps()
	s.articles()
	s.changes(all)
	s.falls()
	s.flame()
	s.ranks()
	s.sights()
	return s
}

func toneClass(t tone) string {
	return [...]string{good: "good", bad: "bad", doubtful: "doubtful"}[t]
}

// commits is what was compared, as far as it is known: "1f3a… → 9c0d…".
func commits(r *result.Report) string {
	base, head := Elide(Clean(r.Base.Commit), 12), Elide(Clean(r.Head.Commit), 12)
	if base == "" || head == "" || base == head {
		return cmp.Or(head, base)
	}
	return base + " → " + head
}

// name gives each subject the name by which it is linked to.
func (s *sheet) name(all []group) {
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

// sections are the names that parts of a page have.
var sections = map[string]bool{"": true, "where": true, "step": true, "changes": true, "findings": true, "ranges": true, "ranks": true,
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
	if sections[b.String()] {
		return "k-" + b.String()
	}
	return b.String()
}

// figures are the numbers of the whole program, and how many of its parts are in which state.
func (s *sheet) figures() {
	for _, x := range []string{measure.StepTime.Name, measure.GPUTime.Name} {
		for _, r := range s.Rows {
			if r.F.Scope == measure.ScopeWorkload && r.F.Metric == x && r.F.Name == "" {
				s.Figures = append(s.Figures, figure{metric(x), strings.ReplaceAll(r.Values, nb+"→", " →"), r.delta(), rowClass(r), true})
			}
		}
	}
	for _, r := range s.Rows {
		if r.F.Scope == measure.ScopeOutput && len(s.Figures) < 4 {
			s.Figures = append(s.Figures, figure{Elide(r.Subject, 30), strings.ReplaceAll(r.Values, nb+"→", " →"), r.delta(), rowClass(r), true})
		}
	}
	if len(s.Rows) == 0 {
		return
	}
	c := s.Report.Counts
	count := func(n int, label, note, class string) {
		if n > 0 {
			s.Figures = append(s.Figures, figure{label, fmt.Sprint(n), note, class, false})
		}
	}
	count(c.Regressed, "regressed", "that fail the gate", "worse")
	count(c.Warned, "slower", "without failing the gate", "doubt")
	count(len(s.of(open)), "undecided", "that could fail the gate", "doubt")
	count(c.Improved, "improved", "", "better")
	count(c.Unchanged, "unchanged", "within their limits", "")
}

// rowClass is how a row is coloured and filtered.
func rowClass(r row) string {
	switch r.Class {
	case failing, warned, grew:
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

// change is a row of the table of changes: what one subject, or one metric of the workload, became.
type change struct {
	Link     string
	Article  bool
	Subject  string
	Full     string // the whole name, where that is another
	In       string
	Metric   string
	Values   string
	Change   string
	By       string // relative, to sort by
	Interval string
	Forest   plot.SVG
	Share    string
	Part     string // likewise
	Step     string // what it adds to a step
	Adds     string // likewise
	Class    string
	Result   string
}

// changes are the rows, those that add most to a step first.
func (s *sheet) changes(all []group) {
	type entry struct {
		group
		adds float64
	}
	var list []entry
	for _, g := range all {
		if g[0].F.Scope != measure.ScopeWorkload {
			list = append(list, entry{g, adds(g)})
			continue
		}
		for i, r := range g { // each of its metrics is one of its own
			if r.Class != unchanged || r.F.Unit == ns {
				list = append(list, entry{g[i : i+1], adds(g[i : i+1])})
			}
		}
	}
	size := func(x float64) float64 {
		if math.IsNaN(x) {
			return -1
		}
		return math.Abs(x)
	}
	weight := func(e entry) int {
		if e.group[0].Class >= same {
			return 1
		}
		return 0
	}
	large.Sort(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(size(b.adds), size(a.adds)))
	})
	if len(list) > maxChanges {
		s.Untold, list = len(list)-maxChanges, list[:maxChanges]
	}
	var limits, seen []float64
	for _, e := range list {
		f := e.group[0].F
		seen = append(seen, float64(f.Change))
		if f.Limit.Known() && f.Limit > 0 {
			limits = append(limits, float64(f.Limit))
		}
	}
	bend := 0.03
	if slices.Sort(limits); len(limits) > 0 {
		bend = limits[len(limits)/2]
	}
	forest := plot.NewForest(bend, seen)
	s.Bend = percent(result.Number(bend))
	s.Axis = forest.Axis(func(c float64) string { return tidy(measure.Change(c)) })
	for _, e := range list {
		s.Changes = append(s.Changes, s.change(e.group[0], e.adds, forest))
	}
}

func (s *sheet) change(r row, adds float64, forest plot.Forest) change {
	f := r.F
	c := change{
		Subject: Elide(r.Subject, maxName), Full: r.FullName, In: Elide(Clean(f.Role), maxName), Metric: r.Metric, Values: r.Values, Change: r.Change, By: brief(f.Change),
		Interval: r.Interval, Share: r.Share, Part: brief(f.Share), Adds: brief(result.Number(adds)), Class: rowClass(r), Result: plainResult(r), Link: s.links[f.Subject()],
	}
	if f.Scope == measure.ScopeWorkload && f.Name == "" {
		c.Subject, c.Metric = r.Metric, "of the workload"
	}
	if f.Scope == measure.ScopeKernel && len(r.Parts) == 0 {
		c.Full = join(" ", c.Full, "["+r.Geometry+"]")
	}
	c.Article = slices.ContainsFunc(s.Articles, func(a article) bool { return a.Link == c.Link })
	if !c.Article && s.told[f.Subject()] {
		c.Link = ""
	}
	s.told[f.Subject()] = true
	if n := result.Number(adds); n.Known() {
		c.Step = signed(n)
	}
	class := c.Class
	if class == "same" || class == "new" {
		class = "calm"
	}
	c.Forest = forest.Row(class, float64(f.Change), float64(f.Low), float64(f.High), float64(f.Limit))
	return c
}

// brief is a number to sort by, "" where it is not known.
func brief(n result.Number) string {
	if !n.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', 4, 64)
}

// plainResult is the outcome in words, without a mark.
func plainResult(r row) string {
	text := r.Result()
	if i := strings.LastIndex(text, nb); i >= 0 {
		text = text[i+len(nb):]
	}
	for _, mark := range []string{"❌ ", "⚠️ ", "✅ "} {
		text = strings.TrimPrefix(text, mark)
	}
	return text
}

// adds is by how much a subject makes a step longer, in ns, NaN where that is not known.
func adds(g group) float64 {
	for _, r := range g {
		switch r.F.Metric {
		case measure.Total.Name, measure.GPUTime.Name, measure.CopyTime.Name, measure.StepTime.Name:
			base, head := r.F.Base, r.F.Head
			switch {
			case r.F.Outcome == result.Added && !base.Known():
				base = 0
			case r.F.Outcome == result.Removed && !head.Known():
				head = 0
			}
			return float64(head - base)
		}
	}
	return math.NaN()
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

// sight is what could be seen of one comparison.
type sight struct{ Subject, Metric, Runs, MDE, Limit, Result, Reason string }

// sights lists every comparison with what it could have shown.
func (s *sheet) sights() {
	for _, r := range s.Rows {
		if len(s.Sights) == maxSights {
			break
		}
		x := sight{Subject: Elide(r.Subject, maxName), Metric: r.Metric, Limit: r.Limit, Result: plainResult(r)}
		if r.Class != unchanged {
			x.Reason = r.Reason
		}
		if n := [2]int{measured(r.F.BaseRuns), measured(r.F.HeadRuns)}; n != [2]int{} {
			x.Runs = fmt.Sprintf("%d / %d", n[0], n[1])
		}
		if r.F.MDE.Known() && r.F.MDE > 0 {
			x.MDE = percent(r.F.MDE)
			if r.F.MDE > 10 {
				x.MDE = "over ×10"
			}
		}
		s.Sights = append(s.Sights, x)
	}
}

func measured(values []result.Number) int {
	n := 0
	for _, v := range values {
		if v.Known() {
			n++
		}
	}
	return n
}

// rankRow is what one of several processes or devices took.
type rankRow struct {
	Name, Base, Head, Wait, Class string
	Heat                          plot.SVG
}

// ranks lists ranks by what they compute in a step, or else devices by their kernel time.
func (s *sheet) ranks() {
	type rank struct {
		name             string
		base, head, wait result.Number
		class            string
	}
	var list []rank
	if s.view.Ranks != nil {
		for _, k := range s.Report.Ranks.Ranks {
			class := ""
			if k.Base.Known() && k.Compute > k.Base*1.01 {
				class = "worse"
			}
			list = append(list, rank{Clean(k.Name), k.Base, k.Compute, k.Wait, class})
		}
		s.RanksTold = s.view.Ranks.Told
	} else {
		for _, r := range s.Rows {
			if r.F.Scope == measure.ScopeDevice && r.F.Metric == measure.GPUTime.Name {
				list = append(list, rank{r.Subject, r.F.Base, r.F.Head, result.Number(math.NaN()), rowClass(r)})
			}
		}
		large.Sort(list, func(a, b rank) int { return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name)) })
	}
	most := 0.0
	for _, x := range list {
		for _, v := range []result.Number{x.base, x.head} {
			if v.Known() {
				most = max(most, float64(v))
			}
		}
	}
	for i, x := range list {
		if i == maxChanges {
			break
		}
		s.Ranks = append(s.Ranks, rankRow{Elide(x.name, 40), cell(x.base, ns), cell(x.head, ns), cell(x.wait, ns), x.class,
			plot.Pair(float64(x.base)/most, float64(x.head)/most, x.class)})
	}
}
