package app

import (
	"errors"
	"hash/maphash"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/text"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// judged is the report on two sides, and on how far what came before the base crept, finished in the same order for every command: the decision, the causes that the
// measurement itself holds, what of the policy has nothing to judge, recordings that stand on both sides, what crept over the
// sessions of the base, patterns that the head alone has, how it came about, all that in words, and what the measurement warned of. Workload, baseline and causes
// that are measured afterwards only add.
func judged(base, trail, head []model.Session, p *thresholds.Policy, warnings []string, course ...decide.Remark) *decide.Report {
	r := decide.Evaluate(base, head, p)
	explainCounted(r, base)
	if len(r.Findings) > 0 {
		tellUnused(r, p, base, head)
		tellTwice(r, base, head)
		r.HoldCreep(base, trail, head, p)
		r.Patterns = decide.NewPatterns(base, head)
	}
	note(r, course...)
	r.Warnings = append(r.Warnings, warnings...)
	return r
}

// refused turns a refusal into a report without a verdict and lets everything else through.
func refused(r *decide.Report, err error) (*decide.Report, error) {
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
		r, err = decide.Refused(refusal), nil
		text.Tell(r)
	}
	return r, err
}

// withBase puts the base that was read into a report on a head that was not.
func withBase(r *decide.Report, base []model.Session) {
	if r.Base.Sessions == 0 && len(base) > 0 {
		r.Base = decide.Describe(base)
		text.Tell(r)
	}
}

// note says in words what a report holds, and how it came about.
func note(r *decide.Report, how ...decide.Remark) {
	r.Remarks = append(r.Remarks, how...)
	text.Tell(r)
}

func remark(key string, args decide.Args) decide.Remark { return decide.Remark{Key: key, Args: args} }

// tellUnused says which rules of the policy have nothing to judge: a kernel that was renamed takes its limit along in
// silence. What another workload may have is only noted.
func tellUnused(r *decide.Report, p *thresholds.Policy, base, head []model.Session) {
	sessions := slices.Concat(base, head)
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.Severity == thresholds.Ignore || applies(rule, sessions) {
			continue
		}
		anything := *rule
		anything.Kernel, anything.Range, anything.Device, anything.Copy, anything.Output = "", "", "", "", ""
		switch {
		case !applies(&anything, sessions): // the report says so
		case len(p.Workloads) > 1:
			r.Remarks = append(r.Remarks, remark("rule-idle-here", decide.Args{"rule": rule.Where}))
		default:
			r.Doubts = append(r.Doubts, remark("rule-idle", decide.Args{"rule": rule.Where}))
		}
	}
}

// applies reports whether a rule is about anything in sessions, whatever stands before it in the policy.
func applies(rule *thresholds.Rule, sessions []model.Session) bool {
	alone := thresholds.Policy{Rules: []thresholds.Rule{*rule}}
	for i := range sessions {
		for _, x := range sessions[i].Series {
			if alone.Limit(x.Subject, x.Metric).Rule == rule.Where {
				return true
			}
		}
	}
	return false
}

// fewestTimes are the kernel times that must agree to the last digit before two runs count as one: a few may by chance.
const fewestTimes = 5

// tellTwice warns where the same recordings stand on both sides: that they agree says nothing.
func tellTwice(r *decide.Report, base, head []model.Session) {
	seen := make(map[uint64]bool)
	for i := range base {
		for _, run := range prints(&base[i]) {
			seen[run] = true
		}
	}
	same, all := 0, 0
	for i := range head {
		all += head[i].Profiled()
		for _, run := range prints(&head[i]) {
			if seen[run] {
				same++
			}
		}
	}
	if same > 0 {
		r.Doubts = append(r.Doubts, remark("same-runs", decide.Args{"same": decide.Number(same), "runs": decide.Number(all)}))
	}
}

// seed is that of all prints, which are compared with each other alone.
var seed = maphash.MakeSeed()

// prints tell the runs of a session apart by all that it measured. A run with too few kernels has none.
func prints(s *model.Session) []uint64 {
	type sample struct {
		of    uint64 // subject and metric
		value float64
	}
	names := make([]uint64, len(s.Series))
	for i := range s.Series {
		x := &s.Series[i]
		names[i] = maphash.Comparable(seed, struct {
			measure.Subject
			metric string
		}{x.Subject, x.Metric.Name})
	}
	var out []uint64
	for run := range s.Runs {
		var h maphash.Hash
		h.SetSeed(seed)
		times := 0
		for i := range s.Series {
			x := &s.Series[i]
			if math.IsNaN(x.Values[run]) {
				continue
			}
			if x.Metric.Name == measure.Time.Name || x.Metric.Name == model.NcuTime.Name {
				times++
			}
			maphash.WriteComparable(&h, sample{names[i], x.Values[run]})
		}
		if times >= fewestTimes {
			out = append(out, h.Sum64())
		}
	}
	return out
}
