package check

import (
	"context"
	"slices"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/profile"
	"github.com/nsgate/nsgate/thresholds"
)

// Compare judges what was recorded before. Both sides are paths as [profile.Open] takes them.
type Compare struct {
	Base, Head string
	Policy     *thresholds.Policy // must be given
	Rule       profile.Rule       // how traces are cut; the zero value finds the step and the warm-up by itself
	Tools      profile.Tools      // that reading some formats takes
	// Counters are two pages of ncu, of base and head, that explain what got slower; "" for none.
	Counters [2]string
	// Observe, where not nil, is told what is worth knowing.
	Observe func(Event)
}

// Run reads both sides and judges them. What must not be judged is a report without a verdict; an error says that a path
// does not exist, or that a baseline or report there is damaged.
func (c Compare) Run(ctx context.Context) (*gate.Report, error) { return refused(c.judge(ctx)) }

func (c Compare) judge(ctx context.Context) (*gate.Report, error) {
	base, err := c.Tools.Open(ctx, c.Base)
	if err != nil {
		return nil, err
	}
	head, err := c.Tools.Open(ctx, c.Head)
	if err != nil {
		return nil, err
	}
	if c.Rule != (profile.Rule{}) {
		for _, r := range []*profile.Recording{base, head} {
			if r.Whole() {
				r.Warnings = append(r.Warnings, r.Source+" is summed up already: another step or warm-up changes nothing in it")
			}
		}
	}
	sides, err := profile.Cut(c.Rule, base, head)
	if err != nil {
		return nil, err
	}
	b, h := alike(sides[0], sides[1])
	r := judged(b, nil, h, c.Policy, slices.Concat(base.Warnings, head.Warnings))
	if c.Counters != [2]string{} {
		hint, err := explainFrom(c.Counters, r)
		if err != nil {
			return nil, err
		}
		if hint != "" {
			tell(c.Observe, Event{Stage: Hint, Text: hint})
		}
	}
	return r, nil
}
