package ncu

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// ExportArgs are the arguments of ncu in [Export].
func ExportArgs(report string) []string {
	return []string{"--import", report, "--csv", "--page", "raw", "--print-units", "base", "--config-file", "off"}
}

// Export turns a report (.ncu-rep, or the compressed .ncu-repz of newer versions) into its raw page, which [Read]
// reads, and returns the page's path, a new file in dir, which must be private to the user: a page names the host and
// the process. Where ncu is missing or fails, and where the report is damaged, the error is a *model.Refusal and no
// file is left.
func Export(ctx context.Context, ncu, report, dir string) (string, error) {
	name := filepath.Base(report)
	by, written, err := inspect(report)
	if err != nil {
		return "", err
	}
	program, err := exec.LookPath(ncu)
	if err != nil {
		return "", model.Refuse(model.NoCounter,
			fmt.Sprintf("install Nsight Compute and put its ncu on the PATH, or write the page yourself: ncu %s > "+
				"PAGE.csv", strings.Join(ExportArgs(name)[:7], " ")),
			"%s%s cannot be read: it is not laid out as nsgate knows it, and ncu was not found", name, by)
	}
	// ncu keeps a lock in the temporary directory, which that of another user blocks.
	tmp, err := os.MkdirTemp(dir, "ncu-") // mode 0700
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	f, err := output.Temporary(dir, strings.TrimSuffix(name, filepath.Ext(name))+"-*.csv")
	if err != nil {
		return "", err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
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
	unwritten := context.Cause(running)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: the export was interrupted: %w", name, ctx.Err())
	case unwritten == errFull:
		return "", model.Refuse(model.TooLarge, fewer, "the page of %s is larger than %d MB", name, sizeLimit>>20)
	case unwritten != nil:
		return "", model.Refuse(model.NoRoom, "make room on the disk and try again",
			"the page of %s could not be written: %s", name, proc.Cause(unwritten))
	}
	why := cmp.Or(blame(stderr.String(), page.end.String()), err.Error())
	mine := Version(ctx, program)
	if year, number, newer := newer(written, mine); newer {
		return "", model.Refuse(model.OldNcu, fmt.Sprintf("this is ncu %s: read the report with ncu %d.%d or later",
			mine, year, number),
			"ncu could not read %s%s: %s", name, by, why)
	}
	return "", model.Refuse(model.Damaged,
		fmt.Sprintf("the report is damaged: profile again, or open it in the ncu that wrote it%s", by),
		"ncu could not read %s%s: %s", name, by, why)
}

// page is a file for the output of ncu, up to the size that [Read] accepts.
type page struct {
	file *os.File
	stop func(error) // ends ncu
	size int64
	end  proc.Output
}

var errFull = errors.New("too much output")

func (p *page) Write(b []byte) (n int, err error) {
	p.size += int64(len(b))
	if p.size > sizeLimit {
		err = errFull
	} else {
		p.end.Write(b)
		n, err = p.file.Write(b)
	}
	if err != nil {
		p.stop(err)
	}
	return n, err
}

// blame is the error message of ncu: its last error, or else the last line with words.
func blame(stderr, stdout string) string {
	errors := func(output string) string { return strings.Join(failure().FindAllString(output, -1), "\n") }
	said := proc.Said(errors(stderr), errors(stdout), stderr, stdout)
	return measure.NormalizeLine(marker().ReplaceAllString(said, ""))
}

var (
	failure = input.Pattern(`(?m)^==ERROR==.*$`)
	marker  = input.Pattern(`^==(?:ERROR|WARNING|PROF)==`)
)

var number = input.Pattern(`\b20[0-9]{2}\.[0-9]+\.[0-9]+`)

// Version asks an ncu, a path or a name looked up in PATH, for its version ("2025.3.1"): "" where it does not say.
func Version(ctx context.Context, ncu string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var out proc.Output
	if proc.Run(ctx, "", &out, nil, ncu, "--version") != nil {
		return ""
	}
	return number().FindString(out.String())
}

// newer reports whether a version is of a later release, which is year and number, than another one. It is not where
// either is unknown.
func newer(version, than string) (year, number int, newer bool) {
	var thanYear, thanNumber int
	fmt.Sscanf(version, "%d.%d", &year, &number)
	fmt.Sscanf(than, "%d.%d", &thanYear, &thanNumber)
	return year, number, thanYear > 0 && (year > thanYear || year == thanYear && number > thanNumber)
}

// Catalog holds the metrics that `ncu --query-metrics` lists, without suffix, and the type of each.
type Catalog map[string]string

// Query asks an ncu for the metrics of this host's GPUs. The catalog is empty where ncu does not answer.
func Query(ctx context.Context, ncu string) Catalog {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var out bytes.Buffer
	if proc.Run(ctx, "", &out, nil, ncu, "--query-metrics") != nil {
		return nil
	}
	c := Catalog{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		// Descriptions wrap into lines that begin with spaces.
		if words := strings.Fields(lines.Text()); len(words) > 1 && strings.HasPrefix(lines.Text(), words[0]) &&
			strings.Contains(words[0], "__") {
			c[words[0]] = words[1]
		}
	}
	return c
}

// Check gives the error of a metric that is not in the catalog. Metrics of a launch, a device or the source code have
// other lists, and ncu itself refuses those that it lacks.
func (c Catalog) Check(name string) error {
	unit, _, counted := strings.Cut(name, "__")
	if len(c) == 0 || !counted || slices.Contains([]string{"launch", "device", "sass", "derived", "numa", "nvlink",
		"c2clink", "profiler"}, unit) {
		return nil
	}
	if kind, ok := c[name]; ok {
		return fmt.Errorf("%s needs a suffix: %s", name, strings.Join(suffixes(kind), ", "))
	}
	for at, r := range name {
		if kind, ok := c[name[:at]]; ok && r == '.' {
			first, _, _ := strings.Cut(name[at+1:], ".")
			if !slices.Contains(suffixes(kind), "."+first) {
				return fmt.Errorf("%s has no suffix .%s: it has %s", name[:at], first,
					strings.Join(suffixes(kind), ", "))
			}
			return nil
		}
	}
	base, suffix, _ := strings.Cut(name, ".")
	advice := "`ncu --query-metrics` lists them"
	if near := measure.Nearest(base, slices.Collect(maps.Keys(c))); near != "" {
		advice = "did you mean " + strings.TrimSuffix(near+"."+suffix, ".") + "?"
	}
	return fmt.Errorf("ncu has no metric %s on this GPU: %s", quote(name), advice)
}

// suffixes are those of a type of metrics.
func suffixes(kind string) []string {
	return strings.Fields(measure.Either(kind == "Ratio", ".max_rate .pct .ratio", ".avg .max .min .sum"))
}
