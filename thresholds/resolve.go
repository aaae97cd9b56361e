package thresholds

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/nsgate/nsgate/gate/measure"
)

// Resolved is the policy for one workload: what judges. Only [Policy.For] makes one, and reading a saved report.
type Resolved struct {
	top
	// Several is the number of workloads of the file where it has others, whose subjects rules may be about, else 0.
	Several int `json:"several,omitempty"`
	// Outputs are the kinds of outputs that the file gives, by name.
	Outputs map[string]measure.OutputKind `json:"outputs,omitempty"`
	of      Workload                      // its settings in the file, the zero value for none
}

// top is embedded under a name of this package, so that no other can make a [Resolved] of a whole policy.
type top = Policy

// For is the policy for one workload: its own threshold, if it has one, is the limit of times. Others have what stands
// at the top.
func (p *Policy) For(workload string) *Resolved {
	r := &Resolved{top: *p}
	if len(p.Workloads) > 1 {
		r.Several = len(p.Workloads)
	}
	r.Places = maps.Clone(p.Places)
	for _, w := range p.Workloads {
		for _, o := range w.Outputs {
			if o.Measures != "" && (w.Name == workload || workload == "") {
				if r.Outputs == nil {
					r.Outputs = map[string]measure.OutputKind{}
				}
				r.Outputs[o.Name] = o.Measures
			}
		}
	}
	w, ok := p.Workload(workload)
	if !ok {
		return r
	}
	r.of = *w
	if w.Threshold != nil {
		if r.Places == nil {
			r.Places = Places{}
		}
		r.Threshold, r.Places["threshold"] = *w.Threshold, cmp.Or(w.Places["threshold"], w.Where)
	}
	return r
}

// OutputKind is what an output of this name is a measure of: what the file says, else what its name says.
func (r *Resolved) OutputKind(name string, m measure.Metric) measure.OutputKind {
	return cmp.Or(r.Outputs[name], measure.Output{Name: name, Better: m.Better}.Kind())
}

// In is the policy for sessions with these categories of NVTX ranges, by name: a copy where there are any.
func (r *Resolved) In(categories map[string]string) *Resolved {
	if len(categories) == 0 {
		return r
	}
	c := *r
	c.Categories = categories
	return &c
}

// Equal reports whether both hold the same.
func (r *Resolved) Equal(o *Resolved) bool { return reflect.DeepEqual(r, o) }

// Check gives the error of a policy that was read from a report and that no file can say.
func (r *Resolved) Check() error {
	shares := []*float64{&r.Cost, &r.SessionSD, &r.Threshold, &r.StepThreshold, &r.WarmupThreshold, &r.OutsideThreshold}
	severities := []string{r.Undecided}
	for i := range r.Rules {
		x := &r.Rules[i]
		shares, severities = append(shares, x.Max, x.Drift), append(severities, cmp.Or(string(x.Severity), "fail"))
	}
	known := []string{"warn", "fail", string(Ignore)}
	switch {
	case !(r.Alpha > 0 && r.Alpha < 0.5), r.MaxAge < 0, r.Undecided == string(Ignore),
		len(r.Rules)+len(r.Ratios) > maxTables,
		slices.ContainsFunc(shares, func(v *float64) bool { return v != nil && !(*v >= 0 && *v < 10) }),
		slices.ContainsFunc(severities, func(s string) bool { return !slices.Contains(known, s) }):
		return errors.New("its policy has a value that no policy file can have")
	}
	return nil
}
