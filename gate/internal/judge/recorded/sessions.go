package recorded

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Unsteady counts the runs whose warm-up has no end, where one was looked for.
func Unsteady(s *model.Session) int {
	return measure.HowMany(s.Runs[:s.Profiled()], func(r model.Run) bool { return !r.Steady && s.Warmup == "auto" })
}

// Steps is the number of steps of the session's shortest profiled run.
func Steps(s *model.Session) int {
	totals := measure.Map(s.Runs[:max(s.Profiled(), 1)], func(r model.Run) int { return r.Total })
	return slices.Min(totals)
}

// Newest is when the newest session began, zero where no session says.
func Newest(sessions []model.Session) (at time.Time) {
	for i := range sessions {
		if sessions[i].Start.After(at) {
			at = sessions[i].Start
		}
	}
	return at
}

// seed is that of all fingerprints, which are compared with each other alone.
var seed = maphash.MakeSeed()

// Fingerprints are hashes of all that each run measured. A run that may agree with another by chance has none: it has
// fewer than five kernel times, and its rows have few digits and no time of their measurement.
func Fingerprints(s *model.Session) []uint64 {
	// Two runs that agree to the last digit count as one where they have so many kernel times, or so many digits behind
	// the second one of times and rates in benchmark files: fewer may agree by chance.
	const fewestTimes, fewestDigits = 5, 8
	type sample struct {
		of    uint64 // subject and metric
		value float64
	}
	names := make([]uint64, len(s.Series))
	for i := range s.Series {
		x := &s.Series[i]
		names[i] = maphash.Comparable(seed, struct {
			measure.Subject
			metric string
		}{x.Subject, x.Metric.Name})
	}
	var out []uint64
	for run := range s.Runs {
		var h maphash.Hash
		h.SetSeed(seed)
		times, rows, digits := 0, 0, 0
		for i := range s.Series {
			x := &s.Series[i]
			if math.IsNaN(x.Values[run]) {
				continue
			}
			if x.Metric.Name == measure.Time.Name || x.Metric.Name == measure.ReplayTime.Name {
				times++
			}
			speed := x.Metric.Unit == measure.Time.Unit || strings.HasSuffix(x.Metric.Unit, "/s")
			if x.Subject.Scope == measure.ScopeBenchmark && speed {
				rows, digits = rows+1, digits+max(significant(x.Values[run])-2, 0)
			}
			maphash.WriteComparable(&h, sample{names[i], x.Values[run]})
		}
		if start := s.Runs[run].Start; rows > 0 && digits < fewestDigits && !start.IsZero() {
			maphash.WriteComparable(&h, start.UnixNano())
			digits = fewestDigits
		}
		if times >= fewestTimes || digits >= fewestDigits {
			out = append(out, h.Sum64())
		}
	}
	return out
}

// significant is the number of digits of a value, as a file states it.
func significant(v float64) int {
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(v, 'e', 11, 64), "e")
	return len(strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0"))
}

// OneGPU reports whether all sessions of two sides are known to be of the same GPU.
func OneGPU(base, head []model.Session) bool {
	hash := head[len(head)-1].GPUHash
	return hash != "" && !slices.ContainsFunc(slices.Concat(base, head),
		func(s model.Session) bool { return s.GPUHash != hash })
}

// NoHost reports whether sessions are of benchmark files that name neither host nor GPU. What nsgate measured says so.
func NoHost(sessions []model.Session) bool {
	return !slices.ContainsFunc(sessions, func(s model.Session) bool {
		return s.GPUHash != "" || s.Hardware != (model.Hardware{}) || slices.ContainsFunc(s.Series,
			func(x model.Series) bool { return x.Subject.Scope != measure.ScopeBenchmark })
	})
}

// Apart is the least time in seconds between the beginnings of a session of the baseline and one of the head on one
// GPU, NaN where there are no such two.
func Apart(base, head []model.Session) float64 {
	least := math.NaN()
	for _, b := range base {
		for _, h := range head {
			if b.GPUHash == "" || b.GPUHash != h.GPUHash || b.Start.IsZero() || h.Start.IsZero() {
				continue
			}
			if d := h.Start.Sub(b.Start).Abs().Seconds(); !(least <= d) {
				least = d
			}
		}
	}
	return least
}

// Denied is how much longer host code may take in the head because its host gave CPU time to others, or hit its CPU
// limit, by more than the baseline's host did.
func Denied(base, head []model.Session) float64 {
	stretch := func(sessions []model.Session) float64 {
		return 1 / (1 - measure.Most(sessions, func(s model.Session) float64 { return s.Denied() }))
	}
	return max(0, stretch(head)/stretch(base)-1)
}

// Kernels are those among subjects.
func Kernels(subjects []measure.Subject) []measure.Subject {
	return slices.DeleteFunc(slices.Clone(subjects),
		func(s measure.Subject) bool { return s.Scope != measure.ScopeKernel })
}

// Names are the short names of subjects, each once.
func Names(subjects []measure.Subject) []string {
	var names model.Interned[string]
	for _, s := range subjects {
		names.Of(s.Short())
	}
	return names.List
}

// Boards are the boards of some sessions, each once, "" for an unknown one. Boards of one model and another revision
// differ more than the GPUs of one revision: of 13 H200 hosts the two with 692-2G520-0282-000 were 1.5 % slower in
// memory-bound kernels than the others.
func Boards(sessions []model.Session) []string {
	out := measure.Map(sessions, func(s model.Session) string { return s.Board })
	slices.Sort(out)
	return slices.Compact(out)
}

// FinestTick is the smallest known tick of the GPU's timer in sessions, in ns; 0 where none is known.
func FinestTick(sessions []model.Session) (tick float64) {
	for i := range sessions {
		if x := sessions[i].Tick; x > 0 && (tick == 0 || x < tick) {
			tick = x
		}
	}
	return tick
}

// CoarsestTick is the largest tick of the GPU's timer in sessions, in ns; 0 where none is known.
func CoarsestTick(sessions []model.Session) float64 {
	return measure.Most(sessions, func(s model.Session) float64 { return s.Tick })
}
