package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// fold hides a text that is not empty under a title.
func fold(title, body string) string {
	if body == "" {
		return ""
	}
	return "\n<details><summary>" + title + "</summary>\n" + body + "\n</details>\n"
}

// table writes at most as many rows as given, and as fit into room bytes. It has three columns, which GitHub shows without scrolling:
// what else is known of a row stands in smaller type below.
func table(rows []row, most, room int) string {
	var b strings.Builder
	b.WriteString("\n| Name | Before → after | Change |\n| --- | --- | ---: |\n")
	room -= 100 // for the note about rows that are cut
	shown := 0
	for _, r := range rows[:min(most, len(rows))] {
		icon, result := r.mark()
		share := ""
		if r.Share != "" {
			share = r.Share + " of GPU time"
		}
		cells := []string{icon + code(r.Subject) + below(prose(Elide(r.Metric, 30)), prose(Elide(result, 60)), bind(prose(share)), prose(Elide(r.Geometry, 60))),
			bind(prose(r.Values)) + below(r.Runs), bind(prose(r.Change)) + below(join(", ", bind(prose(r.Interval)), limited(r.Limit)))}
		line := "| " + strings.Join(cells, " | ") + " |\n"
		if b.Len()+len(line) > room {
			break
		}
		b.WriteString(line)
		shown++
	}
	if shown == 0 {
		return ""
	}
	if cut := len(rows) - shown; cut > 0 {
		fmt.Fprintf(&b, "\n%d more rows are cut here; the JSON report holds all.\n", cut)
	}
	return b.String()
}

// mark is the sign of a row's class with the space behind it, "" for none, and the result in words, which may be anybody's.
func (r row) mark() (sign, result string) {
	result = r.Result()
	if sign, word, ok := strings.Cut(classes[r.Class].result, " "); ok && classes[r.Class].result == result && sign[0] >= utf8.RuneSelf {
		return sign + nb, word
	}
	return "", result
}

// below puts what is known under the text of a cell, in smaller type.
func below(texts ...string) string {
	text := join(" · ", texts...)
	if text == "" {
		return ""
	}
	return "<br><sub>" + text + "</sub>"
}

// limited is a limit with its word, "" for none.
func limited(limit string) string {
	if limit == "" {
		return ""
	}
	return bind("limit " + prose(limit))
}

// bullets lists lines under a title, at most [maxNotes] and as many as fit into room bytes.
func bullets(title string, lines []string, room int) string {
	text := "\n**" + title + "**\n\n"
	for i, l := range lines {
		if i == maxNotes || len(text)+len(l)+64 > room {
			if i == 0 {
				text = ""
			}
			return text + fmt.Sprintf("- … and %d more\n", len(lines)-i)
		}
		text += "- " + l + "\n"
	}
	if len(lines) == 0 {
		return ""
	}
	return text
}

func proses(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, prose(t))
	}
	return out
}
