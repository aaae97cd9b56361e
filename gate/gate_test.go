package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/command"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// compared is the decision of nsgate compare, with the warnings of its report.
func compared(t *testing.T, base, head string) *gate.Decision {
	t.Helper()
	var out, messages bytes.Buffer
	args := []string{"compare", "--format", "json", base, head}
	code := command.Main(t.Context(), args, command.Streams{Out: &out, Err: &messages})
	var r struct {
		Verdict   gate.Verdict
		Undecided bool
		Reason    string
		Warnings  []string
		Findings  result.Findings `json:"subjects"`
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, messages.Bytes())
	}
	d := &gate.Decision{Verdict: r.Verdict, Undecided: r.Undecided, Reason: r.Reason, Warnings: r.Warnings}
	for _, f := range r.Findings {
		d.Findings = append(d.Findings, gate.Finding{
			Subject: gate.Subject{Scope: gate.Scope(f.Scope), Name: f.Name, Grid: f.Grid, Block: f.Block},
			Metric:  f.Metric, Unit: f.Unit,
			Baseline: float64(f.Base), Head: float64(f.Head), Change: float64(f.Change), Low: float64(f.Low),
			High:    float64(f.High),
			Outcome: gate.Outcome(f.Outcome), Fails: f.Outcome == result.Slower && f.Gates, Reason: f.Reason,
		})
	}
	return d
}

// text is a decision as JSON, without its next steps, since those of the command name flags. Numbers are text there:
// NaN equals itself.
func text(t *testing.T, d *gate.Decision) string {
	t.Helper()
	type row struct {
		gate.Subject
		Numbers []string
		Rest    []any
	}
	var rows []row
	for _, f := range d.Findings {
		r := row{Subject: f.Subject, Rest: []any{f.Metric, f.Unit, f.Outcome, f.Fails, f.Reason}}
		for _, x := range []float64{f.Baseline, f.Head, f.Change, f.Low, f.High} {
			if math.IsInf(x, 0) {
				x = math.NaN() // JSON has null for both
			}
			b, _ := json.Marshal(x)
			r.Numbers = append(r.Numbers, string(b))
		}
		rows = append(rows, r)
	}
	b, err := json.MarshalIndent([]any{d.Verdict, d.Undecided, d.Reason, rows}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAsTheCommand compares the recorded pairs with Compare and with nsgate compare: the same verdict and findings.
func TestAsTheCommand(t *testing.T) {
	t.Parallel()
	groups := []struct{ base, heads string }{
		{"h200/kernels/base", "h200/kernels/*"},
		{"h200/sessions/kernels-a/*", "h200/sessions/[ks]*/*"},
		{"h200/sessions/unfused-norm-b/*", "h200/sessions/transformer-[be]/*"},
		{"h200/sessions/ddp/*", "h200/sessions/ddp-slow1/*"},
		{"h100/sessions/kernels-a-0/*", "h100/sessions/*-0/*"},
		{"ncu/base.raw.csv", "ncu/*.raw.csv"},
		{"h200/graph-node.sqlite", "h200/graph-*.sqlite"},
		{"h200/jax.sqlite", "h200/jax*.sqlite"},
	}
	found := func(pattern string) []string {
		files, err := filepath.Glob(filepath.Join("../testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		return files
	}
	verdicts, outcomes := map[gate.Verdict]int{}, map[gate.Outcome]int{}
	for _, group := range groups {
		base := found(group.base)[0]
		b, err := gate.ReadProfile(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		for _, head := range found(group.heads) {
			want := compared(t, base, head)
			h, err := gate.ReadProfile(t.Context(), head)
			if refusal := (*gate.Refusal)(nil); errors.As(err, &refusal) {
				if want.Verdict != gate.NoVerdict || want.Reason != refusal.Reason {
					t.Errorf("%s: %v, and the command says %s %s", head, err, want.Verdict, want.Reason)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := gate.Compare(t.Context(), thresholds.Default(), b, h)
			if err != nil {
				t.Fatal(err)
			}
			if text(t, got) != text(t, want) {
				t.Errorf("%s, %s: the library decides\n%s\nand the command\n%s", base, head, text(t, got),
					text(t, want))
			}
			for _, w := range got.Warnings {
				if !strings.Contains(strings.Join(want.Warnings, "\n"), w) {
					t.Errorf("%s, %s: the command does not warn: %s", base, head, w)
				}
			}
			verdicts[got.Verdict]++
			for _, f := range got.Findings {
				outcomes[f.Outcome]++
			}
			again, err := gate.Compare(t.Context(), thresholds.Default(), b, h)
			if err != nil || text(t, again) != text(t, got) {
				t.Errorf("%s, %s: a second comparison differs: %v", base, head, err)
			}
		}
	}
	if verdicts[gate.Pass] == 0 || verdicts[gate.Fail] == 0 || verdicts[gate.NoVerdict] == 0 || outcomes[""] > 0 {
		t.Errorf("verdicts %v, outcomes %v", verdicts, outcomes)
	}
	for _, o := range []gate.Outcome{gate.Slower, gate.Faster, gate.WithinLimit, gate.BelowFloor, gate.Undecided,
		gate.New, gate.Gone} {
		if outcomes[o] == 0 {
			t.Errorf("no comparison was %s", o)
		}
	}
}

// TestNewSession wants what is no measurement to be refused, with the run and the metric.
func TestNewSession(t *testing.T) {
	saxpy := gate.Subject{Scope: gate.Kernel, Name: "saxpy"}
	output := gate.Subject{Scope: gate.Output, Name: "tokens/s"}
	two := make([]gate.Run, 2)
	mixed := []gate.Run{{Unprofiled: true}, {}, {Unprofiled: true}} // the second is profiled
	of := func(s gate.Subject, metric, unit string, values ...float64) gate.Series {
		return gate.Series{Subject: s, Metric: metric, Unit: unit, Values: values}
	}
	total := func(values ...float64) gate.Series { return of(saxpy, "total", "", values...) }
	rate := func(values ...float64) gate.Series { return of(output, "rate", "", values...) }
	for _, c := range []struct {
		want   string // of the error, "" for a session
		runs   []gate.Run
		series []gate.Series
	}{
		{"", two, []gate.Series{total(1, 2)}},
		{"", mixed, []gate.Series{total(1), rate(5, 6)}},
		{"the session has no run", nil, []gate.Series{total()}},
		{`kernel "saxpy", metric "total": run 2 has the value NaN`, two, []gate.Series{total(1, math.NaN())}},
		{`kernel "saxpy", metric "total": run 1 has the value +Inf`, two, []gate.Series{total(math.Inf(1), 1)}},
		{`kernel "saxpy", metric "total": run 2 has the value -1`, two, []gate.Series{total(1, -1)}},
		{"run 2 has the value 1e+300", two, []gate.Series{of(saxpy, "total", "s", 1, 1e300)}},
		{`kernel "saxpy", metric "total": run 2 has no value`, two, []gate.Series{total(1)}},
		{`metric "total": 3 values for 2 runs`, two, []gate.Series{total(1, 2, 3)}},
		{"run 1 has no value of any metric", mixed, []gate.Series{total(1)}},
		{"run 2 has no value of any metric", mixed, []gate.Series{rate(5, 6)}},
		{`output "tokens/s", metric "rate": run 3 has the value NaN`, mixed,
			[]gate.Series{total(1), rate(5, math.NaN())}},
		{`metric "rate": no run is of the kind`, two, []gate.Series{total(1, 2), rate()}},
		{`kernel "saxpy", metric "total": the unit "MiB"`, two, []gate.Series{of(saxpy, "total", "MiB", 1, 2)}},
		{`the unit "fortnight"`, two, []gate.Series{of(saxpy, "total", "fortnight", 1, 2)}},
		{"total: listed twice", two, []gate.Series{total(1, 2), of(saxpy, "total", "us", 1, 2)}},
		{`metric "lifetime": there is no such metric`, two, []gate.Series{of(saxpy, "lifetime", "", 1, 2)}},
		{`there is no scope "thread"`, two, []gate.Series{of(gate.Subject{Scope: "thread", Name: "x"}, "total", "", 1,
			2)}},
		{`kernel, metric "total": the subject has no name`, two,
			[]gate.Series{of(gate.Subject{Scope: gate.Kernel}, "total", "", 1, 2)}},
		{`extent "16"`, two, []gate.Series{of(gate.Subject{Scope: gate.Kernel, Name: "x", Grid: "16"}, "total", "", 1,
			2)}},
		{"only kernels", two, []gate.Series{of(gate.Subject{Scope: gate.Range, Name: "x", Grid: "1x1x1"}, "gpu_time",
			"", 1, 2)}},
		{"the metrics rate and cost are those of outputs", mixed,
			[]gate.Series{total(1), of(output, "wall_time", "", 1, 2)}},
		{"the metrics rate and cost are those of outputs", mixed,
			[]gate.Series{total(1), of(gate.Subject{Scope: gate.Workload}, "rate", "", 1, 2)}},
		{`kernel "saxpy", metric "time": what it costs`, two, []gate.Series{of(saxpy, "time", "", 1, 2)}},
	} {
		r, err := gate.NewSession(gate.Host{GPU: "NVIDIA H200"}, c.runs, c.series)
		switch {
		case c.want == "" && (err != nil || r == nil):
			t.Errorf("%v: %v", c.series, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || r != nil):
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestNames wants names from elsewhere to carry nothing that a terminal obeys, and the values to be in base units.
func TestNames(t *testing.T) {
	session := func(us float64) *gate.Recording {
		saxpy := gate.Subject{Scope: gate.Kernel, Name: "sax\x1b[31mpy(int)"}
		r, err := gate.NewSession(gate.Host{}, make([]gate.Run, 5),
			[]gate.Series{{Subject: saxpy, Metric: "total", Unit: "us", Values: []float64{us, us, us, us, us}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	d, err := gate.Compare(t.Context(), thresholds.Default(), session(80), session(100))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Findings) != 1 {
		t.Fatalf("%v", d.Findings)
	}
	if f := d.Findings[0]; strings.Contains(f.Subject.Name, "\x1b") || f.Baseline != 80e3 || f.Unit != "ns" {
		t.Errorf("%q: %v %s", f.Subject.Name, f.Baseline, f.Unit)
	}
}

// TestCompareErrors wants errors where a comparison is impossible.
func TestCompareErrors(t *testing.T) {
	base, err := gate.ReadBaseline("../testdata/h200/sessions/kernels-a/nvidia-h200")
	if err != nil {
		t.Fatal(err)
	}
	policy := thresholds.Default()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gate.Compare(ended, policy, base, base); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, err := gate.Compare(t.Context(), nil, base, base); err == nil {
		t.Error("no policy")
	}
	if _, err := gate.Compare(t.Context(), new(thresholds.Policy), base, base); err == nil {
		t.Error("an empty policy")
	}
	if d, err := gate.Compare(t.Context(), policy.For("any"), base, base); err != nil || d == nil {
		t.Errorf("what holds for a workload: %v", err)
	}
	if _, err := gate.Compare(t.Context(), policy, base, nil); err == nil {
		t.Error("no head")
	}
	d, err := gate.Compare(t.Context(), policy, base, &gate.Recording{})
	if err != nil || d.Verdict != gate.NoVerdict || !reflect.DeepEqual(d.Next, []string{"measure it first"}) {
		t.Errorf("an empty head: %v, %v", d, err)
	}
	if _, err := gate.ReadBaseline(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := gate.ReadProfile(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
