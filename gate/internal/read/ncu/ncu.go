// Package ncu reads what `ncu --csv` of Nsight Compute 2021 to 2026 prints: the raw page (a row a launch, a column a
// metric) and the details page (a row a metric), and reports. The metrics of measure.Throughput are derived from ncu's
// by metrics.txt. A cell that holds no number gives no metric.
package ncu

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// Next steps of the refusals of this package.
const (
	again = "write it again: ncu --import REPORT --csv --page raw --print-units base"
	fewer = "profile fewer launches (--launch-count), or fewer sections (--set basic)"
	withC = "run ncu with LC_ALL=C"
)

// sizeLimit is how much output [Read] takes, in bytes. A launch of --set full has 30 kB.
const sizeLimit = 128 << 20

// Read reads ncu output, up to 128 MB, with the raw metrics of ncu as metrics of their own. The name stands in messages
// and in [counters.Profile.Source]. Output that cannot be judged (no table, no kernel, no permission, a broken table,
// numbers in another language) is a *model.Refusal.
func Read(r io.Reader, name string, raw ...string) (*counters.Profile, error) {
	in := &io.LimitedReader{R: r, N: sizeLimit + 1}
	pages := pages{name: name, in: bufio.NewReaderSize(cells.UTF8(in), 64<<10),
		notes: notes{name: name, failure: len(failures)}}
	b := newBuilder(name, raw)
	var broken error // the first table that is
	for t := pages.next(); t != nil; t = pages.next() {
		if broken == nil {
			broken = b.table(t)
		}
		io.Copy(io.Discard, t) // messages behind the table may say why it is broken
	}
	if in.N <= 0 {
		return nil, model.Refuse(model.TooLarge, fewer, "%s is larger than %d MB", name, sizeLimit>>20)
	}
	if err := cmp.Or(pages.refusal(), broken); err != nil {
		return nil, err
	}
	b.finish()
	return b.profile, nil
}

// SniffSize is how much of a file [Sniff] and [SniffReport] look at, in bytes.
const SniffSize = 64 << 10

// Sniff reports whether a file that begins with head looks like output of ncu: a table of launches, with or without the
// lines of ncu and of the program before it, another page of ncu's, or its words that it profiled nothing. [Read]
// reads the first and says of the others what to do.
func Sniff(head []byte) bool {
	text := cells.Text(head[:min(len(head), SniffSize)])
	if bytes.IndexByte(text, 0) >= 0 {
		return false // no text
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(text), "\uFFFD")) {
		line = strings.TrimRight(line, "\r\n")
		if cells.JSON(line) {
			continue
		}
		if _, row := heading(line); row != nil || strings.HasPrefix(line, "==PROF== ") ||
			strings.HasPrefix(strings.TrimSpace(line), "==") && said().MatchString(line) {
			return true
		}
		for _, e := range elsewhere {
			if e.certain && e.looks().MatchString(line) {
				return true
			}
		}
	}
	return false
}

// Session reduces profiles of one workload, one a run, to a session: the median over a run's launches of each subject.
// The caller fills in the fields that no page has: driver, CUDA, the GPU's identity and the time.
func Session(runs ...*counters.Profile) (model.Session, error) {
	s := model.Session{Environment: model.Environment{Tool: "ncu"}, Warmup: "0"}
	rows := map[series]model.Values{}
	for i, p := range runs {
		s.GPU = runs[0].GPU
		if s.GPU != p.GPU {
			return s, model.Refuse(model.OtherGPU, "write the same page of every run on one GPU model",
				"%s was measured on another GPU model than %s, or is another page", p.Source, runs[0].Source)
		}
		s.GPUs = max(s.GPUs, p.Devices)
		s.Runs = append(s.Runs, model.Run{Total: p.Launches, Launches: p.Launches, Steady: true})
		set := func(subject measure.Subject, metric string, v float64) {
			x := series{subject, metric}
			if rows[x] == nil {
				rows[x] = slices.Repeat(model.Values{math.NaN()}, len(runs))
			}
			rows[x][i] = v
		}
		var counted []measure.Subject
		for _, k := range p.Kernels {
			some := false
			for name, values := range k.Values {
				if _, metric := measure.MetricByName(name); metric { // no evidence
					some = true
					set(k.Subject, name, stats.Median(values))
				}
			}
			if some {
				counted = append(counted, k.Subject)
			}
		}
		for subject, n := range order(counted) {
			set(subject, measure.Order.Name, n)
		}
	}
	for x, values := range rows {
		m, _ := measure.MetricByName(x.metric)
		s.Series = append(s.Series, model.Series{Subject: x.subject, Metric: m, Values: values})
	}
	if len(runs) > 0 && len(s.Series) == 0 {
		return s, model.Refuse(model.NotCollected,
			"profile with ncu --set full, or name gpu__time_duration.sum in --metrics",
			"%s holds none of the counters that a metric is made of", runs[0].Source)
	}
	s.SortSeries()
	return s, s.Check()
}

// series is the name of a [model.Series].
type series struct {
	subject measure.Subject
	metric  string
}

// order numbers the kernels of one geometry, which come in the order of their first launches, see [measure.Order].
func order(kernels []measure.Subject) map[measure.Subject]float64 {
	numbers, alike := map[measure.Subject]float64{}, map[string]float64{}
	for _, s := range kernels {
		if g := s.Geometry(); s.Scope == measure.ScopeKernel && g != "" {
			alike[g]++
			numbers[s] = alike[g]
		}
	}
	maps.DeleteFunc(numbers, func(s measure.Subject, _ float64) bool { return alike[s.Geometry()] == 1 })
	return numbers
}
