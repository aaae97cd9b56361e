package app

import (
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// Way is a way of measuring a workload, as facts: see [WayOf]. Profiles that were made before have none of them.
type Way struct {
	Live       bool // runs are taken here
	Counts     bool // the counters of single launches are measured
	Timed      bool // the times of runs are measured
	Unprofiled bool // no run whose times are judged is profiled
	Rows       bool // a run of each build is profiled where a row of a benchmark file got slower
	Local      bool // the workload runs on this host, and not as ranks of a job that is gathered
	Served     bool // its program loads a server
	Alone      bool // the program itself starts here and ends: it loads no server and launches no ranks
}

// WayOf is the way of a workload that a profiler measures.
func WayOf(w *thresholds.Workload, by model.Profiler) Way {
	counts, unprofiled, local, served := by == model.Counting, !w.Profiled(), w.Gather == "", w.Server != nil
	return Way{Live: true, Counts: counts, Timed: !counts, Unprofiled: !counts && unprofiled,
		Rows: unprofiled && w.Profile == "explain", Local: local, Served: served, Alone: local && !served}
}
