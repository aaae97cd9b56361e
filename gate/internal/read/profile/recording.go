package profile

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
)

// Recording is the recorded runs of a workload. Most often one of the lists is filled: a recording comes from one
// profiler, except that Finished sessions may come from several.
type Recording struct {
	// Source is the path that was opened, "" for a measurement of this process.
	Source string
	// Traces are runs launch by launch, one for each process that launched kernels.
	Traces []model.Trace
	// Counters are runs that were counted, with counters for each profiled launch; to traces they add those of Beside.
	Counters []*counters.Profile
	Beside   []measure.Metric
	// Summaries are runs known by sums over all launches only, each a session of one run.
	Summaries []model.Session
	// Finished are sessions that were reduced before: of a baseline or a saved report.
	Finished []model.Session
	// Unprofiled are further runs without a profiler, and Outputs the numbers that were read in their output.
	Unprofiled []model.Unprofiled
	Outputs    []measure.Output
	// Place is the environment of unprofiled runs without profiled ones.
	Place model.Environment
	// Warnings are doubts that do not forbid a judgement.
	Warnings []string
}

// Add adds the content of another recording of the same workload.
func (r *Recording) Add(o *Recording) {
	r.Traces = append(r.Traces, o.Traces...)
	r.Counters, r.Beside = append(r.Counters, o.Counters...), append(r.Beside, o.Beside...)
	r.Summaries = append(r.Summaries, o.Summaries...)
	r.Finished = append(r.Finished, o.Finished...)
	r.Unprofiled = append(r.Unprofiled, o.Unprofiled...)
	if len(o.Unprofiled) > 0 {
		r.Outputs = o.Outputs // the same for all runs of a workload
		if r.Place.Start.IsZero() {
			r.Place = o.Place
		}
	}
	r.Warnings = append(r.Warnings, o.Warnings...)
}

// add adds the result of a reader: a run launch by launch, or summed up.
func (r *Recording) add(trace *model.Trace, summary *model.Session, err error) error {
	if trace != nil {
		r.Traces = append(r.Traces, *trace)
	}
	if summary != nil {
		r.Summaries = append(r.Summaries, *summary)
	}
	return err
}

func (r *Recording) addCounters(p *counters.Profile, err error) error {
	if err == nil {
		r.Counters, r.Warnings = append(r.Counters, p), append(r.Warnings, p.Warnings...)
	}
	return err
}

// Whole reports whether some of it was summed up before, so that no warm-up can be left out.
func (r *Recording) Whole() bool { return len(r.Counters)+len(r.Summaries)+len(r.Finished) > 0 }

// GPU is the model of the GPU of the newest run, "" if unknown.
func (r *Recording) GPU() string {
	switch {
	case len(r.Traces) > 0:
		return r.Traces[len(r.Traces)-1].GPU
	case len(r.Counters) > 0:
		return r.Counters[len(r.Counters)-1].GPU
	case len(r.Summaries) > 0:
		return r.Summaries[len(r.Summaries)-1].GPU
	case len(r.Finished) > 0:
		return r.Finished[len(r.Finished)-1].GPU
	}
	return ""
}

// pure refuses a recording of several profilers or GPUs, which time the same kernel differently.
func (r *Recording) pure() error {
	var profilers, gpus []string
	for i := range r.Traces {
		t := &r.Traces[i]
		profilers = measure.Once(profilers, string(t.Profiler()))
		if t.Job == "" && t.World == 0 && t.GPU != "" { // a job may have ranks on several
			gpus = measure.Once(gpus, t.GPU)
		}
	}
	for i := range r.Summaries {
		profilers = measure.Once(profilers, string(r.Summaries[i].Profiler()))
	}
	if len(r.Counters) > 0 {
		profilers = measure.Once(profilers, string(model.Counting))
	}
	switch {
	case len(profilers) > 1:
		return model.Refuse(model.MixedProfilers, "judge the profiles of one profiler at a time",
			"%s mixes what %s measured", r.Source, strings.Join(profilers, " and "))
	case len(gpus) > 1:
		return model.Refuse(model.OtherGPU, "put the recordings of each GPU into a directory of its own",
			"%s mixes recordings of %s", r.Source, strings.Join(gpus, " and "))
	}
	return nil
}

// Tools are the programs that reading some formats takes. The zero value finds them on the PATH.
type Tools struct {
	Exe     string   // of the profiler that wrote the reports, "" for the one on the PATH
	Metrics []string // raw names of counters to read beside the metrics of nsgate
	Rows    string   // filter of jq that gives the rows of benchmark files, "" for the formats of harnesses

	exports bool // this process runs the programs, and a child reads their exports
}
