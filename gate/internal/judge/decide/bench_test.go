package decide_test

import (
	"fmt"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// BenchmarkEvaluate judges sessions of many kernels.
func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n, " kernels"), func(b *testing.B) {
			p := quiet()
			for i := range n {
				p.kernels = append(p.kernels, madeUp{name: fmt.Sprintf("kernel<%d>", i), time: 5000, launches: 3,
					role: "step"})
			}
			base := []model.Session{p.session()}
			head := []model.Session{p.with(func(p *program) { p.kernels = p.kernels[:len(p.kernels)-n/10] }).session()}
			for b.Loop() {
				compareSides(base, head, thresholds.Default())
			}
		})
	}
}
