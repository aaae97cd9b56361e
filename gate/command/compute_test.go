package command_test

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestNumbersCompute reads the JSON of comparisons of every recording back: the change of each finding is the ratio of its values.
func TestNumbersCompute(t *testing.T) {
	const recordings = "../../testdata/h200"
	heads, err := filepath.Glob(recordings + "/kernels/*")
	if err != nil || len(heads) < 5 {
		t.Fatalf("%d recordings: %v", len(heads), err)
	}
	pairs := [][2]string{}
	for _, head := range heads {
		pairs = append(pairs, [2]string{recordings + "/kernels/base", head})
	}
	for _, group := range [][]string{{"kernels-a", "kernels-b", "kernels-batches", "kernels-e", "saxpy-102-a", "softmax-103-a"},
		{"transformer-b", "transformer-e", "unfused-norm-b"}, {"ddp", "ddp-slow1"}} {
		for _, head := range group[1:] {
			pairs = append(pairs, [2]string{recordings + "/sessions/" + group[0] + "/nvidia-h200", recordings + "/sessions/" + head + "/nvidia-h200"})
		}
	}
	for _, p := range pairs {
		t.Run(strings.TrimPrefix(p[1], recordings+"/"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("nsgate", "compare", "--format", "json", p[0], p[1])
			out, err := cmd.Output()
			if len(out) == 0 {
				t.Fatal(err)
			}
			var r result.Report
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Findings) == 0 {
				t.Errorf("%s: %s: no findings", r.Verdict, r.Reason)
			}
			for _, f := range r.Findings {
				if got := f.Head/f.Base - 1; f.Change.Known() && math.Abs(float64(got-f.Change)) > 1e-9 {
					t.Errorf("%s %s: %v → %v is %+.6f, and the change is %+.6f", f.Kernel, f.Metric, f.Base, f.Head, float64(got), float64(f.Change))
				}
				if f.Change.Known() && f.Low.Known() && f.High.Known() && !(f.Low <= f.Change+1e-12 && f.Change <= f.High+1e-12) {
					t.Errorf("%s %s: the change %v is not in its interval %v … %v", f.Kernel, f.Metric, f.Change, f.Low, f.High)
				}
			}
			if r.Detects == nil {
				t.Error("nothing says what is detected")
			}
		})
	}
}
