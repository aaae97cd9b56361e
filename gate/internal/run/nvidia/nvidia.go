// Package nvidia asks nvidia-smi for the GPUs of this machine.
package nvidia

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/device"
)

// SMI is nvidia-smi.
type SMI struct {
	exe      string // "" where it was not found
	throttle string // the field name that this driver knows
}

// New finds nvidia-smi on the PATH. Without it every question has an error for an answer.
func New() *SMI {
	exe, _ := exec.LookPath("nvidia-smi")
	return &SMI{exe: exe, throttle: newThrottle}
}

// uvm is the device of unified memory, which cuInit opens. NVML, which only asks for the state of GPUs, does not.
var uvm = "/dev/nvidia-uvm"

// File is the device that CUDA opens at its start.
func (*SMI) File() string { return uvm }

// settings asks nvidia-smi for some fields of each GPU, by index; none where it does not know them.
func (s *SMI) settings(ctx context.Context, fields ...string) map[int][]string {
	out, err := s.query(ctx, "--query-gpu=index,"+strings.Join(fields, ","), asCSV)
	if err != nil {
		return nil
	}
	rows, _ := parseCSV(out, 1+len(fields))
	found := make(map[int][]string)
	for _, row := range rows {
		if index, err := strconv.Atoi(row[0]); err == nil {
			found[index] = row[1:]
		}
	}
	return found
}

// Field names of nvidia-smi --query-gpu in the order of parseGPUs; the throttle reasons were renamed in 2023.
const (
	gpuFields   = "index,uuid,name,driver_version,clocks.sm,clocks.max.sm,utilization.gpu,mig.mode.current,pstate,"
	newThrottle = "clocks_event_reasons.active"
	oldThrottle = "clocks_throttle_reasons.active"
)

func parseGPUs(text []byte) ([]device.GPU, error) {
	rows, err := parseCSV(text, 10)
	if err != nil {
		return nil, err
	}
	var out []device.GPU
	for i, row := range rows {
		index, err := strconv.Atoi(row[0])
		if err != nil || index < 0 {
			return nil, fmt.Errorf("nvidia-smi: line %d, column 1: index %q is not a number", i+1, row[0])
		}
		g := device.GPU{
			Index: index, UUID: known(row[1]), Name: known(row[2]), Driver: known(row[3]),
			ClockMHz: number(row[4]), MaxClockMHz: number(row[5]),
			Utilization: number(row[6]), MIG: row[7] == "Enabled", PState: known(row[8]),
		}
		if v, err := strconv.ParseUint(strings.TrimPrefix(row[9], "0x"), 16, 64); err == nil {
			g.Throttle = device.Throttle(v) // its bits are those of nvidia-smi
		}
		out = append(out, g)
	}
	return out, nil
}

func parseProcesses(text []byte) ([]device.Process, error) {
	rows, err := parseCSV(text, 3)
	if err != nil {
		return nil, err
	}
	var out []device.Process
	for i, row := range rows {
		pid, err := strconv.Atoi(row[0])
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi: line %d, column 1: pid %q is not a number", i+1, row[0])
		}
		// The daemon of MPS has a context whether it serves anybody or not.
		name, uuid := device.ProgramName(known(row[2])), known(row[1])
		if strings.HasPrefix(uuid, "MIG-") { // a slice of some GPU
			uuid = ""
		}
		if name != "nvidia-cuda-mps-server" {
			out = append(out, device.Process{Pid: pid, UUID: uuid, Name: name})
		}
	}
	return out, nil
}

func parseCSV(text []byte, columns int) ([][]string, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.TrimLeadingSpace, r.LazyQuotes, r.FieldsPerRecord = true, true, -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	for i, row := range rows {
		if len(row) > columns { // the last column is a process name, which may hold commas
			row[columns-1] = strings.Join(row[columns-1:], ", ")
			rows[i] = row[:columns]
		}
		if len(row) < columns {
			return nil, fmt.Errorf("nvidia-smi: line %d has %d columns instead of %d", i+1, len(row), columns)
		}
		for k := range rows[i] {
			rows[i][k] = strings.TrimSpace(rows[i][k])
		}
	}
	return rows, nil
}

// known is a cell, "" for nvidia-smi's ways to print an unknown value.
func known(cell string) string {
	return measure.Either(strings.HasPrefix(cell, "[") || cell == "N/A", "", measure.NormalizeControl(cell))
}

func number(cell string) float64 {
	v, err := strconv.ParseFloat(cell, 64)
	return measure.Either(err != nil || math.IsInf(v, 0), math.NaN(), v)
}

const asCSV = "--format=csv,noheader,nounits"

func (s *SMI) query(ctx context.Context, args ...string) ([]byte, error) {
	if s.exe == "" {
		return nil, errors.New("nvidia-smi was not found")
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	var failure proc.Output
	err := proc.Run(ctx, "", &out, &failure, s.exe, args...)
	if err != nil { // nvidia-smi explains itself on stdout
		return nil, fmt.Errorf("nvidia-smi: %w: %s", err, proc.Said(out.String()+"\n"+failure.String()))
	}
	return out.Bytes(), nil
}

// GPUs are those of this machine.
func (s *SMI) GPUs(ctx context.Context) ([]device.GPU, error) {
	out, err := s.query(ctx, "--query-gpu="+gpuFields+s.throttle, asCSV)
	if err != nil && s.throttle == newThrottle && strings.Contains(err.Error(), "not a valid field") {
		s.throttle = oldThrottle
		out, err = s.query(ctx, "--query-gpu="+gpuFields+s.throttle, asCSV)
	}
	var gpus []device.GPU
	if err == nil {
		gpus, err = parseGPUs(out)
	}
	if err == nil && len(gpus) == 0 {
		err = errors.New("nvidia-smi shows no GPU")
	}
	if err != nil { // no driver made the file of a device, on Linux or in Windows' Linux
		numbered, _ := new(input.Search).Paths("/dev", "nvidia[0-9]*")
		if _, lost := os.Lstat("/dev/dxg"); len(numbered) == 0 && lost != nil {
			err = none{err}
		}
	}
	return gpus, err
}

// none is [device.ErrNone] in the words of nvidia-smi.
type none struct{ error }

func (none) Is(target error) bool { return target == device.ErrNone }

// Processes are those that compute on the GPUs now.
func (s *SMI) Processes(ctx context.Context) ([]device.Process, error) {
	const processFields = "pid,gpu_uuid,process_name"
	out, err := s.query(ctx, "--query-compute-apps="+processFields, asCSV)
	if err != nil {
		return nil, err
	}
	return parseProcesses(out)
}

// Visible are the GPUs that CUDA_VISIBLE_DEVICES leaves to a program.
func (s *SMI) Visible(gpus []device.GPU) (seen []device.GPU, first bool) {
	devices, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	return visible(gpus, devices, set, os.Getenv("CUDA_DEVICE_ORDER"))
}

// visible keeps the GPUs that a workload with this CUDA_VISIBLE_DEVICES can see: all of them in case of doubt. CUDA
// numbers unlike GPUs by speed unless told to number them as nvidia-smi does, and ends the list at the first number of
// no GPU.
func visible(gpus []device.GPU, devices string, set bool, order string) (out []device.GPU, first bool) {
	alike := !slices.ContainsFunc(gpus, func(g device.GPU) bool { return g.Name != gpus[0].Name })
	numbered := alike || order == "PCI_BUS_ID"
	if !set {
		return gpus, numbered
	}
	for d := range strings.SplitSeq(devices, ",") {
		d = strings.TrimSpace(d)
		n, err := strconv.Atoi(d)
		i := slices.IndexFunc(gpus, func(g device.GPU) bool {
			if err == nil {
				return n == g.Index && numbered
			}
			return strings.HasPrefix(d, "GPU-") && strings.HasPrefix(g.UUID, d)
		})
		switch {
		case i >= 0:
			out = append(out, gpus[i])
		case err == nil && numbered && len(out) > 0:
			return out, true
		default:
			return gpus, alike
		}
	}
	return out, true
}

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
