package trace

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// LongRun is the largest number of launches of a rank that is kept launch by launch. The warm-up of a job with more is
// rounded: see [roundSkip]. It is a variable for tests.
var LongRun = 20_000

// samples are the rows of a table for each warm-up of a digest: Values has those of each row one after the other, NaN
// for none. Launches are those that count.
type samples struct {
	Subjects []measure.Subject
	Metrics  []measure.Metric
	Texts    []string
	Rows     []sampleRow
	Values   []float64
	Launches []int
}

// sampleRow is a row by places in lists.
type sampleRow struct{ Subject, Metric, Role, Raw, Note int32 }

// mostSamples is the largest size of the samples of a digest in bytes.
const mostSamples = 64 << 20

// Digest gives a rank of more than [LongRun] launches a digest in place of them. step is the range that the workload
// repeats, "" to look for it. Without steps, and with captures, samples of the GPU or call stacks, there is no digest.
func Digest(t model.Trace, step string) (_ model.Trace, ok bool) {
	if len(t.Launches) <= LongRun || len(t.Captures)+len(t.Callers) > 0 || t.Sampling != nil {
		return t, false
	}
	cuts, err := newCuts([]model.Trace{t}, Auto, "")
	if err != nil {
		return t, false
	}
	c := cuts[0]
	if step == "" {
		step, err = chooseStep(cuts, "")
	}
	if err != nil || step == "" || step == NoStep || c.load() != nil || c.divide(step) != nil {
		return t, false
	}
	if c.hasGraphs() && c.placeGraphs() != nil || len(c.steps) == 0 {
		return t, false
	}
	d := &model.Digest{Outline: c.seen, End: t.End(), Step: step, Compute: c.compute, Channels: c.channels}
	if !slices.ContainsFunc(d.Candidates, func(x model.Candidate) bool { return x.Name == step }) {
		d.Candidates = append(d.Candidates, c.candidates(step)...)
	}
	t.Kernels, d.Skips = c.digestCollectives(d), skips(len(c.steps))
	if d.Samples, err = c.digestSamples(d.Skips); err != nil {
		return t, false
	}
	t.Digest = d
	t.Launches, t.Copies, t.Ranges, t.Calls, t.Packed = nil, nil, nil, model.Calls{}, nil
	t.RangeNames, t.RangeCategories, t.CallNames, t.Messages = nil, nil, nil, nil
	t.Lost, t.Silent, t.Overhead, t.Requests = nil, nil, nil, nil
	return t, true
}

// digestCollectives puts the collectives into the digest, and gives their kernels.
func (c *cut) digestCollectives(d *model.Digest) (kernels []model.KernelInfo) {
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
			d.Paths = append(d.Paths, names)
		}
		m.Kernel, m.Range, m.Section, m.API = k, path, int8(in(m)), 0
	}
	d.Collectives = model.PackCollectives(packed)
	return kernels
}

// digestSamples reduces the rank by itself with each warm-up.
func (c *cut) digestSamples(skips []int) ([]byte, error) {
	s := samples{Launches: make([]int, len(skips))}
	tables := make([]table, len(skips))
	spread(len(skips), func(i int) {
		x := *c
		x.skip, tables[i] = skips[i], newTable(1)
		tables[i].exact = true
		s.Launches[i] = x.reduce(0, &tables[i]).Launches
	})
	var texts model.Interned[string]
	var subjects model.Interned[measure.Subject]
	var metrics model.Interned[measure.Metric]
	var rows model.Interned[sampleRow]
	for i, t := range tables {
		for _, k := range slices.SortedFunc(maps.Keys(t.rows), func(a, b key) int {
			return cmp.Or(a.subject.Compare(b.subject), cmp.Compare(a.metric, b.metric))
		}) {
			x, r := t.rows[k], sampleRow{}
			r.Subject, _ = subjects.Of(x.Subject)
			r.Metric, _ = metrics.Of(x.Metric)
			r.Role, _ = texts.Of(x.Role)
			r.Raw, _ = texts.Of(x.Raw)
			r.Note, _ = texts.Of(x.Note)
			at, isNew := rows.Of(r)
			for isNew && len(s.Values) < len(rows.List)*len(skips) {
				s.Values = append(s.Values, math.NaN())
			}
			s.Values[int(at)*len(skips)+i] = x.Values[0]
		}
	}
	s.Subjects, s.Metrics, s.Texts, s.Rows = subjects.List, metrics.List, texts.List, rows.List
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	err := errors.Join(gob.NewEncoder(z).Encode(s), z.Close())
	return out.Bytes(), err
}

// reduceDigest is [cut.reduce] of a digest.
func (c *cut) reduceDigest(run int, t *table) (info model.Run, err error) {
	at := slices.Index(c.Digest.Skips, c.skip)
	if at < 0 {
		return info, model.Refuse(model.RunsDiffer, "measure the job again and "+keepExports,
			"%s is a digest without a warm-up of %d of its %d steps, which the other runs have", c.file(), c.skip, len(c.steps))
	}
	s, err := readSamples(c.Digest)
	if err != nil {
		return info, model.Refuse(model.Damaged, "measure the job again", "%s is damaged: %v", c.file(), err)
	}
	for i, r := range s.Rows {
		v := s.Values[i*len(c.Digest.Skips)+at]
		if math.IsNaN(v) {
			continue
		}
		x := t.set(run, s.Subjects[r.Subject], s.Metrics[r.Metric], v)
		x.Role, x.Raw, x.Note = s.Texts[r.Role], cmp.Or(s.Texts[r.Raw], x.Raw), cmp.Or(s.Texts[r.Note], x.Note)
	}
	return model.Run{Total: len(c.steps), Skipped: c.skip, Steady: c.steady, Start: c.Trace.Start,
		Launches: s.Launches[at]}, nil
}

// readSamples reads the samples of a digest, which may be anything.
func readSamples(d *model.Digest) (*samples, error) {
	z, err := gzip.NewReader(bytes.NewReader(d.Samples))
	if err != nil {
		return nil, err
	}
	s := new(samples)
	if err := gob.NewDecoder(io.LimitReader(z, mostSamples)).Decode(s); err != nil {
		return nil, err
	}
	for _, m := range s.Metrics {
		if known, _ := measure.MetricByName(m.Name); known != m {
			return nil, fmt.Errorf("a metric %q", m.Name)
		}
	}
	refers := func(i int32, n int) bool { return i >= 0 && int(i) < n }
	for _, r := range s.Rows {
		if !refers(r.Subject, len(s.Subjects)) || !refers(r.Metric, len(s.Metrics)) ||
			!refers(max(r.Role, r.Raw, r.Note), len(s.Texts)) || min(r.Role, r.Raw, r.Note) < 0 {
			return nil, errors.New("a sample refers to nothing")
		}
	}
	if len(s.Values) != len(s.Rows)*len(d.Skips) || len(s.Launches) != len(d.Skips) {
		return nil, errors.New("samples are missing")
	}
	if slices.ContainsFunc(s.Values, func(v float64) bool { return math.IsInf(v, 0) }) {
		return nil, errors.New("a sample is infinite")
	}
	return s, nil
}

// keepExports is the next step where a digest lacks something.
const keepExports = "keep its exports with `nsgate rank --keep`"

// divideDigest takes the steps of a digest, which are those of one range.
func (c *cut) divideDigest(step string) error {
	d := c.Digest
	if step != d.Step {
		return model.Refuse(model.RunsDiffer, "name the step when the job is measured, or "+keepExports,
			"%s is a digest by the step %s, and the job is judged by %s", c.file(), strconv.Quote(d.Step),
			strconv.Quote(cmp.Or(step, NoStep)))
	}
	c.steps, c.compute, c.moves, c.channels = untimed(len(d.Compute)), d.Compute, d.Collectives, d.Channels
	return nil
}

// untimed gives n steps without times, the same ones to all digests.
func untimed(n int) []model.Interval {
	untimedSteps.Lock()
	defer untimedSteps.Unlock()
	if len(untimedSteps.list) < n {
		untimedSteps.list = make([]model.Interval, n)
	}
	return untimedSteps.list[:n:n]
}

var untimedSteps struct {
	sync.Mutex
	list []model.Interval
}

// long reports whether a run is of a job whose ranks leave digests.
func (c *cut) long() bool {
	return c.Digest != nil || c.Job != "" && c.seen.Launches > LongRun && len(c.steps) > 0
}

// roundSkip gives the warm-up of jobs with long runs, in steps: the least of 0, 1, 2, 3, 4, 6, 8, 12, … that is no
// less than most and a tenth of the longest run, or the largest below the shortest run. Digests have samples for these.
func roundSkip(most int, cuts []*cut) int {
	shortest := math.MaxInt
	for _, c := range cuts {
		if n := len(c.steps); n > 0 {
			most, shortest = max(most, n/10), min(shortest, n)
		}
	}
	skip := 0
	for skip < most && nextSkip(skip) < shortest {
		skip = nextSkip(skip)
	}
	return skip
}

// nextSkip is the next of the rounded warm-ups.
func nextSkip(skip int) int {
	switch {
	case skip < 2:
		return skip + 1
	case skip&(skip-1) == 0:
		return skip + skip/2
	}
	return skip / 3 * 4
}

// skips are the rounded warm-ups of a run of n steps.
func skips(n int) (out []int) {
	for skip := 0; skip < n; skip = nextSkip(skip) {
		if skip >= n/10 {
			out = append(out, skip)
		}
	}
	return out
}
