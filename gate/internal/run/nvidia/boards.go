package nvidia

import (
	"context"
	"encoding/xml"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Hardware is that of the GPUs, by UUID; none where nvidia-smi does not say. nvidia-smi --query-gpu has no field for
// the part number of the board.
func (s *SMI) Hardware(ctx context.Context) map[string]model.Hardware {
	out, err := s.query(ctx, "-q", "-x")
	if err != nil {
		return nil
	}
	return parseBoards(out)
}

// described holds the elements of nvidia-smi -q -x that are read; the others name the machine. Names of elements
// changed in 2023.
type described struct {
	UUID     string   `xml:"uuid"`
	Board    string   `xml:"board_part_number"`
	VBIOS    string   `xml:"vbios_version"`
	Memory   string   `xml:"max_clocks>mem_clock"`
	Power    string   `xml:"gpu_power_readings>current_power_limit"`
	OldPower string   `xml:"power_readings>power_limit"`
	MIG      string   `xml:"mig_mode>current_mig"`
	SMs      []string `xml:"mig_devices>mig_device>device_attributes>shared>multiprocessor_count"`
}

// parseBoards reads as far as it can.
func parseBoards(text []byte) map[string]model.Hardware {
	// names of processes may hold anything
	d := xml.NewDecoder(strings.NewReader(measure.NormalizeControl(string(text))))
	d.Strict = false
	out := make(map[string]model.Hardware)
	for {
		token, err := d.Token()
		if err != nil {
			return out
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "gpu" {
			continue
		}
		var x described
		if d.DecodeElement(&x, &start) != nil {
			return out
		}
		h := model.Hardware{
			Board: known(x.Board), VBIOS: known(x.VBIOS), MemoryMHz: whole(x.Memory, "MHz"),
			PowerW: max(whole(x.Power, "W"), whole(x.OldPower, "W")),
		}
		if !model.IsBoard(h.Board) {
			h.Board = ""
		}
		if x.MIG == "Enabled" {
			h.MIG = known(strings.Join(x.SMs, " + ") + " SMs")
		}
		out[x.UUID] = h
	}
}

// whole is a quantity such as "700.00 W" to the unit, 0 where it is none.
func whole(s, unit string) int {
	v := number(strings.TrimSpace(strings.TrimSuffix(s, unit)))
	if !(v > 0 && v < 1e6) {
		return 0
	}
	return int(math.Round(v))
}
