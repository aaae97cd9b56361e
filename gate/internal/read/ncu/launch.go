package ncu

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// launch is a profiled launch while its cells are collected.
type launch struct {
	is    [len(identity)]string
	file  string
	line  int
	cells []cell
}

var (
	// unnamed matches ncu's form of an anonymous namespace.
	unnamed = input.Pattern(`(^|[^<\w])unnamed>::`)
	extent  = input.Pattern(`^\( *([0-9]+) *, *([0-9]+) *, *([0-9]+) *\)$`)
	// around is one NVTX range of those around a launch: domain, name, and six fields of payload, colour and message.
	around = input.Pattern(`"(?:[0-9]+:)?([^":]*):([^"]*?)(?::[^":]*){6}"`)
)

// subject is the kernel with its geometry, which ncu before 2023 does not print. With --replay-mode range it is the
// NVTX range, and only named "range" where there is none.
func (l *launch) subject(names *model.KernelNames) (measure.Subject, error) {
	if strings.TrimSpace(l.is[kernel]) == "" {
		return measure.Subject{}, model.Refuse(model.BadValue, again, "%s:%d: the launch has no kernel name", l.file,
			l.line)
	}
	name := l.is[kernel]
	if strings.Contains(name, "unnamed>") {
		name = unnamed().ReplaceAllString(name, "$1<unnamed>::")
	}
	s, err := names.Subject(l.file, name)
	if err != nil {
		return s, err
	}
	for i, to := range []*measure.Dim3{&s.Grid, &s.Block} {
		text := l.is[grid+i]
		if text == "" || text == "n/a" {
			continue
		}
		c := cell{file: l.file, line: l.line, name: identity[grid+i], text: text}
		m := extent().FindStringSubmatch(text)
		if m == nil {
			return s, model.Refuse(model.BadValue, again, "%s: not of the form (X, Y, Z)", c.place())
		}
		for i, to := range []*uint32{&to.X, &to.Y, &to.Z} {
			n, err := strconv.ParseUint(m[i+1], 10, 32)
			if err != nil {
				return s, model.Refuse(model.BadValue, again, "%s: larger than any grid", c.place())
			}
			*to = uint32(n)
		}
	}
	if s.Name == "range" && l.is[stream] == "n/a" { // a range has no stream of its own
		s = measure.Subject{Scope: measure.ScopeRange, Name: "range"}
		if ranges := around().FindAllStringSubmatch(l.is[pushed]+" "+l.is[started], -1); len(ranges) > 0 {
			inner := ranges[len(ranges)-1]
			name := inner[2]
			if inner[1] != "" && inner[1] != "<default domain>" {
				name = inner[1] + ":" + name
			}
			s.Name = measure.NormalizeRange(name)
		}
	}
	return s, nil
}

// identity are the columns that say which launch a row is about; the NVTX ranges around it are there with --nvtx only.
// The other columns depend on version and options, and people delete those that they do not publish.
var identity = [...]string{
	id: "ID", process: "Process ID", kernel: "Kernel Name", stream: "Stream", grid: "Grid Size", block: "Block Size",
	device:  "Device",
	pushed:  "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
	started: "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
}

const (
	id = iota
	process
	kernel
	stream
	grid
	block
	device
	pushed
	started
)

// builder puts the launches of all tables together.
type builder struct {
	profile *counters.Profile
	at      map[measure.Subject]int // in Profile.Kernels
	devices map[string]bool
	kernels model.KernelNames
	layout  *layout  // of the last launch
	raw     []string // names of ncu metrics that are metrics of their own
	failed  int      // launches without a duration
	first   string   // of them
}

func newBuilder(source string, raw []string) builder {
	return builder{profile: &counters.Profile{Source: source}, at: map[measure.Subject]int{},
		devices: map[string]bool{}, raw: raw}
}

// lists are words that look like numbers: which of the GPU's parts are switched on.
var lists = map[string]bool{"launch__tpc_enabled": true, "Launch Statistics: Enabled TPC IDs": true}

// topology begins the names of cells that may list several numbers ("0,1"). No metric is made of them.
var topology = input.Pattern(`^(?:numa|nvlink|c2clink)__`)

// wordy reports whether the cells of a metric may hold words that look like numbers.
func wordy(name string) bool { return lists[name] || topology().MatchString(name) }

// language decides whether a table's numbers are English from all of its cells together.
type language struct {
	foreign error // of a number that is not
	unclear error // of one that may be, unless another one is
	english bool
}

func (l *language) see(c *cell, form cells.Form) {
	switch {
	case form == cells.Point, form == cells.Thousands:
		l.english = true
	case form == cells.ThreeAfterPoint && l.unclear == nil: // ncu writes two decimals or six, never three
		l.unclear = model.Refuse(model.BadValue, withC,
			"%s: the number is ambiguous: its point may separate thousands or decimals", c.place())
	case form == cells.Foreign && l.foreign == nil:
		l.foreign = model.Refuse(model.BadValue, withC,
			"%s: the number is written with a decimal comma, or with other signs than commas between thousands",
			c.place())
	}
}

// value is a cell as it is read.
type value struct {
	number float64 // in the base unit, NaN if the cell holds none
	step   float64 // the smallest difference that the cell can show: 8.19 Kbyte has a step of 10 byte
	unit   string  // "ns", "byte", "hz", "byte/s"
	text   string
	line   int
}

// read reads the cell, and shows its number to the language. Text that is not a number is NaN.
func (c *cell) read(l *language) value {
	v := value{number: math.NaN(), unit: c.unit, text: c.text, line: c.line}
	n, form := cells.Parse(c.text)
	if !c.words {
		l.see(c, form)
	}
	if !c.kept || lists[c.name] || form == cells.NoNumber || form == cells.Foreign {
		return v
	}
	factor, unit := c.factor, c.base
	if factor == 0 {
		factor, unit = baseUnit(c.unit)
	}
	v.number, v.unit, v.step = n.Float(factor), unit, n.Step(factor)
	if factor == 1 && n.Places == 0 {
		v.step = 0
	}
	return v
}

// baseUnit is ncu's word for the base unit, and the factor from the unit to it. A rate has the second as its base.
func baseUnit(unit string) (factor float64, base string) {
	above, below, rate := strings.Cut(unit, "/")
	factor, base = scaled(above)
	if !rate {
		return factor, base
	}
	size, per := scaled(below)
	if per == "ns" {
		size, per = size/1e9, "s"
	}
	if base == "cycle" && per == "s" {
		return factor / size, "hz"
	}
	return factor / size, base + "/" + per
}

// scaled is the size of a unit and ncu's word for its base unit, with prefixes of 1000. Another unit is its own base.
func scaled(unit string) (factor float64, base string) {
	switch factor, base, _ := measure.BaseUnit(unit); base {
	case "Hz":
		return factor, "hz"
	case "B":
		return factor, "byte"
	case "ns":
		return factor, base
	}
	return 1, unit
}

// cell is one value as it stands in the file.
type cell struct {
	file    string
	line    int
	at      int    // of its column on the raw page
	section string // of the details page
	name    string // of the ncu metric
	unit    string // as written
	text    string
	words   bool    // it may hold words that look like numbers
	kept    bool    // its number is used
	factor  float64 // from the unit to its base
	base    string  // not yet known where factor is 0
}

// place names the cell in messages.
func (c *cell) place() string {
	return fmt.Sprintf("%s:%d: column %s: %s", c.file, c.line, quote(c.name), quote(c.text))
}
