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

// comparable returns the base sessions that head can be held against, or why there are none. It is the one list of
// reasons to refuse a comparison.
func comparable(base, head []measure.Session) ([]measure.Session, error) {
	for _, side := range []struct {
		name     string
		sessions []measure.Session
	}{{"base", base}, {"head", head}} {
		if len(side.sessions) == 0 {
			return base, measure.Refuse("the "+side.name+" holds no session", "measure it first")
		}
		for i := range side.sessions {
			if err := side.sessions[i].Check(); err != nil {
				return base, measure.Refuse(side.name+": "+err.Error(), "measure again")
			}
		}
	}
	h := head[len(head)-1]
	var models []string
	for _, s := range append(slices.Clone(base), head...) {
		if !slices.Contains(models, s.GPU) {
			models = append(models, s.GPU)
		}
	}
	fits := slices.DeleteFunc(slices.Clone(base), func(s measure.Session) bool { return s.GPU != h.GPU })
	if len(fits) == 0 || slices.ContainsFunc(head, func(s measure.Session) bool { return s.GPU != h.GPU }) {
		return base, measure.Refuse("the sides were measured on different GPUs: "+strings.Join(models, ", "),
			fmt.Sprintf("record a baseline on %s, or run this check on the baseline's GPU", h.GPU))
	}
	fits, err := sameProfiler(fits, head)
	if err != nil {
		return fits, err
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
		runs, unsteady := 0, 0
		for _, s := range side.sessions {
			runs += len(s.Runs)
			for _, run := range s.Runs {
				if !run.Steady && s.Warmup == "auto" {
					unsteady++
				}
			}
		}
		if runs < minRuns {
			return fits, measure.Refuse(fmt.Sprintf("the %s has %s: without the spread between runs no change can be told from noise",
				side.name, count(runs, "run")), "measure at least 2 runs a side, better 5")
		}
		if 2*unsteady > runs {
			return fits, measure.Refuse(fmt.Sprintf("no steady state in %d of the %d runs of the %s", unsteady, runs, side.name),
				"let the workload run longer, or say what is warm-up with --warmup N or --warmup capture")
		}
	}
	return fits, nil
}

// sameProfiler returns the base sessions that come from the profiler of the head: what one profiler says of a kernel is
// never held against what another one says.
func sameProfiler(base, head []measure.Session) ([]measure.Session, error) {
	h := head[len(head)-1].Profiler()
	for i := range head {
		if p := head[i].Profiler(); p != h {
			return base, measure.Refuse(fmt.Sprintf("the head mixes what %s and %s measured", p, h), "judge the profiles of one profiler at a time")
		}
	}
	others := []string{}
	fits := slices.DeleteFunc(slices.Clone(base), func(s measure.Session) bool {
		p := s.Profiler()
		if p != h && p != "" && h != "" {
			others = append(others, p)
			return true
		}
		return false
	})
	if len(fits) == 0 {
		return base, measure.Refuse(fmt.Sprintf("the base was measured with %s, the head with %s: they time the same kernel differently",
			others[0], h), "measure both sides with the same profiler")
	}
	return fits, nil
}

// sameWay says why two sessions were not measured in the same way.
func sameWay(b, h *measure.Session) error {
	const again = "measure both sides with the same settings"
	switch {
	case b.GraphTrace == "graph" || h.GraphTrace == "graph":
		if b.GraphTrace == h.GraphTrace {
			return measure.Refuse("CUDA graphs were traced as a whole: the kernels inside them cannot be judged",
				"profile with --cuda-graph-trace=node")
		}
		return measure.Refuse(fmt.Sprintf("CUDA graphs were traced differently: %s in the base, %s in the head",
			graphTrace(b.GraphTrace), graphTrace(h.GraphTrace)), "profile both sides with --cuda-graph-trace=node")
	case b.Mode != h.Mode:
		return measure.Refuse(fmt.Sprintf("the profiler was set differently: %s in the base, %s in the head", orNone(b.Mode), orNone(h.Mode)), again)
	case b.GPUs != h.GPUs:
		return measure.Refuse(fmt.Sprintf("the base used %s, the head %s", count(b.GPUs, "GPU"), count(h.GPUs, "GPU")), again)
	case (b.Warmup == "capture") != (h.Warmup == "capture"):
		return measure.Refuse("only one side is restricted to what lies between cudaProfilerStart and cudaProfilerStop", again)
	case b.Step != h.Step:
		return measure.Refuse(fmt.Sprintf("the sides count by different steps: %s in the base, %s in the head",
			stepName(b.Step), stepName(h.Step)), "name the range that both repeat with --step")
	case b.Step != "" && (2*steps(h) < steps(b) || 2*steps(b) < steps(h)):
		return measure.Refuse(fmt.Sprintf("the workload did a different amount of work: %d steps in the base, %d in the head",
			steps(b), steps(h)), again)
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

func orNone(mode string) string { return cmp.Or(mode, "not known") }

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
