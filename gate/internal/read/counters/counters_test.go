package counters

import (
	"math"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// A kernel is found by its whole name, else by its short name with its geometry, else by its short name.
func TestFind(t *testing.T) {
	of := func(name string, x uint32) measure.Subject {
		return measure.Subject{Scope: measure.ScopeKernel, Name: name, Grid: measure.Dim3{X: x, Y: 1, Z: 1},
			Block: measure.Dim3{X: 32, Y: 1, Z: 1}}
	}
	p := Profile{}
	for i, s := range []measure.Subject{of("saxpy(float*)", 8), of("saxpy(float*)", 16), of("saxpy(int*)", 8),
		of("gemm(float*)", 4)} {
		p.Kernels = append(p.Kernels, Kernel{s, map[string][]float64{"registers": {float64(i)}}})
	}
	for _, c := range []struct {
		of   measure.Subject
		want []float64
	}{
		{of("saxpy(float*)", 16), []float64{1}}, {of("saxpy(double*)", 8), []float64{0, 2}},
		{of("saxpy(double*)", 99), []float64{0, 1, 2}}, {of("gemm", 99), []float64{3}}, {of("softmax", 4), nil},
	} {
		for range 2 { // with the index as without
			var got []float64
			for _, k := range p.Find(c.of) {
				got = append(got, k.Values["registers"]...)
			}
			if len(got) != len(c.want) {
				t.Fatalf("%v: %v, want %v", c.of, got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%v: %v, want %v", c.of, got, c.want)
				}
			}
		}
	}
}

// Of a session the counters are taken, without times, unknown values, and what no run has.
func TestKernels(t *testing.T) {
	s := measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy"}
	nan := math.NaN()
	raw := measure.Metric{Name: measure.RawPrefix + "sm__cycles.avg"}
	series := func(m measure.Metric, values ...float64) model.Series {
		return model.Series{Subject: s, Metric: m, Values: values}
	}
	got := Kernels(&model.Session{Series: []model.Series{series(measure.Registers, 32, nan, 40),
		series(measure.Time, 5, 5, 5),
		series(measure.DRAMThroughput, nan, nan, nan), series(measure.SMThroughput, 70, 71, 72), series(raw, 9, 9, 9)}})
	if k := got[s]; len(got) != 1 || len(k.Values) != 3 || len(k.Values["registers"]) != 2 ||
		k.Values["registers"][1] != 40 || len(k.Values[raw.Name]) != 3 || k.Subject != s {
		t.Errorf("%+v", got)
	}
	if got := Kernels(&model.Session{}); len(got) != 0 {
		t.Errorf("of no series %v", got)
	}
}
