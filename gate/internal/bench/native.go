package bench

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// ofNVBench accounts for the settings of a state; the reader accounts for its summaries.
var ofNVBench = account{known: names("index|id|device|devices|type_config_index|min_samples|min_time|max_noise|" +
	"skip_time|timeout|.*_criterion"),
	parts: names("meta|devices|axes|axis_values|summaries|criterion_params|stopping_criterion.*")}

// readNVBench reads the JSON of nvbench (docs/cli_help.md, --json): one row a state, whose name is the
// benchmark's and the values of its axes, with _ for the spaces in names of axes, for [Filter]. The time is that of the
// GPU, else that of the CPU.
func readNVBench(r *run) error {
	var f struct {
		Devices []struct {
			ID   int
			Name string
		}
		Benchmarks []struct {
			Name   string
			States []struct {
				Device  *int
				Axes    []struct{ Name, Value, Type string } `json:"axis_values"`
				Skipped bool                                 `json:"is_skipped"`
				Results []struct {
					Tag, Name string
					Data      []struct{ Name, Value string }
				} `json:"summaries"`
			}
		}
	}
	if err := r.json(&f); err != nil {
		return err
	}
	names := map[int]string{}
	for _, d := range f.Devices {
		names[d.ID] = d.Name
	}
	for i, b := range f.Benchmarks {
		for j, s := range b.States {
			where, parts := fmt.Sprintf("benchmarks[%d].states[%d]", i, j), []string{b.Name}
			if !r.named(where, b.Name) {
				return r.err
			}
			for _, a := range s.Axes {
				parts = append(parts, strings.ReplaceAll(a.Name, " ", "_")+"="+a.Value)
			}
			if s.Device != nil {
				if r.GPU == "" {
					r.GPU = names[*s.Device]
				}
				if len(f.Devices) > 1 {
					parts = append(parts, "GPU "+strconv.Itoa(*s.Device))
				}
			}
			row := strings.Join(parts, " ")
			if s.Skipped {
				r.leave(row, model.Skipped)
				continue
			}
			tags := map[string]string{}
			for _, x := range s.Results {
				for _, d := range x.Data {
					if d.Name == "value" {
						tags[x.Tag] = d.Value
					}
					if !strings.HasPrefix(x.Tag, "nv/") {
						r.leave(cmp.Or(x.Tag, x.Name), model.UnknownName)
					}
				}
			}
			r.addNVBench(where, row, tags)
		}
	}
	return nil
}

// nvbenchTimes are the tags of a state's time, the one that is used first: seconds.
var nvbenchTimes = []struct {
	tag    string
	metric measure.Metric
}{
	{"nv/cold/time/gpu/mean", measure.GPUDuration}, {"nv/batch/time/gpu/mean", measure.GPUDuration},
	{"nv/cold/time/cpu/mean", measure.Duration}, {"nv/cpu_only/time/cpu/mean", measure.Duration},
}

func (r *run) addNVBench(where, row string, tags map[string]string) {
	for _, t := range nvbenchTimes {
		text, ok := tags[t.tag]
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			r.refuse(r.bad(where, "%s: %q is no number", t.tag, text))
		}
		r.add(where, row, t.metric, value*second)
		return
	}
	r.refuse(r.bad(where, "%s was not skipped and has no time", measure.Quote(row)))
}

// oldAggregate matches the rows of repetitions and complexity by their names, which is all that google-benchmark before
// 1.5 tells of them.
var oldAggregate = input.Pattern(`^(.*)_(mean|median|stddev|BigO|RMS)$`)

// ofGoogle accounts for the fields of a run that google-benchmark writes itself; counters of a benchmark are left out.
var ofGoogle = account{parts: names("context"), known: names("(?:per_)?family_(?:instance_)?index|" +
	"repetitions|repetition_index|threads|iterations|(?:real|cpu)_time|(?:real|cpu)_coefficient|rms|" +
	"(?:bytes|items)_per_second")}

// readGoogle reads the JSON of google-benchmark (google/benchmark, docs/user_guide.md, --benchmark_format=json). The
// time is the real time: the manual one, of CUDA events, where the benchmark sets it. Rates are the time in other
// units.
func readGoogle(r *run) error {
	var f struct {
		Context struct {
			Date string
			Host string `json:"host_name"`
		}
		Benchmarks []struct {
			Name      string
			Run       string   `json:"run_name"`
			Type      string   `json:"run_type"`
			Aggregate string   `json:"aggregate_name"`
			Unit      string   `json:"time_unit"`
			Real      *float64 `json:"real_time"`
			Failed    bool     `json:"error_occurred"`
			Message   string   `json:"error_message"`
			Skipped   bool     `json:"skipped"`
		}
	}
	if err := r.json(&f); err != nil {
		return err
	}
	r.on(f.Context.Host)
	r.at("2006-01-02T15:04:05Z07:00", f.Context.Date)
	names := map[string]bool{}
	for _, b := range f.Benchmarks {
		names[b.Name] = true
	}
	single := map[string]bool{}
	for i := range f.Benchmarks {
		b := &f.Benchmarks[i]
		part := oldAggregate().FindStringSubmatch(b.Name)
		if b.Type == "" && part != nil && (names[part[1]+"_stddev"] || names[part[1]+"_RMS"]) {
			b.Run, b.Type, b.Aggregate = part[1], "aggregate", part[2]
		}
		b.Run = cmp.Or(b.Run, b.Name)
		single[b.Run] = single[b.Run] || b.Type != "aggregate"
	}
	for i, b := range f.Benchmarks {
		where, row := fmt.Sprintf("benchmarks[%d]", i), b.Run
		switch {
		case b.Failed:
			r.failed = append(r.failed, row+" ("+b.Message+")")
			continue
		case b.Skipped:
			r.leave(row, model.Skipped)
			continue
		case b.Type == "aggregate" && (single[b.Run] || b.Aggregate != "median"):
			continue
		case b.Real == nil:
			return r.bad(where, "%s has no real_time", measure.Quote(row))
		}
		scale := nanoseconds(b.Unit)
		if scale == 0 {
			return r.bad(where, "time_unit %q is not ns, us, ms or s", b.Unit)
		}
		r.add(where, row, measure.Duration, *b.Real*scale)
	}
	return nil
}

// unit is the metric of a number, and the factor to its base unit.
type unit struct {
	metric measure.Metric
	factor float64
}

// nanoseconds is the size of a unit of time in ns, 0 for another unit.
func nanoseconds(unit string) float64 {
	if factor, base, _ := measure.BaseUnit(unit); base == measure.Duration.Unit {
		return factor
	}
	return 0
}

// inUnit is the metric of a number in a unit, and the factor to its base unit. What a larger number means is known of
// times, sizes and rates only: any other unit gives [measure.Value], which is not judged, in that unit.
func inUnit(unit string) (measure.Metric, float64) {
	factor, base, known := measure.BaseUnit(unit)
	switch {
	case measure.IsRate(base):
		m, _ := measure.ItemRate.In(base)
		return m, factor
	case known && base != "Hz" && base != "%":
		return map[string]measure.Metric{"ns": measure.Duration, "B": measure.Memory, "B/s": measure.Bandwidth,
			"FLOP/s": measure.FlopRate}[base], factor
	}
	m, _ := measure.Value.In(strings.TrimSpace(unit))
	return m, 1
}

// isValue reports whether nothing is known of a metric but its number and unit.
func isValue(m measure.Metric) bool { return m.Name == measure.Value.Name }
