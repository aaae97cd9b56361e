package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/profile"
	"github.com/nsgate/nsgate/gate/report"
)

// TestReadmeTables holds the README's tables against the lists in the code: what is refused, and what can be read; -update
// rewrites them.
func TestReadmeTables(t *testing.T) {
	const file = "../../README.md"
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	detail := regexp.MustCompile(`\{(\w+)\}`)
	table := func(reasons measure.Reasons) string {
		var b strings.Builder
		b.WriteString("| no verdict, because | way out | reason_key |\n| --- | --- | --- |\n")
		for _, r := range reasons {
			fmt.Fprintf(&b, "| %s | %s | `%s` |\n", detail.ReplaceAllStringFunc(r.Sentence, strings.ToUpper), detail.ReplaceAllStringFunc(r.Next, strings.ToUpper), r.Key)
		}
		return strings.NewReplacer("{", "", "}", "").Replace(b.String())
	}
	var refusals strings.Builder
	for _, k := range check.Refusals() {
		fmt.Fprintf(&refusals, "<details><summary>%s</summary>\n\n%s\n</details>\n", k.Name, table(k.Reasons))
	}
	var inputs strings.Builder
	inputs.WriteString("| what | files | gives |\n| --- | --- | --- |\n")
	for _, f := range profile.Formats() {
		files := "`" + strings.Join(f.Suffixes, "`, `") + "`"
		if f.Needs != "" {
			files += ", with `" + f.Needs + "` on the PATH"
		}
		fmt.Fprintf(&inputs, "| %s | %s | %s |\n", f.Name, files, f.Gives)
	}
	var formats strings.Builder
	formats.WriteString("| format | for |\n| --- | --- |\n")
	for _, name := range report.Formats() {
		f, _ := report.Lookup(name)
		fmt.Fprintf(&formats, "| `%s` | %s |\n", name, f.About)
	}
	want := readme
	for _, list := range []struct{ name, table string }{
		{"inputs", inputs.String()}, {"formats", formats.String()}, {"reasons", refusals.String()},
	} {
		begin, end := "<!-- "+list.name+" -->\n", "<!-- end -->"
		before, rest, ok := bytes.Cut(want, []byte(begin))
		_, after, closed := bytes.Cut(rest, []byte(end))
		if !ok || !closed {
			t.Fatalf("the README has no table between %q and %q", begin, end)
		}
		want = []byte(string(before) + begin + list.table + end + string(after))
	}
	if bytes.Equal(want, readme) {
		return
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("the README's tables are not those of the code; go test ./cmd/nsgate -run ReadmeTables -update rewrites them")
}
