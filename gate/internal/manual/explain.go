package manual

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Entry is a row of a table of the manual that explains a word: a metric, a reason, a refusal, an outcome, a key.
type Entry struct {
	Topic string
	Word  string
	Cells [][2]string // the other cells, each behind the heading of its column
}

// Explain finds the metrics of that name or title, and the rows whose first cell names the word, in the glossary first.
// Case, hyphens, underscores and code marks do not count.
func Explain(word string) (found []Entry) {
	if m, _ := measure.MetricByName(word); m.Raw() != "" {
		found = append(found, metric(m))
	}
	for _, m := range measure.Metrics {
		if plain(word) == plain(m.Name) || plain(word) == plain(m.Title()) {
			found = append(found, metric(m))
		}
	}
	listed := len(found)
	for _, t := range Topics() {
		for _, e := range entries(t) {
			if slices.ContainsFunc(strings.Split(e.Word, ","), func(w string) bool { return plain(w) == plain(word) }) {
				found = append(found, e)
			}
		}
	}
	measure.Sort(found[listed:], func(a, b Entry) int { return rank(a.Topic) - rank(b.Topic) })
	return found
}

// Words lists the words that [Explain] knows.
func Words() (words []string) {
	for _, m := range measure.Metrics {
		words = append(words, m.Name)
	}
	for _, t := range Topics() {
		for _, e := range entries(t) {
			for w := range strings.SplitSeq(e.Word, ",") {
				words = append(words, strings.TrimSpace(unmarked(w)))
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func metric(m measure.Metric) Entry {
	var kinds []string
	for _, kind := range m.Kinds() {
		kinds = append(kinds, string(kind))
	}
	e := Entry{Topic: metrics, Word: m.Name + " of " + strings.Join(kinds, ", ")}
	if plain(m.Name) != plain(m.Title()) {
		e.Word = m.Name + " (" + m.Title() + ") of " + strings.Join(kinds, ", ")
	}
	better := map[measure.Direction]string{measure.Lower: "lower", measure.Higher: "higher"}
	judges := "where a rule names it"
	if m.Judged() {
		judges = "always"
		if m.Informational() {
			judges = "reported; fails where a rule names it"
		}
	}
	drift := slices.ContainsFunc(m.Kinds(), m.Drifts)
	keys := "max, floor, at_most, at_least, severity"
	if drift {
		keys += ", drift"
	}
	if m.Better == measure.Neither {
		keys += ", better"
	}
	e.Cells = [][2]string{{"meaning", m.Meaning()}, {"unit", cmp.Or(m.Unit, "its own")},
		{"better", cmp.Or(better[m.Better], "a rule says")},
		{"measured", m.Means().String()}, {"judged", judges}, {"rule keys", keys}}
	return e
}

// metrics is the topic with the table of metrics, glossary that whose rows come first.
const metrics, glossary = "policy", "words"

func rank(topic string) int {
	if topic == glossary {
		return 0
	}
	return 1
}

// entries are the rows of the tables of a page, without their headings.
func entries(t Topic) (out []Entry) {
	var heading []string
	for line := range bytes.Lines(t.Text) {
		row, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "|")
		if !ok {
			heading = nil
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.ReplaceAll(row, `\|`, "\x00"), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|"))
		}
		switch {
		case heading == nil:
			heading = cells
			continue
		case strings.Trim(strings.Join(cells, ""), "-: ") == "" || cells[0] == "":
			continue
		}
		e := Entry{Topic: t.Name, Word: cells[0]}
		for i, cell := range cells[1:] {
			if cell != "" && i+1 < len(heading) {
				e.Cells = append(e.Cells, [2]string{heading[i+1], unmarked(cell)})
			}
		}
		out = append(out, e)
	}
	return out
}

// unmarked is a cell without marks of code and without the addresses of links.
func unmarked(s string) string {
	for {
		before, rest, ok := strings.Cut(s, "](")
		_, after, closed := strings.Cut(rest, ")")
		at := strings.LastIndexByte(before, '[')
		if !ok || !closed || at < 0 {
			return strings.ReplaceAll(strings.ReplaceAll(s, "`", ""), "*", "")
		}
		s = before[:at] + before[at+1:] + after
	}
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(unmarked(s)))
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
				hits = append(hits, Hit{t.Name, strings.TrimLeft(unmarked(text), "#>|- ")})
			}
		}
	}
	return hits
}
