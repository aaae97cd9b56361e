package decide_test

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestFailuresHaveAdvice reads the advice of failing gates of the oracle, one of 200 gates or, in the whole tests, one
// of ten: there is one, it is of the class of what failed, and not the last of all, which knows nothing.
func TestFailuresHaveAdvice(t *testing.T) {
	classes := adviceClasses(t)
	o := &oracle{gates: map[string][]string{}}
	var mu sync.Mutex
	given := map[string][2]string{} // the first gate of each class, and its advice
	failing, every := 0, uint32(200)
	if full() {
		every = 10
	}
	o.read = func(id string, judged func() *result.Report) {
		sum := sha256.Sum256([]byte(id))
		if binary.BigEndian.Uint32(sum[4:])%every != 0 {
			return
		}
		r := judged()
		if r.Verdict != result.Fail {
			return
		}
		v := story.Tell(r, story.Options{})
		class, text := adviceOf(v, classes)
		mu.Lock()
		defer mu.Unlock()
		failing++
		given[class] = [2]string{id + ": " + v.Headline(), text}
		if text == "" || len(v.Causes) == 0 {
			t.Errorf("%s: %s: no advice", id, v.Headline())
			return
		}
		if lead := v.Causes[0].Lead().F; !strings.Contains(" "+advisable(lead, v)+" ", " "+class+" ") {
			t.Errorf("%s: %s: advice of class %q on a finding of %s %s: %s", id, v.Headline(), class, lead.Scope,
				lead.Metric, text)
		}
	}
	o.run(t, oracleParts())
	if failing < 20 {
		t.Errorf("only %d gates fail", failing)
	}
	for class, x := range given {
		t.Logf("%s: %s\n\t%s", class, x[0], x[1])
	}
}

// adviceClasses are the classes of the table of advice by their texts.
func adviceClasses(t *testing.T) map[string]string {
	text, err := os.ReadFile("../../explain/insight/advice.txt")
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	for row := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(row), "\t")
		if classes[cells[2]] == "" {
			classes[cells[2]] = strings.ReplaceAll(cells[0], " ", "-")
		}
	}
	return classes
}

// adviceOf is the advice that a report prints, and its class.
func adviceOf(v *story.Story, classes map[string]string) (class, text string) {
	first, _ := v.Says()
	for _, x := range first {
		if x.Label == "Do" {
			text = strings.Join(x.Lines, "; ")
		}
	}
	return classes[text], text
}

// advisable are the classes of advice that a failure may have.
func advisable(f result.Finding, v *story.Story) string {
	kernel := "counters code kernel kernels kernel-replaced"
	classes := map[measure.Scope]string{measure.ScopeKernel: kernel, measure.ScopeRange: "range",
		measure.ScopeSection: "section", measure.ScopeDevice: "device", measure.ScopeOutput: "output server",
		measure.ScopeBenchmark: "benchmark-row", measure.ScopeWorkload: "copies memset"}[f.Scope]
	if f.Subject() == measure.Workload {
		classes = map[string]string{measure.SyncCalls.Name: "count", measure.Allocations.Name: "count",
			measure.Launches.Name: "kernel", measure.SmallKernels.Name: "kernel", measure.PageableBytes.Name: "copies",
			measure.MemoryPeak.Name: "memory",
			measure.GPUTime.Name:    "GPU-time " + kernel,
			measure.StepTime.Name:   "step idle count copies memset " + kernel,
			measure.MeanStep.Name:   "step idle count copies memset " + kernel}[f.Metric]
	}
	if v.Causes[0].Rank {
		classes = "rank"
	}
	if f.Bounded() {
		classes += " bound"
	}
	return classes
}
