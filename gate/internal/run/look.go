package run

import (
	"context"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/device"
)

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
func beginWatch(ctx context.Context, w *device.Watcher, allowBusy, profiled bool) *look {
	return ask(func() error {
		err := w.Before(ctx, allowBusy)
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
func finishWatch(ctx context.Context, w *device.Watcher, allowBusy bool) *look {
	return ask(func() error {
		w.Stop()
		return w.After(ctx, allowBusy)
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
