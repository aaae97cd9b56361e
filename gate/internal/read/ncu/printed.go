package ncu

import (
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// launchLine begins a launch on the details page as ncu prints it without --csv; ncu before 2023 prints a date for the
// geometry.
var launchLine = input.Pattern(`^ {2}(\S.*?)(?: (\([0-9]+, [0-9]+, [0-9]+\))x(\([0-9]+, [0-9]+, [0-9]+\))|, 20[0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9:]{8})?` +
	`, Context [0-9]+, Stream ([0-9]+)(?:, Device ([0-9]+))?(?:, CC [0-9.]+)?$`)

var (
	sectionLine = input.Pattern(`^ {4}Section: (.*\S)\s*$`)
	titleLine   = input.Pattern(`^ {4}Metric Name +Metric Unit +Metric Value\s*$`)
	ruleLine    = input.Pattern(`^ {4}-+ -+ -+\s*$`)
)

// printedPage turns details pages that ncu printed without --csv into CSV, line for line, so that line numbers hold.
// Other lines stay as they are before the first launch, and of ncu itself also behind it.
type printedPage struct {
	launch  []string // ID, kernel, stream, block, grid and device; nil before the first
	section string
	rule    []int // where the columns of the table begin
	rows    bool  // the lines are rows of metrics
	headed  bool  // the header of the CSV is written
	number  int
}

// line gives the CSV of a line.
func (p *printedPage) line(text string) string {
	line := strings.TrimRight(text, "\r\n")
	if m := launchLine().FindStringSubmatch(line); m != nil {
		p.launch, p.section, p.rows = []string{strconv.Itoa(p.number), m[1], m[4], m[3], m[2], m[5]}, "", false
		p.number++
		if p.headed {
			return "\n"
		}
		p.headed = true
		return cells.CSV("ID", "Kernel Name", "Stream", "Block Size", "Grid Size", "Device", "Section Name",
			"Metric Name", "Metric Unit", "Metric Value") + "\n"
	}
	m := sectionLine().FindStringSubmatch(line)
	switch {
	case p.launch == nil:
		return text
	case strings.HasPrefix(line, "=="):
		p.headed = false
		return text
	case m != nil:
		p.section, p.rows = m[1], false
	case ruleLine().MatchString(line):
		p.rule = cells.Rule(line)
	case titleLine().MatchString(line):
		p.rows = true
	case p.rows && len(p.rule) == 3 && strings.HasPrefix(line, "    "):
		return cells.CSV(append(append(p.launch[:6:6], p.section), cells.Cut(line, p.rule)...)...) + "\n"
	default:
		p.rows = p.rows && strings.TrimSpace(line) == ""
	}
	return "\n"
}
