package ncu

import (
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
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
