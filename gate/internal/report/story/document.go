package story

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Document is blocks in their order. Formats print each kind of block in one way, and decide nothing.
type Document []Block

// Block is one of [Top], [Labelled], [Lines], [Facts], [Commands], *[Table], [Bars], [Findings], [InText], [Fold] and
// [Section].
type Block any

// Span is a text in one tone. Lines may be broken at any space but a bound one, see [NB].
type Span struct {
	Text string
	Tone Tone
}

// Top is the verdict and the text behind it. A quiet format prints nothing else.
type Top struct {
	Word     Span
	Icon     string
	Workload string // "" where it is not named
	Text     string // behind the word, with the workload
	Lead     string // without it
	Behind   string // of the same line where there is room, "" for none
	Rest     string // lines that the text leaves out
	Sides    string
	Each     []Outcome // of several workloads
}

// Outcome is the verdict on one workload of several.
type Outcome struct{ Workload, Icon, Word, Effect Span }

// Line is a paragraph, indented by Depth steps, behind a label or a mark; without these, all its lines but the first
// are indented by Hang columns more.
type Line struct {
	Depth, Hang int
	Label       string
	Mark        Span
	Spans       []Span
	Whole       bool // a name that is broken at any character
}

// Lines are paragraphs under a title, or Spaced from what stands above. Lines without a text are not printed.
type Lines struct {
	Title   string
	Implied bool // the marks say what the title says
	Spaced  bool
	List    []Line
}

// Labelled is lines behind labels.
type Labelled []Said

// Facts are texts behind their labels, which take Width columns.
type Facts struct {
	Title  string
	Spaced bool
	Width  int
	List   []Fact
}

// Commands are commands to copy: Inline in one line behind their labels where they fit, else each under its label.
type Commands struct {
	Inline bool
	List   []Fact
}

// Bars are the parts of a change, and the parts of the last one.
type Bars struct {
	Title      string
	Rows, Rest []FallRow
}

// Findings are the rows that changed, the worst first; text prints them as causes and in tables.
type Findings struct {
	Rows []Row
	Warn bool // instead of failing
}

// InText are blocks that only text prints.
type InText []Block

// Fold holds details under a title: text prints them if it is verbose.
type Fold struct {
	Title  string
	Blocks Document
}

// Section is the document on one workload of several.
type Section struct {
	Workload string
	Blocks   Document
}

// Columns is how many columns a line of text has.
func (o Options) Columns() int { return max(cmp.Or(o.Width, 100), 40) }

// Paragraph is a line whose following lines are indented by two columns more.
func Paragraph(depth int, spans ...Span) Line { return Line{Depth: depth, Hang: 2, Spans: spans} }

// Note is a line that matters less.
func Note(depth int, text string) Line { return Line{Depth: depth, Spans: []Span{{text, Minor}}} }

// Marked is a text behind a mark such as "•", Named one behind a word.
func Marked(depth int, mark string, tone Tone, text string) Line {
	return Line{Depth: depth, Mark: tone.Of(mark), Spans: []Span{{text, Plain}}}
}

func Named(depth int, name, text string) Line {
	return Line{Depth: depth, Label: name, Spans: []Span{{text, Plain}}}
}

// List is marked texts under a title; an empty list prints nothing.
func List(title, mark string, tone Tone, texts []string) Lines {
	if len(texts) == 0 {
		return Lines{}
	}
	return Lines{Title: title, List: measure.Map(texts, func(t string) Line { return Marked(1, mark, tone, t) })}
}

// Verdict is the first line of anything but a report on one workload.
func Verdict(word string, tone Tone, reason string) Top {
	return Top{Word: tone.Of(Bind(word) + NB), Text: " " + reason, Lead: reason}
}

// Document is the report: the verdict, why, where the time went, next commands, and details.
func (v *Story) Document() Document {
	if v.Several() {
		return v.ofWorkloads()
	}
	tone := measure.Either(v.Tone == Good && v.Counts.Warned > 0, Doubtful, v.Tone)
	rest, sides := v.Below()
	first, last := v.Says()
	d := Document{Top{tone.Of(Bind(v.Word)), v.Icon(), v.Workload, v.Stated, v.Lead, v.Behind(), rest, sides, nil},
		Labelled(first)}
	if v.SlowRank() && v.Ranks != nil {
		d = append(d, Labelled{{Label: "Ranks", Lines: v.Ranks.Strips, Apart: true}})
		if len(v.Ranks.Table.Rows) == RankRows {
			d = append(d, v.Ranks.Table)
		}
	}
	if v.Falls() {
		drawn := v.Fall != nil && len(v.Fall.Rows) > 0
		if drawn {
			d = append(d, v.bars())
		}
		d = append(d, Lines{Spaced: !drawn, List: []Line{Paragraph(1, Plain.Of(v.Whole()))}})
	}
	d = append(d, InText{v.benchmarks()})
	warnings := List("Warnings", "!", Doubtful, v.Warnings)
	warnings.Implied, warnings.Spaced = true, v.Report.Verdict == result.Fail || len(v.Warnings) > 1
	d = append(d, warnings, Labelled(last))
	d = append(d, Lines{List: []Line{Named(1, "Not judged", v.Unjudged())}})
	if s := v.Report.Measured; s != nil {
		d = append(d, Lines{Title: "Measured: " + Headline(s), List: v.brief(s)},
			Fold{"What was measured", panels(s, v.Verbose)})
	}
	differing, notes := v.Differences()
	d = append(d, v.findings(), InText{differing, List("", "•", Plain, notes)})
	for _, x := range v.Whys() {
		d = append(d, Lines{Spaced: true, List: []Line{Paragraph(1, Plain.Of(x.Label)), Named(2, "why", x.Text)}})
	}
	return append(d, Overview(v), Fold{"Findings", Document{v.subjects()}}, Fold{"Ranks", v.Ranks.blocks()},
		Fold{"All comparisons", Document{InText{comparisons(Untold(v.Rows))}}},
		Commands{Inline: true, List: v.Further()}, v.compared())
}

// subjects are those that changed, with all findings on each.
func (v *Story) subjects() (d InText) {
	for i, g := range v.Changed() {
		d = append(d, Lines{Title: map[bool]string{true: "Findings"}[i == 0], Spaced: i > 0, List: g.Lines()})
	}
	return d
}

// findings are the comparisons that changed: of causes, those that were not judged, new and gone ones.
func (v *Story) findings() Findings {
	rows := slices.Concat(byCause(v.Causes, v.Open), Notable(v.Of(Differing)), byCause(v.Gains), v.Of(New, Gone))
	return Findings{Untold(rows), v.Gate.Code == 0}
}

// ofWorkloads is the verdict on all workloads, a line for each, then a section on each that does not plainly pass.
func (v *Story) ofWorkloads() Document {
	top := Verdict(v.Word, v.Tone, v.Reason)
	top.Icon, top.Each = v.Icon(), v.Outcomes()
	var sections Document
	for _, w := range v.Each {
		told := len(w.Warnings) + len(w.Besides().Lines) + len(w.Omitted().Lines)
		if w.Tone == Good && !w.Verbose && told+w.Counts.Warned+w.Counts.Increased == 0 {
			continue
		}
		own := *w
		own.Ways = nil // they are of the whole
		sections = append(sections, Section{w.Workload, own.Document()})
	}
	d := append(Document{top, List("Warnings", "!", Doubtful, v.Warnings)}, sections...)
	return append(d, Commands{Inline: true, List: v.Further()}, v.compared())
}

// Outcomes are the verdicts on the workloads, each with the largest effect.
func (v *Story) Outcomes() []Outcome {
	name, word := 0, 0
	for _, w := range v.Each {
		name, word = max(name, Columns(w.Workload)), max(word, Columns(w.Word))
	}
	room := MaxHeadline - min(name, v.Columns()/3) - word - 6
	return measure.Map(v.Each, func(w *Story) Outcome {
		return Outcome{Plain.Of(w.Workload), Plain.Of(w.Icon()), w.Tone.Of(w.Word), Plain.Of(w.Told(room))}
	})
}

// bars are the parts of the step's change.
func (v *Story) bars() Bars {
	b := Bars{v.Fall.Title, slices.Clone(v.Fall.Rows), v.Fall.Rest}
	for i := range b.Rows {
		if b.Rows[i].Class == "" && !v.Verbose {
			b.Rows[i].What += Wrapped(NB+"(", Bind(v.ShowAll), ")")
		}
	}
	return b
}

// compared is what was compared and how.
func (v *Story) compared() Fold {
	return Fold{"What was compared", Document{Facts{Title: "Compared", Width: 8, List: v.Facts},
		Commands{List: v.Commands}}}
}

// Lines are the findings on one subject in full.
func (g Group) Lines() []Line {
	f := g[0]
	list := []Line{Paragraph(1, f.Tone().Of(f.Subject), Minor.Of(Wrapped(NB+" ", f.About(), "")))}
	inner := func(spans ...Span) { list = append(list, Line{Depth: 2, Hang: 4, Spans: spans}) }
	for _, r := range g {
		inner(Plain.Of(r.Metric+NB+" "+r.Describe()), Minor.Of(Wrapped(NB+" ", r.Runs(), "")))
	}
	for _, x := range f.Parts {
		inner(Minor.Of(measure.Either(x.Gone(), "-", "+") + NB + x.Time() + NB + " " + x.Subject))
	}
	list = slices.Concat(list, measure.Map(g.Said(), func(t string) Line { return Marked(2, "•", Plain, t) }))
	if c := g.Cause(); c != nil {
		list = append(list, Named(2, "why", Because(c)))
	}
	return append(list, Line{Depth: 2, Whole: true, Spans: []Span{{f.FullName, Minor}}})
}

// blocks are the ranks of the head: sentences, spreads, and a row for each.
func (r *Ranks) blocks() Document {
	if r == nil {
		return nil
	}
	told := List("Ranks", "•", Doubtful, r.Told)
	told.Title = "Ranks"
	return Document{told, Facts{Width: 7, List: r.About}, r.Table}
}

// panels are the tables of a summary.
func panels(s *result.Summary, all bool) (d Document) {
	d = measure.Map(Panels(s, all, all), func(t *Table) Block { return t })
	return append(d, NewRanks(s.Ranks).blocks()...)
}

// Summarised is a summary as a document.
func Summarised(s *result.Summary, o Options) Document {
	d := Document{Top{Text: Headline(s)}, Facts{Spaced: true, Width: 4, List: Recording(s)}}
	d = append(d, panels(s, o.Verbose)...)
	return append(d, List("Patterns", "•", Doubtful, Sentences(s.Patterns)),
		List("Warnings", "!", Doubtful, Nonempty(s.Warnings...)))
}
