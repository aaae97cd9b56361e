package collect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/measure"
)

// How much of a program's output is kept, in bytes.
const (
	headBytes = 128 << 10
	tailBytes = 384 << 10
)

// excerpt keeps the beginning and the end of what is written to it: a chatty program fills neither memory nor disk.
type excerpt struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte // at most twice tailBytes between two cuts
	dropped int64
}

// Write never fails.
func (x *excerpt) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(p)
	if room := headBytes - len(x.head); room > 0 {
		k := min(room, len(p))
		x.head = append(x.head, p[:k]...)
		p = p[k:]
	}
	if over := len(p) - tailBytes; over > 0 {
		x.dropped += int64(over)
		p = p[over:]
	}
	x.tail = append(x.tail, p...)
	if len(x.tail) > 2*tailBytes {
		x.cut()
	}
	return n, nil
}

func (x *excerpt) cut() {
	if over := len(x.tail) - tailBytes; over > 0 {
		x.dropped += int64(over)
		x.tail = append(x.tail[:0], x.tail[over:]...)
	}
}

// String is what was kept as valid UTF-8, with a line that says how much is missing.
func (x *excerpt) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut()
	gap := ""
	if x.dropped > 0 {
		gap = fmt.Sprintf("\n[%d bytes left out]\n", x.dropped)
	}
	return strings.ToValidUTF8(string(x.head)+gap+string(x.tail), "\uFFFD")
}

var directories = regexp.MustCompile(`(?:/[^\s/'":;,()]+)+/`)

// clean takes the private directory, other directories and control characters out of what nsys said.
func clean(text, dir string) string {
	text = strings.NewReplacer(dir+"/", "", dir, "").Replace(text)
	return directories.ReplaceAllString(measure.NormalizeControl(text), "")
}

// lastLine is the last line with a word in it, shortened.
func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, l := range slices.Backward(lines) {
		if l = strings.Trim(l, " \t*"); l != "" {
			return strings.ToValidUTF8(l[:min(len(l), 300)], "")
		}
	}
	return ""
}
