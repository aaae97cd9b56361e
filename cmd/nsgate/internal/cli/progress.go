package cli

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
)

// progress shows how far a command is: one line that changes on a terminal, one line a run elsewhere, in a section that
// folds on GitLab. A command has one of them: whatever tells it something writes to the same terminal.
type progress struct {
	e        *env
	live     bool
	quiet    bool
	wrote    bool   // the changing line is there
	section  string // that is open on GitLab, "" for none
	sections int    // that there were: their names must differ
}

func newProgress(e *env, quiet bool) *progress {
	return &progress{e: e, quiet: quiet, live: columns(e.Err) > 0 && e.getenv("CI") == ""}
}

// event shows a step. It is told in one thread, as the steps come.
func (p *progress) event(ev check.Event) {
	switch ev.Stage {
	case check.Failed:
		p.clear()
		p.e.showOutput(ev.Text, ev.Output)
	case check.Hint:
		p.say("hint: " + ev.Text)
	case check.Warning:
		p.say("warning: " + report.Clean(ev.Text))
	case check.Done:
		p.done()
	default:
		if p.quiet {
			return
		}
		if text := milestone(ev); text != "" {
			p.say(text)
		} else {
			p.step(ev)
		}
	}
}

// say writes a line of its own.
func (p *progress) say(text string) {
	p.clear()
	fmt.Fprintln(p.e.Err, "nsgate:", text)
}

// clear takes the changing line away.
func (p *progress) clear() {
	if p.wrote {
		fmt.Fprint(p.e.Err, "\r\x1b[K")
	}
	p.wrote = false
}

// milestone is what begins, "" for a step of a session that goes on.
func milestone(ev check.Event) string {
	switch ev.Stage {
	case check.Looking:
		return fmt.Sprintf("undecided after %d runs: measuring up to %d", ev.Run, ev.Runs)
	case check.Pairing:
		return ev.Text + " against the committed baseline: measuring the base build beside the head"
	case check.CheckingOut:
		return "checking out " + ev.Text
	case check.Building:
		return "building " + ev.Text
	case check.Explaining:
		return "profiling what regressed with ncu: " + ev.Side
	case check.Tracing:
		return "running once more to see from where that is called"
	case check.Bisecting:
		if ev.Runs > 0 {
			return fmt.Sprintf("%s: at most %s to go", report.Clean(ev.Text), measure.Count(ev.Runs, "commit"))
		}
		return "measuring " + report.Clean(ev.Text)
	case check.Counting:
		side := ""
		if ev.Side != "" {
			side = " (" + ev.Side + ")"
		}
		return fmt.Sprintf("run %d of %d under ncu%s", ev.Run, ev.Runs, side)
	}
	return ""
}

// step shows a step of a session: on a terminal all of them, elsewhere those that matter.
func (p *progress) step(ev check.Event) {
	if p.section == "" && p.e.getenv("GITLAB_CI") == "true" {
		p.sections++
		p.section = fmt.Sprintf("nsgate_runs_%d", p.sections)
		fmt.Fprintf(p.e.Err, "\x1b[0Ksection_start:%d:%s[collapsed=true]\r\x1b[0Knsgate: measuring\n", time.Now().Unix(), p.section)
	}
	text, passing := "", true
	switch ev.Stage {
	case check.Starting:
		text = "starting nsys"
	case check.RunStarted:
		text = run(ev)
	case check.RunFinished:
		text, passing = run(ev)+" done", false
	case check.Finishing:
		text = "nsys writes its report"
	case check.Exporting:
		text = "nsys exports"
	case check.Repeating:
		text, passing = "nsys lost events of JAX's NVTX ranges: measuring again without the domain TSL", false
	}
	if text == "" || passing && !p.live {
		return
	}
	text += fmt.Sprintf("  %.1f s", ev.Elapsed.Seconds())
	if ev.Expected > 0 && ev.Run < ev.Runs {
		text += fmt.Sprintf(" of about %.1f s", ev.Expected.Seconds())
	}
	if !p.live {
		p.say(text)
		return
	}
	fmt.Fprint(p.e.Err, "\r\x1b[K", text)
	p.wrote = true
}

// run names a run of a session.
func run(ev check.Event) string {
	text := fmt.Sprintf("run %d of %d", ev.Run, ev.Runs)
	if ev.Untraced {
		text += " (untraced)"
	}
	return text
}

// done takes the changing line away and ends the section.
func (p *progress) done() {
	p.clear()
	if p.section != "" {
		fmt.Fprintf(p.e.Err, "\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", time.Now().Unix(), p.section)
	}
	p.section = ""
}

// showOutput prints what a workload printed, which is untrusted: without control characters, and inside a block in
// which GitHub takes no commands.
func (e *env) showOutput(title, text string) {
	if strings.TrimSpace(text) == "" {
		fmt.Fprintf(e.Err, "nsgate: no %s\n", title)
		return
	}
	fmt.Fprintf(e.Err, "--- %s\n", title)
	token := ""
	if e.getenv("GITHUB_ACTIONS") == "true" {
		token = rand.Text()
		fmt.Fprintf(e.Err, "::stop-commands::%s\n", token)
	}
	for line := range strings.Lines(text) {
		fmt.Fprintln(e.Err, report.Clean(strings.TrimRight(line, "\r\n")))
	}
	if token != "" {
		fmt.Fprintf(e.Err, "::%s::\n", token)
	}
	fmt.Fprintf(e.Err, "--- end of the %s\n", title)
}
