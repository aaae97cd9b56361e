package reason

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
)

var update = flag.Bool("update", false, "write testdata/sentences.txt")

// reasons lists every type of reason, and values whose words choose another sentence.
var reasons = []result.Reason{
	Slower{}, Undecided{}, NoneSlower{}, Workloads{}, RuleOfSteps{}, ChangedLines{}, NoChangedLines{}, NoLines{},
	RowsTogether{}, Drifting{}, Drifted{}, OverDrift{},
	Workloads{Open: []string{"a"}, All: 2}, Workloads{Undecided: []string{"a"}, All: 2}, Workloads{All: 2},
	Beyond{}, Beyond{Bound{By: "limit"}}, Within{Bound{By: "floor"}}, Within{Bound{By: "tick"}},
	Within{Bound{By: "run"}},
	Within{Bound{By: "count"}}, Better{}, Open{}, Uncertain{}, Uncertain{Overlap: true}, LikeHosts{}, MostRuns{},
	NotJudged{}, NotJudged{1, 2},
	FewSamples{},
	OutlierAsAWhole{}, OutlierAsAWhole{Side: "base"}, SingleRun{What: "step"}, SingleRun{What: "kernel"},
	SingleRun{What: "copies"}, SingleRun{What: "output"}, SingleRun{What: "benchmark"},
	HostDenied{}, OtherUnit{Times: 1000}, SlowRuns{}, SlowRuns{All: 5}, WithAll{}, Unbounded{}, BoundsKept{},
	BoundsKept{Bounds{AtLeast: result.Unknown}},
	BoundsKept{Bounds{AtMost: result.Unknown}}, BoundsBroken{}, BoundsBroken{Some: 1, All: 3},
	BoundsBroken{Some: 1, All: 1}, OneSided{},
	OneSided{Without: "both"}, Replaced{}, Replaced{Name: "saxpy"}, Replaces{}, Replaces{Name: "saxpy"},
	Matched{}, Matched{By: "role"}, Matched{By: "rest"}, Matched{By: "name"}, Matched{By: "choice"},
	Matched{By: "stem"}, WarnOnly{},
	UnderCost{}, Traded{}, Launched{}, OpenWhole{}, Excused{}, TwoLevels{Mode: "appeared"},
	TwoLevels{Mode: "disappeared"},
	TwoLevels{Mode: "share"}, TwoLevels{Mode: "both"}, Outlier{}, Outlier{Change: result.Unknown}, MoreRuns{},
	TooManyRuns{}, TooFine{},
	OtherBatch{}, NotReplayed{}, NotReplayed{Error: result.Unknown}, OtherHost{}, OtherHost{Hosts: "different"},
	OtherHost{Hosts: "times"},
	StepPart{}, StepPart{Class: "launch-starved"}, Calls{}, Attribute{}, Attribute{Unit: "per thread"}, Memory{},
	Geometry{}, Names{},
	Versions{}, Versions{What: "CUDA"}, OldBase{}, OtherCommand{}, Steps{}, LostLaunches{}, Regrouped{}, Repeats{},
	Repeats{Head: 3},
	OtherRepeats{},
	CommonShift{}, CommonShift{Hosts: "same"}, OutlierRun{}, OutlierValues{}, OutlierValues{Runs: []string{"1"}},
	ComparedSingle{}, Moved{},
	OutputDisagrees{}, StepsCover{}, LaunchRate{}, StartUp{}, SkipsMore{}, OtherCycle{}, OneStep{}, OnOneSide{},
	OnOneSide{Without: "base"},
	Omitted{}, SomeRuns{}, NeedsProfiler{Metric: "dram_bytes"}, RuleIdle{}, RuleIdle{Drift: true},
	RuleIdle{Rule: "--step-threshold"},
	RuleIdle{Floor: "1 KiB"},
	RuleIdle{Drift: true, Names: []string{"k"}},
	SameRuns{}, Looked{}, OnBoard{},
	OnBoard{Kept: 1},
	OtherBoard{}, UnknownGPU{},
	CodeLimit{}, CodeLimit{Base: result.Unknown}, CodeDiffers{}, CodeChanged{}, CodeOfKernel{}, CodeOfMore{},
	CodeChangedHere{}, SameCode{},
	NoChangedLines{Files: []string{"a.py"}, Elsewhere: []string{}, Launch: true},
	NoChangedLines{Files: []string{"a.py"}, Elsewhere: []string{}, Launch: true, Outside: true},
	NoChangedLines{Files: []string{"a.cu"}, Elsewhere: []string{}, Definition: true},
	SameCodeOfAll{}, OtherParts{New: []string{"exp"}}, OtherParts{Gone: []string{"erf"}}, OtherParts{},
	AddedOperation{},
	CountFromZero, CountsDiffer, FromZero, Gone, HostNamed, IncreasedCount, New, NoBaseValue, NoHeadValue, OneHost,
	OneRun, OutputDecides, Shorter, Unmeasured, Waiting, Zero, ZeroFloor,
}

// filled is a reason with a value in each field that has none: its name, 5 %, 2, two names, or so.
func filled(r result.Reason, so bool) result.Reason {
	out := reflect.New(reflect.TypeOf(r)).Elem()
	out.Set(reflect.ValueOf(r))
	for _, f := range reflect.VisibleFields(out.Type()) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		name := strings.ToLower(f.Name)
		switch to := out.FieldByIndex(f.Index); {
		case !to.IsZero():
		case to.Kind() == reflect.String:
			to.SetString(name)
		case to.Kind() == reflect.Bool:
			to.SetBool(so)
		case to.CanFloat():
			to.SetFloat(0.05)
		case to.CanInt():
			to.SetInt(2)
		case to.Kind() == reflect.Slice:
			to.Set(reflect.ValueOf([]string{name + " 1", name + " 2"}))
		}
	}
	return out.Interface().(result.Reason)
}

// TestSentences compares every sentence, with its arguments and without, with the file of sentences, and holds that the
// arguments of a reason come back from its remark.
func TestSentences(t *testing.T) {
	var b strings.Builder
	seen := map[string]bool{}
	for _, r := range reasons {
		for _, x := range []result.Reason{r, filled(r, false), filled(r, true)} {
			said := result.Say(x)
			seen[said.Key] = true
			if line := fmt.Sprintf("%s: %s\n", said.Key, said.Sentence); !strings.HasSuffix(b.String(), line) {
				b.WriteString(line)
			}
		}
	}
	for _, k := range result.Keys() {
		if !seen[k.Key] {
			t.Errorf("the reason %s is not in the list of this test", k.Key)
		}
	}
	const file = "testdata/sentences.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old, now := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range max(len(old), len(now)) {
		if i >= len(old) || i >= len(now) || old[i] != now[i] {
			t.Fatalf("line %d of %s differs; -update writes what the reasons say now:\n%q\n%q", i+1, file,
				old[min(i, len(old)-1)], now[min(i, len(now)-1)])
		}
	}
}

// A sentence with a count of one has the verb and noun of one.
func TestCountsOfOne(t *testing.T) {
	wrong := regexp.MustCompile(`\b1 (of \d+ \w+ (of the head )?)?(are|were|have|break)\b|` +
		`\b1 (steps|kernels|rows|launches|days)`)
	for _, r := range reasons {
		for _, all := range []int{1, 5} {
			one := reflect.New(reflect.TypeOf(r)).Elem()
			one.Set(reflect.ValueOf(filled(r, false)))
			for _, f := range reflect.VisibleFields(one.Type()) {
				to := one.FieldByIndex(f.Index)
				switch {
				case f.Anonymous || !f.IsExported():
				case to.CanInt() && f.Name == "All":
					to.SetInt(int64(all))
				case to.CanInt():
					to.SetInt(1)
				case to.CanFloat():
					to.SetFloat(1)
				}
			}
			s := one.Interface().(result.Reason).String()
			if wrong.MatchString(s) || all == 1 && strings.Contains(s, "by different amounts") {
				t.Errorf("%T: %s", r, s)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	x, ok := result.As[Calls](result.Say(Calls{Call: "cudaFree", Base: 1, Head: 2, Range: "step, in a"}))
	if want := (Calls{"cudaFree", 1, 2, "step, in a"}); !ok || x != want {
		t.Errorf("%#v comes back from its remark", x)
	}
	if x, ok := result.As[BoundsBroken](result.Say(BoundsBroken{Some: 2, Bounds: Bounds{Unit: "ns"}})); !ok ||
		x.Some != 2 || x.Unit != "ns" {
		t.Errorf("%#v comes back from its remark", x)
	}
}
