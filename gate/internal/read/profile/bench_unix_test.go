//go:build unix

package profile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkHarnesses reads directories of files of benchmark harnesses. A unit is the processor time as a multiple of
// that of Python's reader of the same files without its start, where Python is installed.
func BenchmarkHarnesses(b *testing.B) {
	const (
		inPython     = "import json, xml.etree.ElementTree as e, glob, sys, time\nt = time.process_time()\n"
		jsonInPython = inPython + "for f in glob.glob(sys.argv[1] + '/*'): json.load(open(f))\n"
		xmlInPython  = inPython + "for f in glob.glob(sys.argv[1] + '/*'): e.parse(f)\n"
	)
	random := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		name, unit, script, ext string
		files                   int
		file                    func(*rand.Rand) []byte
	}{
		{"pytest-benchmark", "cpu-x-json", jsonInPython, ".json", 20, pytestFile},
		{"google-benchmark", "cpu-x-json-of-750-rows", jsonInPython, ".json", 20, googleFile(750)},
		{"google-benchmark of 150 rows", "cpu-x-json-of-150-rows", jsonInPython, ".json", 20, googleFile(150)},
		{"JUnit", "cpu-x-etree", xmlInPython, ".xml", 1, junitFile},
	} {
		b.Run(x.name, func(b *testing.B) {
			dir := b.TempDir()
			for i := range x.files {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, x.ext)), x.file(random), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			own, python := math.Inf(1), math.Inf(1)
			defer debug.SetGCPercent(debug.SetGCPercent(1600)) // as the command has it at its start
			for b.Loop() {
				script := x.script + "print(time.process_time() - t)"
				if out, err := exec.CommandContext(b.Context(), "python3", "-c", script, dir).Output(); err == nil {
					var took float64
					if _, err := fmt.Sscan(string(out), &took); err != nil {
						b.Fatal(err)
					}
					python = min(python, took)
				}
				runtime.GC()
				before, r := ownTime(b), &Recording{}
				if err := (Tools{}).open(b.Context(), dir, r); err != nil || len(r.Summaries) != x.files {
					b.Fatal(err, len(r.Summaries))
				}
				own = min(own, ownTime(b)-before)
			}
			b.ReportMetric(own*1e3, "cpu-ms")
			if !math.IsInf(python, 0) {
				b.ReportMetric(own/python, x.unit)
			}
		})
	}
}

// ownTime is the processor time of this process in seconds.
func ownTime(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// pytestFile is one of pytest-benchmark with the single rounds of 150 tests, as --benchmark-json writes it.
func pytestFile(random *rand.Rand) []byte {
	var rows []string
	for i := range 150 {
		time := 0.001 * float64(1+i%17) * (1 + 0.002*random.NormFloat64())
		rounds := make([]string, 40)
		for j := range rounds {
			rounds[j] = "                    " + fmt.Sprint(time*(1+0.002*random.NormFloat64()))
		}
		rows = append(rows, fmt.Sprintf(`        {
            "group": null,
            "name": "test_kernel[%[1]d-float32]",
            "fullname": "tests/bench_kernels.py::test_kernel[%[1]d-float32]",
            "params": {
                "n": %[1]d,
                "dtype": "float32"
            },
            "param": "%[1]d-float32",
            "extra_info": {},
            "options": {
                "disable_gc": false,
                "timer": "perf_counter",
                "min_rounds": 5,
                "max_time": 1.0,
                "min_time": 5e-06,
                "warmup": false
            },
            "stats": {
                "min": %[2]v,
                "max": %[2]v,
                "mean": %[2]v,
                "stddev": 1e-05,
                "rounds": 40,
                "median": %[2]v,
                "iqr": 2e-05,
                "q1": %[2]v,
                "q3": %[2]v,
                "iqr_outliers": 0,
                "stddev_outliers": 2,
                "outliers": "2;0",
                "ld15iqr": %[2]v,
                "hd15iqr": %[2]v,
                "ops": %[3]v,
                "total": %[4]v,
                "data": [
%[5]s
                ],
                "iterations": 1
            }
        }`, i, time, 1/time, 40*time, strings.Join(rounds, ",\n")))
	}
	return []byte(`{
    "machine_info": {
        "node": "ci-1",
        "processor": "x86_64",
        "python_version": "3.12.3"
    },
    "commit_info": {
        "id": "0123456789abcdef0123456789abcdef01234567",
        "dirty": false
    },
    "benchmarks": [
` + strings.Join(rows, ",\n") + `
    ],
    "datetime": "2025-03-01T10:00:00.000000+00:00",
    "version": "4.0.0"
}`)
}

// googleFile is one of google-benchmark with so many rows.
func googleFile(rows int) func(*rand.Rand) []byte {
	return func(random *rand.Rand) []byte {
		text := []byte(`{"context": {"date": "2025-03-01T10:00:00+00:00", "host_name": "ci-1", "num_cpus": 8},` +
			"\n  \"benchmarks\": [\n")
		for i := range rows {
			time := 1000 * float64(1+i%17) * (1 + 0.002*random.NormFloat64())
			text = fmt.Appendf(text, `    {
      "name": "BM_Kernel/%[1]d",
      "family_index": %[1]d,
      "per_family_instance_index": 0,
      "run_name": "BM_Kernel/%[1]d",
      "run_type": "iteration",
      "repetitions": 1,
      "repetition_index": 0,
      "threads": 1,
      "iterations": 12345,
      "real_time": %[2]v,
      "cpu_time": %[3]v,
      "time_unit": "ns",
      "bytes_per_second": %[4]v
    },
`, i, time, 1.01*time, 1e9/time)
		}
		return append(text[:len(text)-2], "\n  ]\n}"...)
	}
}

// junitFile is one of JUnit with 45,000 cases in 45 suites, as pytest writes it.
func junitFile(random *rand.Rand) []byte {
	var text strings.Builder
	text.WriteString(`<?xml version="1.0" encoding="utf-8"?><testsuites>`)
	for i := range 45 {
		fmt.Fprintf(&text, `<testsuite name="suite%d" errors="0" failures="0" skipped="0" tests="1000" time="61.2" `+
			`timestamp="2025-03-01T10:00:00.000000" hostname="ci-1">`, i)
		for j := range 1000 {
			fmt.Fprintf(&text, `<testcase classname="tests.unit.test_suite%d.TestKernels" name="test_kernel[%d-float32]" `+
				`time="%.3f" />`, i, j, 0.001*float64(1+random.IntN(100)))
		}
		text.WriteString(`</testsuite>`)
	}
	text.WriteString(`</testsuites>`)
	return []byte(text.String())
}
