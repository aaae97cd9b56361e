// Package thresholds is the policy: the limit of each metric of each subject, and the workloads. [Parse] reads a policy
// file, [Default] is the policy without one, and [Policy.Limit] is the limit of a metric. All keys of a file stand in
// one table of rows, which [Keys] lists and [Policy.Settings] shows with the values in effect.
package thresholds

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
)

// Severity says what a regression does to a gate.
type Severity string

// Fail fails the gate, Warn shows the regression and lets the gate pass, Ignore takes the metric out of judgement.
const (
	Fail   Severity = "fail"
	Warn   Severity = "warn"
	Ignore Severity = "ignore"
)

// Limit is the limit of one metric of one subject.
type Limit struct {
	Max      float64  // largest relative regression allowed: 0.03 is 3 %
	Floor    float64  // largest absolute change, in the metric's unit, that is no finding
	Launches bool     // Floor is of one launch, and the metric a sum over launches
	Severity Severity // of a regression beyond both
	Rule     string   // where the limit comes from: "default", "--threshold", "nsgate.toml:12"
	// AtMost and AtLeast bound the value of the head itself, in the metric's unit, whatever the base has; nil: no
	// bound. With a bound and no max of its own, Max is +Inf: any change within the bounds is allowed.
	AtMost, AtLeast *float64
	// Drift is the largest relative change since the anchor of the baseline; nil: beyond Max there is a warning.
	Drift *float64
	// Better is the direction that a rule gives to a metric which has none.
	Better measure.Direction
}

// Bounded reports whether the value of the head itself is limited.
func (l Limit) Bounded() bool { return l.AtMost != nil || l.AtLeast != nil }

// Keeps reports whether a value lies within the bounds; NaN does not.
func (l Limit) Keeps(v float64) bool {
	return (l.AtMost == nil || v <= *l.AtMost) && (l.AtLeast == nil || v >= *l.AtLeast)
}

// Policy is a whole policy file, defaults filled in. Shares and errors are fractions: 0.01 is 1 %.
type Policy struct {
	// File is the name that Parse was given, "" for [Default].
	File string `json:"-"`
	// Alpha is the family-wise error of a gate.
	Alpha float64 `json:"alpha"`
	// Cost is the part of a step or run that a slowdown has to add to fail a gate by itself.
	Cost float64 `json:"cost"`
	// SessionSD is the prior standard deviation between sessions on different hosts, relative.
	SessionSD float64 `json:"session_sd"`
	// OtherHost is true where files that name no host may be of different ones.
	OtherHost bool `json:"other_host,omitempty"`
	// Undecided says what a gate does that could not decide: "warn" (pass with a warning) or "fail" (no verdict).
	Undecided string `json:"undecided"`
	// Threshold is the relative limit of times and outputs.
	Threshold float64 `json:"limit"`
	// StepThreshold is that of the step's period, which tracing makes noisier.
	StepThreshold float64 `json:"step_limit"`
	// WarmupThreshold and OutsideThreshold are for the warm-up, and for the time before, after and beside the steps.
	WarmupThreshold  float64 `json:"warmup_limit"`
	OutsideThreshold float64 `json:"outside_limit"`
	// MaxAge is the largest age of a baseline without a warning, 0 for any age; in ns in JSON.
	MaxAge time.Duration `json:"max_age"`
	// Base is the git revision of the base build, Build the shell command that builds it in a worktree; "" for none.
	Base  string `json:"-"`
	Build string `json:"-"`
	// Shadow is true where a check exits with 0 whatever its verdict.
	Shadow bool `json:"shadow,omitempty"`
	// Places says where each key at the top was set.
	Places Places `json:"places,omitempty"`
	// Rules are in the order of the file: the first that matches applies.
	Rules []Rule `json:"rules,omitempty"`
	// Ratios are quotients of rows of one run, judged as rows.
	Ratios []Ratio `json:"ratios,omitempty"`
	// Categories are the NVTX categories of ranges by name, see [Resolved.In]; no file holds them.
	Categories map[string]string `json:"-"`
	// Workloads are in the order of the file, each name once.
	Workloads []Workload `json:"-"`
}

// Places says where keys were set: "nsgate.toml:12", without directory, or "--threshold". Others are defaults.
type Places map[string]string

// Unset is the place of a key that was not set.
const Unset = "default"

// Of is the place of a key, [Unset] where it was not set.
func (p Places) Of(key string) string { return cmp.Or(p[key], Unset) }

// Rule changes the limit of metrics that it matches. A selector left empty matches everything; at most one of Kernel,
// Range, Device, Copy, Output, Benchmark and Section is set.
type Rule struct {
	Kernel Glob `json:"kernel,omitempty"` // full name, short name, or short name#geometry ("sgemm#16x16x1/256x1x1")
	Range  Glob `json:"range,omitempty"`  // name of an NVTX range
	// Domain and Category select NVTX ranges by the domain in their name and by their category, alone or with Range.
	Domain   Glob `json:"domain,omitempty"`
	Category Glob `json:"category,omitempty"`

	Device Glob `json:"device,omitempty"` // one of several GPUs of a run: "GPU 3"
	Copy   Glob `json:"copy,omitempty"`   // kind of a copy: "memcpy HtoD", "memset"
	Output Glob `json:"output,omitempty"` // name of an output: "tokens/s"
	// Benchmark is the name of a row of a benchmark file, with its parameters: "scan T=I32*".
	Benchmark Glob `json:"benchmark,omitempty"`
	Section   Glob `json:"section,omitempty"` // section of the run: "before", "warm-up", "after"
	Metric    Glob `json:"metric,omitempty"`  // name of a metric, or its title in reports
	// Better is the direction of a metric that has none of its own.
	Better measure.Direction `json:"better,omitempty"`

	// The limits of the rule. A nil Max or Floor and an empty Severity fall back to the default, never to a later rule;
	// AtMost and AtLeast to none.
	Max      *float64        `json:"max,omitempty"`
	Floor    *measure.Amount `json:"floor,omitempty"`
	AtMost   *measure.Amount `json:"at_most,omitempty"`
	AtLeast  *measure.Amount `json:"at_least,omitempty"`
	Drift    *float64        `json:"drift,omitempty"`
	Severity Severity        `json:"severity,omitempty"`

	Where  string `json:"where"` // "nsgate.toml:12", the line of its [[rule]]
	Places Places `json:"-"`     // where each of its keys was set
}

// Workload is a program to measure.
type Workload struct {
	Name string // letters, digits, ".", "_" and "-"
	// Command is the program with its arguments, nil where only finished profiles are judged.
	Command []string
	// Launcher starts the command as a job ("srun -N 2"), nil for none. Gather is the directory, as written in the
	// file, where its ranks leave what they record under profilers of their own; "" where one profiler runs around the
	// launcher. Ranks are those to record, ascending, nil for all.
	Launcher []string
	Gather   string
	Ranks    []int
	Dir      string        // working directory, relative to the file, "" for where that lies
	Starts   int           // runs that start at the same time, 0 for the default
	Timeout  time.Duration // of one run, 0 for the default, see [NoTimeout]
	Warmup   string        // "auto", "capture", a number of steps, or "" for the default
	Step     string        // NVTX range that the workload repeats, "" for none
	Runs     Runs          // fresh processes a session, zero for the default
	Budget   time.Duration // of a check, 0 or less for none
	// ExplainTime is the time for explanations of a check: 0 for the default, see [NoTimeout].
	ExplainTime time.Duration
	Code        []string // patterns of files with device code, relative to Dir; nil for none
	Inputs      []string // patterns of files that the program is made of or reads, relative to Dir; nil for none
	// SkipUnchanged lets a check pass without measuring where Code and Inputs are as in the baseline.
	SkipUnchanged bool
	// Threshold replaces the policy's limit of times and outputs for this workload; nil leaves it.
	Threshold *float64
	// Throughput is the pattern of an output of this name, which Outputs holds as well; "" for none.
	Throughput string
	Outputs    []Output // each name once
	// Results are the result files of a harness.
	Results []Results
	// Server is started before the command of each run and stopped after it; nil for none.
	Server *Server
	// Profile says whether runs are profiled: "always", "never" or "explain", where there are results only to explain a
	// slower row; "" is never where there are results, else always.
	Profile string
	Where   string // "nsgate.toml:4", the line of its [[workload]]
	Places  Places // where each of its keys was set
}

// Output is a number that a workload prints, to be judged.
type Output struct {
	measure.Output
	Where  string // "nsgate.toml:9", the line of its [[workload.output]]
	Places Places // where each of its keys was set
}

// Results are files of a benchmark harness.
type Results struct {
	Files  []string // patterns, relative to the workload's Dir
	Filter []string // arguments that select a benchmark, whose name {} stands for; nil for none
	Rows   string   // filter of jq that gives the rows, or its file, which ends in .jq; "" for the format of a harness
	Where  string   // "nsgate.toml:9", the line of its [[workload.results]]
	Places Places   // where each of its keys was set
}

// Ratio is the quotient of two rows of benchmark files, each in the same run: a row by itself.
type Ratio struct {
	Name   string `json:"name"`
	Of     string `json:"of"`
	Over   string `json:"over"`
	Where  string `json:"where"` // "nsgate.toml:9", the line of its [[ratio]]
	Places Places `json:"-"`     // where each of its keys was set
}

// Server is a program that the command of a workload loads.
type Server struct {
	Command []string
	Ready   string        // address on this machine that answers with status 200, or "log:" and a text in its output
	Timeout time.Duration // until it is ready, see [NoTimeout]
	Stop    string        // signal that ends it: "SIGINT" or "SIGTERM"
	Where   string        // "nsgate.toml:9", the line of its [workload.server]
	Places  Places        // where each of its keys was set
}

const serverTimeout = 5 * time.Minute

// Profiled reports whether runs of the workload are profiled.
func (w *Workload) Profiled() bool {
	return w.Profile == "always" || w.Profile != "never" && len(w.Results) == 0
}

// Filter is the filter of the results, nil for none.
func (w *Workload) Filter() []string {
	for _, r := range w.Results {
		if r.Filter != nil {
			return r.Filter
		}
	}
	return nil
}

// Rows is the filter of jq that gives the rows of the results, "" for none.
func (w *Workload) Rows() string {
	for _, r := range w.Results {
		if r.Rows != "" {
			return r.Rows
		}
	}
	return ""
}

// ResultFiles are the patterns of all files of results.
func (w *Workload) ResultFiles() (patterns []string) {
	for _, r := range w.Results {
		patterns = append(patterns, r.Files...)
	}
	return patterns
}

// throughput is the key, and the name of the output that it stands for.
const throughput = "throughput"

// Limit is the limit of a metric of a subject: the first rule that matches, with the defaults for its missing keys.
// Metrics that are not judged by themselves ([measure.Metric.Judged]) are ignored unless a rule names them. It names
// them in full where they have no direction; lower is then better unless it says otherwise.
func (p *Policy) Limit(s measure.Subject, m measure.Metric) Limit {
	l := p.initial(s, m)
	var names []string // of the subject, made where there is a rule
	for i := range p.Rules {
		if names == nil {
			names = namesOf(s)
		}
		if r := &p.Rules[i]; r.names(s.Kind(), m) && r.tagged(s, p.Categories) && r.selects(s, names) {
			r.apply(&l, m)
			return l
		}
	}
	if !m.Judged() || s.Scope == measure.ScopeSection &&
		(m == measure.Launches || s == measure.Steps || s == measure.Between) {
		l.Severity = Ignore // steps are judged by their period
	}
	if m == measure.Total && s.Scope == measure.ScopeKernel {
		l.loosen(p.Limit(s, measure.Time))
	}
	return l
}

// initial is the limit of a metric of a subject before any rule.
func (p *Policy) initial(s measure.Subject, m measure.Metric) Limit {
	// countLimit is the default limit of counts and bytes, which lack the noise of times: their limit leaves it alone.
	const countLimit = 0.03
	// copyLimit is the default limit of the time of copies, and the least: a stricter limit of times leaves it alone.
	// How fast the host's memory is depends on where a process got it: of 40 unchanged runs on one H200 host, three
	// copied 4 to 9 % slower than the others from beginning to end. A rule can set any limit.
	const copyLimit = 0.10
	l := Limit{Max: countLimit, Severity: Fail, Rule: "default"}
	switch {
	case m.Name == measure.CopyTime.Name && p.Threshold < copyLimit:
		l.Max = copyLimit
	case s.Scope == measure.ScopeSection:
		l.Max, l.Rule = p.section(s, m)
	case m.OnHost():
		l.Max, l.Rule = p.step()
	case m.Unit == "ns", s.Scope == measure.ScopeOutput, s.Scope == measure.ScopeBenchmark:
		l.Max, l.Rule = p.Threshold, p.Places.Of("threshold")
	}
	return l
}

// step is the limit of the step, and where it was set.
func (p *Policy) step() (limit float64, place string) {
	const stepPart = 5.0 / 3 // the default limit of the step relative to the threshold: 5 % at 3 %
	switch {
	case p.Places["step_threshold"] != "":
		return p.StepThreshold, p.Places.Of("step_threshold")
	case p.StepThreshold > p.Threshold:
		return math.Min(p.StepThreshold, stepPart*p.Threshold), p.Places.Of("threshold")
	}
	return p.Threshold, p.Places.Of("threshold")
}

// section is the limit of a metric of a section of the run, and where it was set. Its GPU time is limited like that
// of kernels, its wall time, which varies between runs, by more.
func (p *Policy) section(s measure.Subject, m measure.Metric) (limit float64, place string) {
	key, limit := "outside_threshold", p.OutsideThreshold
	if s == measure.Warmup {
		key, limit = "warmup_threshold", p.WarmupThreshold
	}
	if p.Places[key] == "" && (m == measure.GPUTime || p.Threshold > limit) {
		return p.Threshold, p.Places.Of("threshold")
	}
	return limit, p.Places.Of(key)
}

// Selects reports whether the rule of a limit names what it limits.
func (p *Policy) Selects(l Limit) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool {
		return r.Where == l.Rule && r.Kernel+r.Range+r.Device+r.Copy+r.Output+r.Benchmark+r.Section != ""
	})
}

// Varying is the limit of the GPU time of a start-up whose launches differ between runs, as of an autotuner: that of
// its wall time, unless a rule or key sets it.
func (p *Policy) Varying(l Limit) Limit {
	if l.Rule == p.Places.Of("threshold") && l.Max < p.OutsideThreshold {
		l.Max, l.Rule = p.OutsideThreshold, p.Places.Of("outside_threshold")
	}
	return l
}

// apply sets what the rule says about a metric. Bounds of the step are none of a run without steps.
func (r *Rule) apply(l *Limit, m measure.Metric) {
	l.Rule, l.Drift, l.Severity = r.Where, r.Drift, cmp.Or(r.Severity, l.Severity)
	if m.Better == measure.Neither {
		l.Better = r.Better
	}
	bounds := m != measure.RunTime || r.Metric.names(m)
	if r.Floor != nil && r.Floor.Fits(m) {
		l.Floor = r.Floor.Value
	}
	if r.AtMost != nil && r.AtMost.Fits(m) && bounds {
		l.AtMost = &r.AtMost.Value
	}
	if r.AtLeast != nil && r.AtLeast.Fits(m) && bounds {
		l.AtLeast = &r.AtLeast.Value
	}
	switch {
	case r.Max != nil:
		l.Max = *r.Max
	case l.Bounded():
		l.Max = math.Inf(1)
	}
}

// loosen gives the sum of the launches of a kernel what a rule allows each launch, if no rule names the sum: else a
// kernel that may take a tenth longer fails by its sum.
func (l *Limit) loosen(launch Limit) {
	if launch.Floor > 0 {
		l.Floor, l.Launches, l.Rule = launch.Floor, true, launch.Rule
	}
	if launch.Max > l.Max || launch.Severity != Fail {
		l.Max, l.Severity, l.Rule = max(l.Max, launch.Max), launch.Severity, launch.Rule
	}
}

// tagged reports whether the domain and the category of a rule, if it has them, are those of a range.
func (r *Rule) tagged(s measure.Subject, categories map[string]string) bool {
	if r.Domain == "" && r.Category == "" {
		return true
	}
	domain, _, named := strings.Cut(s.Name, ":")
	category, known := categories[s.Name]
	return s.Scope == measure.ScopeRange && (r.Domain == "" || named && r.Domain.Match(domain)) &&
		(r.Category == "" || known && r.Category.Match(category))
}

// names reports whether the rule applies to the metric of a kind of subjects. The step's periods are limited together.
func (r *Rule) names(kind measure.Scope, m measure.Metric) bool {
	switch {
	case r.Metric == "":
		return m.Judged()
	case m.Better == measure.Neither && r.Better == measure.Neither:
		return m.Is(string(r.Metric))
	}
	return r.Metric.names(m) ||
		kind == measure.ScopeWorkload && m.OnHost() && m.Judged() && r.Metric.names(measure.StepTime)
}

// names reports whether the pattern matches the name of a metric, or is its title in reports.
func (g Glob) names(m measure.Metric) bool { return g.Match(m.Name) || m.Is(string(g)) }

// selector is a kind of subjects, and the names in it that a rule is for; "" for none.
type selector struct {
	kind    measure.Scope
	pattern Glob
}

func (r *Rule) selectors() [7]selector {
	return [...]selector{{measure.ScopeKernel, r.Kernel}, {measure.ScopeRange, r.Range},
		{measure.ScopeDevice, r.Device}, {measure.ScopeCopy, r.Copy}, {measure.ScopeOutput, r.Output},
		{measure.ScopeBenchmark, r.Benchmark}, {measure.ScopeSection, r.Section}}
}

// selectable names the kinds of subjects that a rule may select: "kernel, range, … or section".
func selectable() string {
	var names []string
	for _, x := range (&Rule{}).selectors() {
		names = append(names, string(x.kind))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// namesOf are the names of a subject in rules: a kernel also by its short name, without and with its geometry.
func namesOf(s measure.Subject) []string {
	if s.Scope != measure.ScopeKernel {
		return []string{s.Name}
	}
	short := s.Short()
	return []string{s.Name, short, short + "#" + s.Geometry()}
}

// selects reports whether the rule applies to the subject, whose names are those of [namesOf].
func (r *Rule) selects(s measure.Subject, names []string) bool {
	for _, x := range r.selectors() {
		if x.pattern != "" {
			return s.Kind() == x.kind && s.Name != "" && slices.ContainsFunc(names, x.pattern.Match)
		}
	}
	return s.Scope != measure.ScopeSection || r.relaxes()
}

// Namesake reports whether a rule for another kind of subjects has the name of one that rules select too.
func (r *Rule) Namesake(s measure.Subject) bool {
	other, known := false, false
	for _, x := range r.selectors() {
		named := strings.Trim(string(x.pattern), "*?") != "" && slices.ContainsFunc(namesOf(s), x.pattern.Match)
		other, known = other || named && s.Kind() != x.kind, known || s.Kind() == x.kind
	}
	return other && known
}

// Nearest is the name that the one in a rule, or the end of its path of ranges, was meant for; "" for none.
func (r *Rule) Nearest(all []measure.Subject) string {
	near := ""
	for _, x := range r.selectors() {
		var names []string
		for _, s := range all {
			if x.pattern != "" && s.Kind() == x.kind {
				names = append(names, namesOf(s)...)
			}
		}
		end := string(x.pattern[strings.LastIndex(string(x.pattern), "/")+1:])
		near = cmp.Or(near, measure.Nearest(string(x.pattern), names), measure.Nearest(end, names))
	}
	return near
}

// Selects reports whether the rule is about a subject, in sessions with these categories of NVTX ranges.
func (r *Rule) Selects(s measure.Subject, categories map[string]string) bool {
	return r.tagged(s, categories) && r.selects(s, namesOf(s))
}

// Bounds reports whether the rule bounds the value of the head itself.
func (r *Rule) Bounds() bool { return r.AtMost != nil || r.AtLeast != nil }

// relaxes reports whether a rule without a selector holds for sections: they have own limits, which it may only relax.
func (r *Rule) relaxes() bool { return r.Metric == "" && (r.Severity == Ignore || r.Severity == Warn) }

// RawMetrics lists the metrics that rules limit by the names that Nsight Compute has for them.
func (p *Policy) RawMetrics() (names []string) {
	for _, r := range p.Rules {
		name := measure.Metric{Name: string(r.Metric)}.Raw()
		if name != "" && r.Severity != Ignore && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Workload finds a workload by name.
func (p *Policy) Workload(name string) (*Workload, bool) {
	for i := range p.Workloads {
		if p.Workloads[i].Name == name {
			return &p.Workloads[i], true
		}
	}
	return nil, false
}

// Glob is a pattern: * matches any text and ? one character. Everything else matches itself, brackets and backslashes
// included, so that every kernel name is a pattern of itself.
type Glob string

// Match reports whether the pattern covers the whole of name.
func (g Glob) Match(name string) bool { return g.match(name, false) }

// match is [Glob.Match] of a name, or [Glob.covers] of another pattern, whose * only a * matches.
func (g Glob) match(name string, other bool) bool {
	wild := strings.IndexAny(string(g), "*?")
	if wild < 0 {
		return string(g) == name
	}
	if !strings.HasPrefix(name, string(g[:wild])) || len(g)-strings.Count(string(g), "*") > len(name) { // most names
		return false
	}
	pattern, text := []rune(string(g)), []rune(name)
	// Greedy with one point to return to: behind the last star, one character further each time.
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' && !(other && text[t] == '*') || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(string(pattern[p:]), "*") == ""
}

// covers reports whether a pattern is known to match all that another does.
func (g Glob) covers(o Glob) bool { return g.match(string(o), true) }
