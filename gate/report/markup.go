package report

import (
	"fmt"
	"strings"
)

// fold hides a text that is not empty under a title.
func fold(title, body string) string {
	if body == "" {
		return ""
	}
	return "\n<details><summary>" + title + "</summary>\n" + body + "\n</details>\n"
}

// table writes at most as many rows as given, and as fit into room bytes.
func table(rows []row, most, room int) string {
	var b strings.Builder
	b.WriteString("\n| | Name | Metric | Before → after | Change | Interval | Limit | GPU time | Runs |\n" +
		"| --- | --- | --- | --- | ---: | --- | ---: | ---: | --- |\n")
	room -= 100 // for the note about rows that are cut
	shown := 0
	for _, r := range rows[:min(most, len(rows))] {
		name := code(r.Subject)
		if r.Geometry != "" {
			name += "<br><sub>" + prose(Elide(r.Geometry, 60)) + "</sub>"
		}
		cells := []string{prose(Elide(r.Result(), 60)), name, prose(Elide(r.Metric, 30))}
		for _, s := range []string{r.Values, r.Change, r.Interval, r.Limit, r.Share, r.Runs} {
			cells = append(cells, bind(prose(s)))
		}
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
