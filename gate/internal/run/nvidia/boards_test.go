package nvidia

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// testdata/nvidia-smi-q.xml is an H200 as driver 580 describes it and a divided A100 as driver 525 did, in one file.
// All names of a machine in it are made up.
func TestParseBoards(t *testing.T) {
	text, err := os.ReadFile("testdata/nvidia-smi-q.xml")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("someone"), []byte("some\xff\x1bone"), 1)
	h200 := model.Hardware{Board: "692-2G520-0282-001", VBIOS: "96.00.A5.00.1A", MemoryMHz: 3201, PowerW: 700}
	a100 := model.Hardware{VBIOS: "92.00.19.00.13", MemoryMHz: 1215, PowerW: 250, MIG: "42 + 28 + 14 SMs"}
	const one, two = "GPU-11111111-2222-3333-4444-555555555555", "GPU-66666666-7777-8888-9999-000000000000"
	if d := cmp.Diff(map[string]model.Hardware{one: h200, two: a100}, parseBoards(text)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	cut := text[:len(text)-200] // a driver that dies while it speaks
	if d := cmp.Diff(map[string]model.Hardware{one: h200}, parseBoards(cut)); d != "" {
		t.Errorf("cut off, -want +got:\n%s", d)
	}
	for _, s := range []string{"", "No devices were found", "<nvidia_smi_log/>", "<gpu><uuid>" + one, "\x00<<<>>&"} {
		if got := parseBoards([]byte(s)); len(got) > 0 {
			t.Errorf("%q gives %+v", s, got)
		}
	}
	for _, s := range []string{"N/A", "[N/A]", "1654523003308", one, "Requested functionality has been deprecated"} {
		got := parseBoards(fmt.Appendf(nil, "<gpu><uuid>u</uuid><board_part_number>%s</board_part_number></gpu>", s))
		if len(got) != 1 || got["u"] != (model.Hardware{}) {
			t.Errorf("a board of number %q gives %+v", s, got)
		}
	}
}
