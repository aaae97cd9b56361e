package ncu

import (
	"bytes"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// SniffSize is how much of a file [Sniff] and [SniffReport] look at, in bytes.
const SniffSize = 64 << 10

// Sniff reports whether a file that begins with head looks like output of ncu: a table of launches, with or without the
// lines of ncu and of the program before it, another page of ncu's, or its words that it profiled nothing. [Read]
// reads the first and says of the others what to do.
func Sniff(head []byte) bool {
	text := cells.Text(head[:min(len(head), SniffSize)])
	if bytes.IndexByte(text, 0) >= 0 {
		return false // no text
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(text), "\uFFFD")) {
		line = strings.TrimRight(line, "\r\n")
		if cells.JSON(line) {
			continue
		}
		if _, row := heading(line); row != nil {
			return true
		}
		if strings.HasPrefix(line, "==PROF== ") ||
			strings.HasPrefix(strings.TrimSpace(line), "==") && said().MatchString(line) {
			return true
		}
		for _, e := range elsewhere {
			if e.certain && e.looks().MatchString(line) {
				return true
			}
		}
	}
	return false
}
