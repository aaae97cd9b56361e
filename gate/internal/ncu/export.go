package ncu

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
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/measure"
)

// exportLimit is the size in bytes of the largest page that [Export] writes: what [Read] takes.
const exportLimit = sizeLimit

// ExportArgs are the arguments with which [Export] runs ncu.
func ExportArgs(report string) []string {
	return []string{"--import", report, "--csv", "--page", "raw", "--print-units", "base", "--config-file", "off"}
}

// Export turns a report (.ncu-rep, or the compressed .ncu-repz of newer versions) into its raw page, which [Read] reads,
// and returns the page's path, a new file in dir. A page names the host and the process of the workload, so dir must be
// private to the user.
//
// The command ncu is a path or a name looked up in PATH. Where ncu is missing or fails, and where the report is damaged,
// the error is a *measure.Refusal and no file is left; when ctx ends, ncu and its children are killed.
func Export(ctx context.Context, ncu, report, dir string) (string, error) {
	name := filepath.Base(report)
	written, err := inspectFile(report)
	if err != nil {
		return "", err
	}
	by := ""
	if written != "" {
		by = fmt.Sprintf(" (ncu %s wrote it)", written)
	}
	program, err := exec.LookPath(ncu)
	if err != nil {
		return "", Reasons.Refuse("no-ncu", name, by, strings.Join(ExportArgs(name)[:7], " "))
	}
	// ncu keeps a lock in the temporary directory, which that of another user blocks.
	tmp, err := os.MkdirTemp(dir, "ncu-") // mode 0700
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	f, err := os.CreateTemp(dir, strings.TrimSuffix(name, filepath.Ext(name))+"-*.csv")
	if err != nil {
		return "", err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	page := &page{file: f, stop: stop}
	var stderr proc.Output
	err = errors.Join(proc.Run(running, tmp, page, &stderr, program, ExportArgs(report)...), f.Close())
	switch {
	case err == nil && page.size > 0:
		return f.Name(), nil
	case err == nil:
		err = errors.New("it wrote nothing")
	}
	os.Remove(f.Name())
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: the export was interrupted: %w", name, ctx.Err())
	case page.full:
		return "", Reasons.Refuse("large-page", name, exportLimit>>20)
	case page.err != nil:
		return "", Reasons.Refuse("disk", name, cause(page.err))
	}
	why := cmp.Or(blame(stderr.String(), page.end.String()), err.Error())
	if mine := Version(ctx, program); newer(written, mine) {
		return "", Reasons.Refuse("old-ncu", name, by, why, mine, release(written))
	}
	return "", Reasons.Refuse("damaged", name, by, why, by)
}

// cause is the error without the path that it happened to.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// page is a file that takes what ncu prints, up to a limit.
type page struct {
	file *os.File
	stop func() // ends ncu
	size int64
	full bool
	err  error
	end  proc.Output
}

func (p *page) Write(b []byte) (int, error) {
	if p.size += int64(len(b)); p.size > exportLimit {
		p.full = true
		p.stop()
		return 0, errors.New("too much output")
	}
	p.end.Write(b)
	n, err := p.file.Write(b)
	if err != nil {
		p.err = err
		p.stop()
	}
	return n, err
}

// said is what ncu says went wrong: the last of its errors, or else the last line with words.
func blame(outputs ...string) string {
	var errors, lines []string
	for _, output := range outputs {
		var failed []string
		for _, m := range failure.FindAllStringSubmatch(output, -1) {
			failed = append(failed, m[1])
		}
		errors, lines = append(errors, strings.Join(failed, "\n")), append(lines, marker.ReplaceAllString(output, ""))
	}
	return measure.NormalizeLine(cmp.Or(proc.Said(errors...), proc.Said(lines...)))
}

var (
	failure = regexp.MustCompile(`(?m)^==ERROR==[ \t]*(.*)$`)
	marker  = regexp.MustCompile(`(?m)^==(?:ERROR|WARNING|PROF)==[ \t]*`)
)

var number = regexp.MustCompile(`\b20[0-9]{2}\.[0-9]+\.[0-9]+`)

// Version asks an ncu, a path or a name looked up in PATH, for its version ("2025.3.1"): "" where it does not say.
func Version(ctx context.Context, ncu string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var out proc.Output
	if proc.Run(ctx, "", &out, nil, ncu, "--version") != nil {
		return ""
	}
	return number.FindString(out.String())
}

// release is year and number of a version: 2025.3 of 2025.3.1.0.
func release(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// newer reports whether a version is of a later release than another one. It is not where either is unknown.
func newer(version, than string) bool {
	if version == "" || than == "" {
		return false
	}
	number := func(version string) []int {
		var n []int
		for _, part := range strings.SplitN(release(version), ".", 2) {
			v, _ := strconv.Atoi(part)
			n = append(n, v)
		}
		return n
	}
	return slices.Compare(number(version), number(than)) > 0
}

// inspectFile looks at the outside of a report and gives the version of the ncu that wrote it, "" where it does not say.
func inspectFile(report string) (version string, err error) {
	f, err := os.Open(report)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if strings.EqualFold(filepath.Ext(report), ".ncu-repz") { // of another make, which only ncu knows
		return "", nil
	}
	name := filepath.Base(report)
	version, err = inspect(f, info.Size())
	var cut *cutError
	switch {
	case errors.Is(err, errForeign):
		return "", Reasons.Refuse("no-report", name)
	case errors.As(err, &cut):
		return "", Reasons.Refuse("cut-report", name, cut.want, cut.have)
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, cause(err))
	}
	return version, nil
}
