package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// maxChanges and maxArticles bound the rows and the findings on a page; the report inside holds all.
const maxChanges, maxArticles = 300, 24

type reportSheet struct {
	*sheet
	*story.Story
	links    map[measure.Subject]string // name of a subject as the target of links
	articles map[measure.Subject]bool   // subjects that have an article
}

// htmlReport writes one page on a workload; on several, the verdict on all, then a sheet on each.
func htmlReport(v *story.Story) (string, error) {
	form, err := jsonReport(v)
	if err != nil {
		return "", err
	}
	s := newReportSheet(v, "")
	for i, w := range v.Each {
		if v.Several() {
			s.Sheets = append(s.Sheets, newReportSheet(w, sheetID(i, w)))
		}
	}
	return s.html(form)
}

func newReportSheet(v *story.Story, at string) *sheet {
	s := &reportSheet{Story: v, links: make(map[measure.Subject]string), articles: make(map[measure.Subject]bool)}
	name, headline := v.Workload, v.Lead
	switch {
	case v.Several():
		name, headline = measure.Count(len(v.Each), "workload"), v.Reason
	case name != "default":
		headline = name + ": " + headline
	}
	s.sheet = &sheet{At: at, Word: v.Word, Mark: mark(v.Tone), Headline: story.Unended(headline),
		Title: story.Join(" · ", name+": "+strings.ToLower(v.Word), story.CommitID(v.Report.Head.Commit, 18),
			"nsgate"),
		Kicker: story.Join(" · ", "nsgate", name, story.Trimmed(v.Report.Head.Environment.GPU)),
		Notes:  story.Nonempty(v.Rest, story.Wrapped("Not judged: ", v.Unjudged(), ""))}
	s.Source = slices.DeleteFunc([]sourceLink{origin(v.Options, "baseline ", v.Report.Base),
		origin(v.Options, "head ", v.Report.Head)}, func(x sourceLink) bool { return x.Text == "" })
	all := story.Groups(story.Untold(v.Rows))
	s.name(all)
	s.figures()
	s.outcomes()
	if len(v.Causes) > 0 && v.Report.Verdict == result.Fail {
		s.add(part{ID: "why", Title: "Why", Said: slices.Concat(v.Causes[0].Why, v.Whereabouts(&v.Causes[0]),
			story.Nonempty(story.Wrapped("Do: ", v.Causes[0].Do, "")))})
	}
	next := "Next"
	first, _ := v.Says()
	for _, x := range first {
		switch x.Label {
		case "Open", "Largest":
			s.add(part{ID: strings.ToLower(x.Label), Title: x.Label, Said: x.Lines})
		case "Settle":
			next = x.Label
		}
	}
	s.add(part{ID: "next", Title: next, Said: v.Next})
	s.warnings(v.Warnings)
	guilty := v.SlowRank()
	if guilty {
		s.ranks()
	}
	s.falls()
	sides := story.Overview(v)
	s.add(part{ID: "sides", Title: sides.Title, Nav: "Both sides", Table: sides})
	s.steps()
	articles, runs := s.findings()
	s.changes(all)
	s.add(articles)
	s.add(runs)
	if !guilty {
		s.ranks()
	}
	s.add(part{ID: "measured", Title: "How it was measured", Nav: "How it was measured", Facts: v.Facts,
		Commands: v.Commands})
	return s.sheet
}

// origin is the commit and the day of a side behind its name, "" where both are unknown.
func origin(o story.Options, name string, x result.Side) sourceLink {
	at := x.Environment.Start
	text := story.Join(" of ", story.CommitID(x.Commit, 18), measure.Either(at.IsZero(), "", story.Day(at)))
	return sourceLink{story.Wrapped(name, text, ""), o.Source.Commit(x.Commit)}
}

// outcomes is the table of verdicts on several workloads, which links to the sheet of each.
func (s *reportSheet) outcomes() {
	if !s.Several() {
		return
	}
	t := &story.Table{Title: "Verdicts", Columns: []story.Column{{Title: "Workload"}, {Title: "Verdict"},
		{Title: "Effect", Wrap: true, Class: "wide"},
		{Title: "Baseline", Optional: true, Label: "baseline", Class: "wide"},
		{Title: "Head", Optional: true, Label: "head", Class: "wide"}}}
	for i, x := range s.Story.Outcomes() {
		w := s.Each[i]
		base, head := origin(w.Options, "", w.Report.Base), origin(w.Options, "", w.Report.Head)
		t.Rows = append(t.Rows, story.TableRow{Cells: []story.Cell{{Text: x.Workload.Text, Link: "#" + sheetID(i, w)},
			{Text: x.Word.Text, Class: mark(x.Word.Tone)}, {Text: x.Effect.Text}, {Text: base.Text, Link: base.Link},
			{Text: head.Text, Link: head.Link}}})
	}
	s.add(part{ID: "workloads", Title: "Workloads", Table: t})
}

// sheetID is the ID of the sheet on workload i of several, before the IDs of its parts.
func sheetID(i int, w *story.Story) string { return fmt.Sprintf("w%d-%s-", i+1, slug(w.Workload)) }

// mark is the CSS class of a verdict.
func mark(t story.Tone) string {
	return [...]string{story.Good: "good", story.Bad: "bad", story.Doubtful: "doubtful"}[t]
}

// name gives each subject its ID on the page.
func (s *reportSheet) name(all []story.Group) {
	taken := map[string]int{} // how often, as a beginning too
	for _, g := range all {
		id := slug(g[0].Subject)
		link := id
		for ; taken[link] > 0; taken[id]++ {
			link = fmt.Sprintf("%s-%d", id, taken[id]+1)
		}
		taken[link]++
		s.links[g[0].F.Subject()] = s.At + link
	}
}

// names are the IDs of parts, which no subject takes.
var names = map[string]bool{"": true, "why": true, "where": true, "step": true, "changes": true, "findings": true,
	"ranges": true, "ranks": true, "measured": true, "report": true, "search": true, "told": true, "tip": true,
	"falls": true, "rows": true, "warnings": true, "next": true, "open": true, "largest": true, "workloads": true,
	"runs": true}

// slug makes an ID of a name: lower case letters, digits and hyphens.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
	id := strings.Join(words, "-")
	id = id[:min(len(id), 80)]
	return measure.Either(names[id], "k-", "") + id
}

// figures adds the numbers of the whole program, and the counts of outcomes.
func (s *reportSheet) figures() {
	add := func(label string, r story.Row) {
		s.Figures = append(s.Figures, figure{label, strings.Replace(r.Values, story.NB+"→", " →", 1), r.Delta(),
			colourOf(&r), true})
	}
	for _, x := range []string{measure.StepTime.Name, measure.GPUTime.Name} {
		if r := s.Number(x); r != nil {
			add(story.Metric(x), *r)
		}
	}
	for _, r := range s.Rows {
		if r.F.Scope == measure.ScopeOutput && len(s.Figures) < 4 {
			add(story.Elide(r.Subject, 30), r)
		}
	}
	c := s.Counts
	within := measure.HowMany(s.Rows, func(r story.Row) bool { return r.F.Outcome == result.WithinLimit })
	for _, x := range []struct {
		n                  int
		label, note, class string
	}{{c.Slower, "slower", "failing the gate", "worse"}, {c.Warned, "slower", "without failing the gate", "doubt"},
		{c.Undecided, "undecided", "that could fail the gate", "doubt"}, {c.Faster, "faster", "", "better"},
		{within, "within limit", "of " + measure.Count(len(s.Rows), "comparison"), ""}} {
		if x.n > 0 && len(s.Rows) > 0 {
			s.Figures = append(s.Figures, figure{x.label, fmt.Sprint(x.n), x.note, x.class, false})
		}
	}
}

func (s *reportSheet) ranks() {
	if s.Story.Ranks == nil {
		return
	}
	list := s.Report.Ranks.Ranks[:min(len(s.Report.Ranks.Ranks), maxChanges)]
	most := result.Number(0)
	for _, k := range list {
		for _, v := range story.Known([]result.Number{k.Base, k.Compute}) {
			most = max(most, v)
		}
	}
	p := part{ID: "ranks", Title: "Ranks", Nav: "Ranks",
		About: "The compute time of each rank in a step: baseline above, head below, on one scale. A rank waits in " +
			"collectives for the others."}
	if len(s.Causes) == 0 || !s.Causes[0].Rank {
		p.Said = s.Story.Ranks.Told
	}
	t := &story.Table{Title: "Compute time by rank", Columns: []story.Column{{Title: "Rank"},
		{Title: "Bars", Pic: true}, {Title: "Baseline", Right: true, Label: "baseline"},
		{Title: "Head", Right: true, Label: "head"}, {Title: "Waits", Right: true, Label: "waits"}}}
	for _, k := range list {
		base, head := story.Cell{Text: story.CellOf(k.Base, story.NS)},
			story.Cell{Text: story.CellOf(k.Compute, story.NS)}
		if k.Base.Known() && k.Compute > k.Base*1.01 {
			head.Class = "worse"
		}
		t.Rows = append(t.Rows, story.TableRow{Cells: []story.Cell{{Text: story.Elide(story.Clean(k.Name), 40)},
			{SVG: plot.Pair(float64(k.Base/most), float64(k.Compute/most), cmp.Or(head.Class, "calm"))},
			base, head, {Text: story.CellOf(k.Wait, story.NS)}}})
	}
	p.Table = t
	s.add(p)
}

func (s *reportSheet) falls() {
	if s.Fall == nil || len(s.Fall.Rows) == 0 {
		return
	}
	parts := measure.Map(s.Fall.Rows, func(x story.FallRow) [3]float64 {
		return [3]float64{float64(x.Change), float64(x.Low), float64(x.High)}
	})
	p := part{ID: "where", Title: s.Fall.Title, Nav: "Where the time went",
		About: "The " + s.Fall.About() + ". Each bar is a part of the change that is certain: longer to the right, " +
			"shorter to the left. With the last bar they add up to the change."}
	p.Table = &story.Table{Title: "Parts of the change of the step", Class: "falls",
		Columns: []story.Column{{Title: "Part"}, {Title: "Bar", Pic: true}, {Title: "Change", Right: true},
			{Title: "Interval", Class: "in"}}}
	for i, x := range s.Fall.Rows {
		colour := measure.Either(x.Change < 0, "better", "worse")
		p.Table.Rows = append(p.Table.Rows, story.TableRow{Cells: []story.Cell{
			{Text: x.What, Link: story.Wrapped("#", s.links[x.Subject], "")}, {SVG: plot.Fall(parts, i)},
			{Text: x.Text, Class: colour}, {Text: x.Interval()}}})
	}
	for _, x := range s.Fall.Rest {
		p.Table.Add("of it: "+x.What, "", x.Text, x.Interval())
	}
	s.add(p)
}
