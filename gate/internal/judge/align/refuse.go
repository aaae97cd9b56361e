// Package align says whether the sessions of a baseline and a head can be compared, and gives those of the head for
// as much work as the baseline did.
package align

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Refusal is a row of a table of refusals: a gate whose input meets the condition has no verdict.
type Refusal[Of any] struct {
	Name string
	Kind model.Kind
	When func(Of) bool
	Says func(Of) (reason, next string)
}

// First is the first row that applies, nil where none does.
func First[Of any](rows []Refusal[Of], x Of) *result.Remark {
	for _, row := range rows {
		if row.When(x) {
			reason, next := row.Says(x)
			return &result.Remark{Key: string(row.Kind), Sentence: reason, Next: next}
		}
	}
	return nil
}

const again = "measure both sides with the same settings"

// sessionRefusals are the refusals to compare the sessions of a head with those of a baseline. Each row relies on the
// rows above.
var sessionRefusals = []Refusal[*sides]{
	{"no session", model.NoSession, func(s *sides) bool { return len(s.base) == 0 || len(s.head) == 0 },
		func(s *sides) (string, string) {
			empty := func(x []model.Session) bool { return len(x) == 0 }
			return "the " + s.sideWhere(empty) + " holds no session", "measure it first"
		}},
	{"damaged session", model.BadSession, func(s *sides) bool { return damage(s.base) != nil || damage(s.head) != nil },
		func(s *sides) (string, string) {
			damaged := func(x []model.Session) bool { return damage(x) != nil }
			return s.sideWhere(damaged) + ": " + cmp.Or(damage(s.base), damage(s.head)).Error(), "measure again"
		}},
	{"head of several profilers", model.MixedProfilers, func(s *sides) bool { return s.foreign() != nil },
		func(s *sides) (string, string) {
			return "the head mixes the measurements of " + string(s.foreign().Profiler()) + " and " +
				string(s.newest().Profiler()), "judge the profiles of one profiler at a time"
		}},
	{"other profiler", model.OtherProfiler, func(s *sides) bool { return len(s.ofProfiler) == 0 },
		func(s *sides) (string, string) {
			return "the baseline was measured with " + string(s.base[0].Profiler()) + ", the head with " +
					string(s.newest().Profiler()) + ": they measure differently",
				"measure both sides with the same tool"
		}},
	{"other GPU", model.OtherGPU, func(s *sides) bool {
		return len(s.fits) == 0 || slices.ContainsFunc(s.head, s.otherGPU)
	}, func(s *sides) (string, string) {
		known := measure.Where(slices.Concat(s.base, s.head), func(x model.Session) bool { return x.GPU != "" })
		models := measure.Once(nil, measure.Map(known, func(x model.Session) string { return x.GPU })...)
		return "baseline and head were measured on different GPUs: " + strings.Join(models, ", "),
			"record a baseline on " + cmp.Or(s.newest().GPU, "the GPU of the head") +
				", or run this check on the baseline's GPU"
	}},
	differ("graphs traced otherwise", model.OtherMode, func(b, h *model.Session) bool {
		return (b.GraphTrace == "graph") != (h.GraphTrace == "graph")
	}, func(b, h *model.Session) (string, string) {
		return "CUDA graphs were traced differently: " + graphs(b.GraphTrace) + " in the baseline, " +
			graphs(h.GraphTrace) + " in the head", "profile both sides with --cuda-graph-trace=node"
	}),
	differ("profiler set otherwise", model.OtherMode, func(b, h *model.Session) bool {
		setting, _, _ := model.Unlike(b.Mode, h.Mode)
		return setting != ""
	}, func(b, h *model.Session) (string, string) {
		if setting, x, y := model.Unlike(b.Mode, h.Mode); setting != model.WholeMode {
			return "the loads differ in " + setting + ": " + x + " in the baseline, " + y + " in the head",
				"measure both sides under the same load"
		}
		without := b.Mode == model.WithoutNVTX || h.Mode == model.WithoutNVTX
		unknown := measure.Either(without, "with NVTX", "not known")
		return "the profiler was set differently: " + cmp.Or(b.Mode, unknown) + " in the baseline, " +
			cmp.Or(h.Mode, unknown) + " in the head", again
	}),
	differ("setting on one side", model.OtherMode, func(b, h *model.Session) bool {
		return model.OneSided(b.Mode, h.Mode)+model.OneSided(h.Mode, b.Mode) != ""
	}, func(b, h *model.Session) (string, string) {
		side, setting, other := "baseline", model.OneSided(b.Mode, h.Mode), h
		if setting == "" {
			side, setting, other = "head", model.OneSided(h.Mode, b.Mode), b
		}
		at := strings.LastIndexByte(setting, '=')
		if name := path.Base(setting[:at]); swept(other, name) {
			return "the loads differ in " + name + ": " + setting[at+1:] + " in the " + side +
				", several on the other side", "measure both sides under the same load"
		}
		return "only the " + side + " names " + setting + ", so that the loads may differ",
			"measure both sides with one version of the tool and with the same options"
	}),
	differ("other number of GPUs", model.OtherMode, func(b, h *model.Session) bool { return b.GPUs != h.GPUs },
		func(b, h *model.Session) (string, string) {
			return "the baseline used " + measure.Count(b.GPUs, "GPU") + ", the head " + measure.Count(h.GPUs, "GPU"),
				again
		}),
	differ("other number of processes", model.OtherMode, func(b, h *model.Session) bool {
		return b.Processes != h.Processes && b.Processes > 0 && h.Processes > 0
	}, func(b, h *model.Session) (string, string) {
		return "the baseline ran " + measure.Count(b.Processes, "process", "processes") + " at a time, the head " +
			measure.Count(h.Processes, "process", "processes"), again
	}),
	differ("captured on one side", model.OtherMode, func(b, h *model.Session) bool {
		return (b.Warmup == "capture") != (h.Warmup == "capture")
	}, func(_, _ *model.Session) (string, string) {
		return "only one side is restricted to the range between cudaProfilerStart and cudaProfilerStop", again
	}),
	differ("other step", model.OtherStep, func(b, h *model.Session) bool { return b.Step != h.Step },
		func(b, h *model.Session) (string, string) {
			return "baseline and head have different steps: " + quoted(b.Step) + " in the baseline, " +
					quoted(h.Step) + " in the head",
				"name the range that both repeat as the step"
		}),
	differ("other number of steps", model.OtherWork, func(b, h *model.Session) bool {
		return b.Step != "" && (2*recorded.Steps(h) < recorded.Steps(b) || 2*recorded.Steps(b) < recorded.Steps(h))
	}, func(b, h *model.Session) (string, string) {
		return "the workload did a different amount of work: " + measure.Count(recorded.Steps(b), "step") +
			" in the baseline, " + strconv.Itoa(recorded.Steps(h)) + " in the head", again
	}),
	{"other number of repeats", model.OtherWork, func(s *sides) bool {
		w := repeatsOf(s.fits, s.head)
		return w != nil && (w.ratio > 2 || w.ratio < 0.5)
	}, func(s *sides) (string, string) {
		w := repeatsOf(s.fits, s.head)
		return "the workload did a different amount of work: " + measure.Count(int(w.inBase), "repeat") +
			" in the baseline, " + strconv.Itoa(int(w.inHead)) + " in the head", again
	}},
	{"no steady state", model.Unsteady, func(s *sides) bool {
		return (mostUnsteady(s.fits) || mostUnsteady(s.head)) && !unsteadyAlike(s.fits, s.head) &&
			!growAlike(s.fits, s.head)
	}, func(s *sides) (string, string) {
		which, sessions := "head", s.head
		if mostUnsteady(s.fits) {
			which, sessions = "baseline", s.fits
		}
		unsteady, runs := steadiness(sessions)
		return "no steady state in " + strconv.Itoa(unsteady) + " of the " + strconv.Itoa(runs) + " runs of the " +
			which, "let the workload run longer, or say what is warm-up"
	}},
}

// sides are the sessions that a gate is given, before they are known to be comparable. Each list holds those of the
// one before that fit the newest session of the head.
type sides struct {
	base, head []model.Session
	ofProfiler []model.Session // of base: of the head's profiler
	fits       []model.Session // of these: of the head's GPU and board
}

func newSides(base, head []model.Session) *sides {
	s := &sides{base: base, head: head}
	if len(head) == 0 {
		return s
	}
	s.ofProfiler = slices.DeleteFunc(slices.Clone(base), func(b model.Session) bool {
		return !b.Profiler().Comparable(s.newest().Profiler())
	})
	if ofGPU := slices.DeleteFunc(slices.Clone(s.ofProfiler), s.otherGPU); len(ofGPU) > 0 {
		s.fits = onBoard(ofGPU, head)
	}
	return s
}

// Comparable returns the sessions of the baseline that the head can be compared with, or why there are none.
func Comparable(base, head []model.Session) ([]model.Session, *result.Remark) {
	s := newSides(base, head)
	because := First(sessionRefusals, s)
	return measure.Either(len(s.fits) == 0, base, s.fits), because
}

func (s *sides) newest() *model.Session { return &s.head[len(s.head)-1] }

// foreign is a session of the head that another profiler measured than its newest one, nil where there is none.
func (s *sides) foreign() *model.Session {
	return measure.First(s.head, func(x *model.Session) bool { return x.Profiler() != s.newest().Profiler() })
}

// otherGPU reports whether a session is of another GPU model than the head. One that does not name its GPU, as pages
// of counters and old traces do, may be of any.
func (s *sides) otherGPU(x model.Session) bool {
	gpu := s.newest().GPU
	return x.GPU != gpu && x.GPU != "" && gpu != ""
}

// sideWhere names the first side that meets a condition.
func (s *sides) sideWhere(condition func([]model.Session) bool) string {
	return measure.Either(condition(s.base), "baseline", "head")
}

// damage is why a session is none, nil where all are.
func damage(sessions []model.Session) error {
	for i := range sessions {
		if err := sessions[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// differ is a row about the first session of the baseline and of the head that were measured or run differently.
func differ(name string, kind model.Kind, when func(b, h *model.Session) bool,
	says func(b, h *model.Session) (reason, next string),
) Refusal[*sides] {
	find := func(s *sides) (*model.Session, *model.Session) {
		for i := range s.fits {
			for j := range s.head {
				if when(&s.fits[i], &s.head[j]) {
					return &s.fits[i], &s.head[j]
				}
			}
		}
		return nil, nil
	}
	return Refusal[*sides]{name, kind, func(s *sides) bool { b, _ := find(s); return b != nil },
		func(s *sides) (string, string) { return says(find(s)) }}
}

// swept reports whether a session has loads that differ in a setting: it is in the names of rows, or of settings.
func swept(s *model.Session, setting string) bool {
	holds := func(text string) bool {
		return strings.Contains(strings.NewReplacer("/", " ", ",", " ").Replace(" "+text), " "+setting+"=")
	}
	return holds(s.Mode) || slices.ContainsFunc(s.Series, func(x model.Series) bool { return holds(x.Subject.Name) })
}

func mostUnsteady(sessions []model.Session) bool {
	unsteady, runs := steadiness(sessions)
	return 2*unsteady > runs
}

// steadiness counts the profiled runs, and those of them without a steady state.
func steadiness(sessions []model.Session) (unsteady, runs int) {
	for i := range sessions {
		unsteady += recorded.Unsteady(&sessions[i])
		runs += sessions[i].Profiled()
	}
	return unsteady, runs
}

// unsteadyAlike reports whether both sides have runs without a steady state, and most of all runs reach one: their
// number is then that of a program whose runs settle late or not, and its noise is in the spread between runs.
func unsteadyAlike(base, head []model.Session) bool {
	b, _ := steadiness(base)
	h, _ := steadiness(head)
	return b > 0 && h > 0 && !mostUnsteady(slices.Concat(base, head))
}

// growAlike reports whether the steps of both sides get longer, or shorter, by the same factor within a run: then the
// same steps are compared, and a missing steady state is no difference.
func growAlike(base, head []model.Session) bool {
	const apart = 0.02
	b, h := recorded.New(base, measure.Total), recorded.New(head, measure.Total)
	x, y := b.Typical(measure.Workload, measure.Growth.Name), h.Typical(measure.Workload, measure.Growth.Name)
	for i := range base {
		for j := range head {
			if recorded.Steps(&base[i]) != recorded.Steps(&head[j]) {
				return false
			}
		}
	}
	return x > 0 && y > 0 && math.Abs(math.Log(x/y)) <= apart
}

func graphs(traced string) string {
	switch traced {
	case "graph":
		return "as a whole"
	case "node":
		return "node by node"
	}
	return "not at all"
}

func quoted(step string) string {
	return measure.Either(step == "", "none", strconv.Quote(step))
}
