package trace

import (
	"cmp"
	"math"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

type key struct {
	subject measure.Subject
	metric  string
}

// table collects series run by run; what a run does not set stays NaN.
type table struct {
	runs  int
	rows  map[key]*model.Series
	exact bool // not rounded yet: they are changed, or merged
}

func newTable(runs int) table {
	return table{runs: runs, rows: map[key]*model.Series{}}
}

func (t *table) set(run int, subject measure.Subject, metric measure.Metric, value float64) *model.Series {
	k := key{subject, metric.Name}
	row := t.rows[k]
	if row == nil {
		row = &model.Series{Subject: subject, Metric: metric, Values: make(model.Values, t.runs)}
		for i := range row.Values {
			row.Values[i] = math.NaN()
		}
		t.rows[k] = row
	}
	if metric.Unit == "ns" && !t.exact {
		value = math.Round(value*1000) / 1000 // finer than any timer, and readable in a baseline
	}
	row.Values[run] = value
	return row
}

// add changes the value of a row that the run has.
func (t *table) add(run int, subject measure.Subject, metric measure.Metric, change float64) {
	if row := t.rows[key{subject, metric.Name}]; row != nil {
		t.set(run, subject, metric, row.Values[run]+change)
	}
}

func heaviest[K cmp.Ordered](weights map[K]float64) K {
	var best K
	most := math.Inf(-1)
	for k, w := range weights {
		if w > most || w == most && k < best {
			best, most = k, w
		}
	}
	return best
}

func largest(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	return most
}

// counted is a count of weighted cycles, without the error of their sum.
func counted(n float64) float64 { return math.Round(n*1e6) / 1e6 }

func sum(x []float64) float64 {
	return measure.Sum(x, func(v float64) float64 { return v })
}
