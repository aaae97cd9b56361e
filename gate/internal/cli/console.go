package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

func ascii(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	return locale == "C" || locale == "POSIX"
}

func (e *env) encode(value any) error {
	enc := json.NewEncoder(e.Out.As(terminal.JSON))
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// aside sends what a command says to standard error if its format is JSON. told then prints some value.
func (e *env) aside(format string) (told func(some bool, value any) error) {
	out := e.Out
	if format == "json" {
		e.Out = e.Err
	}
	return func(some bool, value any) error {
		e.Out = out
		if format != "json" || !some {
			return nil
		}
		return e.encode(value)
	}
}

// width is the terminal's width; COLUMNS, then 100 where there is none.
func width(e *env) int {
	given, _ := strconv.Atoi(e.getenv("COLUMNS"))
	return cmp.Or(e.Out.Columns(), max(given, 0), 100)
}

// complain prints an error to standard error, and on GitHub as an annotation of the line that it names.
func (e *env) complain(err error, code int) {
	fmt.Fprintln(e.Err, "nsgate:", err)
	if e.getenv("GITHUB_ACTIONS") != "true" || e.getenv("NSGATE_ANNOTATIONS") == "never" {
		return
	}
	file, line := "", 0
	if at := (*measure.PlaceError)(nil); errors.As(err, &at) {
		file, line = git.Within(e.getenv("GITHUB_WORKSPACE"), at.File), at.Line
	}
	if err := github.PublishError(report.Clean(err.Error()), file, line, code,
		github.Options{Writer: e.Err.Raw(), Getenv: e.getenv}); err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
	}
}

// noVerdict prints a refusal as "not recorded: …", with what "recorded", and returns its exit code, or another error.
func noVerdict(e *env, what string, err error) error {
	list, code := []error{err}, ExitNoVerdict
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		list = several.Unwrap()
	}
	for _, err := range list {
		r := (*model.Refusal)(nil)
		if !errors.As(err, &r) {
			return err
		}
		code = max(code, refused(string(r.Kind)))
		fmt.Fprintln(e.Err, "nsgate: not "+what+":", report.Clean(r.Reason))
		if r.Next != "" {
			fmt.Fprintln(e.Err, "nsgate:", report.Clean(WayOut(r.Kind, r.Next)))
		}
	}
	return &exit{code: code}
}

// ways are the flags or commands for the next step of a refusal, by its kind.
var ways = map[model.Kind]string{
	model.ChangedWithinHour: "--reason 'WHY'",
	model.CounterHangs:      "--timeout TIME",
	model.GPUBusy:           "--allow-busy",
	model.ExportFailed:      "--" + exeFlag + " PATH",
	model.NoBaseline:        "nsgate record, or nsgate check --patch FILE",
	model.NoBaselineHere:    "nsgate record, or nsgate check --patch FILE",
	model.WorkloadTimeout:   "--timeout TIME",
	model.NoGPUMetrics:      "without --gpu-metrics",
	model.NoProfiler:        "--" + exeFlag + " PATH",
	model.NotAcceptable:     "--force",
	model.NotAsAsked:        "--from, --profiler",
	model.NotProfiled:       "--kernel",
	model.NothingToCount:    "--launch-skip N",
	model.OtherBaseline:     "--replace",
	model.OtherStep:         "--step",
	model.Unsteady:          "--warmup N, --warmup capture",
}

// WayOut is the next step of a refusal with its flags: "start the baseline anew (--replace)", of a metric that was not
// measured with those that measure it. A step that already names its flags stays.
func WayOut(kind model.Kind, next string) string {
	for by, way := range measuring {
		if kind == model.MetricMissing && next == by.HowTo() {
			return withWay(way, next)
		}
	}
	if next == verdict.IdleGPU {
		return next + " (doctor names the programs on it; --allow-busy measures beside them)"
	}
	return withWay(ways[kind], next)
}

// measuring are the flags that measure what a rule is about.
var measuring = map[measure.Means]string{measure.ByMemory: "--memory-usage", measure.BySampling: "--gpu-metrics",
	measure.ByWall: "--unprofiled N", measure.ByCounters: counting}

func withWay(way, next string) string {
	if strings.Contains(next, "measure the base build") || strings.Contains(next, "or the base build") {
		way = "--base-ref, --base-cmd"
	}
	if way == "" || next == "" || strings.HasSuffix(next, ")") || strings.Contains(next, ": nsgate ") {
		return next
	}
	return next + " (" + way + ")"
}

// showWays adds the way out to the first step of a judgement, which is about its refusal.
func showWays(j *result.Report) {
	for _, w := range j.Each() {
		kind := model.Kind(w.ReasonKey)
		w.Append(result.Addition{First: func(step string) string { return WayOut(kind, step) }})
	}
}

// warn adds a warning to a report.
func warn(r *result.Report, text string) { r.Append(result.Addition{Warnings: []string{text}}) }
