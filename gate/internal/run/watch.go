package run

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// visible keeps the GPUs that a workload with this CUDA_VISIBLE_DEVICES can see: all of them in case of doubt.
func visible(gpus []GPU, devices string, set bool, order string) []GPU {
	if !set {
		return gpus
	}
	models := make(map[string]bool)
	for _, g := range gpus {
		models[g.Name] = true
	}
	var out []GPU
	for d := range strings.SplitSeq(devices, ",") {
		d = strings.TrimSpace(d)
		i := slices.IndexFunc(gpus, func(g GPU) bool {
			if n, err := strconv.Atoi(d); err == nil {
				// CUDA numbers unlike GPUs by speed unless told to number them as nvidia-smi does.
				return n == g.Index && (len(models) == 1 || order == "PCI_BUS_ID")
			}
			return strings.HasPrefix(d, "GPU-") && strings.HasPrefix(g.UUID, d)
		})
		if i < 0 {
			return gpus
		}
		out = append(out, gpus[i])
	}
	return out
}

// The GPU is busy where utilisation stays above busyPercent; right after a session the last one still shows.
const busyPercent = 10

var (
	busyInterval = 250 * time.Millisecond
	sampleEvery  = time.Second
)

// settle waits until the visible GPUs have been idle twice in a row and returns the busy one otherwise. now is how they
// were just seen.
func (w *watcher) settle(ctx context.Context, now sample) (*GPU, error) {
	const looks = 12
	idle := 0
	var busy *GPU
	for look := 1; ; look++ {
		if i := slices.IndexFunc(now.gpus, func(g GPU) bool { return g.Utilization > busyPercent }); i >= 0 {
			busy, idle = &now.gpus[i], 0
		} else if idle++; idle == 2 {
			return nil, nil
		}
		if look == looks {
			return busy, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(busyInterval - w.clock.now().Sub(now.at)):
		}
		var err error
		if now, err = w.see(ctx); err != nil {
			return nil, err
		}
	}
}

// see returns the visible GPUs as they are now.
func (w *watcher) see(ctx context.Context) (sample, error) {
	gpus, err := w.gpus(ctx)
	if err != nil {
		return sample{}, err
	}
	devices, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	return sample{w.clock.now(), visible(gpus, devices, set, os.Getenv("CUDA_DEVICE_ORDER"))}, nil
}

// before refuses a GPU that something else uses. Without nvidia-smi there is a warning and nothing is watched.
func (w *watcher) before(ctx context.Context, allowBusy bool) error {
	now, err := w.see(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.warnings = append(w.warnings, "clocks, throttling and other processes on the GPU were not watched: "+err.Error())
		w.exe = ""
		return nil
	}
	gpus := now.gpus
	w.first = gpus
	var boards map[string]model.Hardware
	var asking sync.WaitGroup
	asking.Go(func() { boards = w.boards(ctx) }) // while the GPU comes to rest
	defer func() {
		asking.Wait()
		for i := range gpus {
			gpus[i].Hardware = boards[gpus[i].UUID]
		}
	}()
	apps, err := w.apps(ctx)
	if err != nil {
		w.warnings = append(w.warnings, "other processes on the GPU were not looked for: "+err.Error())
	}
	var busy error
	for _, a := range apps {
		w.there[a.pid] = true
		if g := find(gpus, a.uuid); g != nil && busy == nil {
			busy = model.Refuse(model.GPUBusy, freeGPU, "GPU %d is busy: another process uses it (%s)", g.Index, a.describe())
		}
	}
	return w.idle(ctx, now, busy, "before the workload starts", allowBusy)
}

// idle refuses with busy, or else where a GPU does not come to rest; when says when that is. An allowed refusal becomes
// a warning.
func (w *watcher) idle(ctx context.Context, now sample, busy error, when string, allowed bool) error {
	if busy == nil {
		g, err := w.settle(ctx, now)
		if err != nil {
			return causeOr(ctx, err)
		}
		if g == nil {
			return nil
		}
		busy = model.Refuse(model.GPUBusy, freeGPU, "GPU %d is busy: utilisation is %.0f %% %s", g.Index, g.Utilization, when)
	}
	if r := (*model.Refusal)(nil); allowed && errors.As(busy, &r) {
		w.warnings = append(w.warnings, r.Reason)
		return nil
	}
	return busy
}

// find returns the GPU with the UUID, nil for a GPU that the workload cannot see. Where nvidia-smi names none, or a MIG
// slice, any GPU may be meant.
func find(gpus []GPU, uuid string) *GPU {
	for i := range gpus {
		if gpus[i].UUID == uuid || uuid == "" || strings.HasPrefix(uuid, "MIG-") {
			return &gpus[i]
		}
	}
	return nil
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

// begin asks whether the GPUs are fit for a session, and then looks at them until finish.
func (w *watcher) begin(ctx context.Context, allowBusy bool) *look {
	return ask(func() error {
		err := w.before(ctx, allowBusy)
		if err == nil {
			w.start(ctx)
		}
		return err
	})
}

// finish asks, after begin has been answered, whether the GPUs were fit all the while.
func (w *watcher) finish(ctx context.Context, allowBusy bool) *look {
	return ask(func() error {
		w.stop()
		return w.after(ctx, allowBusy)
	})
}

// start looks at the GPUs in the background until stop.
func (w *watcher) start(ctx context.Context) {
	if w.exe == "" {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.done.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now, err := w.see(ctx)
			if err != nil {
				continue
			}
			w.seen = append(w.seen, now)
			apps, _ := w.apps(ctx)
			ours := proc.Children{}.Living()
			for _, a := range apps {
				if find(now.gpus, a.uuid) != nil && w.foreign(a, ours) {
					w.others[a.describe()] = true
				}
			}
		}
	})
}

// foreign reports whether a process on the GPU is none of ours. nvidia-smi in a container may give pids of the host's
// namespace, so a pid counts only where it was there before or this namespace knows it by the same name.
func (w *watcher) foreign(a app, ours []int) bool {
	if w.there[a.pid] {
		return true
	}
	return !w.launched && !slices.Contains(ours, a.pid) && a.name != "" && baseName(proc.CommandName(a.pid)) == a.name
}

// stop ends what start began.
func (w *watcher) stop() {
	if w.cancel != nil {
		w.cancel()
		w.done.Wait()
	}
}

// after refuses a session beside which something else used the GPU.
func (w *watcher) after(ctx context.Context, allowBusy bool) error {
	if w.exe == "" {
		return nil
	}
	var busy error
	var now sample
	if others := slices.Sorted(maps.Keys(w.others)); len(others) > 0 {
		busy = model.Refuse(model.GPUBusy, freeGPU,
			"another process used the GPU while the workload ran (%s)", others[0])
	} else {
		var err error
		if now, err = w.see(ctx); err != nil {
			return causeOr(ctx, err)
		}
	}
	return w.idle(ctx, now, busy, "after the workload has ended", allowBusy)
}

// result sums up the samples that fell into a run, of the devices that the traces name.
func (w *watcher) result(traces [][]model.Trace, runs []Run) (Watch, []string) {
	hashes := make(map[string]bool)
	for _, ts := range traces {
		for _, t := range ts {
			hashes[t.GPUHash] = t.GPUHash != ""
		}
	}
	used := func(g GPU) bool { return hashes[model.HashUUID(g.UUID)] }
	if !slices.ContainsFunc(w.first, used) {
		used = func(GPU) bool { return true }
	}
	watch, warnings := Watch{}, w.warnings
	for _, g := range w.first {
		if used(g) {
			watch.GPUs = append(watch.GPUs, g)
		}
	}
	var clocks []float64
	throttled := make(map[Throttle]int)
	for _, s := range w.seen {
		if !slices.ContainsFunc(runs, func(r Run) bool {
			return !s.at.Before(r.Start) && !s.at.After(r.Start.Add(r.Duration))
		}) {
			continue
		}
		watch.Samples++
		var reasons Throttle
		for _, g := range s.gpus {
			if used(g) {
				if !math.IsNaN(g.ClockMHz) {
					clocks = append(clocks, g.ClockMHz)
				}
				reasons |= g.Throttle
			}
		}
		for rest := uint64(reasons); rest != 0; rest &= rest - 1 {
			throttled[1<<bits.TrailingZeros64(rest)]++
		}
	}
	if len(clocks) > 0 {
		slices.Sort(clocks)
		watch.ClockMHz = int(math.Round(clocks[len(clocks)/2]))
	}
	for _, t := range throttleNames {
		if n := throttled[t.bit]; n > 0 {
			watch.Slowdowns = append(watch.Slowdowns, Slowdown{t.bit, n, watch.Samples})
			warnings = append(warnings, watch.Slowdowns[len(watch.Slowdowns)-1].String())
		}
	}
	return watch, warnings
}
