package history

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// ofHost is the variance of a host's effect by that of a session's: of memory-bound kernels on the two kinds of H200
// host 0.8 %, where sessions are expected to differ by 0.5 %.
const ofHost = 2.5

func sameHost(a, b *model.Session) bool { return a.GPUHash != "" && a.GPUHash == b.GPUHash }

// innovations are the prediction errors of each session from the sessions before it, in standard deviations, and
// independent (Brown, Durbin and Evans 1975). The changes from the anchor are correlated by its error and those of
// hosts, which a Kalman filter with a constant state estimates (Kalman 1960).
func (x *path) innovations(changes []float64, sessions []model.Session, sd float64) []float64 {
	own := func(i int) float64 { return sd*sd + x.run.S2/x.runs[i] }
	ofHost := ofHost * sd * sd
	visits := map[string]int{}
	for _, at := range x.at {
		visits[sessions[at].GPUHash]++
	}
	// The unknowns: the anchor's own error, that of its host, and those of the hosts that come again.
	variances, place := []float64{own(0), ofHost}, map[string]int{}
	of := make([][]int, len(changes)) // the unknowns that are in a change
	noise := make([]float64, len(changes))
	for i := range changes {
		session := &sessions[x.at[i+1]]
		noise[i] = own(i + 1)
		if sameHost(session, &sessions[x.at[0]]) {
			of[i] = []int{0}
			continue
		}
		of[i] = []int{0, 1}
		host := session.GPUHash
		if host == "" || visits[host] == 1 {
			noise[i] += ofHost
			continue
		}
		if place[host] == 0 {
			place[host] = len(variances)
			variances = append(variances, ofHost)
		}
		of[i] = append(of[i], place[host])
	}
	mean, covariance := make([]float64, len(variances)), make([][]float64, len(variances))
	for k, v := range variances {
		covariance[k] = make([]float64, len(variances))
		covariance[k][k] = v
	}
	out, with := make([]float64, len(changes)), make([]float64, len(variances))
	for i, change := range changes {
		surprise, variance := change, noise[i]
		clear(with) // the covariance of the unknowns with the change
		for _, k := range of[i] {
			surprise -= mean[k]
			for j := range with {
				with[j] += covariance[k][j]
			}
		}
		for _, k := range of[i] {
			variance += with[k]
		}
		out[i] = surprise / math.Sqrt(variance)
		for j, v := range with {
			mean[j] += v * surprise / variance
			for k := range j + 1 {
				c := covariance[j][k] - v*with[k]/variance
				covariance[j][k], covariance[k][j] = c, c
			}
		}
	}
	return out
}

// path is how long a subject took from the anchor to the head.
type path struct {
	subject measure.Subject
	metric  measure.Metric
	limit   thresholds.Limit
	share   float64
	floor   float64 // largest change in ns that is no finding
	at      []int   // the sessions that have it, the anchor first
	times   []float64
	runs    []float64 // number of runs of each time
	base    float64   // ns in the anchor
	run     stats.Variance
	// Of the head against the anchor on the log scale: the change, half of its interval, and the part of the last step.
	change, margin, step float64
	accepted             float64 // the largest accepted step
	// The probabilities of such a change from the anchor, and of such a sum of steps, without a change.
	beyondChance, addsUp float64
}
