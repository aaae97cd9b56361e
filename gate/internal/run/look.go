package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/host"
)

// hostWatch counts the load of the host from the start of the profiler to the end of the last run: the first run may be
// over before its start is known.
type hostWatch struct {
	model.HostLoad
	begun *host.Counters
}

func (w *hostWatch) see(stage Stage) {
	switch {
	case stage == Starting:
		w.begun = new(host.Here().Count())
	case stage == Finishing && w.begun != nil:
		w.HostLoad = host.Here().Count().Since(*w.begun)
	}
}

// The least loads for a warning where steps wait for the CPU.
const (
	warnDenied  = 0.01 // share of CPU time
	warnForeign = 1.   // CPUs
)

// hostBound reports whether the GPU waits for the host in the second half of some process, as warm-up is in the first,
// or in all of one with a fragment.
func hostBound(traces [][]model.Trace) bool {
	const busyGPU = 0.9 // the share of the time that a GPU-bound program keeps the GPU busy
	for _, ts := range traces {
		for i := range ts {
			if f := ts[i].Fragment; f != nil && float64(f.Busy) < busyGPU*float64(f.Span.End-f.Span.Start) {
				return true
			}
			launches := ts[i].Launches
			launches = launches[len(launches)/2:]
			if len(launches) < 2 {
				continue
			}
			busy, end := int64(0), launches[0].Start
			for _, l := range launches {
				busy += max(0, l.End-max(l.Start, end))
				end = max(end, l.End)
			}
			if float64(busy) < busyGPU*float64(end-launches[0].Start) {
				return true
			}
		}
	}
	return false
}

// loadWarnings says what took the CPU from the runs of a program whose steps wait for it.
func loadWarnings(l model.HostLoad, limit float64) (out []string) {
	if l.Throttled >= warnDenied {
		out = append(out,
			fmt.Sprintf("the CPU limit of the control group (%.4g CPUs) held the workload back in %.0f %% of its "+
				"periods; give the job more CPUs", limit, 100*l.Throttled))
	}
	if l.Steal >= warnDenied {
		out = append(out, fmt.Sprintf("the hypervisor took %.0f %% of the CPU time from this machine during the runs",
			100*l.Steal))
	}
	if l.Foreign >= warnForeign {
		out = append(out,
			fmt.Sprintf("other processes used %.1f CPUs during the runs, and the program waits for the CPU; "+
				"measure on a quiet host", l.Foreign))
	}
	return out
}

// look is a question about the GPUs that is asked in the background.
type look struct {
	done chan struct{}
	err  error // once done is closed
}

func ask(question func() error) *look {
	l := &look{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.err = question()
	}()
	return l
}

// wait returns the answer.
func (l *look) wait() error {
	<-l.done
	return l.err
}

// beginWatch asks whether the GPUs are fit for a session, with a profile or without, and looks at them until
// finishWatch.
func beginWatch(ctx context.Context, w *device.Watcher, profiled bool) *look {
	return ask(func() error {
		err := w.Before(ctx)
		if err == nil && !profiled {
			_, err = w.First()
		}
		if err == nil {
			w.Start(ctx)
		}
		return err
	})
}

// finishWatch asks, after beginWatch has been answered, whether the GPUs were fit all the while.
func finishWatch(ctx context.Context, w *device.Watcher) *look {
	return ask(func() error {
		w.Stop()
		return w.After(ctx)
	})
}

// watched sums up the samples that fell into a run, of the devices that the traces name.
func watched(w *device.Watcher, traces [][]model.Trace, runs []Run) (device.State, []string) {
	hashes := make(map[string]bool)
	for _, ts := range traces {
		for _, t := range ts {
			hashes[t.GPUHash] = t.GPUHash != ""
		}
	}
	return w.State(hashes, func(at time.Time) bool {
		return slices.ContainsFunc(runs, func(r Run) bool { return !at.Before(r.Start) && !at.After(r.end()) })
	})
}
