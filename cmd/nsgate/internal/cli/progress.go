package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/gate/report"
)

// progress shows how far a session is: one line that changes on a terminal, one line a run elsewhere, in a section that
// folds on GitLab.
type progress struct {
	e       *env
	live    bool
	quiet   bool
	wrote   bool
	section string // that is open on GitLab, "" for none
}

func newProgress(e *env, quiet bool) *progress {
	f, isFile := e.Err.(*os.File)
	return &progress{e: e, quiet: quiet, live: isFile && columns(f) > 0 && e.getenv("CI") == ""}
}

// event shows a step. It is told in one thread, as the steps come.
func (p *progress) event(ev check.Event) {
	switch ev.Stage {
	case check.Failed:
		p.e.showOutput(ev.Text, ev.Output)
		return
	case check.Hint:
		fmt.Fprintln(p.e.Err, "nsgate: hint:", ev.Text)
		return
	case check.Warning:
		fmt.Fprintln(p.e.Err, "nsgate: warning:", report.Clean(ev.Text))
		return
	case check.Done:
		p.done()
		return
	}
	if p.quiet {
		return
	}
	if say := map[check.Stage]string{
		check.Looking:     fmt.Sprintf("undecided after %d runs: measuring up to %d", ev.Run, ev.Runs),
		check.Pairing:     ev.Text + " against the committed baseline: measuring the base build beside the head",
		check.CheckingOut: "checking out the base " + ev.Text,
		check.Building:    "building the base " + ev.Text,
		check.Explaining:  "profiling what regressed with ncu: " + ev.Side,
		check.Counting:    fmt.Sprintf("run %d of %d under ncu%s", ev.Run, ev.Runs, map[string]string{"base": " (base)", "head": " (head)"}[ev.Side]),
	}[ev.Stage]; say != "" {
		fmt.Fprintln(p.e.Err, "nsgate:", say)
		return
	}
	if p.section == "" && p.e.getenv("GITLAB_CI") == "true" {
		p.e.sections++
		p.section = fmt.Sprintf("nsgate_runs_%d", p.e.sections)
		fmt.Fprintf(p.e.Err, "\x1b[0Ksection_start:%d:%s[collapsed=true]\r\x1b[0Knsgate: measuring\n", time.Now().Unix(), p.section)
	}
	text := ""
	switch ev.Stage {
	case check.RunStarted:
		if !p.live {
			return
		}
		text = fmt.Sprintf("run %d of %d", ev.Run, ev.Runs)
	case check.RunFinished:
		text = fmt.Sprintf("run %d of %d done", ev.Run, ev.Runs)
	case check.Starting, check.Finishing, check.Exporting:
		if !p.live {
			return
		}
		text = map[check.Stage]string{check.Starting: "starting nsys", check.Finishing: "nsys writes its report",
			check.Exporting: "nsys exports"}[ev.Stage]
	case check.Repeating:
		text = "nsys lost events of JAX's NVTX ranges: measuring again without the domain TSL"
	default:
		return
	}
	text += fmt.Sprintf("  %s", seconds(ev.Elapsed))
	if ev.Expected > 0 && ev.Run < ev.Runs {
		text += fmt.Sprintf(" of about %s", seconds(ev.Expected))
	}
	if p.live {
		fmt.Fprintf(p.e.Err, "\r\x1b[K%s", text)
		p.wrote = true
		return
	}
	fmt.Fprintln(p.e.Err, "nsgate:", text)
}

// done takes the changing line away and ends the section.
func (p *progress) done() {
	if p.wrote {
		fmt.Fprint(p.e.Err, "\r\x1b[K")
	}
	if p.section != "" {
		fmt.Fprintf(p.e.Err, "\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", time.Now().Unix(), p.section)
	}
	p.wrote, p.section = false, ""
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// showOutput prints what a workload printed, which is untrusted: without control characters, and inside a block in
// which GitHub takes no commands.
func (e *env) showOutput(title, text string) {
	if strings.TrimSpace(text) == "" {
		fmt.Fprintf(e.Err, "nsgate: no %s\n", title)
		return
	}
	fmt.Fprintf(e.Err, "--- %s\n", title)
	resume := stopCommands(e)
	for line := range strings.Lines(text) {
		fmt.Fprintln(e.Err, report.Clean(strings.TrimRight(line, "\r\n")))
	}
	resume()
	fmt.Fprintf(e.Err, "--- end of the %s\n", title)
}
