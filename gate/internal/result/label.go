package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// labels are names that distinguish kernels. The geometry follows the name of kernels that differ in it alone. byName
// are the labels of the names without geometries.
func labels(subjects []measure.Subject, names ...string) (out map[measure.Subject]string, byName map[string]string) {
	geometries := make(map[string][]measure.Subject)
	out = make(map[measure.Subject]string, len(subjects))
	for _, s := range subjects {
		if _, seen := out[s]; s.Scope != measure.ScopeKernel || seen {
			continue
		}
		out[s] = s.Short()
		names, geometries[s.Name] = append(names, s.Name), append(geometries[s.Name], s)
	}
	byName = measure.Labels(names)
	for name, all := range geometries {
		grids, blocks := false, false // whether they differ
		for _, s := range all {
			grids, blocks = grids || s.Grid != all[0].Grid, blocks || s.Block != all[0].Block
		}
		for _, s := range all {
			out[s] = byName[name] + tells(grids, "grid", s.Grid) + tells(blocks, "block", s.Block)
		}
	}
	return out, byName
}

// tells is the part of a kernel's geometry that distinguishes it from others of its name: " · grid 4096".
func tells(apart bool, what string, size measure.Dim3) string {
	return measure.Either(apart, " · "+what+" "+strings.TrimSuffix(strings.TrimSuffix(size.String(), "x1"), "x1"), "")
}

// Label names the kernels of a decision so that no two look alike.
func (d *Report) Label() {
	var subjects []measure.Subject
	var names []string
	for i := range d.Findings {
		subjects, names = append(subjects, d.Findings[i].Subject()), append(names, d.Findings[i].BaseNames...)
	}
	if d.Waterfall != nil {
		for _, p := range d.Waterfall.Parts {
			of := func(o WaterfallOwner) measure.Subject { return o.Subject() }
			subjects = slices.Concat(subjects, measure.Map(p.Owners, of))
		}
	}
	title, byName := labels(subjects, names...)
	sums := map[measure.Subject]string{}
	for i := range d.Findings {
		f := &d.Findings[i]
		f.Label = differing(cmp.Or(title[f.Subject()], f.Kernel), f.Kernel)
		if f.Replaces() {
			f.Label = replacement(f, byName)
		} else if f.Summed() {
			f.Label = cmp.Or(byName[f.Name], f.Kernel) + " · all geometries"
		} else if n := f.exchanged(); n > 1 {
			f.Label = cmp.Or(title[f.Subject()], f.Kernel) + " and " + measure.Count(n-1, "alternative")
			sums[f.Subject()] = f.Label
		}
	}
	if d.Waterfall == nil {
		return
	}
	for i := range d.Waterfall.Parts {
		for j := range d.Waterfall.Parts[i].Owners {
			o := &d.Waterfall.Parts[i].Owners[j]
			o.Label = differing(cmp.Or(sums[o.Subject()], title[o.Subject()], byName[o.Name], o.Kernel), o.Kernel)
		}
	}
}

// replacement is one story of kernels that took the place of others: "layer_norm → 3 kernels".
func replacement(f *Finding, byName map[string]string) string {
	n, others := len(f.HeadNames), len(f.BaseNames)-1
	gone := byName[f.BaseNames[0]] + measure.Either(others > 0, fmt.Sprintf(" and %d more", others), "")
	here := cmp.Or(f.Label, f.Kernel)
	switch {
	case n > 1:
		here = measure.Count(n, "kernel")
	case n == 1: // in several geometries
		here = cmp.Or(byName[f.Name], f.Kernel)
	}
	return gone + " → " + here
}

// Replaces reports whether the finding is about kernels that took the place of others, which have other names.
func (f *Finding) Replaces() bool {
	return (f.Match == "place" || f.Match == "role" || f.Match == "rest") && len(f.BaseNames) > 0 ||
		f.Match == "name" && (len(f.BaseNames) > 1 || len(f.HeadNames) > 1)
}

// SumsListed reports whether the finding sums several kernels of the head that have findings of their own.
func (f *Finding) SumsListed() bool {
	return f.Match != "place" && f.Replaces() && len(f.HeadNames) > 1
}

// Summed reports whether the finding is about the sum of a kernel's geometries.
func (f *Finding) Summed() bool {
	oneName := f.Match == "geometry" || f.Match == "choice" && len(f.BaseNames) < 2 && len(f.HeadNames) < 2
	return oneName && len(f.Facts) > 0 && f.Facts[0].Key == KeyNames
}

// exchanged is the number of kernels that exchange launches, of which the finding judges the sum.
func (f *Finding) exchanged() int {
	if f.Match != "choice" {
		return 0
	}
	return len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.BaseNames, f.HeadNames)))))
}

// differing is a label, "" where it says no more than the short name.
func differing(label, short string) string {
	return measure.Either(label == short, "", label)
}

// Title is the name that tells what the finding is about apart from everything else in its report.
func (f *Finding) Title() string { return cmp.Or(f.Label, f.Kernel) }

// Subject is the kernel; of a copy none.
func (o *WaterfallOwner) Subject() measure.Subject {
	return measure.Either(o.Grid+o.Block == "", measure.Subject{}, o.Named.Subject())
}

// Named is a kernel, or another named subject, in a list without two equal labels.
type Named struct {
	Kernel string `json:"kernel"` // short name
	Name   string `json:"name"`   // full name
	// Label is the shortest name that tells the kernel apart from every other in the list, "" where that is Kernel.
	Label string `json:"label,omitempty"`
	Grid  string `json:"grid,omitempty"`
	Block string `json:"block,omitempty"`
}

// NewNamed is the name of a subject, with the geometry of a kernel.
func NewNamed(s measure.Subject) Named {
	n := Named{Kernel: s.Short(), Name: s.Name}
	if s.Geometry() != "" {
		n.Grid, n.Block = s.Grid.String(), s.Block.String()
	}
	return n
}

// Title is the name that tells it apart from everything else in its list.
func (n *Named) Title() string { return cmp.Or(n.Label, n.Kernel) }

// Subject is the kernel of this name and geometry.
func (n *Named) Subject() measure.Subject {
	f := Finding{Scope: measure.ScopeKernel, Name: n.Name, Grid: n.Grid, Block: n.Block}
	return f.Subject()
}

// Labelled sets the labels of the kernels among things so that no two look alike.
func Labelled[T any](things []T, of func(*T) (*Named, measure.Scope)) {
	var subjects []measure.Subject
	for i := range things {
		if n, scope := of(&things[i]); scope == measure.ScopeKernel {
			subjects = append(subjects, n.Subject())
		}
	}
	title, _ := labels(subjects)
	for i := range things {
		if n, scope := of(&things[i]); scope == measure.ScopeKernel {
			n.Label = differing(title[n.Subject()], n.Kernel)
		}
	}
}

// Label names the kernels of a summary so that no two look alike.
func (s *Summary) Label() {
	Labelled(s.Kernels, func(k *SummaryKernel) (*Named, measure.Scope) { return &k.Named, measure.ScopeKernel })
}
