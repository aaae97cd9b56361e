package model

import (
	"slices"
	"strings"
)

// Profiler is the source of numbers, without its version.
type Profiler string

// The profilers that nsgate tells apart; a file may name another.
const (
	Tracing    Profiler = "nsys"           // Nsight Systems, launch by launch
	Statistics Profiler = "nsys-stats"     // the tables that nsys stats prints
	Thunks     Profiler = "nsys-jax"       // the tables of nsys-jax: thunks of XLA, without copies
	Counting   Profiler = "ncu"            // Nsight Compute: counters of single launches
	Torch      Profiler = "torch.profiler" // Kineto's traces and tables
)

// PrintLaunches is the command that prints a table of launches, see [Statistics].
const PrintLaunches = "nsys stats --report cuda_gpu_trace --format csv REPORT.nsys-rep"

// Comparable reports whether numbers of two profilers may be compared: two profilers time the same kernel differently.
// An unknown profiler may be either.
func (p Profiler) Comparable(o Profiler) bool { return p == o || p == "" || o == "" }

// TellsMemory reports whether every copy has the kinds of memory between which it copies.
func (p Profiler) TellsMemory() bool { return p != Thunks }

// Profiler is the profiler of the environment, "" where it is unknown. A word that begins with a digit is its version.
func (e *Environment) Profiler() Profiler {
	if name, version, _ := strings.Cut(e.Tool, " "); version != "" && version[0] <= '9' {
		return Profiler(name)
	}
	return Profiler(e.Tool)
}

// Counted reports whether single launches were measured, replayed one by one, and not the workload.
func (e *Environment) Counted() bool { return e.Profiler() == Counting }

// Pick keeps the sessions that the profiler measured; those of an unknown one count as of [Tracing].
func (p Profiler) Pick(sessions []Session) []Session {
	return slices.DeleteFunc(slices.Clone(sessions), func(s Session) bool {
		own := s.Profiler()
		return own != p && !(own == "" && p == Tracing)
	})
}

// Timed keeps the sessions of a profiler that records times launch by launch, and those of an unknown one.
func Timed(sessions []Session) []Session { return Tracing.Pick(sessions) }

// Counted keeps the sessions of counters of single launches.
func Counted(sessions []Session) []Session { return Counting.Pick(sessions) }

// Profilers lists the profilers of sessions, each once, in the order of the sessions.
func Profilers(sessions []Session) []Profiler {
	var names Interned[Profiler]
	for i := range sessions {
		names.Of(sessions[i].Profiler())
	}
	return names.List
}
