package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/report"
)

// progress shows how far a session is: one line that changes on a terminal, one line a run elsewhere.
type progress struct {
	e     *env
	live  bool
	quiet bool
	wrote bool
}

func newProgress(e *env, quiet bool) *progress {
	f, isFile := e.Err.(*os.File)
	return &progress{e: e, quiet: quiet, live: isFile && columns(f) > 0 && e.getenv("CI") == ""}
}

func (p *progress) event(ev collect.Event) {
	if p.quiet {
		return
	}
	text := ""
	switch ev.Stage {
	case collect.RunStarted:
		if !p.live {
			return
		}
		text = fmt.Sprintf("run %d of %d", ev.Run, ev.Runs)
	case collect.RunFinished:
		text = fmt.Sprintf("run %d of %d done", ev.Run, ev.Runs)
	case collect.Starting, collect.Finishing, collect.Exporting:
		if !p.live {
			return
		}
		text = map[collect.Stage]string{collect.Starting: "starting nsys", collect.Finishing: "nsys writes its report",
			collect.Exporting: "nsys exports"}[ev.Stage]
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

// done takes the changing line away.
func (p *progress) done() {
	if p.wrote {
		fmt.Fprint(p.e.Err, "\r\x1b[K")
	}
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
