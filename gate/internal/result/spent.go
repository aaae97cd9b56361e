package result

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// RunPart is a part of a run by time, from the start of its process to its end.
type RunPart struct {
	Part  string `json:"part"`
	Time  Number `json:"time"`  // in ns, the median of the profiled runs
	Share Number `json:"share"` // of all parts
}

// Steps is the part of a run that is judged as steps.
const Steps = "steps"

// Spent is where the time of a measurement on this machine went, in ns.
type Spent struct {
	Total  Number `json:"total"`
	Runs   int    `json:"runs"`             // of both builds, profiled or not
	Starts int    `json:"starts,omitempty"` // runs that started together with others
	InRuns Number `json:"in_runs"`          // of Total, from the start of a process to its end
	// Start is the time from the start of the profiler to the start of the first run. Report, Export and Read are the
	// times of its report, of the conversion of that to SQLite, and of nsgate's reading it.
	Start  Number    `json:"start"`
	Report Number    `json:"report"`
	Export Number    `json:"export"`
	Read   Number    `json:"read"`
	Run    []RunPart `json:"run,omitempty"` // the parts of a run of the head
}

// String is "87 s on the GPU machine (10 runs of 8.1 s, steps 2.2 s; profiler 6 s)".
func (s *Spent) String() string {
	text := fmt.Sprintf("%s on the GPU machine (%s of %s", Seconds(s.Total), measure.Count(s.Runs, "run"),
		Seconds(s.InRuns/Number(s.Runs)))
	for _, x := range s.Run {
		if x.Part == Steps {
			text += fmt.Sprintf(", steps %s", Seconds(x.Time))
		}
	}
	if s.Export == 0 { // nothing was profiled
		text += ")"
	} else {
		text += fmt.Sprintf("; profiler %s)", Seconds(s.Total-s.InRuns))
	}
	if s.Starts > 0 {
		text += fmt.Sprintf("; the starts of %s overlapped and are not judged", measure.Count(s.Starts, "run"))
	}
	return text
}

// Detail adds the parts of a run and of the profiler's time.
func (s *Spent) Detail() string {
	run := measure.Map(s.Run, func(x RunPart) string { return x.Part + " " + Seconds(x.Time) })
	if s.Export == 0 {
		return s.String()
	}
	text := fmt.Sprintf("%s; profiler: start %s, report %s, export %s, reading %s", s, Seconds(s.Start),
		Seconds(s.Report), Seconds(s.Export), Seconds(s.Read))
	if len(run) > 0 {
		text += "; a run: " + strings.Join(run, ", ")
	}
	return text
}

// Seconds prints a time with two digits.
func Seconds(ns Number) string {
	s, _ := strconv.ParseFloat(fmt.Sprintf("%.1e", float64(ns)/1e9), 64)
	return strconv.FormatFloat(s, 'f', -1, 64) + " s"
}
