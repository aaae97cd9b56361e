package trace

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Fragment reduces a rank to a fragment of its session, in place of its launches. o.Step is the range that the workload
// repeats, "" to look for it. Without steps, and with captures, samples of the GPU or call stacks, there is no
// fragment.
func Fragment(t model.Trace, o Options) (_ model.Trace, ok bool) {
	if len(t.Captures)+len(t.Callers) > 0 || t.Sampling != nil || t.Fragment != nil {
		return t, false
	}
	cuts, err := newCuts([]model.Trace{t}, Auto, "")
	if err != nil {
		return t, false
	}
	c, step := cuts[0], o.Step
	if step == "" {
		step, err = chooseStep(cuts, "")
	}
	if err != nil || step == "" || step == NoStep || c.divide(step) != nil || len(c.steps) == 0 {
		return t, false
	}
	c.placeGraphs()
	f := &model.Fragment{Outline: c.seen, End: t.End(), Step: step, Compute: c.compute, Channels: c.channels}
	if !slices.ContainsFunc(f.Candidates, func(x model.Candidate) bool { return x.Name == step }) {
		f.Candidates = append(f.Candidates, c.candidates(step)...)
	}
	t.Kernels = c.fragmentCollectives(f)
	if c.fragmentRows(f, warmups(len(c.steps), o.Warmup)) != nil {
		return t, false
	}
	return model.Trace{Source: t.Source, Process: t.Process, Job: t.Job, Rank: t.Rank, World: t.World, Zero: t.Zero,
		Environment: t.Environment, Lifetime: t.Lifetime, Overlapped: t.Overlapped, MemoryPeak: t.MemoryPeak,
		Kernels: t.Kernels, Warnings: t.Warnings, Fragment: f}, true
}

// fragmentCollectives puts the collectives into the fragment, and gives their kernels.
func (c *cut) fragmentCollectives(f *model.Fragment) (kernels []model.KernelInfo) {
	moves, in := c.collectives(), c.sectionOf()
	pathOf, namesOf := c.paths()
	packed := make([]model.Collective, len(moves))
	var number model.Interned[int32]
	var paths model.Interned[string]
	for i := range moves {
		m := &packed[i]
		*m = moves[i].Collective
		k, isNew := number.Of(m.Kernel)
		if isNew {
			kernels = append(kernels, model.KernelInfo{Subject: c.Kernels[m.Kernel].Subject})
		}
		names := namesOf(pathOf(m))
		path, isNew := paths.Of(strings.Join(names, "\x00"))
		if isNew {
			f.Paths = append(f.Paths, names)
		}
		m.Kernel, m.Range, m.Section, m.API = k, path, int8(in(m)), 0
	}
	f.Collectives = model.PackCollectives(packed)
	return kernels
}

// fragmentRows reduces the rank by itself with each warm-up, a number of steps.
func (c *cut) fragmentRows(f *model.Fragment, warmups []int) error {
	f.Warmups = make([]model.Warmup, len(warmups))
	tables := make([]table, len(warmups))
	spread(len(warmups), func(i int) {
		x := *c
		x.skip, tables[i] = warmups[i], newTable(1)
		tables[i].exact = true
		f.Warmups[i] = model.Warmup{Steps: x.skip, Launches: x.reduce(0, &tables[i]).Launches}
	})
	type labelled struct {
		key
		role, raw, note string
	}
	of := func(k key, x *model.Series) labelled { return labelled{k, x.Role, x.Raw, x.Note} }
	known, rows := map[labelled]int{}, []model.Series(nil)
	for _, t := range tables {
		for k, x := range t.rows {
			if _, isKnown := known[of(k, x)]; !isKnown {
				known[of(k, x)], rows = 0, append(rows, *x)
			}
		}
	}
	slices.SortFunc(rows, func(a, b model.Series) int { // alike next to one another: they compress well
		return cmp.Or(cmp.Compare(a.Metric.Name, b.Metric.Name), a.Subject.Compare(b.Subject),
			cmp.Compare(a.Role, b.Role), cmp.Compare(a.Raw, b.Raw), cmp.Compare(a.Note, b.Note))
	})
	for i := range rows {
		x := &rows[i]
		known[of(key{x.Subject, x.Metric.Name}, x)], x.Values = i, nil
	}
	packed, err := pack(rows)
	f.Rows = model.Shared(packed)
	for i, t := range tables {
		values := slices.Repeat([]float64{math.NaN()}, len(rows))
		for k, x := range t.rows {
			values[known[of(k, x)]] = x.Values[0]
		}
		var failed error
		f.Warmups[i].Values, failed = pack(values)
		err = cmp.Or(err, failed)
	}
	return err
}

// pack gives a list in gob and gzip.
func pack(list any) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	err := errors.Join(gob.NewEncoder(z).Encode(list), z.Close())
	return out.Bytes(), err
}

// unpack reads a list that [pack] wrote, from bytes that may be anything.
func unpack(packed []byte, list any) error {
	const mostRows = 64 << 20 // the largest size of the rows of a fragment, and of their values, in bytes
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	return gob.NewDecoder(io.LimitReader(z, mostRows)).Decode(list)
}

// reduceFragment is [cut.reduce] of a fragment.
func (c *cut) reduceFragment(run int, t *table) (info model.Run, err error) {
	at := slices.IndexFunc(c.Fragment.Warmups, func(w model.Warmup) bool { return w.Steps == c.skip })
	if at < 0 {
		next := "give the warm-up when the job is measured, or " + keepExports
		if all := c.Fragment.Warmups; len(all) > 0 {
			away := func(w model.Warmup) int { return max(w.Steps-c.skip, c.skip-w.Steps) }
			nearest := slices.MinFunc(all, func(a, b model.Warmup) int { return cmp.Compare(away(a), away(b)) })
			next = fmt.Sprintf("leave out %d, the nearest that it has; %s", nearest.Steps, next)
		}
		return info, model.Refuse(model.RunsDiffer, next, "%s is a fragment without a warm-up of %d of its %d steps",
			c.file(), c.skip, len(c.steps))
	}
	w := &c.Fragment.Warmups[at]
	rows, values, err := readRows(c.Fragment, w)
	if err != nil {
		return info, model.Refuse(model.Damaged, "measure the job again", "%s is damaged: %v", c.file(), err)
	}
	for i, x := range rows {
		if v := values[i]; !math.IsNaN(v) {
			row := t.set(run, x.Subject, x.Metric, v)
			row.Role, row.Raw, row.Note = x.Role, cmp.Or(x.Raw, row.Raw), cmp.Or(x.Note, row.Note)
		}
	}
	return model.Run{Total: len(c.steps), Skipped: c.skip, Steady: c.steady, Start: c.Trace.Start,
		Launches: w.Launches}, nil
}

// readRows reads the rows of a fragment and their values with a warm-up, which may be anything.
func readRows(f *model.Fragment, w *model.Warmup) (rows []model.Series, values []float64, err error) {
	if err := cmp.Or(unpack([]byte(f.Rows), &rows), unpack(w.Values, &values)); err != nil {
		return nil, nil, err
	}
	if len(values) != len(rows) {
		return nil, nil, errors.New("samples are missing")
	}
	for i, x := range rows {
		if known, _ := measure.MetricByName(x.Metric.Name); known != x.Metric {
			return nil, nil, fmt.Errorf("a metric %q", x.Metric.Name)
		}
		if math.IsInf(values[i], 0) {
			return nil, nil, errors.New("a sample is infinite")
		}
	}
	return rows, values, nil
}

// keepExports is the next step where a fragment lacks something.
const keepExports = "keep its exports with `nsgate rank --keep`"

// divideFragment takes the steps of a fragment, which are those of one range.
func (c *cut) divideFragment(step string) error {
	f := c.Fragment
	if step != f.Step {
		return model.Refuse(model.RunsDiffer, "name the step when the job is measured, or "+keepExports,
			"%s is a fragment by the step %s, and the job is judged by %s", c.file(), strconv.Quote(f.Step),
			strconv.Quote(cmp.Or(step, NoStep)))
	}
	steps, _ := untimed.LoadOrStore(len(f.Compute), make([]model.Interval, len(f.Compute)))
	c.steps, c.compute, c.moves, c.channels = steps.([]model.Interval), f.Compute, f.Collectives, f.Channels
	return nil
}

// untimed are lists of steps without times, by their numbers: those of many fragments are one.
var untimed sync.Map

// roundWarmup rounds a warm-up that was found up to the next of 0, 1, 2, … 32, 40, 48, 56, 64, 80, …: four for each
// power of two. Fragments have samples for these, and launches are judged by the same rule.
func roundWarmup(steps int) int {
	if steps <= 32 {
		return steps
	}
	unit := 1 << bits.Len(uint(steps-1)) >> 3
	return (steps + unit - 1) / unit * unit
}

// warmups are those that a fragment of n steps has, rising: those that may be found, from a tenth of the steps to the
// half, those of a baseline of half as many steps, and one that is asked for.
func warmups(n int, asked string) (out []int) {
	for w := roundWarmup(n / 20); w < n && w <= roundWarmup(n/2); w = roundWarmup(w + 1) {
		out = append(out, w)
	}
	if w, err := strconv.Atoi(asked); err == nil && w >= 0 && w < n && !slices.Contains(out, w) {
		out = append(out, w)
	}
	return out
}
