//go:build linux

package command_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// growth is an input whose parts grow in number, and the command that reads it.
type growth struct {
	name  string
	least int // n; 2n and 4n are read as well
	write func(w *world, n int) (args []string)
}

var growths = []growth{
	{"kernel names", 1_000, func(w *world, n int) []string {
		for s, side := range []string{"base", "head"} {
			for run := range 2 {
				w.write(fmt.Sprintf("%s/%d_cuda_gpu_trace.csv", side, run), launchesOf(n, 1, 10_000+64*run+32*s))
			}
		}
		return []string{"compare", "base", "head"}
	}},
	{"kernel names of one side", 4_000, func(w *world, n int) []string {
		w.write("0_cuda_gpu_trace.csv", launchesOf(n, 1, 10_000))
		return []string{"show", "0_cuda_gpu_trace.csv"}
	}},
	{"devices", 16, func(w *world, n int) []string {
		w.write("0_cuda_gpu_trace.csv", launchesOf(100*n, n, 10_000))
		return []string{"show", "0_cuda_gpu_trace.csv"}
	}},
	{"sessions of a baseline", 100, func(w *world, n int) []string {
		w.run(0, "nsgate", "record", "--workload", "k", "--from", w.get("KERNELS")+"/base", "--anchor", "--reason",
			"first")
		recorded, err := filepath.Glob(filepath.Join(w.work, ".nsgate/k/nvidia-h200/*.csv"))
		if err != nil || len(recorded) != 1 {
			w.Fatal(recorded, err)
		}
		session, err := os.ReadFile(recorded[0])
		if err != nil {
			w.Fatal(err)
		}
		for i := range n {
			at := time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
			text := recordedAt.ReplaceAllString(string(session), "session,,start,"+at.Format(time.RFC3339)+",")
			sum := sha256.Sum256([]byte(text))
			w.write(fmt.Sprintf(".nsgate/k/nvidia-h200/%s-%x.csv", at.Format("20060102T1504"), sum[:4]), text)
		}
		return []string{"history", "--workload", "k"}
	}},
	{"slower ranges of a baseline", 2_000, func(w *world, n int) []string {
		return w.sides(n, "range,r%d,gpu_time,%d*5,ns,,\n")
	}},
	{"ranges whose names begin alike", 400, func(w *world, n int) []string {
		return append(w.sides(n, "range,"+strings.Repeat("r", 300)+"%d,gpu_time,%d*5,ns,,\n"), "--format", "html")
	}},
	{"rules", 450, func(w *world, n int) []string {
		var rules strings.Builder
		for i := range n {
			fmt.Fprintf(&rules, "[[rule]]\nkernel = \"k%d_*\"\nmax = \"4%%\"\n", i)
		}
		w.write("nsgate.toml", rules.String())
		return []string{"compare", w.get("KERNELS") + "/base", w.get("KERNELS") + "/unchanged"}
	}},
	{"symbols of device code", 40_000, func(w *world, n int) []string {
		w.write("k.cubin", string(exporttest.Cubin(n, 1<<16)))
		return []string{"show", "k.cubin"}
	}},
}

// sides are arguments of compare for two sessions of a baseline with n more rows, of 1 ns in the base and 3 ns in the
// head.
func (w *world) sides(n int, row string) []string {
	w.run(0, "nsgate", "record", "--workload", "k", "--from", w.get("KERNELS")+"/base")
	recorded, err := filepath.Glob(filepath.Join(w.work, ".nsgate/k/nvidia-h200/*.csv"))
	if err != nil || len(recorded) != 1 {
		w.Fatal(recorded, err)
	}
	session, err := os.ReadFile(recorded[0])
	if err != nil {
		w.Fatal(err)
	}
	for side, value := range map[string]int{"base": 1, "head": 3} {
		text := string(session)
		for i := range n {
			text += fmt.Sprintf(row, i, value)
		}
		sum := sha256.Sum256([]byte(text))
		w.write(fmt.Sprintf("%s/k/nvidia-h200/20261121T0150-%x.csv", side, sum[:4]), text)
	}
	return []string{"compare", "base/k/nvidia-h200", "head/k/nvidia-h200"}
}

var recordedAt = regexp.MustCompile(`(?m)^session,,start,[^,]*,`)

// launchesOf is a trace of nsys stats: three launches of each of n kernels on a number of devices in turn, each of the
// duration in ns.
func launchesOf(n, devices, duration int) string {
	var b strings.Builder
	b.WriteString("Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem " +
		"(MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n")
	for i := range 3 * n {
		fmt.Fprintf(&b, "%d,%d,%d,1,1,1,32,1,1,16,0.000,0.000,,,,,NVIDIA H200 (%d),%d,,7,\"k%d_(float *)\"\n",
			10_000+40_000*i, duration, i+1, i%devices, i%devices+1, i%n)
	}
	return b.String()
}

func (w *world) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.work, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// TestGrowth wants that the cost of names, devices, sessions, rules and symbols grows with their number. The cost is
// the processor time of nsgate and its children on one core, less that of an input of one part. That of 4n parts is at
// most mostGrowth times that of n: n log n is below 5, a quadratic cost 16. The smallest of some tries counts, because
// other programs on the machine slow a process down and never speed it up.
func TestGrowth(t *testing.T) {
	if !full() {
		t.Skip("NSGATE_TEST_FULL=1, as in .ci/run, measures how the cost grows")
	}
	const mostGrowth, noise, tries = 9, 50 * time.Millisecond, 6
	for _, g := range growths {
		t.Run(g.name, func(t *testing.T) {
			sizes := []int{1, g.least, 2 * g.least, 4 * g.least}
			least := []time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}
			for range tries {
				for _, i := range []int{0, 1, 2, 3, 1, 0} { // a high cost of n hides growth
					w := newWorld(t)
					w.set("GOMAXPROCS", "1")
					used := w.run(0, "nsgate", g.write(w, sizes[i])...).cmd.ProcessState
					least[i] = min(least[i], used.UserTime()+used.SystemTime())
				}
				if least[3]-least[0] <= mostGrowth*(least[1]-least[0])+noise {
					t.Logf("%v of 1, n, 2n and 4n, where n is %d", least, g.least)
					return
				}
			}
			t.Errorf("%v of processor time of 1, n, 2n and 4n, where n is %d: more than n log n", least, g.least)
		})
	}
}
