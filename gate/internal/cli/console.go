package cli

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
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
	if way := measuring[next]; kind == model.MetricMissing && way != "" {
		return withWay(way, next)
	}
	if next == verdict.IdleGPU {
		return next + " (doctor names the programs on it; --allow-busy measures beside them)"
	}
	return withWay(ways[kind], next)
}

// measuring are the flags that measure what a rule is about, by the step that asks for it.
var measuring = map[string]string{measure.ByMemory.HowTo(): "--memory-usage", measure.ByCounters.HowTo(): counting,
	measure.BySampling.HowTo(): "--gpu-metrics", measure.ByWall.HowTo(): "--unprofiled N"}

func withWay(way, next string) string {
	if strings.Contains(next, "measure the base build") || strings.Contains(next, "or the base build") {
		way = "--base-ref, --base-cmd"
	}
	alone := way == "" || next == "" || strings.HasSuffix(next, ")") || strings.Contains(next, ": nsgate ")
	return next + measure.Either(alone, "", " ("+way+")")
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

// progress shows how far a command is: one line that changes on a terminal, one line a run elsewhere, in a section that
// folds on GitLab. Long steps are repeated now and then, to show that the command is not hung. A
// command has one progress, because all events go to the same terminal.
type progress struct {
	e        *env
	live     bool
	quiet    bool
	rounds   bool   // of a watch: a line a round is enough
	section  string // that is open on GitLab, "" for none
	sections int    // that there were: their names must differ

	mutex sync.Mutex
	wrote bool   // the changing line is there
	doing string // the present stage, "" for none
	words string // the last line of the run under way, untrusted
	last  run.Event
	told  time.Time     // when last was told
	said  time.Time     // when a line was written
	end   chan struct{} // ends the clock, nil where none ticks
}

// How often the current step is shown: on a terminal and elsewhere.
const (
	liveEvery  = time.Second
	quietEvery = 30 * time.Second
)

func newProgress(e *env, quiet bool) *progress {
	return &progress{e: e, quiet: quiet, live: e.Err.Columns() > 0 && e.getenv("CI") == ""}
}

func (p *progress) event(ev run.Event) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch ev.Stage {
	case run.Failed:
		p.clear()
		p.e.showOutput(ev.Text, ev.Output)
	case run.Hint:
		p.say("hint: " + ev.Text)
	case run.Warning:
		p.say("warning: " + report.Clean(ev.Text))
	case run.Printed:
		p.words = ev.Output
	case run.Done:
		p.done()
	case run.Spent:
		p.done()
		if !p.quiet && !p.rounds {
			p.say(ev.Text)
		}
	case run.Begun:
		text := report.Clean(ev.Text)
		if !p.quiet {
			p.say(text)
			p.now(text, ev)
		}
	default:
		if !p.quiet {
			p.step(ev)
		}
	}
}

// now notes the current step, and starts the clock.
func (p *progress) now(doing string, ev run.Event) {
	if ev.Expected == 0 && ev.Run > 1 { // jobs say it at the end of a run
		ev.Expected = p.last.Expected
	}
	p.doing, p.last, p.told = doing, ev, time.Now()
	if ev.Stage != run.RunStarted { // the first words of a run may come before
		p.words = ""
	}
	if p.end != nil {
		return
	}
	end := make(chan struct{})
	p.end = end
	every := measure.Either(p.live, liveEvery, quietEvery)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			p.mutex.Lock()
			p.beat()
			p.mutex.Unlock()
		}
	}()
}

// beat shows the current step again, unless a line was written just now.
func (p *progress) beat() {
	switch {
	case p.doing == "":
	case p.live:
		text := p.doing + p.clock()
		if room := p.e.Err.Columns() - len(text) - len("  | ") - 1; p.words != "" && room > 0 {
			text += "  | " + report.Elide(report.Clean(p.words), room)
		}
		p.line(text)
	case time.Since(p.said) >= quietEvery/2:
		p.say("still at it: " + p.doing + p.clock())
	}
}

// clock is how long it has been, and how long it will be until the last run ends. A terminal has a bar, and the time of
// day where that is a minute away. An estimate that has passed is left out.
func (p *progress) clock() string {
	spent := p.last.Elapsed + time.Since(p.told)
	left, text := p.last.Expected-spent, fmt.Sprintf("  %.1f s", spent.Seconds())
	if left <= 0 || p.last.Run == p.last.Runs && p.last.Stage != run.RunStarted {
		return text
	}
	text += fmt.Sprintf(" of about %.1f s", p.last.Expected.Seconds())
	if p.live {
		const cells = 10
		done := int(cells * spent / p.last.Expected)
		text = "  [" + strings.Repeat("=", done) + strings.Repeat("-", cells-done) + "]" + text
	}
	if p.live && left >= time.Minute {
		text += time.Now().Add(left).Format(", runs end at 15:04")
	}
	return text
}

func (p *progress) say(text string) {
	p.clear()
	p.said = time.Now()
	fmt.Fprintln(p.e.Err, "nsgate:", text)
}

const clearLine = "\r\x1b[K"

func (p *progress) line(text string) {
	io.WriteString(p.e.Err.Raw(), clearLine)
	io.WriteString(p.e.Err, report.Clean(text))
	p.wrote = true
}

func (p *progress) clear() {
	if p.wrote {
		io.WriteString(p.e.Err.Raw(), clearLine)
	}
	p.wrote = false
}

func (p *progress) step(ev run.Event) {
	if p.section == "" && p.e.getenv("GITLAB_CI") == "true" {
		p.sections++
		p.section = fmt.Sprintf("nsgate_runs_%d", p.sections)
		fmt.Fprintf(p.e.Err.Raw(), "\x1b[0Ksection_start:%d:%s[collapsed=true]\r\x1b[0Knsgate: measuring\n",
			time.Now().Unix(), p.section)
	}
	text, passing := "", true
	if step := steps[ev.Stage]; step != "" {
		text = fmt.Sprintf(step, ev.Profiler)
	}
	switch ev.Stage {
	case run.RunStarted:
		text = runOf(ev)
	case run.RunFinished:
		text, passing = runOf(ev)+" done", false
	case run.RunFailed:
		text, passing = runOf(ev)+" failed", false
	case run.Repeating:
		text, passing = ev.Text, false
	}
	if text == "" {
		return
	}
	p.now(text, ev)
	switch {
	case p.live:
		p.line(text + p.clock())
	case !passing:
		p.say(text + p.clock())
	}
}

var steps = map[run.Stage]string{
	run.Starting: "starting %s", run.Finishing: "%s writes its report", run.Exporting: "%s exports",
	run.Reading: "reading what %s recorded",
}

func runOf(ev run.Event) string {
	text := fmt.Sprintf("run %d of %d", ev.Run, ev.Runs)
	if ev.Unprofiled {
		text += " (unprofiled)"
	}
	return text
}

// done takes the changing line away, stops the clock and ends the section.
func (p *progress) done() {
	p.clear()
	p.doing = ""
	if p.end != nil {
		close(p.end)
		p.end = nil
	}
	if p.section != "" {
		fmt.Fprintf(p.e.Err.Raw(), "\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", time.Now().Unix(), p.section)
	}
	p.section = ""
}

// showOutput prints a workload's untrusted output without control characters, where GitHub takes no commands.
func (e *env) showOutput(title, text string) {
	if strings.TrimSpace(text) == "" {
		fmt.Fprintf(e.Err, "nsgate: no %s\n", title)
		return
	}
	fmt.Fprintf(e.Err, "--- %s\n", title)
	token := ""
	if e.getenv("GITHUB_ACTIONS") == "true" {
		token = rand.Text()
		fmt.Fprintf(e.Err.Raw(), "::stop-commands::%s\n", token)
	}
	for line := range strings.Lines(text) {
		fmt.Fprintln(e.Err, report.Clean(strings.TrimRight(line, "\r\n")))
	}
	if token != "" {
		fmt.Fprintf(e.Err.Raw(), "::%s::\n", token)
	}
	fmt.Fprintf(e.Err, "--- end of the %s\n", title)
}
