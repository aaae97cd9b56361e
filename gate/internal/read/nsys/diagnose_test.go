package nsys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestComplete(t *testing.T) {
	collected := func(n int, process int64) string {
		return diagnosticRow(1, fmt.Sprintf("Number of CUDA events collected: \t%d.", n), process)
	}
	produced := func(n int, process int64) string {
		return diagnosticRow(1, fmt.Sprintf("Number of CUPTI events produced: \t%d, CUPTI buffers: 50.", n), process)
	}
	const failure = "Error when processing events: Type=ErrorInformation (18)\n ProcessEventsError (4005)\n"
	const missing = "Number of CUPTI events produced: \t31, CUPTI buffers: 49 of 50. Some CUPTI events might be " +
		"missing. Consider calling cudaDeviceSynchronize before the process ends."
	incomplete := func(n int) string { return fmt.Sprintf("Number of incomplete CUPTI events dropped: \t%d.", n) }
	for _, c := range []struct {
		name    string
		rows    []string
		refused model.Kind // the key, "" for a usable recording
		warning string     // part of the only warning; of the refusal
	}{
		{"healthy", []string{collected(1225, pidA), produced(1255, pidA), collected(11538, pidB),
			produced(13219, pidB)},
			"", ""},
		{"few events", []string{collected(12, pidA), produced(43, pidA)}, "", ""},
		{"capture range", []string{diagnosticRow(2, "Not all CUDA events might have been collected.", pidA),
			collected(802, pidA), produced(812, pidA)}, "", ""},
		{"several captures", []string{collected(400, pidA), produced(500, pidA), collected(400, pidA),
			produced(1000, pidA)}, "", ""},
		{"a shell among the processes", []string{
			diagnosticRow(2, "No CUDA events collected. Does the process use CUDA?", 5<<24),
			diagnosticRow(2, "CUDA profiling might have not been started correctly.", 5<<24)}, "", ""},
		{"lossy", []string{collected(457, pidA), produced(22505, pidA)}, "records-lost",
			"only 457 of the 22505 CUDA events"},
		{"lossy among others", []string{collected(22000, pidB), produced(22505, pidB), collected(0, pidA),
			produced(300, pidA)},
			"records-lost", "only 0 of the 300"},
		{"importer", []string{diagnosticRow(2, failure, pidA)}, "importer-failed", ""},
		{"importer, JAX", []string{diagnosticRow(2, failure, pidA),
			diagnosticRow(2, failure+"ErrorText=Cannot find string for an exterior index", pidA)},
			"importer-string", "--nvtx-domain-exclude=TSL"},
		{"driver", []string{diagnosticRow(3, failure+"Unknown driver API function index: 700", pidA)}, "old-nsys",
			"update nsys"},
		{"order", []string{diagnosticRow(2, "Wrong event order has been detected when adding events", pidA)},
			"importer-failed", "wrong order"},
		{"stopped", []string{diagnosticRow(2, "Status: TargetProfilingFailed", pidA)}, "profiling-failed", ""},
		{"full buffers", []string{diagnosticRow(2, "312 CUPTI activity records were dropped.", pidA)}, "records-lost",
			"--cuda-flush-interval"},
		{"a buffer that did not come back", []string{collected(30, pidA), diagnosticRow(1, missing, pidA)},
			"records-lost", "CUPTI buffers: 49 of 50"},
		{"a buffer of another process",
			[]string{collected(30, pidA), produced(31, pidA), diagnosticRow(1, missing, pidB)}, "records-lost", ""},
		{"incomplete", []string{collected(30, pidA), produced(31, pidA), diagnosticRow(1, incomplete(2800), pidA)},
			"records-lost", "2800 records"},
		{"incomplete, a warning", []string{diagnosticRow(2, incomplete(7), pidA)}, "records-lost", "--trace=cuda-sw"},
		{"none incomplete", []string{diagnosticRow(1, incomplete(0), pidA), diagnosticRow(2, incomplete(0), pidB)}, "",
			""},
		{"before 2024.2", []string{stringRow(50, missing)}, "records-lost", ""},
		{"incomplete, before 2024.2", []string{stringRow(50, incomplete(12))}, "records-lost", "12 records"},
		{"harmless, before 2024.2", []string{stringRow(50, "Number of CUPTI events produced: 31, CUPTI buffers: 50."),
			stringRow(51, incomplete(0)), stringRow(52, "Not all CUDA events might have been collected.")}, "", ""},
		{"about it, before 2024.2", []string{stringRow(50, "echo "+missing), stringRow(51, "# "+incomplete(5))}, "",
			""},
		{"a kernel of that name", []string{stringRow(50, missing), kernelRow(2000, 2640, 12, pidA, 50)}, "", ""},
		{"a range of that name", []string{stringRow(50, incomplete(3)),
			rangeRow(59, 1, 2, 5<<24, "NULL", "NULL", 50, 0)}, "", ""},
		{"a call of that name", []string{stringRow(50, incomplete(3)), callRow(1, 2, tidA, 99, 50)}, "", ""},
		{"full buffers of something else", []string{diagnosticRow(2, "312 CPU samples were lost.", pidA)}, "", ""},
		{"an older driver", []string{diagnosticRow(2, "Installed CUDA driver version (13.2) is not supported by this "+
			"build of Nsight Systems. CUDA trace will be collected using libraries for driver version 12.8", pidA)}, "",
			"update nsys"},
		{"the same words as information", []string{diagnosticRow(1, "Import failed is what this is not", pidA)}, "",
			""},
		{"annotations", []string{
			diagnosticRow(2, "28 NVTX annotations were discarded because they contained an invalid string handle.",
				pidA),
			diagnosticRow(2, "3 NVTX annotations were discarded because they contained an invalid string handle.",
				pidB)},
			"", "some ranges are missing"},
		{"an error", []string{diagnosticRow(3, "GPU metrics: /home/someone cannot be read", pidA)},
			"", "nsys reported 1 errors"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, rows := range [][]string{c.rows, reversed(c.rows)} {
				file := build(t, with(rows...)...)
				if c.refused != "" {
					refused(t, file, c.refused, c.warning)
					continue
				}
				traces, err := Read(t.Context(), file)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range traces {
					if all := strings.Join(x.Warnings, "\n"); (c.warning == "") != (all == "") ||
						!strings.Contains(all, c.warning) || len(x.Warnings) > 1 || strings.Contains(all, "someone") {
						t.Errorf("warnings %q, want one that says %q", x.Warnings, c.warning)
					}
				}
			}
		})
	}
}

func reversed(rows []string) []string {
	rows = slices.Clone(rows)
	slices.Reverse(rows)
	return rows
}

// Programs with OpenACC or OpenMP produce many events, and nsys keeps a quarter: with a kernel to every launch, nothing
// is lost.
func TestFewKept(t *testing.T) {
	events := []string{
		"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL",
		diagnosticRow(1, "Number of CUDA events collected: \t1360.", pidA),
		diagnosticRow(1, "Number of CUPTI events produced: \t7641, CUPTI buffers: 50.", pidA),
	}
	const launch = 3
	for _, c := range []struct {
		name string
		rows []string
		key  model.Kind
	}{
		{"every launch has its kernel", []string{kernelRows(6, ""), callRows(6, launch, 0, "")}, ""},
		{"one launch has none", []string{kernelRows(6, "i < 5"), callRows(6, launch, 0, "")}, "records-lost"},
		{"one kernel has no launch", []string{kernelRows(6, ""), callRows(6, launch, 0, "i < 5")}, "records-lost"},
		{"no launches were traced", []string{kernelRows(6, "")}, "records-lost"},
		{"no kernels", []string{callRows(6, launch, 0, "")}, "records-lost"},
		{"neither", nil, "records-lost"},
	} {
		for _, more := range []string{"SELECT 1", "DELETE FROM StringIds WHERE value GLOB 'cu*Profiler*'"} {
			t.Run(c.name, func(t *testing.T) {
				file := build(t, with(slices.Concat(events, c.rows, []string{more})...)...)
				if c.key != "" {
					refused(t, file, c.key, "only 1360 of the 7641 CUDA events")
				} else if traces, err := Read(t.Context(), file); err != nil || len(traces[0].Launches) != 6 ||
					len(traces[0].Warnings) > 0 {
					t.Errorf("%v, %+v", err, traces)
				}
			})
		}
	}
}
