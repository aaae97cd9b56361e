package manual

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every topic fits into terminals of any width, but for code, which is there to be copied; colour changes no word; nothing of the
// Markdown is left.
func TestRender(t *testing.T) {
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	topics := Topics()
	if len(topics) < 15 || topics[0].Name != "start" {
		t.Fatalf("%d topics, the first %s", len(topics), topics[0].Name)
	}
	for _, topic := range topics {
		if topic.Title == "" || strings.ContainsAny(topic.Title, "#`*|[") || len(topic.Title) > 70 {
			t.Errorf("%s: the heading is %q", topic.Name, topic.Title)
		}
		source := string(topic.Text)
		words := func(s string) string {
			fields := strings.Fields(strings.NewReplacer("`", "", "─", "", "═", "").Replace(s))
			slices.Sort(fields) // the lines of a table's cells stand side by side
			return strings.Join(fields, " ")
		}
		for _, width := range []int{40, 60, 120} {
			text := topic.Render(width, false)
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				code := strings.HasPrefix(line, "    ") && strings.Contains(source, strings.TrimSpace(line)+"\n")
				if utf8.RuneCountInString(line) > width && !code {
					t.Errorf("%s at %d: %s", topic.Name, width, line)
				}
				if !code && regexp.MustCompile("^```|^#+ |^\\| |\\]\\(|<!--|\\*\\*").MatchString(strings.TrimSpace(line)) {
					t.Errorf("%s at %d: Markdown is left: %s", topic.Name, width, line)
				}
			}
			painted := topic.Render(width, true)
			if !sgr.MatchString(painted) || width == 120 && words(sgr.ReplaceAllString(painted, "")) != words(text) {
				t.Errorf("%s at %d: colour changes the text", topic.Name, width)
			}
		}
	}
}

func TestTable(t *testing.T) {
	topic := Topic{Text: []byte("| key | n | what it means |\n| --- | ---: | --- |\n| `a` | 1 | some words that are longer than what there is room for |\n| `a_rather_long_key_name` | 200 | short |\n| b | | |\n")}
	for width, want := range map[int]string{
		60: `
key                         n  what it means
────────────────────────  ───  ─────────────────────────────
` + "`a`" + `                         1  some words that are longer
                               than what there is room for
` + "`a_rather_long_key_name`" + `  200  short
b
`,
		40: `
` + "`a`" + `
  n: 1
  what it means: some words that are
    longer than what there is room for

` + "`a_rather_long_key_name`" + `
  n: 200
  what it means: short

b
`,
	} {
		if got := "\n" + topic.Render(width, false); got != want {
			t.Errorf("at %d:\n%s\nwant:\n%s", width, got, want)
		}
	}
}
