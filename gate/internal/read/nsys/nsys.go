// Package nsys reads what NVIDIA Nsight Systems recorded: SQLite exports of 2020 to 2026, and reports through `nsys
// export`. Releases add and drop tables and columns (NVIDIA's "SQLite Schema Reference"): a column is looked for before
// it is read, and an absent table counts as an empty one.
package nsys

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Read reads a SQLite export: one trace for each process that launched kernels, in the order of their first launches.
// The file is opened read-only and immutable. A file that is not an nsys export, is damaged or being written, holds no
// kernels or is known to have lost events gives a *model.Refusal. Attributes of kernels that the export does not have
// are -1.
func Read(ctx context.Context, file string) ([]model.Trace, error) {
	return ReadAs(ctx, file, filepath.Base(file))
}

// ReadAs is [Read] of a file that messages call by another name.
func ReadAs(ctx context.Context, file, name string) ([]model.Trace, error) {
	db, err := open(ctx, file, name)
	if err != nil {
		return nil, err
	}
	defer db.close()
	r := reader{db: db}
	traces, err := r.read(file)
	if ctx.Err() == nil && changed(file, db.state) {
		return nil, model.Refuse(model.BeingWritten, untilWritten, "%s is being written: %s", db.name,
			"it changed while it was read")
	}
	return traces, err
}

func (r *reader) read(file string) ([]model.Trace, error) {
	var err error
	if r.diagnosis, err = r.db.diagnose(); err != nil {
		return nil, err
	}
	if err := r.readKernels(); err != nil {
		return nil, err
	}
	if r.launches == 0 {
		return nil, cmp.Or(r.checkKept(), r.db.refuseNoKernels(r.diagnosis))
	}
	if err := r.db.checkRows(r.diagnosis); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		r.readCopies, r.readMemsets, r.readMemory, r.readRanges, r.readOverhead, r.readStrings, r.nameRanges,
		r.readCalls, r.readCallers,
		func() error {
			for _, p := range r.processes {
				p.cutTail()
				p.copyIDs = nil
				if len(p.traced) == 0 { // for which callers wants the others
					p.ids = nil
				}
			}
			return r.checkKept()
		},
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.processes)) {
		if err := r.processes[id].check(r.db); err != nil {
			return nil, err
		}
	}
	facts, err := r.db.readFacts()
	if err != nil {
		return nil, err
	}
	samples, err := r.readGPUMetrics()
	if err != nil {
		return nil, err
	}
	var traces []model.Trace
	for _, p := range r.processes {
		t, err := r.finish(p)
		if err != nil {
			return nil, err
		}
		t.Sampling = facts.sampling(&t, samples)
		t.Source = file
		t.Zero = facts.zero
		if facts.origin.utc {
			t.Zero = time.Unix(0, 0).UTC()
		}
		t.Environment = facts.environment(&t, p.graphs > 0)
		t.Warnings = slices.Concat(r.db.origin.warnings(), r.diagnosis.warnings, r.silence(), t.Warnings)
		traces = append(traces, t)
	}
	measure.Sort(traces, func(a, b model.Trace) int {
		return cmp.Or(cmp.Compare(a.Launches[0].Start, b.Launches[0].Start), cmp.Compare(a.Process, b.Process))
	})
	return traces, nil
}

func (r *reader) finish(p *process) (model.Trace, error) {
	t := model.Trace{
		Process: int(pid(p.id)), Launches: p.launches, Copies: p.copies, RangeNames: p.names.List, MemoryPeak: p.memory,
		Calls: p.found.all, CallNames: p.callNames, Overhead: p.overhead,
		Requests: p.requests, Kernels: r.kernels(p), Lost: p.outsideGraphs(),
	}
	if slices.ContainsFunc(p.categories, func(c string) bool { return c != "" }) {
		t.RangeCategories = p.categories
	}
	if err := t.NameKernels(r.db.name, &r.names); err != nil {
		return t, err
	}
	t.Callers = r.callers(p)
	slices.SortFunc(t.Launches, func(a, b model.Launch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	slices.SortFunc(t.Copies, func(a, b model.Copy) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	end := t.End()
	for i := range p.ranges {
		if x := &p.ranges[i]; x.End == unended {
			x.End = max(x.Start, end)
		}
	}
	t.Ranges = p.ranges
	t.Messages = p.messagesOf()
	t.Captures = captures(p.found.marks, end)
	if p.graphs > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%d launches of whole CUDA graphs, %s, are judged graph by graph; "+
			"record with --cuda-graph-trace=node to see the kernels in them", p.graphs,
			measure.Quantity(float64(p.graphTime), "ns")))
	}
	t.Warnings = p.warnings
	return t, nil
}
