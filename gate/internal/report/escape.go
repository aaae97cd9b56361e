package report

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/report/story"
)

// Texts of a workload, a policy or a saved report are hostile input. This file escapes them. HTML is escaped by
// gomponents, JSON by encoding/json, workflow commands of GitHub by go-githubactions; what a CI runner would obey is
// broken by the [terminal.Writer] behind all of them.

// clip cuts a text after n runes.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// prose is a sentence of bounded length in Markdown: no markup, mention, reference or link comes from its words.
func prose(s string) string {
	return markdownText(story.Unspaced(clip(story.Clean(s), story.MaxProse)))
}

// code shows a name literally in Markdown. Backticks would leave HTML unescaped; mentions are inert in <code>.
func code(s string) string {
	return "<code>" + breakable(story.Elide(story.Clean(s), 80), markdownText) + "</code>"
}

// breakable escapes a name, whose long words a page may break behind their punctuation marks.
func breakable(name string, escape func(string) string) string {
	const least, long = 12, 30
	marks := []rune("_:,<>(")
	text, part := "", ""
	for _, word := range strings.SplitAfter(name, " ") {
		from := len(part)
		for i, r := range word {
			part += string(r)
			if story.Columns(word) > long && slices.Contains(marks, r) && len(part)-from >= least &&
				story.Columns(word[i+1:]) >= least {
				text, part, from = text+escape(part)+"<wbr>", "", 0
			}
		}
	}
	return text + escape(part)
}

// pre shows a command literally in Markdown. Inside <pre> nothing is Markdown, so only HTML needs care.
func pre(s string) string { return "<pre>" + entities.Replace(clip(s, story.MaxCommand)) + "</pre>" }

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "#", "&#35;", "`", "&#96;")

// markdownText writes text so that Markdown shows it as it is, in table cells too.
func markdownText(s string) string {
	const gap = "&#8203;" // zero width space
	runes := []rune(story.Clean(s))
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	wordy := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	for i, r := range runes {
		switch r {
		case '<', '>', '&', '$', '#', '@', '`':
			fmt.Fprintf(&b, "&#%d;", r)
		case '\\', '*', '[', ']', '|', '~':
			b.WriteString(`\` + string(r))
		case '_':
			if !wordy(at(i-1)) || !wordy(at(i+1)) {
				b.WriteByte('\\')
			}
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
		switch r {
		case '@', '#', '!', '~', '$', '&', '%':
			if wordy(at(i + 1)) {
				b.WriteString(gap)
			}
		case ':', '.', '-': // https://, www., GH-1
			last := strings.ToLower(string(runes[max(0, i-3):i]))
			if r == ':' && at(i+1) == '/' || r == '.' && last == "www" || r == '-' && strings.HasSuffix(last, "gh") {
				b.WriteString(gap)
			}
		}
	}
	return b.String()
}

// xmlLines puts each text that is not empty on a line of its own, escaped for XML.
func xmlLines(texts []string) string {
	var b strings.Builder
	for _, t := range story.Nonempty(texts...) {
		b.WriteByte('\n')
		xml.EscapeText(&b, []byte(t)) // a strings.Builder takes everything
	}
	b.WriteByte('\n')
	return b.String()
}

// label replaces the characters that break readers of OpenMetrics. Backslash and quote could be
// escaped, but GitLab splits a line as a shell does and takes # for a comment.
func label(s string) string { return labelCharacters.Replace(story.Clean(s)) }

var labelCharacters = strings.NewReplacer(`\`, "∖", `"`, "”", "'", "’", "`", "‵", "#", "♯")
