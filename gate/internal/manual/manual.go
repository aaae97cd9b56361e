// Package manual is the manual in the binary: its topics and the JSON schemas.
package manual

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/cmd/nsgate/docs"

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
		args := ""
		if len(k.Args) > 0 {
			args = " (`" + strings.Join(k.Args, "`, `") + "`)"
		}
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
	topics := Topics()
	i := slices.IndexFunc(topics, func(t Topic) bool { return t.Name == name })
	if i < 0 {
		return Topic{}, false
	}
	return topics[i], true
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
