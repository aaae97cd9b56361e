package report

import (
	"cmp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// anatomy is the page of a summary: what was recorded, without a judgement.
type anatomy struct {
	Headline, Kicker   string
	Facts              []fact
	Parts              []shareRow
	Flame              plot.SVG
	Panels             []panelTable
	Patterns, Warnings []string
}

// shareRow is a part of a whole.
type shareRow struct {
	Name, Time, Share string
	Bar               plot.SVG
}

// panelTable is a panel, its cells printed.
type panelTable struct {
	panel
	Bars bool // the shares are drawn as well
	Body []panelLine
}

type panelLine struct {
	Cells []string
	Bar   plot.SVG
}

func htmlSummary(s *result.Summary, _ Options) (string, error) {
	saved, err := jsonText(s)
	if err != nil {
		return "", err
	}
	a := &anatomy{Headline: headline(s), Kicker: "nsgate show", Facts: recording(s), Patterns: told(s), Warnings: nonempty(s.Warnings...)}
	for _, p := range s.Parts {
		class := "calm"
		switch {
		case p.Idle:
			class = "idle"
		case strings.Contains(p.Class, "comm"):
			class = "move"
		case strings.Contains(p.Class, "cop"), strings.Contains(p.Class, "memset"):
			class = "copy"
		}
		a.Parts = append(a.Parts, shareRow{owner(p.Class, p.Where, p.Idle), quantity(p.Time, ns), share(p.Share), plot.Part(float64(p.Share), class)})
	}
	if len(s.Ranges) > 0 {
		a.Flame = plot.Flame("Kernel time by NVTX range", "Each box is a range, as wide as its kernel time; those below lie in it.",
			plot.Box{Label: cmp.Or(Elide(Clean(s.Recorded.Step), 60), "run"), Class: "c0", Size: float64(s.GPUTime), Boxes: rangeBoxes(s.Ranges, 0)})
	}
	for _, p := range panels(s, true, func(path []string) string { return strings.Join(path, "/") }) {
		if p.Title == "Step" || p.Title == "Ranges" && a.Flame != "" {
			continue
		}
		t := panelTable{panel: p, Bars: p.Title == "Kernels"}
		for i, cells := range p.Rows {
			if i == maxChanges {
				break
			}
			line := panelLine{Cells: cells}
			if t.Bars && i < len(s.Kernels) {
				line.Bar = plot.Part(float64(s.Kernels[i].Share), "calm")
				line.Cells[0] = subject(measure.ScopeKernel, s.Kernels[i].Title())
			}
			t.Body = append(t.Body, line)
		}
		a.Panels = append(a.Panels, t)
	}
	return htmlPage("nsgate: "+headline(s), saved, a.page()...)
}

func rangeBoxes(ranges []result.SummaryRange, depth int) []plot.Box {
	if depth > deepest {
		return nil
	}
	var out []plot.Box
	for _, r := range ranges {
		name := cmp.Or(Elide(trimmed(r.Name), maxName), "(outside of all)")
		out = append(out, plot.Box{Label: name + " " + share(r.Share), Tip: name + ": " + quantity(r.Time, ns) + ", " + share(r.Share) + " of the kernel time",
			Class: "c0", Size: float64(r.Time), Boxes: rangeBoxes(r.Ranges, depth+1)})
	}
	return out
}
