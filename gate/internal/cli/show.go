package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
)

type showOptions struct {
	given
	reading
	filtered
	printed
}

func (v *showOptions) run(ctx context.Context, e *env, args arguments) error {
	if app.HoldsDeviceCode(args.own[0]) {
		return showCode(ctx, e, args.own[0], &v.printed)
	}
	rule, err := v.rule()
	if err != nil {
		return err
	}
	t := profile.Tools{Exe: v.exe}
	if t.Rows, err = filterOf(".", v.rows); err != nil {
		return usageError("--rows: %v", err)
	}
	summary, err := app.Show(ctx, t, rule, args.own[0])
	if err != nil {
		return noVerdict(e, "shown", err)
	}
	return render(e, &v.printed, summary)
}

func showCode(ctx context.Context, e *env, path string, v *printed) error {
	code, err := app.ShowDeviceCode(ctx, path)
	if err != nil {
		return noVerdict(e, "shown", err)
	}
	for _, u := range code.Unreadable {
		fmt.Fprintln(e.Err, "nsgate: not read:", report.Clean(u))
	}
	switch v.format {
	case "json":
		err = e.encode(code)
	case "text":
		if len(code.Code) > 0 {
			title, listed := firstKernels(code.Code)
			titles := []string{"arch", "registers", "stack B", "spill B", "shared B", "constant B", "code B", "hash",
				"kernel"}
			err = report.List(e.Out, title, titles, codeRows(listed, v.options(e).Verbose), v.options(e))
		}
	default:
		return usageError("--format: device code is listed as text or json")
	}
	return measure.Either(err == nil && len(code.Code) == 0, error(&exit{code: ExitNoVerdict}), err)
}

// firstKernels are the kernels that are listed as text, with the title of the list.
func firstKernels(all []devicecode.Kernel) (title string, listed []devicecode.Kernel) {
	const most = 1000
	title = measure.Count(len(all), "kernel")
	if len(all) <= most {
		return title, all
	}
	return fmt.Sprintf("%s, of which %d are listed (--format json: all)", title, most), all[:most]
}

func codeRows(kernels []devicecode.Kernel, verbose bool) [][]string {
	rows := make([][]string, len(kernels))
	for i, k := range kernels {
		stack := measure.Either(k.Stack < 0, measure.Unknown, strconv.Itoa(k.Stack))
		full := measure.NormalizeName(k.Name)
		name := measure.Either(verbose, full, measure.ShortName(full))
		rows[i] = []string{k.Arch, strconv.Itoa(k.Registers), stack, strconv.Itoa(k.SpillStores),
			strconv.Itoa(k.Shared), strconv.Itoa(k.Constant), strconv.Itoa(k.Code), k.Hash[:min(8, len(k.Hash))], name}
	}
	return rows
}

type scrubOptions struct {
	given
	reading
	dir string `flag:"output"`
}

func (v *scrubOptions) run(ctx context.Context, e *env, args arguments) error {
	if v.dir == "" {
		return usageError("--output is needed: name a directory that is not there yet")
	}
	rule, err := v.rule()
	if err != nil {
		return err
	}
	sessions, err := app.Scrub(ctx, profile.Tools{Exe: v.exe}, rule, args.own[0], v.dir)
	if err != nil {
		return noVerdict(e, "scrubbed", err)
	}
	fmt.Fprintf(e.Out, "%s holds %s\n", report.Clean(v.dir), recorded(sessions))
	return nil
}
