package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/measure"
)

type showVerb struct {
	sampleFlags
	out outputFlags
}

func (v *showVerb) bind(fs *pflag.FlagSet) {
	v.sampleFlags.bind(fs)
	v.out.bindLook(fs, report.Formats(report.Summary))
}

func (v *showVerb) run(ctx context.Context, e *env, args arguments) error {
	if err := v.out.check(); err != nil {
		return err
	}
	if app.HoldsDeviceCode(args.own[0]) {
		return showCode(e, args.own[0], &v.out)
	}
	s := app.Show{Path: args.own[0]}
	s.Tools.Nsys = v.nsys
	var err error
	if s.Rule, err = v.rule(); err != nil {
		return err
	}
	summary, err := s.Run(ctx)
	if err != nil {
		return noVerdict(e, "shown", err)
	}
	return report.Render(v.out.format, v.out.to(e), summary, v.out.options(e))
}

// showCode lists the kernels in a file or directory with device code.
func showCode(e *env, path string, out *outputFlags) error {
	code, err := app.ReadDeviceCode(".", path)
	if err != nil {
		return err
	}
	for _, u := range code.Unreadable {
		fmt.Fprintln(e.Err, "nsgate: not read:", report.Clean(u))
	}
	switch out.format {
	case "json":
		err = e.encode(code)
	case "text":
		if len(code.Code) > 0 {
			title, listed := firstKernels(code.Code, out.options(e).Verbose)
			_, err = io.WriteString(e.text(), report.List(title, codeTitles, codeRows(listed, out.options(e).Verbose), out.options(e)))
		}
	default:
		return usageError("--format: device code is listed as text or json")
	}
	if err == nil && len(code.Code) == 0 {
		return &exit{code: ExitNoVerdict}
	}
	return err
}

// firstKernels are the kernels that are listed as text, with the title of the list: PyTorch's library holds 128,000.
func firstKernels(all []devicecode.Kernel, verbose bool) (title string, listed []devicecode.Kernel) {
	const most = 1000
	title = measure.Count(len(all), "kernel")
	if len(all) <= most || verbose {
		return title, all
	}
	return fmt.Sprintf("%s, of which %d are listed (--verbose or --format json: all)", title, most), all[:most]
}

var codeTitles = []string{"arch", "registers", "stack B", "spill B", "shared B", "constant B", "code B", "hash", "kernel"}

// codeRows are kernels as rows of a table, verbose ones with full names.
func codeRows(kernels []devicecode.Kernel, verbose bool) [][]string {
	rows := make([][]string, len(kernels))
	for i, k := range kernels {
		stack := strconv.Itoa(k.Stack)
		if k.Stack < 0 {
			stack = measure.Unknown
		}
		name := measure.NormalizeName(k.Name)
		if !verbose {
			name = measure.ShortName(name)
		}
		rows[i] = []string{k.Arch, strconv.Itoa(k.Registers), stack, strconv.Itoa(k.SpillStores), strconv.Itoa(k.Shared), strconv.Itoa(k.Constant),
			strconv.Itoa(k.Code), k.Hash[:min(8, len(k.Hash))], name}
	}
	return rows
}
