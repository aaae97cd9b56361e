//go:build unix

package ncu_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// report makes a report with blocks of these payloads, written by that ncu.
func report(version string, payloads ...string) []byte {
	var b bytes.Buffer
	part := func(message []byte) {
		binary.Write(&b, binary.LittleEndian, uint32(len(message)))
		b.Write(message)
	}
	b.WriteString("NVR\x00")
	part([]byte{0x08, 7})
	for _, payload := range payloads {
		header := []byte{0x08, 1, 0x10, 1} // sources, results
		session := "\x0a" + string(rune(len(version))) + version
		header = append(append(header, 0x1a, byte(len(session))), session...)
		header = binary.AppendUvarint(append(header, 0x28), uint64(len(payload)))
		part(header)
		b.WriteString(payload)
	}
	return b.Bytes()
}

var whole = report("2025.3.1.0 (build 36398880)", "one result", strings.Repeat("another ", 100))

// fakeNcu writes a shell script in the place of ncu.
func fakeNcu(t *testing.T, script string) string {
	t.Helper()
	return exporttest.File(t, "ncu", "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'NVIDIA (R) Nsight Compute "+
		"Command Line Profiler'; echo \"Version ${FAKE:-2024.3.2}.0 (build 1)\"; exit; fi\nprintf '%s\\n' \"$@\" "+
		"\"LC_ALL=$LC_ALL\" \"TMPDIR=$TMPDIR\" > \"$0.args\"\n"+script)
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	return exporttest.File(t, name, string(data))
}

func TestExport(t *testing.T) {
	page := rawPage("gpu__time_duration.sum", "ns", "81472")
	tool := fakeNcu(t, "[ -d \"$TMPDIR\" ] || exit 9\ncat <<'END'\n"+page+"END\n")
	for _, name := range []string{"run.ncu-rep", "run.ncu-repz", "run.nsight-cuprof-report"} {
		rep, dir := write(t, name, whole), t.TempDir()
		if strings.HasSuffix(name, "z") {
			rep = write(t, name, []byte("\x28\xb5\x2f\xfdsomething compressed"))
		}
		seen := map[string]bool{}
		for range 2 { // two exports of one report do not overwrite each other
			out, err := ncu.Export(t.Context(), tool, rep, dir)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(out) != dir || filepath.Ext(out) != ".csv" || seen[out] {
				t.Errorf("page %s", out)
			}
			seen[out] = true
			if p := open(t, out); records(p)[0].Metrics["ncu_time"] != 81472 {
				t.Errorf("%v", records(p))
			}
		}
		if left, _ := os.ReadDir(dir); len(left) != 2 {
			t.Errorf("left behind: %v", left)
		}
		args, err := os.ReadFile(tool + ".args")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join(append(ncu.ExportArgs(rep), "LC_ALL=C", "TMPDIR="+dir), "\n")
		if !strings.HasPrefix(string(args), want) {
			t.Errorf("arguments\n%s want\n%s", args, want)
		}
	}
}

func TestExportFailures(t *testing.T) {
	for _, tt := range []struct{ name, script, version, want, next string }{
		{"error on its output", "echo '==PROF== Reading'; echo '==ERROR== Failed to read the section table of " +
			"/home/someone/x/run.ncu-rep.'; exit 1\n", "2025.3.1",
			"ncu could not read run.ncu-rep (ncu 2025.3.1 wrote it): Failed to read the section table of run.ncu-rep",
			"profile again"},
		{"an older ncu", "echo '==ERROR== Unsupported file version' >&2; exit 1\n", "2024.3.2",
			"Unsupported file version", "this is ncu 2024.3.2: read the report with ncu 2025.3 or later"},
		{"an older ncu of the same release", "echo '==ERROR== Bad' >&2; exit 1\n", "2025.3.0", ": Bad",
			"the report is damaged"},
		{"a usage error", "echo 'unrecognised option --page' >&2; exit 1\n", "2026.1.0", "unrecognised option --page",
			"(ncu 2025.3.1 wrote it)"},
		{"silent", "exit 7\n", "2026.1.0", "exit status 7", "damaged"},
		{"nothing written", "exit 0\n", "2026.1.0", "it wrote nothing", "damaged"},
		{"half written", "echo '\"ID\",\"Process ID\"'; exit 1\n", "2026.1.0", `"ID","Process ID"`, "damaged"},
		{"control characters", "printf '==ERROR== bad \\033[31mred\\007\\n' >&2; exit 1\n", "2026.1.0",
			"bad \uFFFD[31mred\uFFFD", "damaged"},
		{"without an end", "while :; do head -c 1000000 /dev/zero; done\n", "2026.1.0",
			"the page of run.ncu-rep is larger than 128 MB", "--launch-count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("FAKE", tt.version)
			exporttest.Fails(t, ncu.Export, fakeNcu(t, tt.script), write(t, "run.ncu-rep", whole), tt.want, tt.next)
		})
	}
	var refusal *model.Refusal
	_, err := ncu.Export(t.Context(), filepath.Join(t.TempDir(), "ncu"), write(t, "run.ncu-rep", whole), t.TempDir())
	if want := "run.ncu-rep (ncu 2025.3.1 wrote it) cannot be read: it is not laid out as nsgate knows it, and ncu " +
		"was not found"; !errors.As(err, &refusal) || refusal.Reason != want ||
		!strings.Contains(refusal.Next, "ncu --import run.ncu-rep --csv --page raw --print-units base > PAGE.csv") {
		t.Errorf("without ncu: %v", err)
	}
	if _, err := ncu.Export(t.Context(), fakeNcu(t, ""), "absent.ncu-rep", t.TempDir()); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("without a report: %v", err)
	}
}

// A file that is no whole report is refused before ncu runs.
func TestExportDamaged(t *testing.T) {
	tool := fakeNcu(t, "echo called\n")
	for _, tt := range []struct {
		name string
		data []byte
		want string // "" where ncu decides
	}{
		{"whole", whole, ""},
		{"empty", nil, "is no report of ncu"},
		{"text", []byte(`"ID","Process ID"`), "is no report of ncu"},
		{"a report of nsys", []byte("NVIDIA Tegra Profiler Report 1234"), "is no report of ncu"},
		{"a game's scenery", []byte("NVR\x00\x09\x00\x01\x00\x05\x00\x00\x00\x00\x00\x00\x00"), "is no report of ncu"},
		{"magic alone", []byte("NVR\x00"), "run.ncu-rep is cut off: it should have at least 16 bytes and has 4"},
		{"file header alone", report("2025.3.1.0 (build 1)"), "is cut off"},
		{"cut in the file header", []byte("NVR\x00\xff\x00\x00\x00\x08\x0712345678"),
			"is cut off: it should have at least 263 bytes and has 18"},
		{"cut in the first header", whole[:20], "is cut off"},
		{"cut in the first payload", whole[:65], "is cut off"},
		{"cut in a length", report("2025.3.1.0 (build 1)", "x")[:12], "is cut off"},
		{"cut in the last payload", whole[:len(whole)-1], "is cut off: it should have at least 903 bytes and has 902"},
		{"a byte too many", append(bytes.Clone(whole), 0), "is cut off"},
		{"a later layout", bytes.Replace(whole, []byte{0x08, 7}, []byte{0x08, 8}, 1)[:100], ""},
		{"a header of another make", append([]byte("NVR\x00\x02\x00\x00\x00\x08\x07\x02\x00\x00\x00\x08\x01"),
			"rest"...), ""},
		{"a header that is no message", append([]byte("NVR\x00\x02\x00\x00\x00\x08\x07\x02\x00\x00\x00\xff\xff"),
			"rest"...), ""},
		{"a huge header", []byte("NVR\x00\x02\x00\x00\x00\x08\x07\xff\xff\xff\x7f1234"), "is cut off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ncu.Export(t.Context(), tool, write(t, "run.ncu-rep", tt.data), t.TempDir())
			var refusal *model.Refusal
			if tt.want == "" && err != nil || tt.want != "" &&
				(!errors.As(err, &refusal) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		head string
		want bool
	}{{string(whole[:64]), true}, {"NVR\x00", true}, {"NVR", false}, {"", false}, {"SQLite format 3\x00", false},
		{"NVR\x00\x09\x00\x01\x00\x05\x00\x00\x00", false}, {"NVIDIA Tegra", false}, {"\"ID\",\"Process ID\"", false}} {
		if got := ncu.SniffReport([]byte(tt.head)); got != tt.want {
			t.Errorf("%q: %v", tt.head, got)
		}
	}
}

func TestExportInterrupted(t *testing.T) {
	exporttest.Interrupted(t, ncu.Export, fakeNcu, write(t, "run.ncu-rep", whole))
}

// Any bytes are looked at without a panic, and never more than they are.
func FuzzReport(f *testing.F) {
	f.Add(whole)
	f.Add(whole[:50])
	f.Add([]byte("NVR\x00\x02\x00\x00\x00\x08\x07\xff\xff\xff\x7f1234"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ncu.SniffReport(data)
		dir := t.TempDir()
		path := filepath.Join(dir, "x.ncu-rep")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ncu.Export(t.Context(), filepath.Join(dir, "absent"), path, dir)
		var refusal *model.Refusal
		if !errors.As(err, &refusal) || refusal.Next == "" {
			t.Fatalf("not a refusal: %v", err)
		}
	})
}
