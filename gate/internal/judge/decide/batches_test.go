package decide_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// batchSessions are 37 sessions of five runs of one program, unchanged, on one idle H200 within five and a half
// minutes.
func batchSessions(t testing.TB) []model.Session {
	t.Helper()
	b, err := baseline.Open("../../../../testdata/h200/sessions/kernels-batches/nvidia-h200",
		(*baseline.Baseline).ReadAll)
	if err != nil {
		t.Fatal(err)
	}
	sessions := b.All()
	if len(sessions) != 37 {
		t.Fatalf("%d batches", len(sessions))
	}
	return sessions
}

// betweenBatches counts the outcomes of gates that compare one batch with a later one.
func betweenBatches(sessions []model.Session, limit float64, from, to time.Duration) (gates, failed, undecided int) {
	p := thresholds.Default()
	p.Threshold = limit
	for i := range sessions {
		for j := range sessions {
			gap := sessions[j].Start.Sub(sessions[i].Start)
			if gap <= 0 || gap <= from || gap > to {
				continue
			}
			r := compareSides(sessions[i:i+1], sessions[j:j+1], p)
			gates++
			switch {
			case r.Verdict == result.Fail:
				failed++
			case r.Undecided || r.Verdict == result.NoVerdict:
				undecided++
			}
		}
	}
	return gates, failed, undecided
}

// Unchanged batches on one GPU raise no false alarm, however many minutes lie between them.
func TestBatches(t *testing.T) {
	t.Parallel()
	sessions := batchSessions(t)
	if !full() {
		sessions = sessions[len(sessions)-15:]
	}
	for _, limit := range []float64{0.01, 0.03} {
		gates, failed, _ := betweenBatches(sessions, limit, 0, time.Hour)
		if gates < 100 || failed > gates/200 {
			t.Errorf("at %v %d of %d unchanged gates failed", limit, failed, gates)
		}
	}
}

// BenchmarkBatches prints the same by the time between the batches.
func BenchmarkBatches(b *testing.B) {
	sessions := batchSessions(b)
	for range b.N {
		fmt.Println("\n| limit | apart | gates | failed | undecided |\n| --- | --- | ---: | ---: | ---: |")
		for _, limit := range []float64{0.005, 0.01, 0.03} {
			for _, apart := range [][2]time.Duration{{0, 12 * time.Second}, {12 * time.Second, time.Minute},
				{time.Minute, 150 * time.Second}, {150 * time.Second, time.Hour}} {
				gates, failed, undecided := betweenBatches(sessions, limit, apart[0], apart[1])
				fmt.Printf("| %v %% | %v to %v | %d | %d | %d |\n", 100*limit, apart[0], apart[1], gates, failed,
					undecided)
			}
		}
	}
}
