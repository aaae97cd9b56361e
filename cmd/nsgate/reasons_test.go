package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/nsys"
)

// TestReadmeReasons holds the README's tables of refusals against the lists in the code; -update rewrites them.
func TestReadmeReasons(t *testing.T) {
	const file = "../../README.md"
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	detail := regexp.MustCompile(`\{(\w+)\}`)
	table := func(reasons measure.Reasons) string {
		var b strings.Builder
		b.WriteString("| no verdict, because | way out |\n| --- | --- |\n")
		for _, r := range reasons {
			fmt.Fprintf(&b, "| %s | %s |\n", detail.ReplaceAllStringFunc(r.Sentence, strings.ToUpper), detail.ReplaceAllStringFunc(r.Next, strings.ToUpper))
		}
		return strings.NewReplacer("{", "", "}", "").Replace(b.String())
	}
	want := readme
	for _, list := range []struct {
		name    string
		reasons measure.Reasons
	}{{"recordings", nsys.Reasons}, {"comparisons", gate.Reasons}} {
		begin, end := "<!-- reasons: "+list.name+" -->\n", "<!-- end -->"
		before, rest, ok := bytes.Cut(want, []byte(begin))
		_, after, closed := bytes.Cut(rest, []byte(end))
		if !ok || !closed {
			t.Fatalf("the README has no table of refusals between %q and %q", begin, end)
		}
		want = []byte(string(before) + begin + table(list.reasons) + end + string(after))
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
	t.Error("the README's tables of refusals are not those of the code; go test ./cmd/nsgate -run ReadmeReasons -update rewrites them")
}
