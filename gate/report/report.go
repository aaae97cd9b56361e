// Package report renders a gate's report: one file a format.
//
// Every renderer works from the [gate.Report] alone, so that a saved report gives the same output as a fresh one. Names,
// ranges and reasons are hostile input here: each format escapes what it prints.
package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate"
)

// Options says how a report is rendered. The zero value is plain text, 100 columns wide.
type Options struct {
	Width    int  // columns of text, at least 40; 0 means 100
	Color    bool // text: SGR colours, which never carry a meaning alone
	Verbose  bool // text: every finding, and full names
	Quiet    bool // text: the verdict only
	MaxBytes int  // Markdown: size that is never exceeded; 0 means 900 KiB
	// Locate says where in the repository a finding is written down: the kernel's definition or the baseline's row.
	// JUnit and code quality point there. Without it they point at the report's baseline.
	Locate func(gate.Finding) (file string, line int, ok bool)
}

// renderers holds every format by its name on the command line.
var renderers = map[string]func(io.Writer, *gate.Report, Options) error{
	"codequality": CodeQuality,
	"dotenv":      Dotenv,
	"html":        HTML,
	"json":        JSON,
	"junit":       JUnit,
	"markdown":    Markdown,
	"openmetrics": OpenMetrics,
	"text":        Text,
}

// Formats lists the names that [Render] knows, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(renderers)) }

// Render writes the report in the named format. An unknown format is an error that lists the known ones.
func Render(format string, w io.Writer, r *gate.Report, o Options) error {
	render, ok := renderers[format]
	if !ok {
		return fmt.Errorf("unknown report format %q; the formats are %s", format, strings.Join(Formats(), ", "))
	}
	return render(w, r, o)
}
