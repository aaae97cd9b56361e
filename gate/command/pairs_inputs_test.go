//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// pairSubject is a kind of what is judged, with recordings of it. The slow one is worse by construction, same is
// unchanged.
type pairSubject struct {
	name                   string
	base, same, slow, gone string // directories of inputs, "" for none
	modes                  string // in which it can be judged
	selector, metric       string // of a rule for it
	floor                  string // above every change
	at                     string // "at_most" or "at_least"
	within, beyond         string // its bound above and below all values
	byRule                 bool   // it is judged by rules only
	// the slow one is worse in this metric alone, so that its loosest limit lets the gate pass
	alone bool
}

// The kinds of subjects. Modes are those of [pairModes].
var pairSubjects = []pairSubject{
	{"kernels", "kernels-base", "kernels-same", "kernels-slow", "", "compare from measured", `kernel = "saxpy"`, "time",
		"1ms", "at_most", "1s", "1ns", false, true},
	{"step", "kernels-base", "kernels-same", "step-slow", "", "compare from measured", ``, "step_time", "1s", "at_most",
		"1s", "1ns", false, false},
	{"copies", "kernels-base", "kernels-same", "copies-slow", "", "compare from measured", `copy = "memcpy HtoD"`,
		"copy_time", "1s", "at_most", "1s", "1ns", false, false},
	{"boards", "kernels-base", "boards-same", "boards-slow", "", "compare from", `kernel = "saxpy"`, "time", "1ms",
		"at_most", "1s", "1ns", false, true},
	{"models", "kernels-base", "kernels-same", "kernels-slow", "", "from measured", `kernel = "saxpy"`, "time", "1ms",
		"at_most", "1s", "1ns", false, true},
	{"workloads", "kernels-base", "kernels-same", "kernels-slow", "", "measured", `kernel = "saxpy"`, "time", "1ms",
		"at_most", "1s", "1ns", false, true},
	{"drift", "drift-0", "drift-0", "drift-7", "", "from", `kernel = "saxpy"`, "time", "1ms", "at_most", "1s", "1ns",
		false, true},
	{"ranks", "ranks-base", "ranks-same", "ranks-slow", "", "compare from", ``, "gpu_time", "10s", "at_most", "100s",
		"1ns", false, false},
	{"rows", "rows-base", "rows-same", "rows-slow", "rows-gone", "compare from", `benchmark = "BM_*"`, "duration", "1s",
		"at_most", "1s", "1ns", false, true},
	{"rates", "rates-base", "rates-same", "rates-slow", "", "compare from", `benchmark = "scan"`, "item_rate",
		"1000000000000", "at_least", "1", "1000000000000", false, true},
	{"units", "units-base", "units-same", "units-slow", "", "compare from", `benchmark = "scan"`, "item_rate",
		"1000000000000", "at_least", "1", "1000000000000", false, true},
	{"junit", "junit-base", "junit-same", "junit-slow", "junit-gone", "compare from", `benchmark = "c.*"`, "duration",
		"100s", "at_most", "1000s", "1ns", false, true},
	{"raw ncu metrics", "ncu-base", "ncu-same", "ncu-slow", "", "compare from", `kernel = "k"`,
		"ncu:sm__inst_executed.avg.per_cycle_elapsed", "", "at_least", "0.001", "1000", true, true},
	{"results", "rows-base", "rows-same", "rows-slow", "rows-gone", "measured", `benchmark = "BM_*"`, "duration", "1s",
		"at_most", "1s", "1ns", false, true},
	{"output", "kernels-base", "kernels-base", "kernels-base", "", "measured", `output = "throughput"`, "rate",
		"1000000", "at_least", "1", "1000000000", false, true},
}

// rawWorse are raw metrics of ncu with a value, a worse one, and their unit.
var rawWorse = []struct {
	name        string
	value, less float64
	unit        string
}{
	{"sm__inst_executed.avg.per_cycle_elapsed", 2.5, 1.25, "inst/cycle"},
	{"launch__occupancy_limit_registers", 8, 4, "block"},
	{"sm__maximum_warps_per_active_cycle_pct", 100, 50, "%"},
	{"smsp__thread_inst_executed_per_inst_executed.ratio", 32, 8, ""},
	{"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", 100, 25, "%"},
	{"dram__throughput.avg.pct_of_peak_sustained_elapsed", 80, 40, "%"},
	{"l1tex__t_sector_hit_rate.pct", 90, 60, "%"},
}

// pairInputs is the directory of all inputs, and of the programs on the PATH below bin: $NSGATE_PAIRS_INPUTS, for
// commands that are pasted, or a temporary one.
var pairInputs = sync.OnceValues(func() (string, error) {
	dir := os.Getenv("NSGATE_PAIRS_INPUTS")
	if dir == "" {
		dir = filepath.Join(os.Getenv("TMPDIR"), "pairs")
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	w := &inputWriter{dir: dir}
	w.recordings()
	w.benchmarks()
	w.counters()
	code, err := os.ReadFile("../internal/devicecode/testdata/kernels.cubin")
	w.keep(err)
	w.file("code/x.cubin", code)
	for i, side := range []string{"base", "same", "slow"} {
		for run := range 5 {
			data, err := exporttest.Jax(10*i+run, 2, []float64{1, 1, 1.3}[i])
			w.keep(err)
			w.file(fmt.Sprintf("ranks-%s/run.%03d.zip", side, run), data)
		}
	}
	return dir, w.err
})

// TestPairInputs writes the inputs of the other tests and the programs they run to $NSGATE_PAIRS_INPUTS.
func TestPairInputs(t *testing.T) {
	if os.Getenv("NSGATE_PAIRS_INPUTS") == "" {
		t.Skip("NSGATE_PAIRS_INPUTS names no directory")
	}
	dir, err := pairInputs()
	if err != nil {
		t.Fatal(err)
	}
	tools, _, _ := strings.Cut(os.Getenv("PATH"), string(os.PathListSeparator))
	for _, name := range []string{"nsgate", "nsys", "ncu", "nvidia-smi"} {
		data, err := os.ReadFile(filepath.Join(tools, name))
		if err != nil {
			t.Fatal(err)
		}
		writeProgram(t, filepath.Join(dir, "bin", name), string(data))
	}
}

// inputWriter writes inputs; nothing is done after its first error.
type inputWriter struct {
	dir string
	err error
}

func (w *inputWriter) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *inputWriter) file(name string, data []byte) {
	if w.err != nil {
		return
	}
	file := filepath.Join(w.dir, name)
	w.keep(os.MkdirAll(filepath.Dir(file), 0o755))
	w.keep(os.WriteFile(file, data, 0o644))
}

// recordings copies those of testdata, and edits some.
func (w *inputWriter) recordings() {
	const kernels = "../../testdata/h200/kernels/"
	const board = `UPDATE TARGET_INFO_GPU SET uuid = 'other-board'; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + 1;`
	w.recording("kernels-base", kernels+"base", "")
	w.recording("kernels-same", kernels+"unchanged", "")
	w.recording("kernels-slow", kernels+"saxpy_1.05", "")
	w.recording("step-slow", kernels+"idle_200us", "")
	w.recording("copies-slow", kernels+"copies_4", "")
	w.recording("boards-same", kernels+"unchanged", board)
	w.recording("boards-slow", kernels+"saxpy_1.05", board)
	w.recording("models-a100", kernels+"base", `UPDATE TARGET_INFO_GPU SET name = 'NVIDIA A100-SXM4-80GB';`)
	w.recording("models-v100", kernels+"base", `UPDATE TARGET_INFO_GPU SET name = 'Tesla V100-SXM2-16GB';`)
	for day := range 8 {
		w.recording(fmt.Sprintf("drift-%d", day), kernels+"base", fmt.Sprintf(`
			UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = CAST(start + (end - start) * %f + %[2]d AS INT)
				WHERE shortName IN (SELECT id FROM StringIds WHERE value LIKE 'saxpy%%');
			UPDATE META_DATA_EXPORT SET value = replace(value, '2026-11-21', '2026-11-1%[2]d') WHERE name LIKE 'EXPORT_TIME%%';`,
			math.Pow(1.02, float64(day)), day))
	}
}

// recording copies the recordings of a directory and runs SQL on the copies.
func (w *inputWriter) recording(name, source, script string) {
	entries, err := os.ReadDir(source)
	w.keep(err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(source, e.Name()))
		w.keep(err)
		w.file(name+"/"+e.Name(), data)
		if script == "" || w.err != nil {
			continue
		}
		db, err := sqlite.OpenConn(filepath.Join(w.dir, name, e.Name()), sqlite.OpenReadWrite)
		if err != nil {
			w.keep(err)
			return
		}
		w.keep(sqlitex.ExecuteScript(db, script, nil))
		w.keep(db.Close())
	}
}

// noise is a factor near 1 of a run and a row, the same each time.
func noise(seed, run, row int) float64 { return 1 + 0.0005*math.Sin(float64(seed*97+run*31+row*7)) }

// benchmarks writes results of harnesses, five processes each.
func (w *inputWriter) benchmarks() {
	type object = map[string]any
	for seed, side := range []string{"base", "same", "slow", "gone"} {
		worse := 1.0
		if side == "slow" {
			worse = 1.3
		}
		for run := range 5 {
			row := func(n int, name string, v float64) object {
				v *= noise(seed, run, n)
				return object{"name": name, "run_name": name, "run_type": "iteration", "repetitions": 1,
					"iterations": 10, "real_time": v, "cpu_time": v, "time_unit": "us"}
			}
			rows := []object{row(1, "BM_a", 100*worse), row(2, "BM_b", 50*worse)}
			w.json(fmt.Sprintf("rows-%s/r%d.json", side, run),
				object{"context": object{"date": fmt.Sprintf("2026-11-1%dT10:%d5:00+00:00", seed, run),
					"host_name": "h", "executable": "x", "num_cpus": 8, "mhz_per_cpu": 1,
					"library_build_type": "release"},
					"benchmarks": rows[:len(rows)-seed/3]})
			suites := ""
			// One of three tests of one name, whose slowdown leaves the median of the three as it is.
			for i, v := range []float64{1, 3 * math.Pow(worse, 2.3), 2}[:3-seed/3] {
				suites += fmt.Sprintf(`<testsuite name="s%d"><testcase classname="c" name="t" time="%.6f"/></testsuite>`, i,
					v*noise(seed, run, i))
			}
			w.file(fmt.Sprintf("junit-%s/r%d.xml", side, run), []byte("<testsuites>"+suites+"</testsuites>"))
			if side == "gone" {
				continue
			}
			rate := 100 * noise(seed, run, 3)
			if side == "slow" {
				rate /= 2
			}
			w.json(fmt.Sprintf("rates-%s/r%d.json", side, run),
				[]object{{"name": "scan", "unit": "rows/s", "value": rate}})
			unit := "Mrows/s"
			if side != "base" {
				unit, rate = "rows/s", rate*1e6
			}
			w.json(fmt.Sprintf("units-%s/r%d.json", side, run), []object{{"name": "scan", "unit": unit, "value": rate}})
		}
	}
}

func (w *inputWriter) json(name string, value any) {
	data, err := json.Marshal(value)
	w.keep(err)
	w.file(name, data)
}

// counters writes pages of ncu.
func (w *inputWriter) counters() {
	w.pages("ncu", "NVIDIA H200", "k")
	for gpu, name := range map[string]string{"a100": "NVIDIA A100-SXM4-80GB", "h200": "NVIDIA H200",
		"v100": "Tesla V100-SXM2-16GB"} {
		w.pages("counts-"+gpu, name, gpu+"_gemm")
	}
}

func (w *inputWriter) pages(prefix, gpu, kernel string) {
	head := []string{"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
		"Grid Size", "Device", "CC", "device__attribute_display_name", "gpu__time_duration.sum"}
	units := append(make([]string, len(head)-1), "ns")
	for _, m := range rawWorse {
		head, units = append(head, m.name), append(units, m.unit)
	}
	line := func(cells []string) string { return `"` + strings.Join(cells, `","`) + "\"\n" }
	for seed, side := range []string{"base", "same", "slow"} {
		for run := range 5 {
			text := line(head) + line(units)
			for launch := range 3 {
				cells := []string{fmt.Sprint(launch), "1", "app", "h", kernel + "(float *)", "1", "7", "(256, 1, 1)",
					"(1024, 1, 1)", "0", "9.0", gpu, fmt.Sprint(10000 * noise(seed, run, launch))}
				for i, m := range rawWorse {
					v := m.value
					if side == "slow" {
						v = m.less
					}
					if !slices.Contains([]string{"block"}, m.unit) {
						v *= noise(seed, run, i+launch)
					}
					cells = append(cells, fmt.Sprint(v))
				}
				text += line(cells)
			}
			w.file(fmt.Sprintf("%s-%s/run%d.csv", prefix, side, run), []byte(text))
		}
	}
}
