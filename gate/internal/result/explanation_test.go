package result

import (
	"encoding/json"
	"testing"
)

// What is found out after the verdict, and what the command knows, stand beside a report that stays as it was.
func TestReportStaysAsItWas(t *testing.T) {
	r := &Report{Verdict: Fail, Findings: []Finding{{Name: "k", Facts: []Remark{{Key: "x"}}}}, Warnings: []string{"w"}, Workloads: []*Report{{Workload: "a"}}}
	before, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	out := r.With(Explanation{Causes: map[int]*Cause{0: {Summary: "s"}}, Origins: map[int]*Origin{0: {File: "f"}}, Warnings: []string{"more"}, Next: []string{"n"}}).
		In(Context{Workload: "b", Accept: "nsgate accept"}).
		Map(func(_ int, w *Report) *Report { return w.In(Context{Reproduce: "again"}) })
	out.Findings[0].Facts[0].Sentence = "told"
	if after, _ := json.Marshal(r); string(after) != string(before) {
		t.Errorf("the report was changed:\n%s\n%s", before, after)
	}
	if out.Findings[0].Cause.Summary != "s" || out.Findings[0].Origin.File != "f" || len(out.Warnings) != 2 || out.Workload != "b" ||
		out.Accept != "nsgate accept" || out.Workloads[0].Reproduce != "again" || out.Verdict != Fail {
		t.Errorf("%+v", out)
	}
}
