//go:build unix

package nsys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// fakeNsys writes a shell script in the place of nsys. The path of the output is in $out.
func fakeNsys(t *testing.T, script string) string {
	t.Helper()
	return exporttest.File(t, "nsys", "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.args\"\n"+
		"while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"+script)
}

func report(t *testing.T) string {
	t.Helper()
	return exporttest.File(t, "run.nsys-rep", "NVIDIA Tegra Profiler Report 2025@2@1@130-252135690618v0.\n\x0bLocal")
}

func TestExport(t *testing.T) {
	dir, nsys, rep := t.TempDir(), fakeNsys(t, "echo database > \"$out\"\n"), report(t)
	seen := make(map[string]bool)
	for range 2 { // two reports of one name do not overwrite each other
		out, err := Export(t.Context(), nsys, rep, dir)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(out) != dir || filepath.Ext(out) != ".sqlite" || seen[out] {
			t.Errorf("export %s", out)
		}
		seen[out] = true
	}
	args, err := os.ReadFile(nsys + ".args")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"export\n", "\n--type\nsqlite\n", "--tables=StringIds,",
		"CUPTI_ACTIVITY_KIND_KERNEL,", rep} {
		if !strings.Contains(string(args), want) {
			t.Errorf("arguments\n%s lack %q", args, want)
		}
	}
	// Tables with environment variables, output or host names stay out of every export.
	for _, table := range []string{"META_DATA_CAPTURE", "ProcessStreams", "SYSTEM_ENV", "PROCESSES", "*"} {
		if strings.Contains(string(args), table) {
			t.Errorf("arguments\n%s name %s", args, table)
		}
	}
}

// An nsys that knows no payloads exports the rest.
func TestExportWithoutPayloads(t *testing.T) {
	tool := fakeNsys(t,
		"if grep -q include-json \"$0.args\"; then echo \"unrecognised option '--include-json=true'\" >&2; exit 1; "+
			"fi\necho export > \"$out\"\n")
	out, err := Export(t.Context(), tool, report(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(out); string(data) != "export\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestExportFailures(t *testing.T) {
	for _, c := range []struct{ name, script, want, next string }{
		{"truncated",
			"echo 'starting' >&2; echo 'Section Table Reference magic number mismatch.' >&2; echo >&2; exit 1\n",
			"could not export run.nsys-rep (nsys 2025.2.1 wrote it): Section Table Reference magic number mismatch",
			"truncated"},
		{"old", "echo \"unrecognised option '--tables=x'\"; exit 1\n", "unrecognised option", "update it"},
		{"paths", "echo 'cannot read /home/someone/secret/dir/file.nsys-rep' >&2; exit 2\n",
			"cannot read file.nsys-rep", "newer nsys"},
		{"silent", "exit 7\n", "exit status 7", "record it again"},
		{"nothing written", "exit 0\n", "it wrote no export", "record it again"},
		{"half written", "echo half > \"$out\"; exit 1\n", "exit status 1", "record it again"},
		{"control characters", "printf 'bad \\033[31mred\\007\\n' >&2; exit 1\n", "bad \uFFFD[31mred\uFFFD",
			"record it again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exporttest.Fails(t, export, fakeNsys(t, c.script), report(t), c.want, c.next)
		})
	}
	var refusal *model.Refusal
	if _, err := Export(t.Context(), filepath.Join(t.TempDir(), "nsys"), report(t), t.TempDir()); !errors.As(err,
		&refusal) ||
		!strings.Contains(err.Error(), "run.nsys-rep (nsys 2025.2.1 wrote it) cannot be read: ") ||
		!strings.Contains(err.Error(), "/nsys cannot be run: no such file or directory;") {
		t.Errorf("without nsys: %v", err)
	}
	if _, err := Export(t.Context(), fakeNsys(t, ""), "absent.nsys-rep", t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a report: %v", err)
	}
}

func TestExportInterrupted(t *testing.T) {
	exporttest.Interrupted(t, export, fakeNsys, report(t))
}

func export(ctx context.Context, tool, report, dir string) (string, error) {
	return Export(ctx, tool, report, dir)
}
