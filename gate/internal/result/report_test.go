package result

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// fill sets every field of a value to something, structs one level deep.
func fill(v reflect.Value, deep int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), deep-1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Struct:
		for i := 0; deep > 0 && i < v.NumField(); i++ {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), deep-1)
			}
		}
	}
}

// A report of a file keeps all that it says, whatever is added to what it was built from.
func TestShownLossless(t *testing.T) {
	r, w := new(Report), new(Report)
	fill(reflect.ValueOf(r).Elem(), 3)
	fill(reflect.ValueOf(w).Elem(), 3)
	r.Schema, w.Schema, w.Workloads, r.Workloads = Schema, Schema, nil, []*Report{w}
	v := reflect.ValueOf(*r)
	if true {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the test does not fill %s", v.Type().Field(i).Name)
			}
		}
	}
	for _, x := range []*Report{r, w} { // a value that follows from the others
		x.Verdict, x.Gate = Fail, Gate{Warns, 0, InShadow}
	}
	r.Counts, r.Causes, w.Counts, w.Causes = Counts{}, nil, Counts{}, nil // of its story
	if got := r.Shown(nil); !reflect.DeepEqual(got, r) {
		t.Errorf("\n%+v\n%+v", got, r)
	}
}

// Shown is a copy: the report stays as it was.
func TestShown(t *testing.T) {
	f := Finding{Name: "k"}
	f.State(Remark{Key: "a", Sentence: "first"})
	j := &Report{Reason: "/home/x is slower", Findings: []Finding{f}, Accept: "nsgate accept /home/x"}
	j.State(0, Remark{Key: "b", Sentence: "second"})
	j.Explain(map[int]*Cause{0: {Summary: "s"}}, map[int]*Origin{0: {File: "f"}})
	j.Warn(Remark{Sentence: "/home/x differs"})
	j.Workloads = []*Report{{Reproduce: "check /home/x"}}
	for range 2 {
		r := j.Shown(strings.NewReplacer("/home/", "…/").Replace)
		f := r.Findings[0]
		if r.Reason != "…/x is slower" || r.Accept != "nsgate accept …/x" || r.Warnings[0] != "…/x differs" ||
			r.Workloads[0].Reproduce != "check …/x" || f.Cause.Summary != "s" || f.Origin.File != "f" ||
			strings.Join(f.Evidence, " ") != "first second" || len(f.Facts) != 2 {
			t.Errorf("%+v", r)
		}
	}
	if len(j.Findings[0].Facts) != 2 || j.Reason != "/home/x is slower" {
		t.Errorf("%+v", j)
	}
}

// The names of idle time are those of reports, and of the manual.
func TestCauseName(t *testing.T) {
	for class, want := range map[string]string{measure.IdleLaunch: "waiting for the CPU",
		measure.IdleSync: "synchronisation", measure.IdleDependency: "dependency", measure.IdleGaps: "launch gaps",
		measure.IdleUnknown: "unknown cause", "compute": "compute"} {
		if got := CauseName(class); got != want {
			t.Errorf("%s is %q, want %q", class, got, want)
		}
	}
}

// Additions come behind the texts of a report, doubts in front of warnings; an empty addition changes nothing.
func TestAppend(t *testing.T) {
	before := Report{Verdict: Fail, Reason: "slower", Workload: "w", Baseline: "b", Reproduce: "r", Accept: "a",
		Next: []string{"mend it"}, Warnings: []string{"old"}, Calls: &Calls{Runs: "more"}, Basis: &Basis{Look: 1}}
	r := before
	r.Append(Addition{})
	if !reflect.DeepEqual(r, before) {
		t.Errorf("an empty addition gives %+v", r)
	}
	r.Append(Addition{Workload: "v", Doubts: []Remark{{Key: "k", Sentence: "doubt"}}, Warnings: []string{"new"},
		First: strings.ToUpper, Next: []string{"again"}, Basis: func(b *Basis) { b.Look = 2 }})
	warnings, next := []string{"old", "doubt", "new"}, []string{"MEND IT", "again"}
	if r.Workload != "v" || r.Baseline != "b" || r.Basis.Look != 2 || r.Verdict != Fail ||
		!slices.Equal(r.Warnings, warnings) || !slices.Equal(r.Next, next) {
		t.Errorf("%+v", r)
	}
	local := &Basis{Against: "local"}
	r.Append(Addition{Uncalled: true, Local: local})
	if r.Calls != nil || r.Baseline != "" || r.Basis != local {
		t.Errorf("%+v", r)
	}
}
