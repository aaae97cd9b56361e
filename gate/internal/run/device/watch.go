package device

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Watcher looks at the GPUs before, during and after a session.
type Watcher struct {
	tool     Tool
	launched bool // the workload's processes are those of a launcher, which may be none of ours
	allowed  bool // another use of the GPU is a warning
	now      func() time.Time
	off      bool   // nothing is watched: the tool does not answer
	first    sample // before the session
	there    map[int]bool
	warnings []string

	cancel context.CancelFunc
	done   sync.WaitGroup
	seen   []sample
	others map[string]bool // processes that used a GPU during the runs
}

// sample is the devices at a moment during the session.
type sample struct {
	at    time.Time
	gpus  []GPU // the visible ones
	first bool  // see [Tool.Visible]
}

// Watch makes a watcher on the clock of a session. launched says that the workload is started by a launcher, allowBusy
// that another use of the GPU becomes a warning.
func Watch(t Tool, now func() time.Time, launched, allowBusy bool) *Watcher {
	return &Watcher{tool: t, now: now, launched: launched, allowed: allowBusy, there: make(map[int]bool),
		others: make(map[string]bool)}
}

// GPUs are the visible devices as they were before the session.
func (w *Watcher) GPUs() []GPU { return w.first.gpus }

// First is the GPU that the workload takes by itself, none where nothing is watched.
func (w *Watcher) First() (g GPU, err error) {
	if w.off {
		return g, nil
	}
	if !w.first.first {
		return g, model.Refuse(model.OtherGPU, "choose one with CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER=PCI_BUS_ID",
			"the GPUs that the workload sees are of several models, and no profile says which one it uses")
	}
	return w.first.gpus[0], nil
}

// Warnings are the doubts so far.
func (w *Watcher) Warnings() []string { return w.warnings }

// looks is how often a busy GPU is looked at.
const looks = 12

// BusyInterval is the time between two looks at a busy GPU, SampleEvery that between two samples during a session.
var (
	BusyInterval = 250 * time.Millisecond
	SampleEvery  = time.Second
)

// rested holds the GPUs that came to rest last, for the session that follows at once; nil while a session runs.
var rested atomic.Pointer[rest]

type rest struct {
	at   time.Time
	gpus []GPU
}

// covers reports whether all of the GPUs came to rest seconds ago.
func (r *rest) covers(gpus []GPU) bool {
	const fresh = 5 * time.Second // a judgement takes less, a build more
	return r != nil && time.Since(r.at) < fresh &&
		!slices.ContainsFunc(gpus, func(g GPU) bool { return find(r.gpus, g.UUID) == nil })
}

// settle waits until the visible GPUs have been idle twice in a row, the end of the session before this one included,
// and returns the busy one otherwise. now is their latest state.
func (w *Watcher) settle(ctx context.Context, now sample) (*GPU, error) {
	// The GPU is busy where utilisation stays above busyPercent; right after a session the last one still shows.
	const busyPercent = 10
	idle := 0
	if rested.Load().covers(now.gpus) {
		idle = 1
	}
	var busy *GPU
	for look := 1; ; look++ {
		if i := slices.IndexFunc(now.gpus, func(g GPU) bool { return g.Utilization > busyPercent }); i >= 0 {
			busy, idle = &now.gpus[i], 0
		} else if idle++; idle == 2 {
			rested.Store(&rest{time.Now(), now.gpus})
			return nil, nil
		}
		if look == looks {
			return busy, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(BusyInterval - w.now().Sub(now.at)):
		}
		var err error
		if now, err = w.see(ctx); err != nil {
			return nil, err
		}
	}
}

// see returns the visible GPUs as they are now.
func (w *Watcher) see(ctx context.Context) (sample, error) {
	gpus, err := w.tool.GPUs(ctx)
	if err != nil {
		return sample{}, err
	}
	now := sample{at: w.now()}
	now.gpus, now.first = w.tool.Visible(gpus)
	return now, nil
}

// Before refuses a GPU that something else uses. Where the tool does not answer there is a warning and nothing is
// watched.
func (w *Watcher) Before(ctx context.Context) error {
	defer rested.Store(nil)
	now, err := w.see(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.warnings = append(w.warnings,
			"clocks, throttling and other processes on the GPU were not watched: "+err.Error())
		w.off = true
		return nil
	}
	gpus := now.gpus
	w.first = now
	var boards map[string]model.Hardware
	var asking sync.WaitGroup
	asking.Go(func() { boards = w.tool.Hardware(ctx) }) // while the GPU comes to rest
	defer func() {
		asking.Wait()
		for i := range gpus {
			gpus[i].Hardware = boards[gpus[i].UUID]
		}
	}()
	processes, err := w.users(ctx, gpus)
	if err != nil {
		w.warnings = append(w.warnings, "other processes on the GPU were not looked for: "+err.Error())
	}
	var busy error
	for _, p := range processes {
		w.there[p.Pid] = true
		if g := find(gpus, p.UUID); g != nil && busy == nil {
			busy = model.Refuse(model.GPUBusy, freeGPU, "GPU %d is busy: another process uses it (%s)", g.Index, p)
		}
	}
	return w.idle(ctx, now, busy, "before the workload starts")
}

// users are the processes on the GPUs. One that was killed holds its memory for a moment: unless users are allowed,
// they are asked for until there is none, at most for looks.
func (w *Watcher) users(ctx context.Context, gpus []GPU) ([]Process, error) {
	for look := 1; ; look++ {
		processes, err := w.tool.Processes(ctx)
		onThese := func(p Process) bool { return find(gpus, p.UUID) != nil }
		if err != nil || w.allowed || look == looks || !slices.ContainsFunc(processes, onThese) {
			return processes, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(BusyInterval):
		}
	}
}

// idle refuses with busy, or else where a GPU does not come to rest; when says when that is. An allowed refusal becomes
// a warning.
func (w *Watcher) idle(ctx context.Context, now sample, busy error, when string) error {
	if busy == nil {
		g, err := w.settle(ctx, now)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if g == nil {
			return nil
		}
		busy = model.Refuse(model.GPUBusy, freeGPU, "GPU %d is busy: utilisation is %.0f %% %s", g.Index, g.Utilization,
			when)
	}
	if r, ok := errors.AsType[*model.Refusal](busy); ok && w.allowed {
		w.warnings = append(w.warnings, r.Reason)
		return nil
	}
	return busy
}

const freeGPU = "wait until the GPU is free, or allow a busy one to measure all the same"

// find returns the GPU with the UUID, the first for "", nil for a GPU that the workload cannot see.
func find(gpus []GPU, uuid string) *GPU {
	return measure.First(gpus, func(g *GPU) bool { return g.UUID == uuid || uuid == "" })
}

// Start looks at the GPUs in the background until Stop.
func (w *Watcher) Start(ctx context.Context) {
	if w.off {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.done.Go(func() {
		tick := time.NewTicker(SampleEvery)
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
			processes, _ := w.tool.Processes(ctx)
			if len(processes) == 0 { // most often
				continue
			}
			ours := proc.Children{}.Living()
			for _, p := range processes {
				if find(now.gpus, p.UUID) != nil && w.foreign(p, ours) {
					w.others[p.String()] = true
				}
			}
		}
	})
}

// foreign reports whether a process on the GPU is none of ours. A tool in a container may give pids of the host's
// namespace, so a pid counts only where it was there before or this namespace knows it by the same name.
func (w *Watcher) foreign(p Process, ours []int) bool {
	if w.there[p.Pid] {
		return true
	}
	return !w.launched && !slices.Contains(ours, p.Pid) && p.Name != "" &&
		ProgramName(proc.CommandName(p.Pid)) == p.Name
}

// Stop ends what Start began.
func (w *Watcher) Stop() {
	if w.cancel != nil {
		w.cancel()
		w.done.Wait()
	}
}

// After refuses a session if another program used the GPU meanwhile.
func (w *Watcher) After(ctx context.Context) error {
	if w.off {
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
			return cmp.Or(context.Cause(ctx), err)
		}
	}
	return w.idle(ctx, now, busy, "after the workload has ended")
}

// State sums up the samples that counts selects, of the devices with these hashes ([model.HashUUID]) or of all without
// any.
func (w *Watcher) State(hashes map[string]bool, counts func(time.Time) bool) (State, []string) {
	used := func(g GPU) bool { return hashes[model.HashUUID(g.UUID)] }
	if !slices.ContainsFunc(w.first.gpus, used) {
		used = func(GPU) bool { return true }
	}
	warnings := w.warnings
	state := State{GPUs: measure.Where(w.first.gpus, used)}
	var clocks []float64
	var slowed []Throttle // by sample
	for _, s := range w.seen {
		if !counts(s.at) {
			continue
		}
		var reasons Throttle
		for _, g := range s.gpus {
			if used(g) {
				if !math.IsNaN(g.ClockMHz) {
					clocks = append(clocks, g.ClockMHz)
				}
				reasons |= g.Throttle
			}
		}
		slowed = append(slowed, reasons)
	}
	state.Samples = len(slowed)
	if len(clocks) > 0 {
		slices.Sort(clocks)
		state.ClockMHz = int(math.Round(clocks[len(clocks)/2]))
	}
	for _, t := range throttleNames {
		if n := measure.HowMany(slowed, func(reasons Throttle) bool { return reasons&t.bit != 0 }); n > 0 {
			state.Slowdowns = append(state.Slowdowns, Slowdown{t.bit, n, state.Samples})
			warnings = append(warnings, state.Slowdowns[len(state.Slowdowns)-1].String())
		}
	}
	return state, warnings
}

// ProgramName is a process name that may be shown: no directory, no control characters, not long.
func ProgramName(name string) string {
	name = measure.NormalizeControl(name)
	if name == "" {
		return ""
	}
	runes := []rune(filepath.Base(name))
	return string(runes[:min(len(runes), 40)])
}
