package run

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/measure"
)

// GPU is what nvidia-smi says of a device. A number that it does not give is NaN.
type GPU struct {
	Index  int
	UUID   string // identifies a machine: not for files or terminals
	Name   string
	Driver string
	// ClockMHz and MaxClockMHz are the current and the highest SM clock.
	ClockMHz, MaxClockMHz float64
	Utilization           float64 // share of the last moment in which a kernel ran, in percent
	Throttle              Throttle
	MIG                   bool
	PState                string         // performance state, "P0" is the fastest
	Hardware              model.Hardware // of a session's GPUs, but for the CPU
}

// Throttle is nvidia-smi's bit mask of the reasons for lower clocks.
type Throttle uint64

// Locked is the reason of clocks that somebody has locked (nvidia-smi -lgc) or set for applications (-ac).
const Locked Throttle = 0x2

// The reasons that slow a workload down. The others (idle, application clocks, sync boost) are choices.
const (
	PowerCap        Throttle = 0x4
	HardwareSlow    Throttle = 0x8
	SoftwareThermal Throttle = 0x20
	HardwareThermal Throttle = 0x40
	PowerBrake      Throttle = 0x80
)

var throttleNames = []struct {
	bit  Throttle
	name string
}{
	{PowerCap, "the power limit"}, {HardwareSlow, "a hardware slowdown"}, {SoftwareThermal, "its temperature (software)"},
	{HardwareThermal, "its temperature (hardware)"}, {PowerBrake, "the power brake"},
}

// Slows names what slows the GPU down, "" for nothing.
func (t Throttle) Slows() string {
	var names []string
	for _, n := range throttleNames {
		if t&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// Probe asks nvidia-smi for the GPUs of this machine.
func Probe(ctx context.Context) ([]GPU, error) { return newWatcher().gpus(ctx) }

// Others asks nvidia-smi which processes compute on each GPU now, by the GPU's UUID: file names of programs, without
// their directories, "" where another container hides the name.
func Others(ctx context.Context) (map[string][]string, error) {
	apps, err := newWatcher().apps(ctx)
	if err != nil {
		return nil, err
	}
	others := make(map[string][]string)
	for _, a := range apps {
		others[a.uuid] = append(others[a.uuid], a.name)
	}
	return others, nil
}

// Persistent asks nvidia-smi which GPUs keep their driver loaded while idle, by index. GPUs without an answer are left
// out.
func Persistent(ctx context.Context) map[int]bool {
	on := make(map[int]bool)
	for index, cells := range settings(ctx, "persistence_mode") {
		if cells[0] == "Enabled" || cells[0] == "Disabled" {
			on[index] = cells[0] == "Enabled"
		}
	}
	return on
}

// Lowered asks nvidia-smi for application clocks below their default, by index of the GPU, in MHz. Such a setting stays
// until it is reset.
func Lowered(ctx context.Context) map[int]float64 {
	low := make(map[int]float64)
	for index, cells := range settings(ctx, "clocks.applications.graphics", "clocks.default_applications.graphics") {
		if clock := number(cells[0]); clock < number(cells[1]) {
			low[index] = clock
		}
	}
	return low
}

// settings asks nvidia-smi for some fields of each GPU, by index; none where it does not know them.
func settings(ctx context.Context, fields ...string) map[int][]string {
	out, err := newWatcher().query(ctx, "--query-gpu=index,"+strings.Join(fields, ","), asCSV)
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

func parseGPUs(text []byte) ([]GPU, error) {
	rows, err := parseCSV(text, 10)
	if err != nil {
		return nil, err
	}
	var out []GPU
	for i, row := range rows {
		index, err := strconv.Atoi(row[0])
		if err != nil || index < 0 {
			return nil, fmt.Errorf("nvidia-smi: line %d, column 1: index %q is not a number", i+1, row[0])
		}
		g := GPU{
			Index: index, UUID: known(row[1]), Name: known(row[2]), Driver: known(row[3]),
			ClockMHz: number(row[4]), MaxClockMHz: number(row[5]),
			Utilization: number(row[6]), MIG: row[7] == "Enabled", PState: known(row[8]),
		}
		if v, err := strconv.ParseUint(strings.TrimPrefix(row[9], "0x"), 16, 64); err == nil {
			g.Throttle = Throttle(v)
		}
		out = append(out, g)
	}
	return out, nil
}

// app is a process that has a compute context on a GPU. Its pid may be of another pid namespace.
type app struct {
	pid  int
	uuid string
	name string
}

const appFields = "pid,gpu_uuid,process_name"

func parseApps(text []byte) ([]app, error) {
	rows, err := parseCSV(text, 3)
	if err != nil {
		return nil, err
	}
	var out []app
	for i, row := range rows {
		pid, err := strconv.Atoi(row[0])
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi: line %d, column 1: pid %q is not a number", i+1, row[0])
		}
		// The daemon of MPS has a context whether it serves anybody or not.
		if name := baseName(row[2]); name != "nvidia-cuda-mps-server" {
			out = append(out, app{pid, known(row[1]), name})
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

// known is a cell without the ways in which nvidia-smi says that it does not know.
func known(cell string) string {
	if strings.HasPrefix(cell, "[") || cell == "N/A" {
		return ""
	}
	return measure.NormalizeControl(cell)
}

func number(cell string) float64 {
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// baseName is a process name that may be shown: no directory, no control characters, not long.
func baseName(name string) string {
	name = known(name)
	if name == "" {
		return ""
	}
	runes := []rune(filepath.Base(name))
	return string(runes[:min(len(runes), 40)])
}

const asCSV = "--format=csv,noheader,nounits"

func (w *watcher) query(ctx context.Context, args ...string) ([]byte, error) {
	if w.exe == "" {
		return nil, errors.New("nvidia-smi was not found")
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	var failure proc.Output
	err := proc.Run(ctx, "", &out, &failure, w.exe, args...)
	if err != nil { // nvidia-smi explains itself on stdout
		return nil, fmt.Errorf("nvidia-smi: %w: %s", err, said(out.String()+"\n"+failure.String()))
	}
	return out.Bytes(), nil
}

func (w *watcher) gpus(ctx context.Context) ([]GPU, error) {
	out, err := w.query(ctx, "--query-gpu="+gpuFields+w.throttle, asCSV)
	if err != nil && w.throttle == newThrottle && strings.Contains(err.Error(), "not a valid field") {
		w.throttle = oldThrottle
		out, err = w.query(ctx, "--query-gpu="+gpuFields+w.throttle, asCSV)
	}
	if err != nil {
		return nil, err
	}
	gpus, err := parseGPUs(out)
	if err == nil && len(gpus) == 0 {
		err = errors.New("nvidia-smi shows no GPU")
	}
	return gpus, err
}

func (w *watcher) apps(ctx context.Context) ([]app, error) {
	out, err := w.query(ctx, "--query-compute-apps="+appFields, asCSV)
	if err != nil {
		return nil, err
	}
	return parseApps(out)
}

func (a app) describe() string {
	if a.name == "" {
		return fmt.Sprintf("pid %d", a.pid)
	}
	return fmt.Sprintf("%s, pid %d", a.name, a.pid)
}

// watcher looks at the GPUs before, during and after a session.
type watcher struct {
	throttle string // the field name that this driver knows
	launched bool   // the workload's processes are those of a launcher, which may be none of ours
	exe      string // "" without nvidia-smi
	first    []GPU  // visible devices before the session
	there    map[int]bool
	warnings []string

	clock  clock
	cancel context.CancelFunc
	done   sync.WaitGroup
	seen   []sample
	others map[string]bool // processes that used a GPU during the runs
}

// sample is the devices at a moment during the session.
type sample struct {
	at   time.Time
	gpus []GPU
}

func newWatcher() *watcher {
	exe, _ := exec.LookPath("nvidia-smi")
	return &watcher{exe: exe, throttle: newThrottle, clock: newClock(), there: make(map[int]bool), others: make(map[string]bool)}
}
