// Package report renders what a gate found: every format prints the story of a report and escapes its texts. A saved
// report gives the same output as a fresh one.
package report

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// Options are those of the story and of the formats that print it.
type Options = story.Options

// Clean makes hostile text fit for one line; Elide shortens it to at most n columns.
func Clean(s string) string        { return story.Clean(s) }
func Elide(s string, n int) string { return story.Elide(s, n) }

// Kind is the name of a type of values that can be rendered, in lower case.
type Kind string

// The kinds of values that [Render] takes.
const (
	Report      Kind = "report"
	Calibration Kind = "calibration"
	Summary     Kind = "summary"
	Bisection   Kind = "bisection"
	History     Kind = "history"
)

// format is one way to write values: the suffix of its files, its syntax, whom it is for, and the kinds that it knows.
type format struct {
	suffix string
	syntax terminal.Syntax
	about  string
	forms  map[Kind]form
}

// form renders a value of one kind.
type form func(value any, o Options) (string, error)

func as[T any](render func(T, Options) (string, error)) form {
	return func(value any, o Options) (string, error) { return render(value.(T), o) }
}

func viewed(render func(*story.Story) (string, error)) form {
	return as(func(r *result.Report, o Options) (string, error) { return render(story.Tell(r, o)) })
}

// printed prints what is told of a value.
func printed[T any](told func(T, Options) story.Document, print func(story.Document, Options) (string, error)) form {
	return as(func(value T, o Options) (string, error) { return print(told(value, o), o) })
}

func told(r *result.Report, o Options) story.Document { return story.Tell(r, o).Document() }

// formats holds every format by its name.
var formats = map[string]format{
	"bencher": {".bencher.json", terminal.JSON, "Bencher (its adapter json): the head's numbers",
		map[Kind]form{Report: viewed(bencher)}},
	"codequality": {".codequality.json", terminal.JSON, "remarks in merge requests of GitLab",
		map[Kind]form{Report: viewed(codeQuality)}},
	"csv": {".csv", terminal.Data, "spreadsheets and data frames: a row a comparison",
		map[Kind]form{Report: viewed(csvReport), History: as(historyCSV)}},
	biggerFormat: {".bigger.json", terminal.JSON, "github-action-benchmark: the head's rates",
		map[Kind]form{Report: actionBenchmark(biggerFormat)}},
	smallerFormat: {".smaller.json", terminal.JSON, "github-action-benchmark: the head's other numbers",
		map[Kind]form{Report: actionBenchmark(smallerFormat)}},
	"dotenv": {".env", terminal.Data, "verdict and counts for later jobs of a GitLab pipeline",
		map[Kind]form{Report: viewed(dotenv)}},
	"html": {".html", terminal.Markup, "a browser: one file with pictures, which needs no network",
		map[Kind]form{Report: viewed(htmlReport), Summary: as(htmlSummary), History: as(htmlHistory)}},
	"json": {".json", terminal.JSON, "everything, for programs and for nsgate itself",
		map[Kind]form{Report: viewed(jsonReport), Calibration: jsonForm, Summary: jsonForm, Bisection: jsonForm,
			History: jsonForm}},
	"junit": {".junit.xml", terminal.Markup, "test reports of GitLab, Jenkins and others",
		map[Kind]form{Report: viewed(junit)}},
	"markdown": {".md", terminal.Data, "job summaries, comments on merge requests",
		map[Kind]form{Report: printed(told, markdown), Summary: printed(story.Summarised, markdown)}},
	"openmetrics": {".metrics.txt", terminal.Data, "metrics reports of GitLab, Prometheus",
		map[Kind]form{Report: viewed(openMetrics)}},
	"rdjson": {".rdjson", terminal.JSON, "reviewdog: remarks in reviews of any code host",
		map[Kind]form{Report: viewed(rdjson)}},
	"sarif": {".sarif", terminal.JSON, "code scanning of GitHub and other readers of SARIF 2.1.0",
		map[Kind]form{Report: viewed(sarif)}},
	"text": {".txt", terminal.Text, "a person at a terminal or before a log",
		map[Kind]form{Report: printed(told, text), Calibration: printed(calibrated, text),
			Summary: printed(story.Summarised, text), Bisection: printed(bisected, text),
			History: printed(historied, text)}},
}

// Formats lists the names of the formats for values of a kind, sorted.
func Formats(kind Kind) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(formats)),
		func(name string) bool { return formats[name].forms[kind] == nil })
}

// FormatOf is the format of a file by its name: the longest known suffix, or the only format with this extension; ""
// for none.
func FormatOf(file string) string {
	best, like := "", []string{}
	for _, name := range Formats(Report) {
		suffix := formats[name].suffix
		if strings.HasSuffix(file, suffix) && len(suffix) > len(formats[best].suffix) {
			best = name
		}
		if ext := filepath.Ext(file); ext != "" && strings.HasSuffix(suffix, ext) {
			like = append(like, name)
		}
	}
	if best == "" && len(like) == 1 {
		return like[0]
	}
	return best
}

// About says whom a format is for, and gives the usual suffix of its files.
func About(name string) (about, suffix string) { return formats[name].about, formats[name].suffix }

// Value is a value that [Render] takes, one type for each [Kind].
type Value interface {
	*result.Report | *calibrate.Calibration | *result.Summary | *history.Bisection | *history.History
}

// Render writes a value in the named format. A format that is unknown, or that does not support the kind, is an error
// that lists the supported formats.
func Render[V Value](name string, w io.Writer, value V, o Options) error {
	kind := Kind(strings.ToLower(reflect.TypeOf(value).Elem().Name()))
	render := formats[name].forms[kind]
	if render == nil {
		return fmt.Errorf("unknown %s format %q; the formats are %s", kind, name, strings.Join(Formats(kind), ", "))
	}
	text, err := render(value, o)
	if err != nil {
		return fmt.Errorf("cannot write the %s as %s: %w", kind, name, err)
	}
	return write(w, formats[name].syntax, text, o)
}

// write is the last step of all that this package writes.
func write(w io.Writer, syntax terminal.Syntax, text string, o Options) error {
	_, err := io.WriteString(terminal.New(w, terminal.Form{Syntax: syntax, ASCII: o.ASCII, Colour: o.Color}), text)
	return err
}
