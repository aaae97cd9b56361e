//go:build linux

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/device"
)

// opened is a GPU of which programs open a file.
type opened struct {
	device.Tool
	file string
}

func (o opened) File() string { return o.file }

// overlapping prepares a session of a program that takes start, opens the GPU and then works; each writes to the log what it
// does.
func overlapping(t *testing.T, runs, unprofiled int, script string) (p Plan, log func() []string) {
	t.Helper()
	dir := t.TempDir()
	gpu, file := filepath.Join(dir, "gpu"), filepath.Join(dir, "log")
	if err := os.WriteFile(gpu, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p = session(t, runs, "sh", "-c", script)
	p.Device, p.Unprofiled, p.Starts = opened{p.Device, gpu}, unprofiled, 8
	t.Setenv("GPU_FILE", gpu)
	t.Setenv("LOG", file)
	return p, func() []string {
		text, _ := os.ReadFile(file)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// startScript is a program that opens the GPU after a while. All but the first then wait until they have been stopped and
// continued, however late that is.
const startScript = `trap 'held=1' CONT; echo start >>$LOG; sleep 0.3; exec 9<$GPU_FILE
	mkdir $LOG.first 2>/dev/null && held=1; until [ "$held" ]; do sleep 0.02; done; echo go $$ >>$LOG; sleep 0.05; echo end $$ >>$LOG`

// All runs but the first start at the same time, and go on one after the other in the order of the schedule.
func TestStarts(t *testing.T) {
	p, log := overlapping(t, 3, 3, startScript)
	res, err := Session(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, r := range res.Runs {
		if i < 2 {
			want = append(want, slices.Repeat([]string{"start"}, []int{1, 5}[i])...)
		}
		want = append(want, fmt.Sprintf("go %d", r.Pid), fmt.Sprintf("end %d", r.Pid))
		if (r.Held != nil) != (i > 0) || r.Left != 0 {
			t.Errorf("run %d: held %+v, left %d", i+1, r.Held, r.Left)
		}
		if r.Duration < 300*time.Millisecond || r.Held != nil && r.Duration > r.Held.Spent+r.end().Sub(r.Start) {
			t.Errorf("run %d took %v", i+1, r.Duration)
		}
		if i > 0 && r.Start.Before(res.Runs[i-1].end()) {
			t.Errorf("run %d began at %v, before the end of the one before", i+1, r.Start)
		}
		for _, tr := range res.Traces[i] {
			if tr.Overlapped != (i > 0) {
				t.Errorf("run %d: overlapped %v", i+1, tr.Overlapped)
			}
		}
	}
	if d := cmp.Diff(want, log()); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	first := res.Runs[0]
	if first.Opened < 300*time.Millisecond || first.Memory < 100<<10 || first.Together != 8 {
		t.Errorf("the first run: %+v", first)
	}
	if in := res.InRuns(); in < time.Second || in > res.Elapsed {
		t.Errorf("%v in runs", in)
	}
	if res.Base != nil || len(res.Head) != 3 || !res.Head[0].Overlapped {
		t.Errorf("unprofiled runs: %+v", res.Head)
	}
}
