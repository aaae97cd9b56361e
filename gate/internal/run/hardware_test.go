//go:build linux

package run

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// A session knows its board where nvidia-smi does, under either profiler, and never who has it.
func TestHardwareOfSessions(t *testing.T) {
	for mode, want := range map[string]model.Hardware{
		"":       {Board: "692-2G520-0282-001", VBIOS: "96.00.A5.00.1A", MemoryMHz: 3201, PowerW: 700},
		"absent": {},
	} {
		t.Run("board"+mode, func(t *testing.T) {
			p := session(t, 1, "true")
			p.AllowBusy = true
			t.Setenv("NSGATE_FAKE_GPU", mode)
			t.Setenv("NSGATE_FAKE_BOARD", "692-2G520-0282-001")
			res, err := Session(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			log, err := os.ReadFile("../../../testdata/ncu/base.raw.csv")
			if err != nil {
				t.Fatal(err)
			}
			plan := explained(t, string(log), "exit 0")
			plan.AllowBusy = true
			counted, err := Count(t.Context(), plan, nil, 1, func(bool, int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range []model.Environment{res.Traces[0][0].Environment, counted.Environment} {
				got := e.Hardware
				got.CPU = ""
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
				if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), "IDENTITY") {
					t.Errorf("%s, %v", text, err)
				}
			}
		})
	}
}
