package insight

import (
	"cmp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// ExplainRow explains a slower row of a benchmark file by one profiled run a side: the kernel with most of the GPU
// time, and the one whose time increased most. base is empty where only the head was profiled.
func ExplainRow(base, head []model.Session) (*result.Cause, error) {
	s, err := Summarize(head)
	if err != nil {
		return nil, err
	}
	if len(s.Kernels) == 0 {
		return nil, model.Refuse(model.NoKernels, "profile a benchmark that uses the GPU", "the run launched no kernel")
	}
	top := &s.Kernels[0]
	text := []string{top.Title() + " has " + measure.Share(float64(top.Share)) + " of the GPU time",
		measure.Quantity(float64(top.Time), measure.Time.Unit) + " a launch", "geometry " + top.Subject().Geometry()}
	for _, m := range []measure.Metric{measure.Registers, measure.StaticShared, measure.DynamicShared} {
		if x, ok := head[len(head)-1].Find(top.Subject(), m.Name); ok && x.Values[0] > 0 {
			text = append(text, m.Title()+" "+measure.Quantity(x.Values[0], m.Unit))
		}
	}
	c := &result.Cause{Summary: idleSentence(s) + strings.Join(text, ", ") + ".", Note: "one run under " +
		s.Recorded.Environment.Tool +
		"; a base build would tell which kernel changed"}
	if len(base) == 0 {
		return c, nil
	}
	c.Note = "one run a side under " + s.Recorded.Environment.Tool
	j := Judge(decide.Input{Baseline: base, Head: head, Policy: thresholds.Default().For("")})
	if len(j.Findings) == 0 {
		c.Note += "; kernels are not compared: " + j.Reason
		return c, nil
	}
	c.Summary += " " + largestIncrease(j, base, head)
	return c, nil
}

// idleSentence says that the GPU idles for most of a step, and the main cause of that; "" where it does not.
func idleSentence(x *result.Summary) string {
	idle := sumOf(x.Parts, idling, func(p result.SummaryPart) result.Number { return p.Share })
	text := "The GPU idles for " + measure.Share(float64(idle)) + " of a step (mainly " +
		result.CauseName(largestPart(x, idling).Class) + "). "
	return measure.Either(idle > 0.5, text, "")
}

// largestIncrease is a sentence on the kernel whose longer launches add most to the GPU time. Less than 1 % is the
// spread of single runs.
func largestIncrease(j *result.Report, base, head []model.Session) string {
	most, sentence := 0.0, "No kernel takes 1 % longer."
	for i := range j.Findings {
		f := &j.Findings[i]
		before, after, each := float64(f.Base), float64(f.Head), " a launch"
		switch {
		case f.Scope != measure.ScopeKernel:
			continue
		case f.Metric == measure.Time.Name:
		case f.Metric != measure.Total.Name || f.Match == "exact":
			continue
		case len(f.BaseNames) == 1 && len(f.HeadNames) == 0: // a harness may repeat it in other numbers
			before, after = launchTime(base, f.BaseNames[0]), launchTime(head, f.Name)
		default:
			each = cmp.Or(result.Given(j.Head.Step, " a step"), " a run")
		}
		change := after/before - 1
		if cost := change * float64(f.Share); change >= 0.01 && cost > most {
			most = cost
			sentence = "Largest increase: " + f.Title() + " " + measure.Quantity(before, f.Unit) + " → " +
				measure.Quantity(after, f.Unit) + each + " (" + measure.Change(change) + ")"
			facts := measure.Where(f.Evidence, func(e string) bool { return e != f.Title() })
			sentence = strings.Join(append([]string{sentence}, facts...), ", ") + "."
		}
	}
	return sentence
}

// launchTime is the mean time of the launches of a kernel in all its geometries.
func launchTime(sessions []model.Session, name string) float64 {
	side, total, launches := recorded.New(sessions, measure.Total), 0.0, 0.0
	for _, s := range side.Subjects() {
		if s.Scope == measure.ScopeKernel && s.Name == name {
			total += side.Typical(s, measure.Total.Name)
			launches += side.Typical(s, measure.Launches.Name)
		}
	}
	return total / launches
}
