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
	[]string{"EXPORT_META_DATA", "META_DATA_CAPTURE", "TARGET_INFO_CUDA_GPU", "TARGET_INFO_SYSTEM_ENV"})

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
		return "", refuse("no-nsys", name)
	}
	f, err := os.CreateTemp(dir, strings.TrimSuffix(name, filepath.Ext(name))+"-*.sqlite")
	if err != nil {
		return "", err
	}
	f.Close()
	output := f.Name()
	var stdout, stderr tail
	cmd := exec.CommandContext(ctx, program, ExportArgs(report, output)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+dir) // what it writes on the way is as private as the report
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
	key := "export-failed"
	for _, x := range exportFailures {
		if strings.Contains(stderr.String()+stdout.String(), x.text) {
			key = x.key
			break
		}
	}
	return "", refuse(key, name, said)
}

// exportFailures are the failures that nsys names, and the keys of their refusals.
var exportFailures = []struct{ text, key string }{
	{"magic number mismatch", "report-truncated"},
	{"unrecognised option", "nsys-without-tables"},
	{"unrecognized option", "nsys-without-tables"},
	{"No space left", "disk-full"},
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
