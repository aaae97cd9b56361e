package bisect

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// of is a finding of a metric, slower and gating.
func of(scope measure.Scope, kernel, metric string) result.Finding {
	return result.Finding{Scope: scope, Kernel: kernel, Name: kernel, Metric: metric, Outcome: result.Slower,
		Gates: true, Change: 0.1, Low: 0.05, High: 0.15}
}

// Followed is the slower finding that was asked for, else the program's, else the first of a part.
func TestChoose(t *testing.T) {
	saxpy, gemm := of(measure.ScopeKernel, "saxpy", "time"), of(measure.ScopeKernel, "gemm", "time")
	step, kept, warned := of(measure.ScopeWorkload, "", "step_time"), gemm, gemm
	kept.Outcome, warned.Gates = result.WithinLimit, false
	for _, c := range []struct {
		what    string
		asked   Bisect
		of      []result.Finding
		want    string
		nearest int
	}{
		{"worst part", Bisect{}, []result.Finding{saxpy, gemm}, "saxpy time", 0},
		{"program first", Bisect{}, []result.Finding{saxpy, step, gemm}, " step_time", 1},
		{"kernel", Bisect{Kernel: "gemm"}, []result.Finding{saxpy, step, gemm}, "gemm time", 1},
		{"kernel that only warns", Bisect{Kernel: "gemm"}, []result.Finding{saxpy, warned}, "gemm time", 1},
		{"warns", Bisect{}, []result.Finding{warned}, "", 0}, {"kept", Bisect{}, []result.Finding{kept}, "", 0},
		{"metric", Bisect{Metric: "step_time"}, []result.Finding{saxpy, step}, " step_time", 1},
		{"kept kernel", Bisect{Kernel: "gemm"}, []result.Finding{saxpy, kept}, "", 1},
	} {
		got := ""
		if f := c.asked.choose(c.of); f != nil {
			got = f.Kernel + " " + f.Metric
		}
		if near := c.asked.near(&result.Report{Findings: c.of}); got != c.want || len(near) != c.nearest {
			t.Errorf("%s: %q of %d, want %q of %d", c.what, got, len(near), c.want, c.nearest)
		}
	}
	r := &result.Report{Findings: []result.Finding{saxpy, gemm, saxpy}}
	for kernel, want := range map[string]string{"sgemm": `neither end has a kernel "sgemm"; they have gemm, saxpy`,
		"gemm": "measured are time"} {
		if err := (&Bisect{Kernel: kernel}).unknown(r); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kernel, err)
		}
	}
}

// A commit without the finding is skipped, one that is too noisy says by how much.
func TestUnread(t *testing.T) {
	b := &bisection{Bisect: &Bisect{}, out: &history.Bisection{Followed: &result.Finding{Kernel: "saxpy"}}}
	near, far := &history.Reading{Low: -0.01, High: 0.02}, &history.Reading{Low: -0.5, High: 0.5}
	for want, x := range map[string]known{
		"saxpy is not in it": {},
		"too noisy to tell: between -1 % and +2 % against the good end, between -50 % and +50 % against the bad one": {
			FromGood: near, FromBad: far},
		"too noisy to tell: between -50 % and +50 %": {FromBad: far},
	} {
		if got := b.unread(&x); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, list := range map[string][]int{"[3 6 12]": {3}, "[2 3 5 10 20]": {2, 3, 5}} {
		if got := (&Bisect{Looks: list}).looks(); len(got) != strings.Count(want, " ")+1 || got[len(got)-1] !=
			4*list[len(list)-1] {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

// A finding shows the change where its interval lies on one side of nothing; every commit is listed with its reading.
func TestShown(t *testing.T) {
	followed := of(measure.ScopeKernel, "saxpy", "time")
	b := &bisection{Bisect: &Bisect{}, names: names(&followed), out: &history.Bisection{Followed: &followed}}
	unsure, faster := followed, followed
	unsure.Low, faster.Low, faster.High = -0.05, -0.2, -0.1
	for what, c := range map[string]struct {
		of   []result.Finding
		want bool
	}{"slower": {[]result.Finding{followed}, true}, "unsure": {[]result.Finding{unsure}, false},
		"faster": {[]result.Finding{faster}, true}, "gone": {nil, false}} {
		if got := b.shows(c.of); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	for i := range 5 {
		b.line = append(b.line, history.Commit{ID: strings.Repeat(string(rune('a'+i)), 40)})
	}
	whole := history.Reading{Change: 0.1, Low: 0.09, High: 0.11}
	none := history.Reading{Change: 0, Low: -0.01, High: 0.01}
	b.search = history.NewSearch(4, whole)
	b.state.Readings = map[string]known{}
	for i := range 3 {
		reading := none
		if i > 0 {
			reading = whole
		}
		b.state.Readings[b.line[i+1].ID] = known{Reading: reading}
		if err := b.read(t.Context(), i+1); err != nil {
			t.Fatal(err)
		}
	}
	b.state.Readings[b.line[3].ID] = known{Skipped: "does not build"}
	if err := b.read(t.Context(), 3); err != nil || !b.search.Skipped[3] {
		t.Errorf("a commit that does not build is not skipped: %v", err)
	}
	b.fill()
	if len(b.out.Commits) != 4 || b.out.Commits[2].Skipped != "does not build" || b.out.Commits[0].Nearer != "good" ||
		b.out.Commits[1].Nearer != "bad" {
		t.Errorf("%+v", b.out.Commits)
	}
	if len(b.out.Culprits) != 1 || b.out.Culprits[0].Commits[0].ID != b.line[2].ID {
		t.Errorf("culprits %+v", b.out.Culprits)
	}
	b.until = time.Now().Add(-time.Second)
	if err := b.read(t.Context(), 4); err != errTime {
		t.Errorf("beyond the longest time: %v", err)
	}
	if err := b.confirm(t.Context()); err != errTime {
		t.Errorf("a culprit is measured beyond the longest time: %v", err)
	}
}

// repository makes commits with these subjects in a directory of their own, and changes into it.
func repository(t *testing.T, subjects ...string) {
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	call := func(args ...string) {
		c := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@b", "-c",
			"commit.gpgsign=false"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	call("init", "-q")
	for _, s := range subjects {
		call("commit", "-q", "--allow-empty", "-m", s)
	}
}

// The line is that of first parents from the good end to the bad one; ends that have none are the caller's mistake.
func TestFindLine(t *testing.T) {
	repository(t, "one", "two", "three", "four")
	search := func(good, bad string) (*bisection, error) {
		b := &bisection{Bisect: &Bisect{Good: good, Bad: bad, Looks: []int{3},
			Job: app.Job{Live: &app.Live{}, Policy: thresholds.Default().For("")}}, out: &history.Bisection{}}
		return b, b.findLine(t.Context())
	}
	b, err := search("HEAD~2", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, c := range b.line {
		subjects = append(subjects, c.Subject)
	}
	if !slices.Equal(subjects, []string{"two", "three", "four"}) || b.out.Good.Subject != "two" ||
		b.out.Bad.Subject != "four" || b.line[1].Author != "A" || b.line[1].Date.IsZero() {
		t.Errorf("%+v", b.line)
	}
	for ends, want := range map[[2]string]string{{"HEAD", "HEAD~2"}: "is no ancestor of",
		{"HEAD", "HEAD"}: "same commit", {"nowhere", "HEAD"}: "nowhere"} {
		if _, err := search(ends[0], ends[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", ends, err, want)
		}
	}
	b.state.Readings[b.line[1].ID] = known{Skipped: "does not build"}
	b.state.Ends = &result.Report{Findings: []result.Finding{}}
	if err := b.state.write(); err != nil {
		t.Fatal(err)
	}
	again, err := search("HEAD~2", "HEAD")
	if err != nil || again.state.Readings[b.line[1].ID].Skipped != "does not build" {
		t.Errorf("an interrupted search starts anew: %+v, %v", again.state, err)
	}
	other, err := search("HEAD~3", "HEAD")
	if err != nil || len(other.state.Readings) > 0 || filepath.Base(other.state.file) != "nsgate-bisect.json" {
		t.Errorf("another search goes on with it: %+v, %v", other.state, err)
	}
	if again.state.took() < b.state.Seconds {
		t.Error("the time before the interruption is forgotten")
	}
	again.Kernel = "saxpy" // which the ends lack
	if err := again.prove(t.Context()); err != nil || again.out.Followed != nil {
		t.Errorf("ends without findings: %v", err)
	}
	slower := of(measure.ScopeWorkload, "", "step_time")
	again.Kernel, again.state.Ends = "", &result.Report{Findings: []result.Finding{slower}}
	if err := again.prove(t.Context()); err != nil || again.out.Followed == nil || again.search == nil {
		t.Errorf("ends that differ: %v, %+v", err, again.out)
	}
	again.Kernel = "saxpy"
	if err := again.prove(t.Context()); err == nil || !strings.Contains(err.Error(), `a kernel "saxpy"`) {
		t.Errorf("a kernel that the ends lack: %v", err)
	}
}

// Ends that do not build give a report that says so, and a commit between them that does not is skipped: with all that
// was known of it, the search goes on.
func TestRun(t *testing.T) {
	repository(t, "one", "two", "three")
	c := Bisect{Good: "HEAD~2", Bad: "HEAD", Script: "exit 3", Looks: []int{2}, MaxTime: time.Hour,
		Build: app.Build{Command: []string{"true"}},
		Job:   app.Job{Live: &app.Live{}, Policy: thresholds.Default().For("")}}
	out, err := c.Run(t.Context())
	if err != nil || out.Ends == nil || out.Ends.Verdict != result.NoVerdict || !out.Complete ||
		!strings.Contains(out.Ends.Reason, "exit") || len(out.Commits) != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	slower := of(measure.ScopeWorkload, "", "step_time")
	b := &bisection{Bisect: &c, names: names(&slower), out: &history.Bisection{Followed: &slower}}
	if err := b.findLine(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.search = history.NewSearch(2, reading(&slower))
	if err := b.read(t.Context(), 1); err != nil || !b.search.Skipped[1] {
		t.Errorf("a commit that does not build: %v, %+v", err, b.state.Readings)
	}
	if kept := readState(t.Context(), b.state.Key); !strings.Contains(kept.Readings[b.line[1].ID].Skipped, "exit") {
		t.Errorf("kept are %+v", kept.Readings)
	}
	if err := b.confirm(t.Context()); err != nil || len(b.out.Culprits) != 1 ||
		b.out.Culprits[0].Report.Verdict != result.NoVerdict || b.out.Culprits[0].Refuted {
		t.Errorf("%v, %+v", err, b.out.Culprits)
	}
	c.Bad = c.Good
	if _, err := c.Run(t.Context()); err == nil {
		t.Error("a search between one commit")
	}
}
