package cli

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/nsysrun"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
)

// TestMain runs the children of nsgate, which measurements start from this executable.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == run.RunnerArg {
		os.Exit(run.RunnerMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// traced notes the functions of nsgate and cobra that lead to the start of the profiler.
type traced struct {
	nsysrun.Nsys
	frames *[]string
}

func (t traced) Commands(task profiler.Task) [][]string {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // the caller of the plan's commands
	*t.frames = nil
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "github.com/") {
			*t.frames = append(*t.frames, f.Function)
		}
	}
	return t.Nsys.Commands(task)
}

// TestFrames bounds the functions between main and the start of the profiler, so that a reader can follow a
// measurement.
func TestFrames(t *testing.T) {
	const most = 14
	var frames []string
	usual := tools.Profilers
	tools.Profilers = []profiler.Profiler{traced{frames: &frames}}
	defer func() { tools.Profilers = usual }()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "with/default"),
		os.DirFS("../../../testdata/h200/sessions/kernels-b")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, flags := range map[string][]string{
		"without a baseline": nil,
		"with a baseline":    {"--baseline", "with"},
		"with a base build":  {"--base-cmd", "true"},
	} {
		line := slices.Concat([]string{"check", "--runs", "2", "--nsys", "true"}, flags, []string{"--", "true"})
		Main(t.Context(), line, Streams{Out: io.Discard, Err: io.Discard})
		if len(frames) < 5 || !strings.HasSuffix(frames[0], ".Plan.record") {
			t.Fatalf("%s: the profiler was not started by %q", name, frames)
		}
		frames = frames[:len(frames)-1] // without this test, and with the callers of Main in the binary
		frames = append(frames, "gate/command.Main", "main.main")
		if len(frames) > most {
			t.Errorf("%s: %d functions lead to the profiler, more than %d:\n%s", name, len(frames), most,
				strings.Join(frames, "\n"))
		}
		t.Logf("%s: %d functions", name, len(frames))
		frames = nil
	}
}
