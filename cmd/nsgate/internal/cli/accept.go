package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/baseline"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
)

func acceptCommand() *command {
	return &command{
		name:    "accept",
		usage:   "[flags] REPORT",
		summary: "take what a saved report measured as the new baseline",
		long: `
REPORT is a JSON report of nsgate check. What it measured becomes the baseline; the sessions so far are dropped,
because they no longer describe the code. The reason is stored beside the session, for those who review the change.

Example:

  nsgate check --report json=report.json -- ./app
  nsgate accept report.json --reason "exact softmax, agreed in review"`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			reason := fs.String("reason", "", "why the change is wanted (required)")
			root := fs.String("baseline", "", "directory of the committed baselines (default: where the report's baseline is, else "+defaultBaseline+")")
			return func(_ context.Context, e *env, args arguments) error {
				if len(args.own) != 1 {
					return usageError("accept wants one saved report and got %d", len(args.own))
				}
				if *reason == "" {
					return usageError("--reason is needed: say why the change is wanted, for those who review the baseline")
				}
				r, err := readReport(args.own[0])
				if err != nil {
					return err
				}
				head := r.HeadSessions
				if len(head) == 0 {
					return noVerdict(e, measure.Refuse(args.own[0]+" holds no measurement", "save a report of a check that measured something"))
				}
				dir := acceptDir(*root, r)
				err = baseline.Update(dir, func(old []measure.Session) ([]measure.Session, error) {
					return baseline.Accept(old, head, *reason)
				})
				if err != nil {
					return err
				}
				fmt.Fprintf(e.Out, "%s now holds what %s measured; review the change and commit it\n", dir, args.own[0])
				return nil
			}
		},
	}
}

// acceptDir is the baseline that takes a report's measurement: below root, else where the report's baseline is.
func acceptDir(root string, r *gate.Report) string {
	// A report is a file from elsewhere: it does not choose a place outside this directory.
	if root == "" && r.Baseline != "" && filepath.IsLocal(r.Baseline) {
		return r.Baseline
	}
	return baseline.Dir(cmp.Or(root, defaultBaseline), cmp.Or(r.Workload, "default"), r.HeadSessions[len(r.HeadSessions)-1].GPU)
}

// offerAccept puts the command that takes a failing report's measurement as the baseline into the report.
func offerAccept(r *gate.Report, out *outputFlags) {
	if r.Verdict != gate.Fail {
		return
	}
	file := ""
	for _, f := range out.files {
		if name, ok := strings.CutPrefix(f, "json="); ok {
			file = name
		}
	}
	if file == "" {
		file = "report.json"
		r.Next = append(r.Next, "to accept the change, check again with --report json="+file)
	}
	if out.patch != "" {
		r.Next = append(r.Next, "to accept it with the patch that is written beside: git apply "+quote(out.patch))
	}
	r.Accept = "nsgate accept " + quote(file) + " --reason 'WHY'"
}

func readReport(file string) (*gate.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadJSON(f, file)
}

func reportCommand() *command {
	return &command{
		name:    "report",
		usage:   "[flags] REPORT",
		summary: "render a saved JSON report in any format",
		long: `
Renders a report that check or compare saved, without a GPU, and ends with the exit code of its verdict.

Example:

  nsgate report --format markdown report.json`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var out outputFlags
			out.bind(fs)
			return func(_ context.Context, e *env, args arguments) error {
				if len(args.own) != 1 {
					return usageError("report wants one saved report and got %d", len(args.own))
				}
				if err := out.check(); err != nil {
					return err
				}
				r, err := readReport(args.own[0])
				if err != nil {
					return err
				}
				return out.publish(e, r, func(f gate.Finding) (string, int, bool) {
					if r.Baseline == "" || !filepath.IsLocal(r.Baseline) {
						return "", 0, false
					}
					return baseline.Locate(r.Baseline, f.Subject(), f.Metric)
				})
			}
		},
	}
}
