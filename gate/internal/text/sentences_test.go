package text

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// What stands in a report already stays; what does not is filled in once; and the data survives a file.
func TestTellTwice(t *testing.T) {
	remark := result.Remark{Key: "versions", Args: result.Args{"what": "driver", "base": "550", "head": "570"}}
	r := &result.Report{
		Verdict: result.Fail, ReasonKey: "regressed", ReasonArgs: result.Args{"subjects": result.Number(1)},
		Warnings: []string{"another"}, Doubts: []result.Remark{remark}, Remarks: []result.Remark{},
		Findings: []result.Finding{{Kernel: "saxpy", Metric: measure.Total.Name, Unit: "ns", Outcome: result.Regressed, Gates: true, Change: 0.05,
			ReasonKey: "beyond", ReasonArgs: result.Args{"by": "limit", "size": result.Number(0.03), "unit": ""},
			Also:  []result.Remark{{Key: "by-total"}},
			Facts: []result.Remark{{Key: "names", Args: result.Args{"base": []string{"a", "b", "c", "d"}, "head": []string{"e"}}}}}},
	}
	for range 2 {
		Tell(r)
		if r.Reason != "saxpy total time +5.00 % regressed" {
			t.Errorf("reason %q", r.Reason)
		}
		if want := []string{"another", "the driver differs: 550 in the base, 570 in the head"}; !slices.Equal(r.Warnings, want) {
			t.Errorf("warnings %q, want %q", r.Warnings, want)
		}
		f := r.Findings[0]
		if want := "beyond the limit of 3 %; launched with another geometry, so judged by its total time"; f.Reason != want {
			t.Errorf("reason %q, want %q", f.Reason, want)
		}
		if want := []string{"a, b, c, others → e"}; !slices.Equal(f.Evidence, want) {
			t.Errorf("evidence %q, want %q", f.Evidence, want)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again := new(result.Report)
		if err := json.Unmarshal(data, again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a file changes the report:\n%s", diff)
		}
		r = again
	}
	r.Findings[0].Reason, r.Reason = "as it was", "so it was"
	if Tell(r); r.Findings[0].Reason != "as it was" || r.Reason != "so it was" {
		t.Errorf("%q, %q: a sentence was replaced", r.Reason, r.Findings[0].Reason)
	}
}
