package model

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Hardware is the kind of machine of a session. Nothing in it names one machine: no serial number, no UUID, no host. A
// value is zero if it is unknown, or if it is a number and the GPUs of a session differ in it.
type Hardware struct {
	// Board is the part number of the GPU's board, revision included ("692-2G520-0282-001"), each of several once and
	// joined as by [Models].
	Board string `json:"board_part_number,omitempty"`
	VBIOS string `json:"vbios,omitempty"` // version, joined likewise
	// MemoryMHz is the highest memory clock, PowerW the power limit in force.
	MemoryMHz int `json:"memory_clock_max_mhz,omitempty"`
	PowerW    int `json:"power_limit_w,omitempty"`
	// MIG lists the instances of a divided GPU, "" for a whole one: "42 + 42 SMs".
	MIG string `json:"mig,omitempty"`
	CPU string `json:"cpu,omitempty"` // model
	// Sockets is the number of CPU packages, 0 where unknown; CPULimit the CPUs that the control group allows, 0 for no
	// limit.
	Sockets  int     `json:"sockets,omitempty"`
	CPULimit float64 `json:"cpu_limit,omitempty"`
}

// HostLoad is how much CPU time a host gave to others than the workload during its runs; zero for recordings from
// elsewhere.
type HostLoad struct {
	// share of the scheduling periods in which the control group hit its CPU limit
	Throttled float64 `json:"throttled,omitempty"`
	Steal     float64 `json:"steal,omitempty"`        // share of all CPU time that the hypervisor took
	Foreign   float64 `json:"foreign_load,omitempty"` // CPUs that other processes used, on average
	// share of all CPU time that others used on a host without a free CPU
	Crowded float64 `json:"crowded,omitempty"`
}

// Denied is the largest share of its CPU time that the host may have denied the workload.
func (l HostLoad) Denied() float64 { return min(max(l.Throttled, l.Steal, l.Crowded), 0.99) }

// Worse is the larger of two loads, number by number.
func (l HostLoad) Worse(o HostLoad) HostLoad {
	return HostLoad{max(l.Throttled, o.Throttled), max(l.Steal, o.Steal), max(l.Foreign, o.Foreign),
		max(l.Crowded, o.Crowded)}
}

// boardForm is one that serial numbers and UUIDs do not have.
var boardForm = input.Pattern(`^[0-9A-Z]{3}-[0-9A-Z]{5}-[0-9A-Z]{4}-[0-9A-Z]{3}$`)

// IsBoard reports whether s has the form of a [Hardware.Board] that is known.
func IsBoard(s string) bool {
	unknown := func(part string) bool { return !boardForm().MatchString(part) }
	return !slices.ContainsFunc(strings.Split(s, joint), unknown)
}

// Vendor begins the models of GPUs as their driver names them.
const Vendor = "NVIDIA"

// joint is between names of unlike GPUs.
const joint = " + "

// Models names the GPUs of a run by their models, each once: "A100 + H200".
func Models(names []string) string {
	return strings.Join(distinct(names), joint)
}

// Unlike reports whether the GPUs are of several models.
func (e Environment) Unlike() bool { return strings.Contains(e.GPU, joint) }

// distinct are the names that are not empty, sorted, each once.
func distinct(names []string) []string {
	names = measure.Where(names, func(name string) bool { return name != "" })
	slices.Sort(names)
	return slices.Compact(names)
}
