package run

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// longestLine is the part of a line in bytes that is searched for outputs.
const longestLine = 64 << 10

// printed hands on a program's output and looks for outputs in it, line by line. None is missed where a long output is
// not kept as a whole. A carriage return ends a line too, as in progress bars.
type printed struct {
	to       *proc.Output
	patterns []*regexp.Regexp
	line     []byte
	found    [][]string
	units    []string          // behind the last number that each pattern found, "" for none that is known
	said     func(line string) // is told the last line now and then; nil for nobody
	last     time.Time         // when it was told
}

// say tells the last line of p that is not empty, at most once a second: it is work beside the run that is measured.
func (x *printed) say(p []byte) {
	if x.said == nil || time.Since(x.last) < time.Second {
		return
	}
	p = bytes.TrimSpace(p)
	p = p[bytes.LastIndexAny(p, "\r\n")+1:]
	if len(p) > 0 {
		x.last = time.Now()
		x.said(strings.ToValidUTF8(string(p[:min(len(p), 400)]), "\uFFFD"))
	}
}

// look begins to look for patterns, which are known to be right.
func (x *printed) look(patterns []string) {
	for _, p := range patterns {
		x.patterns = append(x.patterns, regexp.MustCompile(p))
	}
	x.found, x.units = make([][]string, len(patterns)), make([]string, len(patterns))
}

// Write never fails.
func (x *printed) Write(p []byte) (int, error) {
	n := len(p)
	x.to.Write(p)
	x.say(p)
	for len(x.patterns) > 0 && len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n")
		part := p
		if end >= 0 {
			part = p[:end]
		}
		x.line = append(x.line, part[:min(len(part), longestLine-len(x.line))]...)
		if end < 0 {
			break
		}
		x.match()
		p = p[end+1:]
	}
	return n, nil
}

// match looks for outputs in the line that has ended: the whole number around the group. Two matches are as wrong as
// more.
func (x *printed) match() {
	line := strings.ToValidUTF8(string(x.line), "\uFFFD")
	x.line = x.line[:0]
	for i, p := range x.patterns {
		for _, m := range p.FindAllStringSubmatchIndex(line, 2) {
			if len(x.found[i]) < 2 {
				number, behind := cells.Around(line, max(0, m[2]), max(0, m[3]), p)
				x.found[i], x.units[i] = append(x.found[i], number), unitOf(behind)
			}
		}
	}
}

// unitWord matches the word behind a number, which may be its unit.
var unitWord = input.Pattern(`^ ?([\pLµ%][^\s,;:()\[\]{}<>|]*)`)

// unitOf is the unit that a program prints behind a number, as in 9.5 ms and 12us; "" for a word that is none.
func unitOf(behind string) string {
	word := unitWord().FindStringSubmatch(behind)
	if word == nil {
		return ""
	}
	if _, _, known := measure.BaseUnit(word[1]); !known {
		return ""
	}
	return word[1]
}

// end returns the matches, the last line included.
func (x *printed) end() [][]string {
	if len(x.line) > 0 {
		x.match()
	}
	return x.found
}

// unprofiledOf are the unprofiled runs of base and head. They have succeeded.
func unprofiledOf(runs []Run) (base, head []model.Unprofiled) {
	for _, r := range runs {
		if !r.Unprofiled {
			continue
		}
		u := model.Unprofiled{Start: r.Start.UTC(), Wall: r.Duration, Overlapped: r.Held != nil, Results: r.Results,
			Load: r.Load, LeftOut: r.LeftOut}
		for _, found := range r.Found {
			u.Outputs = append(u.Outputs, outputValue(found[0]))
		}
		u.Units = r.Units
		if r.Base {
			base = append(base, u)
		} else {
			head = append(head, u)
		}
	}
	return base, head
}
