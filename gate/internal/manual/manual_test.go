package manual

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

var row = regexp.MustCompile(`(?m)^\| ([a-z ]+) \| (\[.*\.md\).*) \|$`)
var page = regexp.MustCompile(`docs/([a-z-]+)\.md\)`)

// The page on formats lists each of them once.
func TestRefusals(t *testing.T) {
	page, _ := Lookup("formats")
	for _, k := range model.Kinds {
		if n := strings.Count(string(page.Text), "| `"+string(k.Kind)+"` | "+k.Meaning+" |"); n != 1 {
			t.Errorf("%s stands there %d times", k.Kind, n)
		}
	}
}

// The groups are the rows of the README's table, and each topic is in one.
func TestGroups(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []Group
	for _, m := range row.FindAllStringSubmatch(string(readme), -1) {
		g := Group{Title: m[1]}
		for _, p := range page.FindAllStringSubmatch(m[2], -1) {
			g.Topics = append(g.Topics, p[1])
		}
		want = append(want, g)
	}
	if !reflect.DeepEqual(Groups, want) {
		t.Errorf("groups are\n%q\nthose of the README\n%q", Groups, want)
	}
	in := map[string]int{}
	for _, g := range Groups {
		for _, name := range g.Topics {
			in[name]++
		}
	}
	for _, topic := range Topics() {
		if in[topic.Name] != 1 {
			t.Errorf("%s is in %d groups", topic.Name, in[topic.Name])
		}
	}
}

// Every topic has a heading that fits on a line of help.
func TestTopics(t *testing.T) {
	topics := Topics()
	if len(topics) < 15 || topics[0].Name != "start" {
		t.Fatalf("%d topics, the first %s", len(topics), topics[0].Name)
	}
	for _, topic := range topics {
		if topic.Title == "" || strings.ContainsAny(topic.Title, "#`*|[") || len(topic.Title) > 70 {
			t.Errorf("%s: the heading is %q", topic.Name, topic.Title)
		}
	}
}
