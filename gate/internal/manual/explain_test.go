package manual

import (
	"slices"
	"strings"
	"testing"

	_ "github.com/nsgate/nsgate/gate/internal/explain/reason" // reasons with their keys
)

// TestExplain wants words of reports explained: terms, outcomes, metrics, reasons and refusals.
func TestExplain(t *testing.T) {
	for word, want := range map[string]string{
		"undecided": "contains the limit", "below floor": "floor", "step_time": "", "step-time": "", "with-all": "",
		"no-baseline": "",
		"interleaved": "alternate", "MDE": "80 %", "severity": "",
	} {
		found := Explain(word)
		text := ""
		for _, e := range found {
			for _, c := range e.Cells {
				text += c.Text + "\n"
			}
		}
		if len(found) == 0 || !strings.Contains(text, want) {
			t.Errorf("%s is explained by %q", word, text)
		}
		if strings.ContainsAny(text, "`*") || strings.Contains(text, "](") {
			t.Errorf("%s: marks are left in %q", word, text)
		}
	}
	if found := Explain("no such word"); found != nil {
		t.Errorf("%v", found)
	}
	if words := Words(); len(words) < 150 || !slices.Contains(words, "undecided") {
		t.Errorf("%d words", len(words))
	}
}

func TestSearch(t *testing.T) {
	hits := Search("WINSORI")
	for _, h := range append(Search("torchrun"), hits...) {
		if _, ok := Lookup(h.Topic); !ok || h.Line == "" {
			t.Errorf("%+v", h)
		}
	}
	if len(Search("torchrun")) == 0 || Search(" ") != nil || Search("no such word at all") != nil {
		t.Error("a word of the manual is not found, or none is")
	}
}
