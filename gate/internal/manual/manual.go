// Package manual is the manual in the binary: its topics and the JSON schemas.
package manual

import (
	"bytes"
	"cmp"
	_ "embed" // words.txt
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/cmd/nsgate/docs"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Topic is a page of the manual.
type Topic struct {
	Name  string // name in nsgate help
	Title string // its heading, in plain words
	Text  []byte // Markdown as GitHub has it
}

// Group is a part of the manual: topics about one thing, in the order to read them.
type Group struct {
	Title  string
	Topics []string
}

// Groups are the parts of the manual, as in the README. Each topic is in one.
var Groups = []Group{
	{"first steps", []string{"start", "words", "pytorch", "workloads", "install", "troubleshooting"}},
	{"what is judged", []string{"step", "outputs", "benchmarks", "counters", "code", "ranks", "patterns"}},
	{"how", []string{"measuring", "policy", "baselines", "history", "inputs"}},
	{"in a pipeline", []string{"ci", "recipes", "formats", "library", "security"}},
	{"how sure", []string{"statistics", "limits"}},
}

// Topics are all pages, where to start first, then by name.
var Topics = sync.OnceValue(func() []Topic {
	var topics []Topic
	for _, name := range names(".", ".md") {
		text, err := docs.Files.ReadFile(name + ".md")
		if err != nil {
			panic(err) // of a file that is compiled in
		}
		text = listed(text)
		heading, _, _ := bytes.Cut(text, []byte("\n"))
		topics = append(topics, Topic{name, strings.TrimPrefix(string(heading), "# "), text})
	}
	measure.Sort(topics, func(a, b Topic) int {
		first := map[string]int{"start": -1}
		return first[a.Name] - first[b.Name]
	})
	return topics
})

// listed fills in the tables that the code has: refusals, the keys of all reasons but patterns, and the glossary.
func listed(text []byte) []byte {
	var refusals, reasons []string
	for _, k := range model.Kinds {
		refusals = append(refusals, "`"+string(k.Kind)+"` | "+k.Meaning)
	}
	for _, k := range result.Keys() {
		args := measure.Either(len(k.Args) > 0, " (`"+strings.Join(k.Args, "`, `")+"`)", "")
		if k.Means != "A pattern." {
			reasons = append(reasons, "`"+k.Key+"` | "+strings.TrimSuffix(k.Means, ".")+args)
		}
	}
	words := measure.Map(glossary(), func(e Entry) string { return e.Word + " | " + e.Cells[0].Text })
	for name, rows := range map[string][]string{"| `reason_key` | no verdict, because |": refusals,
		"| key | meaning and arguments |": reasons, "| word | meaning |": words} {
		mark := []byte(name + "\n| --- | --- |\n")
		text = bytes.Replace(text, mark, append(mark, "| "+strings.Join(rows, " |\n| ")+" |\n"...), 1)
	}
	return text
}

// Lookup finds a topic by its name.
func Lookup(name string) (Topic, bool) {
	for _, t := range Topics() {
		if t.Name == name {
			return t, true
		}
	}
	return Topic{}, false
}

// Schemas are the names of the JSON schemas.
func Schemas() []string { return names("schema", ".json") }

func names(dir, suffix string) (out []string) {
	files, err := docs.Files.ReadDir(dir)
	if err != nil {
		panic(err) // of a directory that is compiled in
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), suffix); ok {
			out = append(out, name)
		}
	}
	return out
}

// Schema is the JSON schema of a name.
func Schema(name string) ([]byte, error) { return docs.Files.ReadFile("schema/" + name + ".json") }

// Entry is a row of a table of the manual that explains a word: a metric, a reason, a refusal, an outcome, a key.
type Entry struct {
	Topic string `json:"topic"`
	Word  string `json:"word"`
	Cells []Cell `json:"cells"` // the other cells, none empty
}

// Cell is a cell behind the heading of its column.
type Cell struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// words are those that reports print, a line each: the words, meaning, an example, and what to do about it.
//
//go:embed words.txt
var words string

// glossary are the rows of words.
var glossary = sync.OnceValue(func() (rows []Entry) {
	for line := range strings.Lines(words) {
		c := append(Cells(line), "", "", "")
		rows = append(rows, Entry{Topic: "words", Word: c[0],
			Cells: []Cell{{"meaning", c[1]}, {"example", c[2]}, {"to do", c[3]}}})
	}
	return rows
})

// Explain finds a word of reports in the glossary, else the metrics of that name or title, else the rows of the
// manual's tables whose first cell names the word. Case, hyphens, underscores and code marks do not count.
func Explain(word string) (found []Entry) {
	names := func(e Entry) bool {
		return slices.ContainsFunc(strings.Split(e.Word, ","), func(w string) bool { return plain(w) == plain(word) })
	}
	if m, _ := measure.MetricByName(word); m.Raw() != "" {
		found = append(found, metric(m))
	}
	found = append(found, measure.Map(measure.Where(measure.Metrics, func(m measure.Metric) bool {
		return plain(word) == plain(m.Name) || plain(word) == plain(m.Title())
	}), metric)...)
	for _, e := range glossary() {
		if names(e) {
			return append([]Entry{e}, found...)
		}
	}
	if len(found) > 0 {
		return found
	}
	return append(found, measure.Where(tables(), names)...)
}

// Words lists the words that [Explain] knows.
func Words() (list []string) {
	list = measure.Map(measure.Metrics, func(m measure.Metric) string { return m.Name })
	for _, e := range append(tables(), glossary()...) {
		for w := range strings.SplitSeq(e.Word, ",") {
			list = append(list, strings.TrimSpace(Unmarked(w)))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func metric(m measure.Metric) Entry {
	kinds := measure.Map(m.Kinds(), func(kind measure.Scope) string { return string(kind) })
	e := Entry{Topic: metrics, Word: m.Name + " of " + strings.Join(kinds, ", ")}
	if plain(m.Name) != plain(m.Title()) {
		e.Word = m.Name + " (" + m.Title() + ") of " + strings.Join(kinds, ", ")
	}
	better := map[measure.Direction]string{measure.Lower: "lower", measure.Higher: "higher"}
	judges := "where a rule names it"
	if m.Judged() {
		judges = measure.Either(m.Informational(), "reported; fails where a rule names it", "always")
	}
	keys := "max, floor, at_most, at_least, severity"
	if slices.ContainsFunc(m.Kinds(), m.Drifts) {
		keys += ", drift"
	}
	if m.Better == measure.Neither {
		keys += ", better"
	}
	e.Cells = []Cell{{"meaning", m.Meaning()}, {"unit", cmp.Or(m.Unit, "its own")},
		{"better", cmp.Or(better[m.Better], "a rule says")},
		{"measured", m.Means().String()}, {"judged", judges}, {"rule keys", keys}}
	return e
}

// metrics is the topic with the table of metrics.
const metrics = "policy"

// tables are the rows of the tables of all pages, without their headings.
func tables() (out []Entry) {
	for _, t := range Topics() {
		var heading []string
		for line := range bytes.Lines(t.Text) {
			if !bytes.HasPrefix(line, []byte("|")) {
				heading = nil
				continue
			}
			cells := Cells(string(line))
			switch {
			case heading == nil:
				heading = cells
				continue
			case Ruled(cells) || cells[0] == "":
				continue
			}
			e := Entry{Topic: t.Name, Word: cells[0]}
			for i, cell := range cells[1:] {
				if cell != "" && i+1 < len(heading) {
					e.Cells = append(e.Cells, Cell{heading[i+1], Unmarked(cell)})
				}
			}
			out = append(out, e)
		}
	}
	return out
}

// Cells are the cells of a row of a table; \| is a bar within one.
func Cells(row string) []string {
	row = strings.ReplaceAll(strings.TrimSpace(row), `\|`, "\x00")
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"), "|")
	return measure.Map(cells, func(c string) string { return strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|")) })
}

// Ruled reports whether a row is the rule below the heading of a table.
func Ruled(cells []string) bool { return strings.Trim(strings.Join(cells, ""), "-: ") == "" }

// A link of Markdown, to a page or to another address.
var (
	link    = input.Pattern(`\[([^\[\]]*)\]\([^)]*\)`)
	outside = input.Pattern(`\[([^\[\]]*)\](\(https?://[^)]*\))`)
)

// Unmarked is a text without marks of code and emphasis, and of links to pages without their addresses.
func Unmarked(s string) string {
	parts := strings.Split(link().ReplaceAllString(outside().ReplaceAllString(s, "$1 $2"), "$1"), "`")
	for i := 0; i < len(parts); i += 2 { // outside of code
		parts[i] = strings.ReplaceAll(parts[i], "*", "")
	}
	return strings.Join(parts, "")
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(Unmarked(s)))
}

// Hit is a line of the manual with a word.
type Hit struct{ Topic, Line string }

// Search finds the lines with a word, whatever its case, in the order of the topics.
func Search(word string) (hits []Hit) {
	word = strings.ToLower(strings.TrimSpace(word))
	if word == "" {
		return nil
	}
	for _, t := range Topics() {
		for line := range bytes.Lines(t.Text) {
			if text := strings.TrimSpace(string(line)); strings.Contains(strings.ToLower(text), word) {
				hits = append(hits, Hit{t.Name, strings.TrimLeft(Unmarked(text), "#>|- ")})
			}
		}
	}
	return hits
}
