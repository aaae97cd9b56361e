package thresholds

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nsgate/nsgate/gate/measure"
)

// Key is a key of the policy file, for documentation.
type Key struct {
	// "" at the top of the file, "workload", "workload.output", "workload.results", "workload.server", "rule", "ratio"
	Table   string
	Name    string
	Type    string // of its value: "percentage", "text", "pattern", …
	Default string // as a file writes it, or in words where only leaving the key out has that meaning
	Doc     string // meaning, without a final full stop
	Example string // as a file writes it
}

// Literal reports whether a file may hold the default.
func (k Key) Literal() bool { return strings.IndexAny(k.Default, `"0123456789`) == 0 }

// key is a row: the documentation of a key of a T, and the field that it fills. A new key is one row and the field.
type key[T any] struct {
	name    string
	initial string // see [Key.Default]
	example string
	doc     string
	field   func(*T) field
}

var rootKeys = []key[Policy]{
	{"threshold", `"3%"`, `"1%"`, "largest slowdown of a kernel, range, device, output, or the workload",
		func(p *Policy) field { return percentage(&p.Threshold, parseLimit) }},
	{"step_threshold", `"5%"`, `"2%"`,
		"largest slowdown of the step, idle time included; without it, 5/3 of a threshold below 3% where the data " +
			"can tell",
		func(p *Policy) field { return percentage(&p.StepThreshold, parseLimit) }},
	{"warmup_threshold", `"25%"`, `"50%"`,
		"largest slowdown of the warm-up's wall time; where it is set, of its GPU time too",
		func(p *Policy) field { return percentage(&p.WarmupThreshold, parseLimit) }},
	{"outside_threshold", `"25%"`, `"50%"`, "largest slowdown of the parts before, after and beside the steps",
		func(p *Policy) field { return percentage(&p.OutsideThreshold, parseLimit) }},
	{"alpha", `"1%"`, `"5%"`, "chance of a false alarm in a whole gate", func(p *Policy) field {
		return percentage(&p.Alpha, func(s string) (v float64, err error) {
			if v, err = measure.ParsePercent(s); err == nil && (v == 0 || v >= 0.5) {
				err = fmt.Errorf(`%q must be more than 0%% and less than 50%%; the default is "1%%"`, s)
			}
			return v, err
		})
	}},
	{"cost", `"0.15%"`, `"0.5%"`, "part of a step or run that a slowdown must add to fail", func(p *Policy) field {
		return percentage(&p.Cost, func(s string) (v float64, err error) {
			if v, err = measure.ParsePercent(s); err == nil && v > 1 {
				err = fmt.Errorf(`%q is more than all of a step; the default is "0.15%%"`, s)
			}
			return v, err
		})
	}},
	{"session_sd", `"0.5%"`, `"1%"`, "spread between GPU hosts, until it is measured",
		func(p *Policy) field { return percentage(&p.SessionSD, measure.ParsePercent) }},
	{"same_host", "true", "false", "whether benchmark files that name no host are of one",
		func(p *Policy) field { return negated(&p.OtherHost) }},
	{"undecided", `"warn"`, `"fail"`, "result of undecided comparisons: exit code 0 or 3",
		func(p *Policy) field { return word(&p.Undecided, "warn", "fail") }},
	{"shadow", "false", "true",
		"whether any verdict of a check exits with 0, and those of the default branch are counted",
		func(p *Policy) field { return boolean(&p.Shadow) }},
	{"max_age", `"90d"`, `"30d"`, "age of the newest session from which reports warn",
		func(p *Policy) field { return age(&p.MaxAge) }},
	{"base", "none", `"origin/main"`, "git revision of the base build", func(p *Policy) field { return text(&p.Base) }},
	{"build", "none", `"make"`, "shell command that builds the base build",
		func(p *Policy) field { return text(&p.Build) }},
}

var workloadKeys = []key[Workload]{
	{"name", "required", `"kernels"`, "its name in the baseline and for --workload", func(w *Workload) field {
		return parsed("name", &w.Name, func(s string) (string, error) { return s, checkName(s) }, verbatim)
	}},
	{"command", "none: only finished profiles are judged", `"./kernels --steps 60"`,
		"program and arguments; no shell is involved", func(w *Workload) field { return command(&w.Command) }},
	{"launcher", "none", `"srun -N2"`, "starts the command as a job of many processes",
		func(w *Workload) field { return command(&w.Launcher) }},
	{"gather", "none", `"/shared/nsgate"`,
		"directory that all hosts of a job see, relative to this file; the profiler then runs around each rank",
		func(w *Workload) field { return text(&w.Gather) }},
	{"ranks", "all", `"0,7"`, "ranks to profile in a job with gather",
		func(w *Workload) field { return parsed("ranks", &w.Ranks, parseRanks, printRanks) }},
	{"dir", "where this file lies", `"build"`, "working directory, relative to this file",
		func(w *Workload) field { return text(&w.Dir) }},
	{"timeout", "learned: 10 times the longest run of the baseline, at least 5m", `"2m"`,
		`longest time of one run, or "none"`, func(w *Workload) field { return timeout(&w.Timeout) }},
	{"warmup", `"auto"`, `3`,
		`steps to leave out: "auto", a number, or "capture": all but cudaProfilerStart to cudaProfilerStop`,
		func(w *Workload) field {
			return orNumber(parsed("number of steps or text", &w.Warmup, parseWarmup, verbatim))
		}},
	{"step", "found by itself", `"step"`, "NVTX range that repeats; `\"mark:NAME\"`: from one NVTX mark to the next",
		func(w *Workload) field { return text(&w.Step) }},
	{"runs", `of a check 3 to 5, of a baseline 5`, `7`, "fresh processes; `\"5..10\"`: 10 if undecided",
		func(w *Workload) field {
			return orNumber(parsed("number of runs or text", &w.Runs, ParseRuns, Runs.String))
		}},
	{"starts", "half of the CPUs", `4`, "runs that start together; each waits at the GPU for its turn",
		func(w *Workload) field { return whole(&w.Starts, 1, 1000) }},
	{"budget", "none", `"60s"`, `time for the runs of a check, more while a comparison is undecided; or "none"`,
		func(w *Workload) field { return timeout(&w.Budget) }},
	{"explain_time", "less than the runs, 20s to 55s", `"3m"`,
		`time for explanations of a failing check; or "none"`,
		func(w *Workload) field { return timeout(&w.ExplainTime) }},
	{"code", "none", `["build/*.so", "./app"]`,
		"executables, libraries, cubins, or directories of them, relative to dir: the device code",
		func(w *Workload) field { return patterns(&w.Code) }},
	{"inputs", "none", `["src", "train.py", "uv.lock"]`,
		"files that the program is made of or reads, or directories, relative to dir",
		func(w *Workload) field { return patterns(&w.Inputs) }},
	{"skip_unchanged", "false", "true",
		"whether a check passes unmeasured where code, inputs and driver equal the baseline's",
		func(w *Workload) field { return boolean(&w.SkipUnchanged) }},
	{"threshold", "that at the top", `"1%"`, "largest slowdown in this workload",
		func(w *Workload) field { return optional("percentage", &w.Threshold, parseLimit, measure.Percent) }},
	{"profile", "never with results, else always", `"always"`,
		`whether runs are profiled; "explain": with results, one run a side where a row got slower`,
		func(w *Workload) field { return word(&w.Profile, "always", "never", "explain") }},
	{"throughput", "none", `'tokens/s: ([0-9.]+)'`, `pattern of an output "throughput", where more is better`,
		func(w *Workload) field { return pattern(&w.Throughput) }},
}

var resultKeys = []key[Results]{
	{"files", "required", `"out/*.json"`,
		"files of a benchmark harness, relative to dir or in `$NSGATE_RUN_DIR`, the run's directory",
		func(r *Results) field { return patterns(&r.Files) }},
	{"filter", "none", `"--benchmark_filter=^{}$"`,
		"arguments that run the benchmark {} alone, a slower or undecided one",
		func(r *Results) field { return arguments(&r.Filter) }},
	{"rows", "those of the harness", `'{row: "frame", unit: "ms", value: .gpu_time_ms}'`,
		"filter of jq that gives the rows of a file, or its own file (`bench.jq`)",
		func(r *Results) field { return rows(&r.Rows) }},
}

var serverKeys = []key[Server]{
	{"command", "required", `"python3 server.py --port 8000"`,
		"server that each run starts and stops; no shell is involved",
		func(s *Server) field { return command(&s.Command) }},
	{"ready", "required", `"http://127.0.0.1:8000/health"`,
		"address of this machine that answers 200 once ready, or `log:` and a printed text",
		func(s *Server) field { return parsed("address or log:TEXT", &s.Ready, parseReady, verbatim) }},
	{"timeout", `"5m"`, `"20m"`, `longest time until it is ready, or "none"`,
		func(s *Server) field { return timeout(&s.Timeout) }},
	{"stop", `"SIGINT"`, `"SIGTERM"`, "signal that ends it; what has not ended after 30 s is killed",
		func(s *Server) field { return word(&s.Stop, "SIGINT", "SIGTERM") }},
}

var outputKeys = []key[Output]{
	{"name", "required", `"tokens/s"`, "its name in reports, with its unit",
		func(o *Output) field { return parsed("text", &o.Name, parseOutputName, verbatim) }},
	{"pattern", "required", `'throughput: ([0-9.]+)'`,
		"matches one printed line of an unprofiled run, once; the group is the number",
		func(o *Output) field { return pattern(&o.Pattern) }},
	{"better", `"higher"`, `"lower"`, "which way it gets better", func(o *Output) field { return better(&o.Better) }},
	{"measures", "what its name says", `"run"`,
		`of what it is a time or rate; "other" is no speed (a loss, a size)`,
		func(o *Output) field { return word(&o.Measures, measure.OfSteps, measure.OfRun, measure.OfOther) }},
}

var ruleKeys = []key[Rule]{
	{"kernel", "any", `"sgemm*"`, "name, short name, or short name#geometry of kernels; * and ? are wildcards",
		func(r *Rule) field { return glob(&r.Kernel) }},
	{"range", "any", `"forward"`, "name of NVTX ranges", func(r *Rule) field { return glob(&r.Range) }},
	{"domain", "any", `"NCCL"`, "NVTX domain of ranges: the part of a name before the first colon",
		func(r *Rule) field { return glob(&r.Domain) }},
	{"category", "any", `"io"`, "NVTX category of ranges, or its number",
		func(r *Rule) field { return glob(&r.Category) }},
	{"device", "any", `"GPU 3"`, "one of several GPUs of a run, by its number",
		func(r *Rule) field { return glob(&r.Device) }},
	{"copy", "any", `"memcpy HtoD"`, "kind of copies", func(r *Rule) field { return glob(&r.Copy) }},
	{"output", "any", `"tokens/s"`, "name of outputs", func(r *Rule) field { return glob(&r.Output) }},
	{"benchmark", "any", `"scan T=I32*"`, "name of rows of benchmark files",
		func(r *Rule) field { return glob(&r.Benchmark) }},
	{"section", "any", `"warm-up"`, "section of the run: before, warm-up, after, beside",
		func(r *Rule) field { return glob(&r.Section) }},
	{"metric", "any that is judged by itself", `"time"`,
		"a name or title of [Metrics](#metrics), `ncu:NAME` for any of ncu",
		func(r *Rule) field { return parsed("pattern", &r.Metric, parseMetric, verbatim) }},
	{"max", "that of the metric; none with at_most or at_least", `"5%"`, "largest regression",
		func(r *Rule) field { return optional("percentage", &r.Max, measure.ParsePercent, measure.Percent) }},
	{"floor", "none", `"1us"`, "absolute change up to which nothing is a finding",
		func(r *Rule) field { return amount(&r.Floor) }},
	{"at_most", "none", `"2ms"`, "largest value of the head itself", func(r *Rule) field { return amount(&r.AtMost) }},
	{"at_least", "none", `"1us"`, "smallest value of the head itself",
		func(r *Rule) field { return amount(&r.AtLeast) }},
	{"drift", "none: a warning beyond max", `"5%"`,
		"largest slowdown since the baseline's anchor, over all accepted changes",
		func(r *Rule) field { return optional("percentage", &r.Drift, measure.ParsePercent, measure.Percent) }},
	{"better", "that of the metric", `"higher"`, "direction of a metric that has none",
		func(r *Rule) field { return better(&r.Better) }},
	{"severity", `"fail"`, `"warn"`, "what a regression does",
		func(r *Rule) field { return word(&r.Severity, Fail, Warn, Ignore) }},
}

var ratioKeys = []key[Ratio]{
	{"name", "required", `"flash_attn, relative"`, "its name as a row", func(r *Ratio) field { return text(&r.Name) }},
	{"of", "required", `"flash_attn/4k"`, "row of a benchmark file, whose direction the ratio has",
		func(r *Ratio) field { return text(&r.Of) }},
	{"over", "required", `"reference/4k"`, "row of the same metric that it is divided by",
		func(r *Ratio) field { return text(&r.Over) }},
}

// Keys lists every key of a policy file, in the order of writing them.
func Keys() []Key {
	return slices.Concat(document("", rootKeys), document("workload", workloadKeys),
		document("workload.output", outputKeys), document("workload.results", resultKeys),
		document(serverTable, serverKeys), document("rule", ruleKeys), document("ratio", ratioKeys))
}

func document[T any](table string, keys []key[T]) []Key {
	out := make([]Key, len(keys))
	for i, k := range keys {
		out[i] = Key{table, k.name, k.field(new(T)).kind, k.initial, k.doc, k.example}
	}
	return out
}

// Setting is the value in effect of one key.
type Setting struct {
	Table string `json:"table"` // as in [Key]
	Of    string `json:"of"`    // the name of the workload or output, or the place of the rule, "" at the top
	Name  string `json:"name"`
	Value string `json:"value"` // printed value: "3 %", "1.000 µs"
	Where string `json:"where"` // "default", "nsgate.toml:12", "--threshold"
}

// Settings lists what holds for every key: at the top, in each workload and in each rule. Workloads inherit what they
// leave out.
func (p *Policy) Settings() []Setting {
	top := p.derived(settings("", "", rootKeys, p, p.Places))
	out := slices.Clone(top)
	for i := range p.Workloads {
		w := &p.Workloads[i]
		for _, s := range settings("workload", w.Name, workloadKeys, w, w.Places) {
			j := slices.IndexFunc(top, func(t Setting) bool { return t.Name == s.Name })
			if _, own := w.Places[s.Name]; !own && j >= 0 {
				s.Value, s.Where = top[j].Value, top[j].Where
			}
			out = append(out, s)
		}
		for j := range w.Outputs {
			if o := &w.Outputs[j]; w.Throughput == "" || o.Name != throughput {
				out = append(out, settings("workload.output", o.Name, outputKeys, o, o.Places)...)
			}
		}
		for j := range w.Results {
			r := &w.Results[j]
			out = append(out, settings("workload.results", r.Where, resultKeys, r, r.Places)...)
		}
		if s := w.Server; s != nil {
			out = append(out, settings(serverTable, w.Name, serverKeys, s, s.Places)...)
		}
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		out = append(out, settings("rule", r.Where, ruleKeys, r, r.Places)...)
	}
	for i := range p.Ratios {
		r := &p.Ratios[i]
		out = append(out, settings("ratio", r.Name, ratioKeys, r, r.Places)...)
	}
	return out
}

// derived replaces limits that follow from others by those that hold.
func (p *Policy) derived(list []Setting) []Setting {
	for i := range list {
		s, limit := &list[i], 0.0
		switch s.Name {
		case "step_threshold":
			limit, s.Where = p.step()
		case "warmup_threshold":
			limit, s.Where = p.section(measure.Warmup, measure.Metric{})
		case "outside_threshold":
			limit, s.Where = p.section(measure.Subject{}, measure.Metric{})
		default:
			continue
		}
		s.Value = measure.Percent(limit)
	}
	return list
}

func settings[T any](table, of string, keys []key[T], from *T, places Places) []Setting {
	out := make([]Setting, len(keys))
	for i, k := range keys {
		value := cmp.Or(k.field(from).print(), strings.Trim(k.initial, `"`))
		out[i] = Setting{table, of, k.name, value, places.Of(k.name)}
	}
	return out
}

// String is the selection and the settings of the rule: "kernel sgemm*, metric time: max 5 %".
func (r *Rule) String() string {
	var selects, sets []string
	for _, k := range ruleKeys {
		field := k.field(r)
		text := strings.ReplaceAll(k.name, "_", " ") + " " + field.print()
		switch {
		case field.print() == "":
		case field.kind == "pattern": // selectors are patterns, and no setting is
			selects = append(selects, text)
		default:
			sets = append(sets, text)
		}
	}
	return cmp.Or(strings.Join(selects, ", "), "everything") + ": " + strings.Join(sets, ", ")
}

// Set gives a key of the workload another value, written as in the file but without quotes. where says who wants it.
func (w *Workload) Set(key, text, where string) error {
	w.Places = maps.Clone(w.Places)
	e := entry{key: key, kind: unstable.String, text: text, where: where}
	for _, k := range workloadKeys {
		if k.name == key && k.field(w).kind == wholeNumber {
			e.kind = unstable.Integer
		}
	}
	return cmp.Or(flat(take([]entry{e}, workloadKeys, w, &w.Places))...)
}

// Set gives a key at the top of the file another value, written as in the file but without quotes. A workload that
// sets the same key loses to it, as to a flag of the command line. where says who wants it: "--threshold".
func (p *Policy) Set(key, text, where string) error {
	e := []entry{{key: key, kind: unstable.String, text: text, where: where}}
	p.Places, p.Workloads = maps.Clone(p.Places), slices.Clone(p.Workloads) // a copy of before stays as it is
	if err := cmp.Or(flat(take(e, rootKeys, p, &p.Places))...); err != nil {
		return err
	}
	for i := range p.Workloads {
		if w := &p.Workloads[i]; w.Places[key] != "" {
			if err := w.Set(key, text, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// take gives every entry to the field of its key, and notes where it stands.
func take[T any](entries []entry, keys []key[T], to *T, places *Places) (wrong error) {
	for _, e := range entries {
		i := slices.IndexFunc(keys, func(k key[T]) bool { return k.name == e.key })
		if i < 0 {
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.name
			}
			wrong = errors.Join(wrong, unknown(e.line, e.key, names, "key"))
			continue
		}
		if err := keys[i].field(to).take(e); err != nil {
			wrong = errors.Join(wrong, errorAt(e.line, "%s: %w", e.key, err))
			continue
		}
		if *places == nil {
			*places = Places{}
		}
		(*places)[e.key] = e.where
	}
	return wrong
}
