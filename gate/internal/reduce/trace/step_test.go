package trace

import (
	"math"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// The main stream bounds the steps: not one that runs ahead, nor one that works in few steps; and all streams where
// each works in few.
func TestMainStream(t *testing.T) {
	steps := []model.Interval{{Start: 0, End: 9}, {Start: 10, End: 19}, {Start: 20, End: 29}}
	launch := func(stream int32, api, start, length int64) model.Launch {
		return model.Launch{Stream: stream, API: api, Start: start, End: start + length}
	}
	main := []model.Launch{launch(1, 1, 100, 50), launch(1, 11, 200, 50), launch(1, 21, 300, 50)}
	for name, c := range map[string]struct {
		launches []model.Launch
		copies   []model.Copy
		want     []int64
	}{
		"one stream": {launches: main, want: []int64{100, 200, 300}},
		"one runs ahead": {launches: append([]model.Launch{launch(2, 2, 90, 5), launch(2, 12, 95, 5),
			launch(2, 22, 99, 5)}, main...), want: []int64{100, 200, 300}},
		"copies run ahead": {launches: main, copies: []model.Copy{{Stream: 3, API: 12, Start: 30, End: 40},
			{Stream: 3, API: 22, Start: 50, End: 60}}, want: []int64{100, 200, 300}},
		"the busiest is rare": {launches: append([]model.Launch{launch(2, 2, 90, 900)}, main...),
			want: []int64{100, 200, 300}},
		"each works in few": {launches: []model.Launch{launch(1, 1, 100, 50), launch(2, 11, 200, 50),
			launch(3, 21, 300, 50)}, want: []int64{100, 200, 300}},
		"another device's work": {launches: append([]model.Launch{{Device: 1, API: 1, Start: 10, End: 990}}, main...),
			want: []int64{100, 200, 300}},
		"none": {want: []int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}},
	} {
		x := cut{Trace: &model.Trace{Kernels: make([]model.KernelInfo, 1)}, steps: steps, launches: c.launches,
			copies: c.copies}
		if got := x.mainStream(0, func(device int32) bool { return device == 0 }); !slices.Equal(got, c.want) {
			t.Errorf("%s: the steps begin at %v, want %v", name, got, c.want)
		}
	}
}
