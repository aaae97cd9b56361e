package proc

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// How much of a program's output is kept, in bytes.
const (
	headBytes = 128 << 10
	tailBytes = 384 << 10
)

// Output keeps the beginning and the end of its input: a chatty program fills neither memory nor disk.
type Output struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte // at most twice tailBytes between two cuts
	dropped int64
}

// Write never fails.
func (x *Output) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := min(len(p), headBytes-len(x.head))
	x.head = append(x.head, p[:k]...)
	x.tail = append(x.tail, p[k:]...)
	if len(x.tail) > 2*tailBytes {
		x.cut()
	}
	return len(p), nil
}

func (x *Output) cut() {
	if over := len(x.tail) - tailBytes; over > 0 {
		x.dropped += int64(over)
		x.tail = append(x.tail[:0], x.tail[over:]...)
	}
}

// String returns the kept output as valid UTF-8, with a line that says how much is missing.
func (x *Output) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut()
	gap := ""
	if x.dropped > 0 {
		gap = fmt.Sprintf("\n[%d bytes left out]\n", x.dropped)
	}
	return strings.ToValidUTF8(string(x.head)+gap+string(x.tail), "\uFFFD")
}

// directories are an absolute path up to its last component, which says enough.
var directories = input.Pattern(`(?:[A-Za-z]:)?(?:[/\\][^/\\\s'":]+)+[/\\]`)

// Said is a program's own error message, without the machine's names. It is the last line with words of the first
// output that has one, shortened; "" where none has. It is untrusted text.
func Said(outputs ...string) string {
	const longest = 200
	for _, output := range outputs {
		lines := strings.Split(output, "\n")
		for _, line := range slices.Backward(lines) {
			line = strings.Join(strings.Fields(directories().ReplaceAllString(line, "")), " ")
			if !strings.ContainsFunc(line, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }) {
				continue
			}
			if runes := []rune(line); len(runes) > longest {
				line = string(runes[:longest]) + "…"
			}
			return strings.Trim(line, " .*")
		}
	}
	return ""
}
