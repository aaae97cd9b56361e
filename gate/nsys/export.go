package nsys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
)

// exported are the tables that are asked of `nsys export`. META_DATA_CAPTURE, ProcessStreams and
// TARGET_INFO_SYSTEM_ENV are never among them: they hold the environment variables and the output of the workload.
var exported = []string{
	"StringIds", kernelTable, runtimeTable, copyTable, setTable, graphTable, memoryTable, rangeTable, diagnosticTable,
	"TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT",
}

// readable are the tables that Read looks into.
var readable = slices.Concat(exported,
	[]string{"EXPORT_META_DATA", "TARGET_INFO_CUDA_GPU", "TARGET_INFO_SYSTEM_ENV"})

// Tables lists the tables that [Export] asks for: what Read needs, and none that holds environment variables.
func Tables() []string { return slices.Clone(exported) }

// ExportArgs are the arguments with which [Export] runs nsys.
func ExportArgs(report, output string) []string {
	return []string{
		"export", "--type", "sqlite", "-f", "true", "-q", "true", "--tables=" + strings.Join(exported, ","),
		"-o", output, report,
	}
}

// Export turns a report (.nsys-rep) into a SQLite export with the tables of [Tables] and returns the export's path,
// a new file in dir. A report holds environment variables of the workload, so dir must be private to the user.
//
// The command nsys is a path or a name looked up in PATH. Where nsys is missing or fails, the error is a
// *measure.Refusal and no file is left; when ctx ends, nsys and its children are killed.
func Export(ctx context.Context, nsys, report, dir string) (string, error) {
	name := filepath.Base(report)
	if _, err := os.Stat(report); err != nil {
		return "", err
	}
	program, err := exec.LookPath(nsys)
	if err != nil {
		return "", measure.Refuse(fmt.Sprintf("%s cannot be read: nsys was not found", name),
			"install Nsight Systems or pass --nsys PATH, or export it yourself with `nsys export --type sqlite`")
	}
	f, err := os.CreateTemp(dir, strings.TrimSuffix(name, filepath.Ext(name))+"-*.sqlite")
	if err != nil {
		return "", err
	}
	f.Close()
	output := f.Name()
	var stdout, stderr tail
	cmd := exec.CommandContext(ctx, program, ExportArgs(report, output)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	killGroup(cmd)
	err = cmd.Run()
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
	said := stderr.last()
	if said == "" {
		said = stdout.last()
	}
	if said == "" {
		said = err.Error()
	}
	next := "the report is damaged or was written by a newer nsys: record it again, or pass --nsys PATH of that release"
	for _, x := range exportFailures {
		if strings.Contains(stderr.String()+stdout.String(), x.text) {
			next = x.next
			break
		}
	}
	return "", measure.Refuse(fmt.Sprintf("nsys could not export %s: %s", name, said), next)
}

// exportFailures are the ways out of failures that nsys names.
var exportFailures = []struct{ text, next string }{
	{"magic number mismatch", "the report is truncated or no report of nsys: record the workload again"},
	{"unrecognised option", "this nsys cannot export single tables: update it to 2024.2 or later"},
	{"unrecognized option", "this nsys cannot export single tables: update it to 2024.2 or later"},
	{"No space left", "make room on the disk and try again"},
}

// tail keeps the end of what a program writes.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	const kept = 16 << 10
	t.Buffer.Write(p)
	if extra := t.Len() - kept; extra > kept {
		t.Next(extra)
	}
	return len(p), nil
}

// An absolute path up to its last component, which says enough.
var directories = regexp.MustCompile(`(?:[A-Za-z]:)?[/\\](?:[^/\\\s'":]+[/\\])*`)

// last is the last line that says something, without what names the machine.
func (t *tail) last() string {
	const longest = 200
	lines := strings.Split(t.String(), "\n")
	for _, line := range slices.Backward(lines) {
		line = clean(directories.ReplaceAllString(measure.NormalizeControl(line), ""))
		if !strings.ContainsFunc(line, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }) {
			continue
		}
		if runes := []rune(line); len(runes) > longest {
			line = string(runes[:longest]) + "…"
		}
		return strings.TrimRight(line, ".")
	}
	return ""
}
