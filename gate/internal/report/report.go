// Package report renders what a gate found: [Render] writes a [result.Report] as text for a terminal, Markdown, HTML or
// one of the formats that CI hosts read, [ReadJSON] reads a saved one back, and [Remarks] gives what belongs beside the
// code under review.
//
// A report is turned into one view, in which sections are sorted, numbers printed and names cleaned, and every format
// walks that view; a format is one file, which registers itself. Every format works from the report alone, so that a
// saved report gives the same output as a fresh one. Names, ranges and reasons are hostile input: each format escapes
// what it prints.
package report

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/calibrate"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Options says how a report is rendered. The zero value is plain text, 100 columns wide.
type Options struct {
	Width    int  // columns of text, at least 40; 0 means 100
	Color    bool // text: SGR colours, which never carry a meaning alone
	ASCII    bool // text: no other characters
	Verbose  bool // text: every finding, and full names
	Quiet    bool // text: the verdict only
	MaxBytes int  // Markdown: size that is never exceeded; 0 means 60 kB
	// ShowAll is what shows what text leaves out, "--verbose"; "" where nothing does.
	ShowAll string
	// Ways are commands that show more of the report, each behind its label; Runs is the flag that says how many runs to take.
	Ways [][2]string
	Runs string
	// Reproduce stands for the report's own command, which may say less than the user may see; "" for that.
	Reproduce string
	// Locate says where in the repository the kernel of a finding is defined; nil where that is unknown.
	Locate Locator
	// Source is where the CI host shows the repository.
	Source Source
	// Version is that of this nsgate.
	Version string
}

// Format is one way to write a report.
type Format struct {
	Name   string // by which [Render] knows it
	Suffix string // that its files usually have
	About  string // whom it is for

	// render renders a report, on several workloads too.
	render func(*view, Options) (string, error)
	// calibration renders a calibration; nil where the format has no form of it.
	calibration func(*calibrate.Calibration, Options) (string, error)
	// summary renders a summary; nil likewise.
	summary func(*result.Summary, Options) (string, error)
	// bisection renders what a search for commits found; nil likewise.
	bisection func(*history.Bisection, Options) (string, error)
	// history renders a history; nil likewise.
	history func(*history.History, Options) (string, error)
}

// formats holds every format by its name; each file of a format adds its own.
var formats = make(map[string]Format)

func register(f Format) { formats[f.Name] = f }

// Formats lists the names that [Render] knows, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// CalibrationFormats lists the names that [RenderCalibration] knows, sorted.
func CalibrationFormats() []string {
	return slices.DeleteFunc(Formats(), func(name string) bool { return formats[name].calibration == nil })
}

// FormatOf is the format whose files have the suffix of this one, the longest suffix that fits, or the only one that ends like it;
// "" for none.
func FormatOf(file string) string {
	best, like := "", []string{}
	for _, name := range Formats() {
		if s := formats[name].Suffix; strings.HasSuffix(file, s) && len(s) > len(formats[best].Suffix) {
			best = name
		}
		if ext := filepath.Ext(file); ext != "" && strings.HasSuffix(formats[name].Suffix, ext) {
			like = append(like, name)
		}
	}
	if best == "" && len(like) == 1 {
		return like[0]
	}
	return best
}

// About says what a format is for, and the suffix that its files usually have.
func About(name string) (about, suffix string) { return formats[name].About, formats[name].Suffix }

// Render writes the report in the named format. An unknown format is an error that lists the known ones.
func Render(format string, w io.Writer, r *result.Report, o Options) error {
	f, ok := formats[format]
	if !ok {
		return fmt.Errorf("unknown report format %q; the formats are %s", format, strings.Join(Formats(), ", "))
	}
	text, err := f.render(newView(r, o), o)
	return write(w, text, "report", format, err)
}

// RenderCalibration writes the calibration in the named format, as [Render] does with a report.
func RenderCalibration(format string, w io.Writer, c *calibrate.Calibration, o Options) error {
	return writeAs(format, w, "calibration", c, o, formats[format].calibration, CalibrationFormats())
}

// SummaryFormats lists the names that [RenderSummary] knows, sorted.
func SummaryFormats() []string {
	return slices.DeleteFunc(Formats(), func(name string) bool { return formats[name].summary == nil })
}

// RenderSummary writes the summary in the named format, as [Render] does with a report.
func RenderSummary(format string, w io.Writer, s *result.Summary, o Options) error {
	return writeAs(format, w, "summary", s, o, formats[format].summary, SummaryFormats())
}

// writeAs writes a value of some kind by the form that a format has of it, nil for none; known are the formats that have one.
func writeAs[T any](format string, w io.Writer, kind string, value T, o Options, form func(T, Options) (string, error), known []string) error {
	if form == nil {
		return fmt.Errorf("unknown %s format %q; the formats are %s", kind, format, strings.Join(known, ", "))
	}
	text, err := form(value, o)
	return write(w, text, kind, format, err)
}

func write(w io.Writer, text, what, format string, err error) error {
	if err != nil {
		return fmt.Errorf("cannot write the %s as %s: %w", what, format, err)
	}
	_, err = io.WriteString(w, text)
	return err
}
