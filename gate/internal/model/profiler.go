package model

// Profiler is the source of numbers, without its version.
type Profiler string

// The profilers that nsgate tells apart; a file may name another.
const (
	Nsys      Profiler = "nsys"           // Nsight Systems, launch by launch
	NsysStats Profiler = "nsys-stats"     // the tables that nsys stats prints
	NsysJax   Profiler = "nsys-jax"       // the tables of nsys-jax: thunks of XLA, without copies
	Ncu       Profiler = "ncu"            // Nsight Compute: counters of single launches
	Torch     Profiler = "torch.profiler" // Kineto's traces and tables
)

// Comparable reports whether numbers of two profilers may be compared: two profilers time the same kernel differently. An unknown
// profiler may be either.
func (p Profiler) Comparable(o Profiler) bool { return p == o || p == "" || o == "" }

// ByLaunch reports whether it measures single launches, replayed one by one, and not the workload.
func (p Profiler) ByLaunch() bool { return p == Ncu }
