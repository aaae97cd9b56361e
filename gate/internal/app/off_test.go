package app_test

import (
	"context"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// bumpy replays the runs of a recording one after the other, all kernels of the second a tenth slower.
type bumpy struct {
	app.Saved
	path  string
	asked []int
}

func (m *bumpy) Measure(ctx context.Context, runs int, _ *app.Build) (*app.Measurement, error) {
	r, err := profile.Tools{}.Open(ctx, m.path)
	if err != nil {
		return nil, err
	}
	from := 0
	for _, n := range m.asked {
		from += n
	}
	m.asked = append(m.asked, runs)
	for i, x := range r.Traces[1].Launches {
		r.Traces[1].Launches[i].End += (x.End - x.Start) / 10
	}
	r.Traces = r.Traces[from : from+runs]
	return &app.Measurement{Head: *r}, nil
}

// A run that is off as a whole is measured again, once, and stays in the report.
func TestRunsThatAreOff(t *testing.T) {
	recorded, err := profile.Tools{}.Open(t.Context(), "../../../testdata/h200/kernels/base")
	if err != nil {
		t.Fatal(err)
	}
	sides, err := profile.Cut(profile.Rule{}, recorded)
	if err != nil {
		t.Fatal(err)
	}
	m := &bumpy{path: "../../../testdata/h200/kernels/unchanged"}
	c := &app.Check{Job: app.Job{Measurer: m, Live: &app.Live{}, Baselines: app.Baselines{{Sessions: sides[0]}},
		Policy: thresholds.Default().For("")}, Looks: []int{4}}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != result.Pass || r.Undecided || len(r.OutlierRuns) != 1 || r.OutlierRuns[0].Side != "head" ||
		r.Head.Runs != 5 || !slices.Equal(m.asked, []int{4, 1}) {
		t.Errorf("%s (%s), off %+v, %d runs of the head, asked for %v", r.Verdict, r.Reason, r.OutlierRuns, r.Head.Runs,
			m.asked)
	}
}
