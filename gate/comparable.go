package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// minRuns is the fewest runs of a side from which a spread between runs can be known.
const minRuns = 2

const again = "measure both sides with the same settings"

// Reasons are all causes for which two sides are not compared. What makes one recording unfit is in the lists of the
// readers.
var Reasons = measure.Reasons{
	{Key: "no-session",
		Sentence: "the {side} holds no session",
		Next:     "measure it first"},
	{Key: "bad-session",
		Sentence: "{side}: {what}",
		Next:     "measure again"},
	{Key: "other-gpu",
		Sentence: "the sides were measured on different GPUs: {models}",
		Next:     "record a baseline on {model}, or run this check on the baseline's GPU"},
	{Key: "mixed-profilers",
		Sentence: "the head mixes what {one} and {other} measured",
		Next:     "judge the profiles of one profiler at a time"},
	{Key: "other-profiler",
		Sentence: "the base was measured with {base}, the head with {head}: they time the same kernel differently",
		Next:     "measure both sides with the same profiler"},
	{Key: "other-mode",
		Sentence: "the profiler was set differently: {base} in the base, {head} in the head",
		Next:     again},
	{Key: "graphs-whole",
		Sentence: "CUDA graphs were traced as a whole: the kernels inside them cannot be judged",
		Next:     "profile with --cuda-graph-trace=node"},
	{Key: "other-graph-trace",
		Sentence: "CUDA graphs were traced differently: {base} in the base, {head} in the head",
		Next:     "profile both sides with --cuda-graph-trace=node"},
	{Key: "other-devices",
		Sentence: "the base used {base}, the head {head}",
		Next:     again},
	{Key: "other-processes",
		Sentence: "the base ran {base} at a time, the head {head}",
		Next:     again},
	{Key: "other-capture",
		Sentence: "only one side is restricted to what lies between cudaProfilerStart and cudaProfilerStop",
		Next:     again},
	{Key: "other-step",
		Sentence: "the sides count by different steps: {base} in the base, {head} in the head",
		Next:     "name the range that both repeat with --step"},
	{Key: "other-work",
		Sentence: "the workload did a different amount of work: {base} steps in the base, {head} in the head",
		Next:     again},
	{Key: "few-runs",
		Sentence: "the {side} has {runs}: without the spread between runs no change can be told from noise",
		Next:     "measure at least 2 runs a side, better 5"},
	{Key: "zero-time",
		Sentence: "{kernel} takes no time at all in the {side} and {time} in the other side: the timer failed, or the profile was changed",
		Next:     "measure again"},
	{Key: "unsteady",
		Sentence: "no steady state in {some} of the {all} runs of the {side}",
		Next:     "let the workload run longer, or say what is warm-up with --warmup N or --warmup capture"},
	{Key: "nothing-judged",
		Sentence: "the policy leaves nothing to judge",
		Next:     "check its rules: not every metric may be ignored"},
	{Key: "counters-only",
		Sentence: "the pages of ncu hold no duration, and no rule limits one of their counters",
		Next:     "profile with --set basic as well, or write a rule for a counter: metric = \"registers\", max = \"0%\""},
	{Key: "metric-missing",
		Sentence: "no kernel has {metric}, which {rule} limits",
		Next:     "profile with ncu --set full; where the GPU does not count it, take the rule out"},
}

// comparable returns the base sessions that head can be held against, or why there are none.
func comparable(base, head []measure.Session) ([]measure.Session, error) {
	for _, side := range []struct {
		name     string
		sessions []measure.Session
	}{{"base", base}, {"head", head}} {
		if len(side.sessions) == 0 {
			return base, Reasons.Refuse("no-session", side.name)
		}
		for i := range side.sessions {
			if err := side.sessions[i].Check(); err != nil {
				return base, Reasons.Refuse("bad-session", side.name, err)
			}
		}
	}
	h := head[len(head)-1]
	var models []string
	for _, s := range append(slices.Clone(base), head...) {
		if model := cmp.Or(s.GPU, "one that the profile does not name"); !slices.Contains(models, model) {
			models = append(models, model)
		}
	}
	base, err := sameProfiler(base, head)
	if err != nil {
		return base, err
	}
	fits := slices.DeleteFunc(slices.Clone(base), func(s measure.Session) bool { return s.GPU != h.GPU })
	if len(fits) == 0 || slices.ContainsFunc(head, func(s measure.Session) bool { return s.GPU != h.GPU }) {
		return base, Reasons.Refuse("other-gpu", strings.Join(models, ", "), cmp.Or(h.GPU, "the GPU of the head"))
	}
	for _, b := range fits {
		for i := range head {
			if err := sameWay(&b, &head[i]); err != nil {
				return fits, err
			}
		}
	}
	for _, side := range []struct {
		name     string
		sessions []measure.Session
	}{{"base", fits}, {"head", head}} {
		runs, restless := 0, 0
		for i := range side.sessions {
			runs += len(side.sessions[i].Runs)
			restless += unsteady(&side.sessions[i])
		}
		if runs < minRuns && !byLaunch(head) { // a few of ncu's metrics need only one
			return fits, Reasons.Refuse("few-runs", side.name, count(runs, "run"))
		}
		if 2*restless > runs {
			return fits, Reasons.Refuse("unsteady", restless, runs, side.name)
		}
	}
	return fits, nil
}

// unsteady counts the runs whose warm-up has no end, where one was looked for.
func unsteady(s *measure.Session) int {
	n := 0
	for _, run := range s.Runs {
		if !run.Steady && s.Warmup == "auto" {
			n++
		}
	}
	return n
}

// sameProfiler returns the base sessions that come from the profiler of the head: what one profiler says of a kernel is
// never held against what another one says.
func sameProfiler(base, head []measure.Session) ([]measure.Session, error) {
	h := head[len(head)-1].Profiler()
	for i := range head {
		if p := head[i].Profiler(); p != h {
			return base, Reasons.Refuse("mixed-profilers", p, h)
		}
	}
	others := []string{}
	fits := slices.DeleteFunc(slices.Clone(base), func(s measure.Session) bool {
		p := s.Profiler()
		if p != h && p != "" && h != "" {
			others = append(others, string(p))
			return true
		}
		return false
	})
	if len(fits) == 0 {
		return base, Reasons.Refuse("other-profiler", others[0], h)
	}
	return fits, nil
}

// sameWay says why two sessions were not measured in the same way.
func sameWay(b, h *measure.Session) error {
	switch {
	case b.GraphTrace == "graph" || h.GraphTrace == "graph":
		if b.GraphTrace == h.GraphTrace {
			return Reasons.Refuse("graphs-whole")
		}
		return Reasons.Refuse("other-graph-trace", graphTrace(b.GraphTrace), graphTrace(h.GraphTrace))
	case b.Mode != h.Mode:
		return Reasons.Refuse("other-mode", cmp.Or(b.Mode, "not known"), cmp.Or(h.Mode, "not known"))
	case b.GPUs != h.GPUs:
		return Reasons.Refuse("other-devices", count(b.GPUs, "GPU"), count(h.GPUs, "GPU"))
	case b.Processes != h.Processes && b.Processes > 0 && h.Processes > 0:
		return Reasons.Refuse("other-processes", plural(b.Processes, "process", "processes"), plural(h.Processes, "process", "processes"))
	case (b.Warmup == "capture") != (h.Warmup == "capture"):
		return Reasons.Refuse("other-capture")
	case b.Step != h.Step:
		return Reasons.Refuse("other-step", stepName(b.Step), stepName(h.Step))
	case b.Step != "" && (2*steps(h) < steps(b) || 2*steps(b) < steps(h)):
		return Reasons.Refuse("other-work", steps(b), steps(h))
	}
	return nil
}

func graphTrace(mode string) string {
	switch mode {
	case "graph":
		return "as a whole"
	case "node":
		return "node by node"
	}
	return "not at all"
}

func stepName(step string) string {
	if step == "" {
		return "none"
	}
	return fmt.Sprintf("%q", step)
}

// steps is the number of steps of the session's shortest run.
func steps(s *measure.Session) int {
	least := s.Runs[0].Total
	for _, r := range s.Runs {
		least = min(least, r.Total)
	}
	return least
}

// doubts are differences between the sides that do not forbid a comparison but belong beside its result.
func doubts(base, head []measure.Session) []string {
	b, h := base[len(base)-1], head[len(head)-1]
	var out []string
	differ := func(what, x, y string) {
		if x != "" && y != "" && x != y {
			out = append(out, fmt.Sprintf("%s differs: %s in the base, %s in the head", what, x, y))
		}
	}
	differ("the driver", b.Driver, h.Driver)
	differ("CUDA", b.CUDA, h.CUDA)
	differ("the profiler", minor(b.Tool), minor(h.Tool))
	if b.Step != "" && steps(&b) != steps(&h) {
		out = append(out, fmt.Sprintf("the number of steps differs: %d in the base, %d in the head", steps(&b), steps(&h)))
	}
	return out
}

// minor cuts a version after its second number: "nsys 2025.3.2" to "nsys 2025.3".
func minor(version string) string {
	if parts := strings.SplitN(version, ".", 3); len(parts) == 3 {
		return parts[0] + "." + parts[1]
	}
	return version
}
