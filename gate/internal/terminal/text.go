package terminal

import (
	"strings"
	"unicode"
)

// Line is a line as a [Writer] of [Data] writes it, for the parts of a command that goes past the writer.
func Line(s string) string {
	var b strings.Builder
	New(&b, Form{Syntax: Data}).Write([]byte(s)) // a strings.Builder takes everything
	return b.String()
}

var signs = map[rune]string{'…': "...", '→': "->", 'µ': "u", '×': "x", '–': "-", '−': "-", '─': "-", '·': "|", '•': "*",
	'≥': ">=", '≤': "<=", '↑': "+", '↓': "-", '▁': "_", '▂': ".", '▃': ",", '▄': "-", '▅': "=", '▆': "+", '▇': "*",
	'█': "#", '±': "+-", '✓': "ok", '✗': "XX", '═': "=", '│': "|", '“': `"`, '”': `"`, '♯': "+", '∶': ".", noBreak: " "}

// toASCII is a character for a terminal whose locale is C.
func toASCII(r rune) string {
	sign, ok := signs[r]
	switch {
	case ok:
		return sign
	case r > unicode.MaxASCII:
		return "?"
	}
	return string(r)
}

// ASCII is a text as the [Writer] writes it where the locale is C, but for "…", which stays one column wide, and for
// no-break spaces.
func ASCII(s string) string {
	var b strings.Builder
	for _, r := range ellipses.Replace(s) {
		if r == noBreak {
			b.WriteRune(r)
		} else {
			b.WriteString(toASCII(r))
		}
	}
	return b.String()
}

var ellipses = strings.NewReplacer("\u00a0…\u00a0", "\u00a0..\u00a0", " … ", " .. ", "…", "~")
