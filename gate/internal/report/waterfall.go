package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// fall is a waterfall in words: the change of a step, and what it is made of.
type fall struct {
	Title string // "step 571.9 µs → 854.2 µs (+282.3 µs, +49.4 %)"
	Tells bool   // the step changed by enough that a reader wants to know
	Rows  []fallRow
}

// fallRow is a part of the change; the rows add up to it.
type fallRow struct{ Change, Interval, What string }

const (
	// tellsFrom is the relative change of a step from which on its waterfall is shown where all is shown that matters.
	tellsFrom = 0.01
	// fallRows is how many parts are named, fallLeast how large one has to be, of the step and of the change.
	fallRows, fallLeast, fallPart = 8, 0.0005, 0.01
	// fallOwners is how many kernels are named of a part.
	fallOwners = 3
	// wherePlace is how many columns the host's place in idle time has at most.
	wherePlace = 160
	// narrow is the width under which intervals are left out.
	narrow = 80
)

// newFall puts a waterfall into words; nil where there is none.
func newFall(w *result.Waterfall) *fall {
	if w == nil || !w.Change.Known() || !(w.Base > 0) {
		return nil
	}
	relative := float64(w.Change / w.Base)
	f := &fall{Tells: math.Abs(relative) >= tellsFrom, Title: fmt.Sprintf("step %s → %s (%s, %s)",
		quantity(w.Base, ns), quantity(w.Head, ns), signed(w.Change), bind(measure.Change(relative)))}
	rest, left := result.Number(0), 0
	for _, p := range w.Parts {
		size := math.Abs(float64(p.Change))
		if len(f.Rows) == fallRows || size < fallLeast*float64(w.Base) || size < fallPart*math.Abs(float64(w.Change)) {
			rest += p.Change
			left++
			continue
		}
		f.Rows = append(f.Rows, fallRow{signed(p.Change), between(p.Own), part(p)})
	}
	if left > 0 && signed(rest) != signed(0) {
		f.Rows = append(f.Rows, fallRow{signed(rest), "", "everything else"})
	}
	return f
}

// Lines is the change of a step and what it is made of, a line each.
func (f *fall) Lines() []string {
	if f == nil || !f.Tells {
		return nil
	}
	lines := []string{f.Title}
	for _, r := range f.Rows {
		lines = append(lines, r.Change+" "+r.What)
	}
	return lines
}

const ns = "ns"

// owner is what a part of a step is.
func owner(class, where string, idle bool) string {
	what := map[string]string{"compute": "kernels", "exposed copies": "copies", "profiler": "the profiler's own work", "unknown": "idle"}[class]
	if what == "" {
		what = Clean(class)
	}
	if idle && class != "unknown" {
		what = "idle, " + what
	}
	if where != "" {
		what += ", " + Elide(Clean(where), wherePlace)
	}
	return what
}

// part is what a part of a step is, with the kernels that changed most.
func part(p result.WaterfallPart) string {
	what := owner(p.Class, p.Where, p.Idle)
	var owners []string
	for i, o := range p.Owners {
		if i == fallOwners {
			owners = append(owners, fmt.Sprintf("%d more", len(p.Owners)-i))
			break
		}
		owners = append(owners, Elide(subject(measure.ScopeKernel, o.Title()), 60)+" "+signed(o.Change))
	}
	if len(owners) > 0 {
		what += ": " + strings.Join(owners, ", ")
	}
	return what
}

// signed prints a change of time with its sign.
func signed(n result.Number) string {
	switch text := quantity(result.Number(math.Abs(float64(n))), ns); {
	case !n.Known():
		return measure.Unknown
	case n < 0:
		return "-" + text
	default:
		return "+" + text
	}
}

// between prints the interval of a change, "" where there is none.
func between(o result.Own) string {
	if !o.Low.Known() || !o.High.Known() {
		return ""
	}
	return signed(o.Low) + " … " + signed(o.High)
}

// fall writes the waterfall.
func (p *page) fall(f *fall, verbose bool) {
	if f == nil || !f.Tells && !verbose {
		return
	}
	p.title("Where the time went")
	p.line(2, 4, span{f.Title, none})
	widest := func(cell func(fallRow) string) (n int) {
		for _, r := range f.Rows {
			n = max(n, columns(cell(r)))
		}
		return n
	}
	change, interval := widest(func(r fallRow) string { return r.Change }), widest(func(r fallRow) string { return r.Interval })
	for _, r := range f.Rows {
		spans, in := []span{{strings.Repeat(nb, change-columns(r.Change)) + r.Change + nb + " ", none}}, 4+change+2
		if p.width >= narrow && interval > 0 {
			spans = append(spans, span{pad(bind(r.Interval), interval) + nb + " ", dim})
			in += interval + 2
		}
		p.line(4, in, append(spans, span{r.What, none})...)
	}
}

// fallTable is the waterfall in Markdown, "" where there is nothing to tell.
func fallTable(f *fall, room int) string {
	if f == nil || !f.Tells {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n**Where the time went**: " + prose(f.Title) + "\n\n| Change | Interval | Of |\n| ---: | --- | --- |\n")
	for _, r := range f.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", bind(prose(r.Change)), bind(prose(r.Interval)), prose(r.What))
	}
	if b.Len() > room {
		return ""
	}
	return b.String()
}
