package ncu_test

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
)

// The details page as ncu prints it without --csv is read like the CSV.
func TestPrintedPage(t *testing.T) {
	const page = `==PROF== Connected to process 4711 (/home/u/app)
step 1 done
==PROF== Disconnected from process 4711
[4711] app@127.0.0.1
  void saxpy<(int)4>(float *, "x") (1056, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    SM Frequency                    Ghz         1.60
    Duration                         us        81.47
    DRAM Throughput                   %        71.98
    ----------------------- ----------- ------------

    OPT   This kernel's memory throughput is fine.

    Section: Launch Statistics
    -------------------------------- --------------- ---------------
    Metric Name                          Metric Unit    Metric Value
    -------------------------------- --------------- ---------------
    Registers Per Thread             register/thread              16
    Threads                                   thread         270,336
    -------------------------------- --------------- ---------------

  reduce(int), 2020-Apr-29 12:00:00, Context 1, Stream 7
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    Duration                         ms         1.25
    ----------------------- ----------- ------------
`
	for name, text := range map[string]string{"plain": page, "Windows": strings.ReplaceAll(page, "\n", "\r\n")} {
		p, err := ncu.Read(strings.NewReader(text), "out.txt")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.Launches != 2 || p.Devices != 1 {
			t.Fatalf("%s: %+v", name, p)
		}
		a, b := records(p)[0], records(p)[1]
		want := measure.Subject{Scope: measure.ScopeKernel, Name: `void saxpy<4>(float *, "x")`,
			Grid: measure.Dim3{X: 1056, Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
		if a.Subject != want && a.Subject.Grid != want.Grid || a.Subject.Block != want.Block ||
			a.Subject.Short() != "saxpy" {
			t.Errorf("%s: %+v", name, a.Subject)
		}
		if a.Metrics["ncu_time"] != 81470 || a.Metrics["registers"] != 16 || a.Metrics["dram_throughput"] != 71.98 {
			t.Errorf("%s: %v", name, a.Metrics)
		}
		if b.Subject.Short() != "reduce" || b.Metrics["ncu_time"] != 1.25e6 {
			t.Errorf("%s: %+v %v", name, b.Subject, b.Metrics)
		}
	}
	if !ncu.Sniff([]byte(page)) {
		t.Error("is not recognised")
	}
}

// Values may be as wide as their column, units be those of 2021, and tables of charts stand behind the rules of a
// section.
func TestPrintedPageWide(t *testing.T) {
	const page = `  k(int, const float *) (32, 32, 1)x(32, 32, 1), Context 1, Stream 7, Device 0, CC 7.5
  
    Section: GPU Speed Of Light Throughput
    ----------------------- ------------- -------------
    Metric Name               Metric Unit  Metric Value
    ----------------------- ------------- -------------
    SM Frequency            cycle/usecond        584.99
    Duration                      msecond         96.32
    Waves Per SM                                  73.14
    SM Active Cycles                cycle 55,313,213.62
    ----------------------- ------------- -------------

    OPT   This kernel exhibits low throughput.

    GPU Throughput Chart
    Table Name : GPU Throughput
    ---------------- ----------- ------------
    Metric Name      Metric Unit Metric Value
    ---------------- ----------- ------------
    SM: Pipe                   %         1.00
    ---------------- ----------- ------------
`
	p, err := ncu.Read(strings.NewReader(page), "x.txt")
	if err != nil {
		t.Fatal(err)
	}
	if v := records(p)[0].Metrics[measure.ReplayTime.Name]; p.Launches != 1 || v != 96.32e6 {
		t.Errorf("%d launches of %v ns", p.Launches, v)
	}
	if v := records(p)[0].Metrics[measure.SMClock.Name]; v != 584.99e6 {
		t.Errorf("%v Hz", v)
	}
}
