package nsys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// payloads puts the payloads of NVTX ranges into an export: the messages of NCCL, the stacks of Python.
const payloads = "--include-json=true"

// ExportArgs are the arguments of nsys in [Export].
func ExportArgs(report, output string) []string {
	return []string{"export", "--type", "sqlite", "-f", "true", "-q", "true", "--tables=" + strings.Join(exported, ","),
		payloads, "-o", output, report}
}

// Export turns a report (.nsys-rep) into a SQLite export of the tables that [Read] needs, and returns the export's
// path, a new file in dir, which must be private to the user: a report holds environment variables. nsys is a path or a
// name looked up in PATH. Where it is missing or fails, the error is a *model.Refusal and no file is left; when ctx
// ends, nsys and its children are killed.
func Export(ctx context.Context, nsys, report, dir string) (string, error) {
	name := filepath.Base(report)
	by, err := writtenBy(report)
	if err != nil {
		return "", err
	}
	program, err := exec.LookPath(nsys)
	if err != nil {
		return "", model.Refuse(model.NoProfiler, "export it yourself with `nsys export --type sqlite`, or install "+
			"nsys, of that release or a newer one (the package nsight-systems-cli of NVIDIA's apt repository), or say "+
			"where it is", "%s%s cannot be read: %s", name, by, proc.Missing(nsys, err))
	}
	f, err := output.Temporary(dir, strings.TrimSuffix(name, filepath.Ext(name))+"-*.sqlite")
	if err != nil {
		return "", err
	}
	f.Close()
	output := f.Name()
	var stdout, stderr proc.Output
	args := ExportArgs(report, output)
	// Files that nsys writes on the way are as private as the report.
	err = proc.Run(ctx, dir, &stdout, &stderr, program, args...)
	if said := stderr.String() + stdout.String(); err != nil &&
		strings.Contains(said, strings.TrimLeft(strings.TrimSuffix(payloads, "=true"), "-")) {
		// An nsys that does not know them names the option.
		stdout, stderr = proc.Output{}, proc.Output{}
		err = proc.Run(ctx, dir, &stdout, &stderr, program,
			slices.DeleteFunc(args, func(a string) bool { return a == payloads })...)
	}
	if err == nil {
		if info, stat := os.Stat(output); stat == nil && info.Size() > 0 {
			return output, nil
		}
		err = errors.New("it wrote no export")
	}
	os.Remove(output)
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: the export was interrupted: %w", name, ctx.Err())
	}
	kind, next := model.ExportFailed,
		"the report is damaged or was written by a newer nsys: record it again, or use the nsys of that release "+
			"(the package nsight-systems-cli of NVIDIA's apt repository)"
	for _, x := range exportFailures {
		if x.text().MatchString(stderr.String() + stdout.String()) {
			kind, next = x.kind, x.next
			break
		}
	}
	return "", model.Refuse(kind, next, "nsys could not export %s%s: %s", name, by,
		cmp.Or(measure.NormalizeLine(proc.Said(stderr.String(), stdout.String())), err.Error()))
}

// written is the first line of a report: the release and build of the nsys that wrote it.
var written = input.Pattern(`^NVIDIA Tegra Profiler Report (20\d\d)@(\d+)@(\d+)@`)

// writtenBy names the nsys that wrote a report, "" if unknown.
func writtenBy(report string) (string, error) {
	f, err := input.Open(report)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, head, err := look(f)
	if err != nil {
		return "", err
	}
	m := written().FindSubmatch(head)
	if m == nil {
		return "", nil
	}
	return fmt.Sprintf(" (nsys %s.%s.%s wrote it)", m[1], m[2], m[3]), nil
}

var exportFailures = []struct {
	text func() *regexp.Regexp
	kind model.Kind
	next string
}{
	{input.Pattern("magic number mismatch"), model.Truncated,
		"the report is truncated or no report of nsys: record the workload again"},
	{input.Pattern("unrecogni[sz]ed option"), model.OldNsys,
		"this nsys cannot export single tables: update it to 2024.2 or later"},
	{input.Pattern("No space left"), model.NoRoom, "make room on the disk and try again"},
}
