package app_test

import (
	"context"
	"fmt"
	"log"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Two directories of profiles, judged from a Go program.
func Example() {
	r, err := app.Compare{
		Base:   "../../../testdata/h200/kernels/base",
		Head:   "../../../testdata/h200/kernels/saxpy_1.05",
		Policy: thresholds.Default().For(""),
	}.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Verdict)
	for _, f := range r.Findings {
		if f.Outcome == result.Slower && f.Gates {
			fmt.Printf("%s %s is %.1f %% slower\n", f.Kernel, f.Metric, 100*f.Change)
		}
	}
	// Output:
	// fail
	// saxpy time is 4.8 % slower
	// saxpy total is 4.8 % slower
}

// replay is a Measurer that takes its runs from a recording: what a test of one's own CI does without a GPU.
type replay struct{ app.Saved }

func (m *replay) Measure(ctx context.Context, runs int, base *app.Build) (*app.Measurement, error) {
	r, err := profile.Tools{}.Open(ctx, m.Path)
	if err != nil {
		return nil, err
	}
	r.Traces = r.Traces[:runs]
	return &app.Measurement{Head: *r}, nil
}

// A check against a committed baseline, with a Measurer of one's own.
func ExampleCheck() {
	ctx := context.Background()
	recorded, err := profile.Tools{}.Open(ctx, "../../../testdata/h200/kernels/base")
	if err != nil {
		log.Fatal(err)
	}
	sides, err := profile.Cut(profile.Rule{}, recorded)
	if err != nil {
		log.Fatal(err)
	}
	c := &app.Check{
		Job: app.Job{
			Workload:  "kernels",
			Live:      &app.Live{},
			Measurer:  &replay{app.Saved{Path: "../../../testdata/h200/kernels/unchanged"}},
			Baselines: app.Baselines{{Dir: ".nsgate/kernels/nvidia-h200", Sessions: sides[0]}},
			Policy:    thresholds.Default().For(""),
		},
		Looks: []int{5},
	}
	r, err := c.Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Verdict, r.Head.Runs, "runs of", r.Workload)
	// Output: pass 5 runs of kernels
}
