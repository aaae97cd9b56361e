package nsysstats

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/measure"
)

// account is what a table says of all kernels together.
type account struct {
	*table
	count int64
	total float64
	slack float64 // what rounding may account for
}

// kernelAccount adds up the kernels of a table.
func (t *table) kernelAccount() account {
	a := account{table: t}
	if t.traced != nil {
		for _, l := range t.traced.launches {
			a.total += float64(l.End - l.Start)
		}
		a.count = int64(len(t.traced.launches))
		a.slack = rounding(t.units.duration) * float64(a.count)
		return a
	}
	for _, s := range t.sums {
		if s.kernel {
			a.count += s.count
			a.total += s.total
			a.slack += rounding(s.step)
		}
	}
	return a
}

// rounding is how far a number can be off: times are whole ns.
func rounding(step float64) float64 {
	if step <= 1 {
		return 0
	}
	return step / 2
}

// copies adds up the copies of a table, by kind.
func (t *table) copies() []copyTotal {
	sums := map[measure.CopyKind]copyTotal{}
	if t.traced != nil {
		for _, x := range t.traced.copies {
			o := sums[x.Kind]
			o.kind, o.count, o.time, o.bytes = x.Kind, o.count+1, o.time+float64(x.End-x.Start), o.bytes+float64(x.Bytes)
			sums[x.Kind] = o
		}
	}
	for _, s := range t.sums {
		if s.kernel || s.kind == 0 && !label.MatchString(s.name) {
			continue
		}
		o := sums[s.kind]
		o.kind, o.count = s.kind, o.count+s.count
		if t.kind == memSize {
			o.bytes += s.total
			o.slack += s.step / 2
		} else {
			o.time += s.total
		}
		sums[s.kind] = o
	}
	var out []copyTotal
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, sums[kind])
	}
	return out
}

// agree refuses tables that cannot be of one run: what two of them say of all kernels, or of one kind of copies, must be
// the same.
func (c *collection) agree() error {
	var first *account
	for _, k := range []kind{gpuTrace, execTrace, gbSum, kernSum, gpuSum, apiSum} {
		t := c.tables[k]
		if t == nil || k == execTrace && c.tables[gpuTrace] != nil {
			continue
		}
		a := t.kernelAccount()
		if first == nil {
			first = &a
			continue
		}
		if a.count != first.count || math.Abs(a.total-first.total) > a.slack+first.slack+0.5 {
			return t.refuse(t.line, fmt.Sprintf("%s has %d launches of %.0f ns, %s at %s %d of %.0f ns", t.kind, a.count, a.total,
				first.kind, first.place(), first.count, first.total), oneRun)
		}
	}
	var before *table
	for _, k := range []kind{gpuTrace, memTime, gpuSum, apiSum, memSize} {
		t := c.tables[k]
		if t == nil {
			continue
		}
		if before == nil {
			before = t
			continue
		}
		if t.copiesDiffer(before) {
			return t.refuse(t.line, fmt.Sprintf("%s and %s at %s differ in their copies", t.kind, before.kind, before.place()), oneRun)
		}
	}
	return nil
}

// copiesDiffer compares copies by kind: their number, and their times and bytes where both tables have them.
func (t *table) copiesDiffer(o *table) bool {
	timed := t.kind != memSize && o.kind != memSize
	sized := o.traced != nil && t.kind == memSize
	return !slices.EqualFunc(t.copies(), o.copies(), func(a, b copyTotal) bool {
		ns, bytes := 0.5, 0.5+a.slack+b.slack
		for _, x := range []*table{t, o} {
			if x.traced != nil {
				ns += rounding(x.units.duration) * float64(a.count)
				bytes += rounding(x.units.size) * float64(a.count)
			} else {
				ns += rounding(x.units.total)
			}
		}
		return a.kind == b.kind && a.count == b.count && (!timed || math.Abs(a.time-b.time) <= ns) &&
			(!sized || math.Abs(a.bytes-b.bytes) <= bytes)
	})
}
