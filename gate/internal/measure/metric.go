package measure

import (
	"cmp"
	"fmt"
	"strings"
)

// Direction says which way a metric gets better.
type Direction int8

// Lower is better for times, counts and bytes; Neither marks metrics that explain but are not judged.
const (
	Lower   Direction = -1
	Neither Direction = 0
	Higher  Direction = +1
)

// Metric is a named number with a unit and a direction.
type Metric struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit,omitempty"`
	Better Direction `json:"better,omitempty"`
	// Exact metrics carry no measurement noise (counts, bytes, registers): where every run of a side agrees, a
	// difference is certain. The others are judged against the spread between runs.
	Exact bool `json:"exact,omitempty"`
}

// Sign is the sign of a change for the worse: -1 where higher values are better, else 1.
func (m Metric) Sign() float64 {
	return Either(m.Better == Higher, -1.0, 1)
}

var (
	// Metrics lists every metric that nsgate knows: those of a timeline, then the counters of single launches.
	Metrics []Metric
	// known are the rows by name.
	known = map[string]knowledge{}
)

// knowledge is a row without the stored metric's own fields.
type knowledge struct {
	metric  Metric
	title   string
	meaning string
	sums    sums
	of      subjects
	by      Means
	term    Term
	is      mark
}

// kind is the kind of quantity of a metric.
type kind uint8

const (
	exact  kind = iota // counted, see [Metric.Exact]
	time               // in ns
	amount             // sampled, in bytes, operations or cycles
	rate               // per time, launch or request
	share              // a ratio or a percentage
)

// sums says what a value is added up over. Every row states it: a sum that is taken for a mean is wrong in silence.
type sums uint8

const (
	alone     sums = 0         // a value of its own: the ranks that have it are averaged
	perStep   sums = 1 << iota // a sum over one step, or its period: see [Metric.PerStep]
	overRanks                  // see [Metric.OverRanks]
)

// mark is a property of a row.
type mark uint16

const (
	informs  mark = 1 << iota // see [Metric.Informational]
	judged                    // see [Metric.Judged]
	onHost                    // see [Metric.OnHost]
	outside                   // see [Metric.OutsideSteps]
	followed                  // see [Metric.Followed]
	tick                      // see [FloorTick]
	ticks                     // see [FloorTicks]
	once                      // see [FloorOnce]
	onGPU                     // see [Metric.OnGPU]
	main                      // see [Main]
	drifts                    // see [Metric.Drifts]
)

// row makes a metric and lists it: a new metric is one row, and the code that reads it. The title is the name with
// spaces unless the row gives another. A row that contradicts itself is an error of the program.
func row(name, unit string, better Direction, is kind, over sums, of subjects, by Means, term Term, marks mark,
	meaning string, title ...string) Metric {
	m := Metric{Name: name, Unit: unit, Better: better, Exact: is == exact}
	_, twice := known[name]
	if twice || name == "" || (unit == "ns") != (is == time) || over&overRanks != 0 && is >= rate || of == 0 ||
		meaning == "" || (term == TermCount) != m.Exact {
		panic(fmt.Sprintf("the row of metric %q is there twice or contradicts itself", name))
	}
	title = append(title, strings.ReplaceAll(name, "_", " "))
	known[name] = knowledge{m, title[0], meaning, over, of, by, term, marks}
	Metrics = append(Metrics, m)
	return m
}

// stepCount is the row of a count of a timeline, per step and summed over the ranks.
func stepCount(name, unit string, better Direction, of subjects, marks mark, meaning string, title ...string) Metric {
	return row(name, unit, better, exact, perStep|overRanks, of, ByTimeline, TermCount, marks, meaning, title...)
}

// attribute is the row of a constant of a kernel.
func attribute(name, unit string, by Means, meaning string, title ...string) Metric {
	return row(name, unit, Neither, exact, alone, kernels, by, TermCount, 0, meaning, title...)
}

// benchmark is the row of a metric of a benchmark file that is judged; TermKernel says that the GPU took it.
func benchmark(name, unit string, better Direction, is kind, term Term, meaning string, title ...string) Metric {
	marks := judged | followed | main
	if term == TermKernel {
		marks |= onGPU
	}
	return row(name, unit, better, is, alone, benchmarks, ByResults, term, marks, meaning, title...)
}

// sample is the row of a metric that is sampled of the whole GPU.
func sample(name string, better Direction, meaning string, title ...string) Metric {
	return row(name, "%", better, share, alone, ranges|workload, BySampling, TermUtilisation, 0, meaning, title...)
}

// counter is the row of a metric that Nsight Compute gives of one launch.
func counter(name, unit string, better Direction, is kind, meaning string, title ...string) Metric {
	return row(name, unit, better, is, alone, kernels, ByCounters, termOf(is == exact), 0, meaning, title...)
}

func limit(name, by string) Metric {
	return counter(name, "blocks/SM", Neither, exact, "blocks that an SM could hold if only "+by+" counted")
}

func stall(name, why string) Metric {
	return counter(name, "cycles/inst", Neither, rate, "cycles that a warp waits "+why)
}

// termOf is the row of error terms of a metric of Nsight Compute.
func termOf(exact bool) Term {
	return Either(exact, TermCount, TermKernel)
}

// row is the row of a metric. That of a metric that Nsight Compute defines follows from its name.
func (m Metric) row() knowledge {
	if raw := m.Raw(); raw != "" {
		return knowledge{metric: m, title: raw, meaning: "metric of Nsight Compute", of: kernels, by: ByCounters,
			term: termOf(m.Exact)}
	}
	return known[m.Name]
}

// MetricByName finds a metric of [Metrics], or makes that of a name behind [RawPrefix].
func MetricByName(name string) (Metric, bool) {
	if raw, ok := strings.CutPrefix(name, RawPrefix); (ok || strings.Contains(name, "__")) &&
		rawName().MatchString(raw) {
		return rawMetric(raw), true
	}
	k, ok := known[name]
	return k.metric, ok
}

// Raw is the name that Nsight Compute has for the metric, "" for a metric of [Metrics].
func (m Metric) Raw() string {
	if raw, ok := strings.CutPrefix(m.Name, RawPrefix); ok {
		return raw
	}
	return ""
}

// Title is the metric's name in prose: "GPU time", "bytes copied". An unknown metric is its name with spaces.
func (m Metric) Title() string { return cmp.Or(m.row().title, strings.ReplaceAll(m.Name, "_", " ")) }

// OfResults reports whether the metric is one of benchmark files.
func (m Metric) OfResults() bool { return known[m.Name].by == ByResults }

// Judged reports whether the metric is judged where no rule of the policy names it: those with a direction, and of
// Nsight Compute's only the duration. Its other metrics are causes and rates that change without anyone waiting longer.
func (m Metric) Judged() bool {
	if k, ok := known[m.Name]; ok {
		return k.is&judged != 0
	}
	return m.Better != Neither && m.Raw() == ""
}

// Informational reports whether the metric counts operations and not their cost: an increase fails a gate only by a
// rule that names it.
func (m Metric) Informational() bool { return known[m.Name].is&informs != 0 }

// OnHost reports whether a time depends on the CPU as well as on the GPU, and so varies more between runs and hosts.
func (m Metric) OnHost() bool { return known[m.Name].is&onHost != 0 }

// Unprofiled reports whether the metric is of runs without a profiler: see model.Run. The others are of profiled runs.
func (m Metric) Unprofiled() bool { return m.Raw() == "" && known[m.Name].by >= ByWall }

// OnGPU reports whether a time of an unprofiled run was taken by the GPU, whatever its host does.
func (m Metric) OnGPU() bool { return known[m.Name].is&onGPU != 0 }

// OutsideSteps reports whether a time is outside of the steps. It varies by tens of per cent between runs.
func (m Metric) OutsideSteps() bool { return known[m.Name].is&outside != 0 }

// Followed reports whether the history of the metric is kept: of the outputs, the workload and the kernels.
func (m Metric) Followed() bool { return known[m.Name].is&followed != 0 }

// Sampled reports whether the metric is sampled of the whole GPU.
func (m Metric) Sampled() bool { return m.row().by == BySampling && m.Unit == "%" }

// OfLaunch reports whether Nsight Compute gives the metric of one launch.
func (m Metric) OfLaunch() bool { return m.row().by == ByCounters }

// PerStep reports whether the value is a sum over a step or its period, so that it grows with the work of a step.
func (m Metric) PerStep() bool { return known[m.Name].sums&perStep != 0 }

// OverRanks reports whether the values of a job's ranks add up: a rank without a value has none, which counts as 0.
func (m Metric) OverRanks() bool { return known[m.Name].sums&overRanks != 0 }

// Floor is the smallest measurable change of a metric.
type Floor uint8

const (
	FloorNone  Floor = iota
	FloorTick        // the timer's resolution
	FloorTicks       // the timer's resolution, for each launch
	FloorOnce        // one in a whole run
)

// Floor is the smallest measurable change of the metric.
func (m Metric) Floor() Floor {
	return map[mark]Floor{tick: FloorTick, ticks: FloorTicks, once: FloorOnce}[known[m.Name].is&(tick|ticks|once)]
}

// SmallKernel is the time of a launch in ns under which a kernel is small (TraceLens' short kernel): launching it takes
// the CPU about as long. A cycle of less is the rate of launches, which differs by 40 % between processes.
const SmallKernel = 10_000
