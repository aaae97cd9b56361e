package decide

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// TestExplainByCode wants registers that changed once, as a launch attribute or of the code.
func TestExplainByCode(t *testing.T) {
	attribute := result.Say(reason.Attribute{Metric: "registers", Unit: "per thread", Base: 32, Head: 64})
	for _, tt := range []struct {
		facts []result.Remark
		want  []string
	}{
		{nil, []string{"code changed (sm_90): registers 32 → 64, spills 0 → 128"}},
		{[]result.Remark{attribute}, []string{"registers 32 → 64", "code changed (sm_90): spills 0 → 128"}},
	} {
		f := result.Finding{Scope: measure.ScopeKernel, Name: "saxpy(int)", Metric: measure.Time.Name, Unit: "ns", Outcome: result.Regressed}
		f.State(tt.facts...)
		of := func(registers, spills int, hash string) devicecode.Kernel {
			return devicecode.Kernel{Arch: "sm_90", Name: "saxpy(int)", Registers: registers, SpillStores: spills, Hash: hash}
		}
		r := &result.Report{Findings: []result.Finding{f}, HeadSessions: []model.Session{{}},
			Code: &result.Code{Comparison: devicecode.Comparison{Changed: []devicecode.Change{{Base: of(32, 0, "a"), Head: of(64, 128, "b")}}}}}
		explainByCode(r)
		if got := r.Findings[0].Evidence; !slices.Equal(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
