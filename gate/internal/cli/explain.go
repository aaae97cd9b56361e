package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/thresholds"
)

// explainWord prints the rows of the manual that explain a word of a report.
func explainWord(_ context.Context, e *env, _ *flags, args arguments) error {
	word := args.own[0]
	found := manual.Explain(word)
	if len(found) == 0 {
		return usageError("the manual has no table with %q; %snsgate help --search %s looks in its text", word,
			meant("", word, manual.Words()), thresholds.JoinCommand(args.own))
	}
	width := max(width(e), 40)
	for i, x := range found {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		fmt.Fprintf(e.Out, "%s  (nsgate help %s)\n", strings.ReplaceAll(x.Word, "`", ""), x.Topic)
		for _, c := range x.Cells {
			text := c[1]
			if len(x.Cells) > 1 && c[0] != "" {
				text = c[0] + ": " + text
			}
			fmt.Fprint(e.Out, behind(reflow(text, width-2)))
		}
	}
	return nil
}

// behind puts two spaces before each line.
func behind(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// search prints the lines of the manual with a word, behind their topics.
func search(e *env, word string) error {
	const most = 5 // lines of a topic
	hits := manual.Search(word)
	if len(hits) == 0 {
		return usageError("the manual does not have %q; nsgate help lists its topics", word)
	}
	topic, shown, left := "", 0, 0
	more := func() {
		if left > 0 {
			fmt.Fprintf(e.Out, "  %d more lines: nsgate help %s\n", left, topic)
		}
	}
	for _, h := range hits {
		if h.Topic != topic {
			more()
			topic, shown, left = h.Topic, 0, 0
			fmt.Fprintf(e.Out, "%s\n", topic)
		}
		if shown++; shown > most {
			left++
			continue
		}
		fmt.Fprint(e.Out, behind(reflow(h.Line, max(width(e), 40)-2)))
	}
	more()
	return nil
}
