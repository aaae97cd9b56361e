package manual

import (
	"strings"
	"testing"
)

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
