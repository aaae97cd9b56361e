package command_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
)

// TestTables holds the tables of the manual against the lists in the code: what is read, what can be
// written, what is refused and what is looked for; -update rewrites them.
func TestTables(t *testing.T) {
	inputs := "| what | files | gives |\n| --- | --- | --- |\n"
	for _, f := range profile.Formats() {
		files := "`" + strings.Join(f.Suffixes, "`, `") + "`"
		if f.Needs != "" {
			files += ", with `" + f.Needs + "` on the PATH"
		}
		inputs += fmt.Sprintf("| %s | %s | %s |\n", f.Name, files, f.Gives)
	}
	formats := "| format | for |\n| --- | --- |\n"
	for _, name := range report.Formats(report.Report) {
		about, _ := report.About(name)
		formats += fmt.Sprintf("| `%s` | %s |\n", name, about)
	}
	refusals := "| `reason_key` | no verdict, because |\n| --- | --- |\n"
	for _, k := range model.Kinds {
		refusals += fmt.Sprintf("| `%s` | %s |\n", k.Kind, k.Meaning)
	}
	patterns := "| `key` | what it is | named | after |\n| --- | --- | --- | --- |\n"
	for _, p := range insight.Patterns {
		patterns += fmt.Sprintf("| `%s` | %s | %s | %s |\n", p.Key, p.Means, p.When, p.Source)
	}
	for _, x := range []struct{ file, name, table string }{
		{"../../cmd/nsgate/docs/inputs.md", "inputs", inputs}, {"../../cmd/nsgate/docs/formats.md", "formats", formats}, {"../../cmd/nsgate/docs/refusals.md", "reasons", refusals},
		{"../../cmd/nsgate/docs/patterns.md", "patterns", patterns},
	} {
		text, err := os.ReadFile(x.file)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+x.name+" -->\n", "<!-- end -->"
		before, rest, ok := bytes.Cut(text, []byte(begin))
		_, after, closed := bytes.Cut(rest, []byte(end))
		want := []byte(string(before) + begin + x.table + end + string(after))
		switch {
		case !ok || !closed:
			t.Errorf("%s has no table between %q and %q", x.file, begin, end)
		case bytes.Equal(want, text):
		case *update:
			if err := os.WriteFile(x.file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("the table %q of %s is not that of the code; go test ./gate/command -run TestTables -update rewrites it", x.name, x.file)
		}
	}
}

// TestKinds checks the list of refusals: distinct words in one form, each with one sentence.
func TestKinds(t *testing.T) {
	form, known := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), map[model.Kind]bool{}
	for _, k := range model.Kinds {
		if known[k.Kind] || !form.MatchString(string(k.Kind)) || !strings.HasSuffix(k.Meaning, ".") || strings.Count(k.Meaning, ". ") > 0 {
			t.Errorf("%q: %q", k.Kind, k.Meaning)
		}
		known[k.Kind] = true
	}
}
