package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// A list says everything at any width, in lines no longer than the page, and breaks no number.
func TestListAtAnyWidth(t *testing.T) {
	titles := []string{"session", "age", "what", "commit", "driver", "runs", "reason"}
	rows := [][]string{
		{"20261122T1705-7879b3e9", "0h", "record", "9564575ed921", "580.159.03", "5", ""},
		{"20261121T0155-1b9d2c3a", "15h", "accept", "0b1d0c4f2a61", "580.159.03", "5", "exact arithmetic"},
	}
	for _, width := range []int{40, 60, 80, 160} {
		var out strings.Builder
		if err := List(&out, ".nsgate/default/nvidia-h200", titles, rows, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for _, cell := range slices.Concat(rows...) {
			if !strings.Contains(strings.ReplaceAll(text, story.NB, " "), cell) {
				t.Errorf("%d columns: %q is not in\n%s", width, cell, text)
			}
		}
		for line := range strings.Lines(text) {
			if story.Columns(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("%d columns: %q is too long", width, line)
			}
		}
	}
}

// A bound text wider than a line goes on in the next one, with all its numbers; a single word loses its middle.
func TestBoundText(t *testing.T) {
	bound := story.Bind("GPU time of the run 191.5 → 260.8 ms (+36.1 %); 37 kernels")
	p := newPage(Options{Width: 40})
	p.line(2, 4, span{Text: "sum " + bound})
	p.line(2, 4, span{Text: strings.Repeat("ab", 30)})
	text := p.b.String()
	if got := story.Flat(text); !strings.HasPrefix(got, "sum "+story.Flat(bound)+" abab") ||
		!strings.Contains(got, "…") || strings.Contains(text, "+36.1\n") {
		t.Errorf("got\n%s", text)
	}
	for line := range strings.Lines(text) {
		if story.Columns(strings.TrimSuffix(line, "\n")) > 40 {
			t.Errorf("%q is too long", line)
		}
	}
}

// Names that differ in their middle only are told apart in every width, and numbers stay whole.
func TestHistoryAtAnyWidth(t *testing.T) {
	names := []string{"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_kernel0_0",
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_26_kernel0_0", "saxpy"}
	h := &history.History{GPU: "NVIDIA H200", Moments: make([]history.Moment, 2)}
	for i, name := range names {
		h.Trends = append(h.Trends, history.Trend{Scope: measure.ScopeKernel,
			Named: result.Named{Kernel: name, Name: name}, Metric: measure.Total.Name, Unit: "ns",
			Values: []result.Number{result.Number(370600 + 1000*i), result.Number(374400 + 1000*i)}, Change: 0.0105})
	}
	for _, width := range []int{40, 60, 80, 160} {
		text, err := text(historied(h, Options{Width: width}), Options{Width: width})
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, story.NB, " ")
		for i := range names {
			if number := fmt.Sprintf("%d.4 µs", 374+i); !strings.Contains(text, number) {
				t.Errorf("%d columns: %s is not in\n%s", width, number, text)
			}
		}
		var first []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "  cud") {
				first = append(first, strings.Fields(line)[0])
			}
		}
		if len(first) != 2 || first[0] == first[1] {
			t.Errorf("%d columns: the kernels are named %q", width, first)
		}
	}
}
