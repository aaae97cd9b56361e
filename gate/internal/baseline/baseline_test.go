package baseline

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/measure"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// exact compares sessions to the last bit, but for the zone of times and nil for empty.
var exact = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}

var (
	saxpy  = measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy(int, float, float const*, float*)", Grid: measure.Dim3{X: 1056, Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
	fused  = measure.Subject{Scope: measure.ScopeKernel, Name: "void ns::softmax<float, 4>(float*)", Grid: measure.Dim3{X: 64, Y: 2, Z: 1}, Block: measure.Dim3{X: 128, Y: 1, Z: 1}}
	step   = measure.Subject{Scope: measure.ScopeRange, Name: "step"}
	htod   = measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
	start  = time.Date(2026, 11, 21, 1, 51, 7, 0, time.UTC)
	absent = math.NaN()
)

func run(skipped int, steady bool) measure.Run {
	return measure.Run{Skipped: skipped, Total: 60, Launches: 6 * (60 - skipped), Steady: steady}
}

// sample gives two sessions from two GPUs.
func sample() []measure.Session {
	one := measure.Session{
		Environment: measure.Environment{
			GPU: "NVIDIA H200", GPUs: 1, GPUHash: "1a2b3c4d", Driver: "580.159", CUDA: "13.0", Tool: "nsys 2025.3.1",
			Schema: "3.15.1", GraphTrace: "node", Tick: 32, ClockMHz: 1980, Start: start,
			Hardware: measure.Hardware{Board: "692-2G520-0282-001", VBIOS: "96.00.A5.00.1A", MemoryMHz: 3201, PowerW: 700,
				CPU: "INTEL(R) XEON(R) PLATINUM 8558"},
		},
		Step: "step", Warmup: "auto", Commit: "5f2d1c0", Reason: "first record",
		Runs: []measure.Run{run(3, true), run(3, true), run(4, true)},
		Series: []measure.Series{
			{Subject: measure.Workload, Metric: measure.GPUTime, Values: measure.Values{1234567.5, 1234567.5, 1.25e6}},
			{Subject: htod, Metric: measure.CopyBytes, Values: measure.Values{65536, 65536, 65536}, Note: "pageable to device"},
			{Subject: step, Metric: measure.GPUTime, Values: measure.Values{1000.1, 1000.2, 1000.3}},
			{Subject: saxpy, Metric: measure.Launches, Values: measure.Values{1, 1, 1}, Role: "step/compute"},
			{Subject: saxpy, Metric: measure.Time, Values: measure.Values{27136, 27136, 27168}, Role: "step/compute"},
			{Subject: fused, Metric: measure.Time, Values: measure.Values{1.0 / 3, absent, absent}, Role: "=SUM(A1), \"fused\""},
		},
	}
	two := one
	two.GPUHash, two.Start, two.Reason = "99887766", start.Add(26*time.Hour), "second host"
	two.Hardware = measure.Hardware{MIG: "60 + 60 SMs"}
	two.Runs = []measure.Run{run(0, false)}
	two.Series = []measure.Series{
		{Subject: measure.Workload, Metric: measure.GPUTime, Values: measure.Values{1234000}},
		{Subject: saxpy, Metric: measure.Time, Values: measure.Values{27500}, Role: "step/compute"},
	}
	return Extend(Extend(nil, one, 0), two, 0)
}

// overwrite updates a baseline to these sessions, whatever it holds.
func overwrite(dir string, sessions []measure.Session) error {
	return Update(dir, func([]measure.Session) ([]measure.Session, error) { return sessions, nil })
}

func write(t testing.TB, dir string, sessions []measure.Session) {
	t.Helper()
	if err := overwrite(dir, sessions); err != nil {
		t.Fatal(err)
	}
}

// contents reads every entry of dir with its time of change, temporary files included.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = info.ModTime().String() + "\n" + string(b)
	}
	return out
}

func TestGolden(t *testing.T) {
	golden := filepath.Join("testdata", "golden")
	if *update {
		write(t, golden, sample())
	}
	dir := t.TempDir()
	write(t, dir, sample())
	for _, name := range fileNames {
		want, err := os.ReadFile(filepath.Join(golden, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got, err := Read(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got, exact); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
}

// Reading takes what git, editors and people make of the files, and the next write brings them back into form.
func TestReadTolerates(t *testing.T) {
	canonical, err := encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(string) string{
		"CRLF":      func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"BOM":       func(s string) string { return "\uFEFF" + s },
		"row order": func(s string) string { return reorder(s) },
		"columns":   func(s string) string { return rotate(s) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range fileNames {
				put(t, dir, file, change(string(canonical[file])))
			}
			got, err := Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sample(), got, exact); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			write(t, dir, got)
			for _, file := range fileNames {
				if b, _ := os.ReadFile(filepath.Join(dir, file)); string(b) != string(canonical[file]) {
					t.Errorf("%s is not in form again:\n%s", file, b)
				}
			}
		})
	}
}

func reorder(s string) string {
	lines := strings.SplitAfter(s, "\n")
	slices.Reverse(lines[1 : len(lines)-1])
	return strings.Join(lines, "")
}

// rotate puts a simple first column last.
func rotate(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		first, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
		b.WriteString(rest + "," + first + "\n")
	}
	return b.String()
}

func put(t testing.TB, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadErrors(t *testing.T) {
	const (
		sessions = "id,gpu,gpus,gpu_hash,driver,cuda,tool,schema,graph_trace,tick_ns,clock_mhz,start,step,warmup,runs,skipped,total,launches,steady,commit,reason\n" +
			"a,H200,1,1a2b3c4d,580,13.0,nsys,3,,32,0,2026-11-21T01:51:00Z,,auto,2,0*2,5*2,5*2,yes*2,,\n"
		subjects = "scope,subject,grid,block,name\n" +
			"kernel,k#1,1x1x1,32x1x1,k()\n"
		samples = "scope,subject,metric,unit,session,values,role,note\n" +
			"kernel,k#1,time,ns,a,10 11,,\n"
	)
	sub := func(s, old, new string) string {
		if !strings.Contains(s, old) {
			t.Fatalf("%q is not in %q", old, s)
		}
		return strings.Replace(s, old, new, 1)
	}
	untraced := func(skipped, total, launches, steady string) string {
		return sub(sessions, "0*2,5*2,5*2,yes*2", skipped+","+total+","+launches+","+steady)
	}
	for _, c := range []struct {
		name, file, content string // content replaces file; "-" removes it
		want                string
	}{
		{"nothing wrong", samplesFile, samples, ""},
		{"partial", sessionsFile, "-", "sessions.csv is missing beside samples.csv; restore it from version control, or remove the directory and record again"},
		{"a kernel in an untraced run", sessionsFile, untraced("0 -", "5 -", "5 -", "yes -"),
			"samples.csv:2: values: run 2 has a value, and time is not measured in a run that was untraced"},
		{"untraced in part", sessionsFile, untraced("0 -", "5*2", "5 -", "yes -"),
			"sessions.csv:2: steady: run 2 is untraced (-) in some of skipped, total, launches and steady, and not in others"},
		{"untraced first", sessionsFile, untraced("- 0", "- 5", "- 5", "- yes"),
			"sessions.csv:2: steady: run 2 was traced and stands behind an untraced one (-); put the traced ones first"},
		{"an output of traced runs", samplesFile, sub(samples, "time,ns", "rate,"),
			"samples.csv:2: values: run 1 has a value, and rate is not measured in a run that was traced"},
		{"empty file", samplesFile, "", "samples.csv:1: the file is empty; restore it from version control, or remove the directory and record again"},
		{"only a header", sessionsFile, sub(sessions, sessions[strings.Index(sessions, "\n")+1:], ""), "sessions.csv:1: no session; remove the directory and record again"},
		{"conflict", samplesFile, samples + "<<<<<<< HEAD\n", "samples.csv:3: a merge conflict is not resolved; keep the rows of both sides, or take one side"},
		{"missing column", samplesFile, sub(samples, ",unit", ",units"), `samples.csv:1: no column "unit"; restore the first line`},
		{"unknown column", samplesFile, sub(sub(samples, "note\n", "note,extra\n"), "11,,\n", "11,,,\n"), `samples.csv:1: unknown column "extra"; remove it, or use the version of nsgate that wrote it`},
		{"column twice", samplesFile, sub(sub(samples, "note\n", "note,note\n"), "11,,\n", "11,,,\n"), `samples.csv:1: column "note" is there twice; remove one`},
		{"short row", samplesFile, samples + "kernel,k#1\n", "samples.csv:3: wrong number of fields"},
		{"quote", samplesFile, samples + "kernel,k\"1,,,,,,\n", "samples.csv:3: bare \" in non-quoted-field"},
		{"row twice", samplesFile, samples + "kernel,k#1,time,ns,a,1 2,,\n", "samples.csv:3: subject: k#1 time of session a is already in line 2; remove one"},
		{"unknown subject", samplesFile, sub(samples, "k#1", "k#2"), `samples.csv:2: subject: kernel "k#2" has no row in subjects.csv`},
		{"other scope", samplesFile, sub(samples, "kernel,", "range,"), `samples.csv:2: subject: range "k#1" has no row in subjects.csv`},
		{"unknown session", samplesFile, sub(samples, ",a,", ",b,"), `samples.csv:2: session: "b" has no row in sessions.csv`},
		{"unknown metric", samplesFile, sub(samples, "time", "tame"), `samples.csv:2: metric: "tame" is unknown to this version of nsgate`},
		{"unit", samplesFile, sub(samples, ",ns,", ",us,"), `samples.csv:2: unit: "us" is not the unit of time, which is ns`},
		{"NaN", samplesFile, sub(samples, "10 11", "10 NaN"), `samples.csv:2: values: "NaN" is not a number of 0 or more`},
		{"infinity", samplesFile, sub(samples, "10 11", "10 1e999"), `samples.csv:2: values: "1e999" is not a number of 0 or more`},
		{"negative", samplesFile, sub(samples, "10 11", "10 -11"), `samples.csv:2: values: "-11" is not a number of 0 or more`},
		{"thousands", samplesFile, sub(samples, "10 11", `"1,234 11"`), `samples.csv:2: values: "1,234" is not a number of 0 or more`},
		{"hexadecimal", samplesFile, sub(samples, "10 11", `10 0x1p4`), `samples.csv:2: values: "0x1p4" is not a number of 0 or more`},
		{"double space", samplesFile, sub(samples, "10 11", "10  11"), "samples.csv:2: values: more values than the session has runs (2)"},
		{"empty values", samplesFile, sub(samples, "10 11", ""), "samples.csv:2: values: the cell is empty; write one value a run, - for a run without"},
		{"too few", samplesFile, sub(samples, "10 11", "10"), "samples.csv:2: values: 1 values for 2 runs"},
		{"too many", samplesFile, sub(samples, "10 11", "10*3"), "samples.csv:2: values: more values than the session has runs (2)"},
		{"memory bomb", samplesFile, sub(samples, "10 11", "10*999999999999"), "samples.csv:2: values: more values than the session has runs (2)"},
		{"overflow", samplesFile, sub(samples, "10 11", "10 1*9223372036854775807"), "samples.csv:2: values: more values than the session has runs (2)"},
		{"repeat", samplesFile, sub(samples, "10 11", "10*x"), `samples.csv:2: values: "10*x" does not repeat a value; write it like 32*5`},
		{"only missing", samplesFile, sub(samples, "10 11", "-*2"), "samples.csv:2: values: no run has a value; remove the row"},
		{"escape", samplesFile, sub(samples, "11,,", `11,\q,`), `samples.csv:2: role: "\\q" holds a backslash that starts no escape; write \\ for a backslash`},
		{"subject twice", subjectsFile, subjects + "kernel,k#1,1x1x1,64x1x1,k()\n", "subjects.csv:3: subject: kernel k#1 is there twice; remove one"},
		{"name twice", subjectsFile, subjects + "kernel,k#2,1x1x1,32x1x1,k()\n", "subjects.csv:3: name: k#2 is the same as k#1; remove one"},
		{"unused", subjectsFile, subjects + "range,r,,,r\n", `subjects.csv:3: subject: range "r" has no row in samples.csv; remove it here too`},
		{"scope", subjectsFile, sub(subjects, "kernel", "Kernel"), `subjects.csv:2: scope: "Kernel" is none of kernel, range, device, workload, idle, call, output`},
		{"no id", subjectsFile, sub(subjects, "k#1", ""), "subjects.csv:2: subject: the cell is empty; write the id that samples.csv uses"},
		{"extent", subjectsFile, sub(subjects, "32x1x1", "32x1"), `subjects.csv:2: block: extent "32x1" is not of the form XxYxZ`},
		{"session twice", sessionsFile, sessions + sessions[strings.Index(sessions, "\n")+1:], "sessions.csv:3: id: session a is there twice; remove one"},
		{"without samples", sessionsFile, sessions + sub(sessions[strings.Index(sessions, "\n")+1:], "a,", "b,"), "sessions.csv:3: id: session b has no row in samples.csv; remove it here too"},
		{"models", sessionsFile, sessions + sub(sessions[strings.Index(sessions, "\n")+1:], "a,H200", "b,H100"), `sessions.csv:3: gpu: "H100" is another model than "H200" in line 2; a baseline is for one model of GPU`},
		{"id", sessionsFile, sub(sessions, "a,H200", "../a,H200"), `sessions.csv:2: id: "../a" is not a session id (letters, digits and hyphens)`},
		{"hash", sessionsFile, sub(sessions, "1a2b3c4d", "GPU-1a2b3c4d"), `sessions.csv:2: gpu_hash: "GPU-1a2b3c4d" is not eight hexadecimal digits`},
		{"graph trace", sessionsFile, sub(sessions, "3,,32", "3,both,32"), `sessions.csv:2: graph_trace: "both" is not "node", "graph" or empty`},
		{"tick", sessionsFile, sub(sessions, ",32,", ",,"), `sessions.csv:2: tick_ns: "" is not a number of 0 or more`},
		{"start", sessionsFile, sub(sessions, "2026-11-21T01:51:00Z", "yesterday"), `sessions.csv:2: start: "yesterday" is not a time; write it like 2026-11-21T01:51:00Z`},
		{"no runs", sessionsFile, sub(sessions, "auto,2", "auto,0"), "sessions.csv:2: runs: a session has from 1 to 100000 runs, not 0"},
		{"count", sessionsFile, sub(sessions, "5*2", "+5*2"), `sessions.csv:2: total: "+5" is not a whole number of 0 or more`},
		{"steady", sessionsFile, sub(sessions, "yes*2", "yes true"), `sessions.csv:2: steady: "true" is neither yes nor no`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range map[string]string{sessionsFile: sessions, subjectsFile: subjects, samplesFile: samples} {
				if name == c.file {
					content = c.content
				}
				if content != "-" {
					put(t, dir, name, content)
				}
			}
			_, err := Read(dir)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), dir+string(filepath.Separator))
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Error("a broken baseline is taken for none")
			}
		})
	}
}

func TestReadNothing(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		if _, err := Read(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Read: %v", err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	change := func(f func(*measure.Session)) []measure.Session {
		s := sample()
		f(&s[1])
		return s
	}
	for name, c := range map[string]struct {
		sessions []measure.Session
		want     string
	}{
		"none":        {nil, "sessions.csv:1: no session"},
		"no id":       {change(func(s *measure.Session) { s.ID = "" }), `"" is not a session id`},
		"id twice":    {change(func(s *measure.Session) { s.ID = sample()[0].ID }), "is there twice"},
		"unfit":       {change(func(s *measure.Session) { s.Series[0].Values[0] = -1 }), "value -1 is not a measurement"},
		"no runs":     {change(func(s *measure.Session) { s.Runs = nil }), "holds no run"},
		"models":      {change(func(s *measure.Session) { s.GPU = "NVIDIA H100" }), "is another model"},
		"UUID":        {change(func(s *measure.Session) { s.GPUHash = "GPU-11111111-2222" }), "is not eight hexadecimal digits"},
		"serial":      {change(func(s *measure.Session) { s.Board = "1654523003308" }), "is not a board's part number"},
		"metric":      {change(func(s *measure.Session) { s.Series[0].Metric.Name = "pixie_dust" }), `metric "pixie_dust" is not one of nsgate's`},
		"metric unit": {change(func(s *measure.Session) { s.Series[0].Metric.Unit = "us" }), "is not one of nsgate's"},
		"tick":        {change(func(s *measure.Session) { s.Tick = math.NaN() }), "tick_ns"},
		"year":        {change(func(s *measure.Session) { s.Start = s.Start.AddDate(20000, 0, 0) }), "is not a time"},
		"scope":       {change(func(s *measure.Session) { s.Series[0].Subject.Scope = "planet" }), `"planet" is none of kernel`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "b")
			write(t, dir, sample())
			before := contents(t, dir)
			err := overwrite(dir, c.sessions)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("a refused write changed the files:\n%s", diff)
			}
		})
	}
}

// A write that fails half way leaves the old baseline and nothing else.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, subjectsFile, "old")
	if err := os.Mkdir(filepath.Join(dir, sessionsFile), 0o755); err != nil { // no file can be renamed onto it
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, sessionsFile), "x", "")
	data, err := encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	if err := replace(dir, data); err == nil {
		t.Fatal("no error")
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

func TestUpdate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b")
	boom := errors.New("boom")
	err := Update(dir, func([]measure.Session) ([]measure.Session, error) { return nil, boom })
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left behind: %v", err)
	}
	// Writers that come at the same time all count.
	const writers = 8
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			err := Update(dir, func(old []measure.Session) ([]measure.Session, error) {
				s := sample()[0]
				s.GPUHash = fmt.Sprintf("%08x", i)
				return Extend(old, s, 0), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := Read(dir); err != nil || len(got) != writers {
		t.Errorf("%d sessions of %d: %v", len(got), writers, err)
	}
}

func TestDir(t *testing.T) {
	for _, c := range []struct{ workload, gpu, want string }{
		{"kernels", "NVIDIA H200", "root/kernels/nvidia-h200"},
		{"a-b", "NVIDIA H100 80GB HBM3", "root/a-b/nvidia-h100-80gb-hbm3"},
		{"x", "NVIDIA H200 MIG 1g.18gb", "root/x/nvidia-h200-mig-1g-18gb"},
		{"x", "../..", "root/x/unknown-gpu"},
	} {
		if got := filepath.ToSlash(Dir("root", c.workload, c.gpu)); got != c.want {
			t.Errorf("Dir(%q, %q) = %s, want %s", c.workload, c.gpu, got, c.want)
		}
	}
	seen := make(map[string]string)
	for _, w := range []string{"a-b", "a.b", "A-b", "a--b", "a_b", "", ".", "..", "../x", "µ", strings.Repeat("x", 200), strings.Repeat("x", 201)} {
		dir := filepath.ToSlash(Dir("root", w, "g"))
		if other, twice := seen[strings.ToLower(dir)]; twice {
			t.Errorf("%q and %q share %s", w, other, dir)
		}
		seen[dir] = w
		if parts := strings.Split(dir, "/"); len(parts) != 3 || strings.Contains(dir, ".") || len(dir) > 100 {
			t.Errorf("Dir of %q is %s", w, dir)
		}
	}
}

func TestLocate(t *testing.T) {
	dir := filepath.Join("testdata", "golden")
	b, err := os.ReadFile(filepath.Join(dir, samplesFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	for _, c := range []struct {
		subject measure.Subject
		metric  string
		prefix  string
	}{
		{measure.Workload, "gpu_time", "workload,workload,gpu_time,"},
		{saxpy, "time", "kernel,saxpy#"},
		{htod, "copy_bytes", "workload,memcpy HtoD,"},
	} {
		file, line, ok := Locate(dir, c.subject, c.metric)
		if !ok || file != filepath.Join(dir, samplesFile) || !strings.HasPrefix(lines[line-1], c.prefix) {
			t.Errorf("Locate(%s, %s) = %s:%d, %v", c.subject.ID(), c.metric, file, line, ok)
		}
	}
	if _, _, ok := Locate(dir, saxpy, "copies"); ok {
		t.Error("a row that is not there is found")
	}
	if _, _, ok := Locate(t.TempDir(), saxpy, "time"); ok {
		t.Error("a row of no baseline is found")
	}
}

func TestExtend(t *testing.T) {
	samples := 0.0 // no two sessions have the same
	at := func(hash string, hours float64) measure.Session {
		s := sample()[0]
		s.GPUHash, s.Start = hash, start.Add(time.Duration(hours*float64(time.Hour)))
		samples++
		s.Series = slices.Clone(s.Series)
		s.Series[0].Values = measure.Values{samples, samples, samples}
		if hours < 0 {
			s.Start = time.Time{}
		}
		return s
	}
	ids := func(sessions []measure.Session) (out []string) {
		for _, s := range sessions {
			out = append(out, s.ID)
		}
		return out
	}
	var sessions []measure.Session
	add := func(s measure.Session, keep int) { sessions = Extend(sessions, s, keep) }

	add(at("aaaaaaaa", 0), 0)
	add(at("bbbbbbbb", 0), 0)
	add(at("aaaaaaaa", 0.5), 0) // the same session again
	add(at("aaaaaaaa", 5), 0)
	want := []string{"20261121T0151-bbbbbbbb", "20261121T0221-aaaaaaaa", "20261121T0651-aaaaaaaa"}
	if diff := cmp.Diff(want, ids(sessions)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	add(at("aaaaaaaa", 10), 2) // two of this GPU stay, other GPUs are untouched
	want = []string{"20261121T0151-bbbbbbbb", "20261121T0651-aaaaaaaa", "20261121T1151-aaaaaaaa"}
	if diff := cmp.Diff(want, ids(sessions)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	add(at("aaaaaaaa", 10), 2) // within the minute: not the id of what it replaces
	if got := ids(sessions)[2]; got != "20261121T1151-aaaaaaaa-2" {
		t.Errorf("id %s", got)
	}
	add(at("", -1), 0)
	add(at("", -1), 0) // nothing says that these are one session
	if diff := cmp.Diff([]string{"unknown", "unknown-2"}, ids(sessions)[:2]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 20 {
		add(at(fmt.Sprintf("%08x", i), 100+float64(i)), 0)
	}
	if len(sessions) != maxSessions || sessions[0].GPUHash != "00000008" {
		t.Errorf("%d sessions, the oldest of %s", len(sessions), sessions[0].GPUHash)
	}
	add(at("cccccccc", -1), 0) // the one added stays, however old
	if len(sessions) != maxSessions || sessions[0].GPUHash != "cccccccc" {
		t.Errorf("%d sessions, the oldest of %s", len(sessions), sessions[0].GPUHash)
	}
	for _, s := range slices.Clone(sessions) { // what is there already changes nothing
		s.ID = ""
		if diff := cmp.Diff(sessions, Extend(sessions, s, 0), exact); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	write(t, t.TempDir(), sessions)
}

func TestAccept(t *testing.T) {
	old := sample()
	head := sample()[:1]
	head[0].ID = ""
	head[0].Series = slices.Clone(head[0].Series)
	head[0].Series[0].Values = measure.Values{1, 2, 3}
	got, err := Accept(old, head, " faster\nbut\x1b[2J bigger ")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Reason != "faster but\uFFFD[2J bigger" || got[0].ID != "20261121T0151-1a2b3c4d-2" {
		t.Errorf("%d sessions: %q %q", len(got), got[0].ID, got[0].Reason)
	}
	if head[0].ID != "" || old[0].Reason != "first record" {
		t.Error("Accept changed its arguments")
	}
	write(t, t.TempDir(), got)
	again, err := Accept(got, head, "faster\nbut\x1b[2J bigger")
	if diff := cmp.Diff(got, again, exact); err != nil || diff != "" {
		t.Errorf("accepting twice is not accepting once: %v\n%s", err, diff)
	}
	for name, f := range map[string]func() ([]measure.Session, error){
		"no reason":   func() ([]measure.Session, error) { return Accept(old, head, " \n") },
		"long reason": func() ([]measure.Session, error) { return Accept(old, head, strings.Repeat("x", 501)) },
		"no head":     func() ([]measure.Session, error) { return Accept(old, nil, "x") },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Two kernels whose IDs are equal are told apart, whatever the order in which they come.
func TestCollision(t *testing.T) {
	one := sample()[:1]
	x := one[0].Series[0]
	plain, named := x, x
	named.Subject = measure.Subject{Scope: measure.ScopeWorkload, Name: "workload"} // has the ID of the whole workload
	long := x
	long.Subject = measure.Subject{Scope: measure.ScopeRange, Name: strings.Repeat("µ", 400)}
	named.Values = measure.Values{1, 2, 3}
	one[0].Series = []measure.Series{long, named, plain}
	dir, reverse := t.TempDir(), t.TempDir()
	write(t, dir, one)
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(one[0].Series)
	write(t, reverse, one)
	one[0].SortSeries()
	if diff := cmp.Diff(one, got, exact); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	a, _ := load(dir)
	b, _ := load(reverse)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("order matters:\n%s", diff)
	}
	for line := range strings.Lines(string(a[samplesFile])) {
		if len(line) > 200 {
			t.Errorf("the long name is in a sample row: %s", line)
		}
	}
}

// sessionsGen draws any sessions that Update accepts, hostile text included.
func sessionsGen() *rapid.Generator[[]measure.Session] {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringMatching("[=+@'\\\\,\"\r\n\t<>A-F*-]{0,6}"),
		rapid.SampledFrom([]string{"\r\n", "\xff\xfe", "\u202e", "=1+1", "'", "-", "<<<<<<< HEAD", `\n`, "\uFEFF", "\u00a0"}))
	count := rapid.IntRange(0, 1<<40)
	value := rapid.OneOf(
		rapid.Just(math.NaN()),
		rapid.Map(rapid.IntRange(0, 3), func(i int) float64 { return float64(i) }),
		rapid.Float64Range(0, math.MaxFloat64),
		rapid.SampledFrom([]float64{math.SmallestNonzeroFloat64, 1e21, 1e-7, 1.0 / 3, 1 << 53}),
	)
	dim := rapid.Custom(func(t *rapid.T) measure.Dim3 {
		n := rapid.Uint32Range(0, 3)
		return measure.Dim3{X: n.Draw(t, "x"), Y: n.Draw(t, "y"), Z: n.Draw(t, "z")}
	})
	subject := rapid.Custom(func(t *rapid.T) measure.Subject {
		return measure.Subject{
			Scope: rapid.SampledFrom(measure.Scopes).Draw(t, "scope"),
			Name:  text.Draw(t, "name"), Grid: dim.Draw(t, "grid"), Block: dim.Draw(t, "block"),
		}
	})
	return rapid.Custom(func(t *rapid.T) []measure.Session {
		gpu := text.Draw(t, "gpu")
		var sessions []measure.Session
		for range rapid.IntRange(1, 3).Draw(t, "sessions") {
			s := measure.Session{
				Environment: measure.Environment{
					GPU: gpu, GPUs: count.Draw(t, "gpus"), GPUHash: rapid.StringMatching(`([0-9a-f]{8})?`).Draw(t, "hash"),
					Driver: text.Draw(t, "driver"), CUDA: text.Draw(t, "cuda"), Tool: text.Draw(t, "tool"), Schema: text.Draw(t, "schema"),
					GraphTrace: rapid.SampledFrom([]string{"", "node", "graph"}).Draw(t, "graph"),
					Tick:       rapid.Float64Range(0, 1e9).Draw(t, "tick"), ClockMHz: count.Draw(t, "clock"),
					Hardware: measure.Hardware{
						Board: rapid.StringMatching(`(692-2G520-0282-00[0-9]( \+ 965-2G520-0041-000)?)?`).Draw(t, "board"),
						VBIOS: text.Draw(t, "vbios"), MemoryMHz: count.Draw(t, "memory"), PowerW: count.Draw(t, "power"),
						MIG: text.Draw(t, "mig"), CPU: text.Draw(t, "cpu"),
					},
				},
				Step: text.Draw(t, "step"), Warmup: text.Draw(t, "warmup"), Commit: text.Draw(t, "commit"), Reason: text.Draw(t, "reason"),
				Longest: time.Duration(rapid.IntRange(0, 90000).Draw(t, "longest run")) * time.Second,
			}
			if rapid.Bool().Draw(t, "timed") {
				s.Start = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
			}
			for range rapid.IntRange(1, 5).Draw(t, "runs") {
				s.Runs = append(s.Runs, measure.Run{
					Skipped: count.Draw(t, "skipped"), Total: count.Draw(t, "total"), Launches: count.Draw(t, "launches"), Steady: rapid.Bool().Draw(t, "steady"),
				})
			}
			traced := len(s.Runs)
			for range rapid.IntRange(1, 3).Draw(t, "untraced") * rapid.IntRange(0, 1).Draw(t, "some untraced") {
				s.Runs = append(s.Runs, measure.Run{Untraced: true, Steady: true})
			}
			metrics := rapid.SampledFrom(measure.Metrics).Filter(func(m measure.Metric) bool { return !m.Untraced() || traced < len(s.Runs) })
			key := func(x measure.Series) string {
				return fmt.Sprintf("%s\x00%s\x00%s\x00%s", x.Subject.Scope, x.Subject.Name, x.Subject.Geometry(), x.Metric.Name)
			}
			s.Series = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) measure.Series {
				x := measure.Series{
					Subject: subject.Draw(t, "subject"), Metric: metrics.Draw(t, "metric"),
					Values: rapid.SliceOfN(value, len(s.Runs), len(s.Runs)).Draw(t, "values"), Role: text.Draw(t, "role"), Note: text.Draw(t, "note"),
				}
				for i := range x.Values {
					if (i >= traced) != x.Metric.Untraced() {
						x.Values[i] = math.NaN()
					}
				}
				if of := s.Of(&x); !slices.ContainsFunc(of, func(v float64) bool { return !math.IsNaN(v) }) {
					of[0] = 1
				}
				return x
			}), 1, 6, key).Draw(t, "series")
			s.SortSeries()
			s.ID = newID(&s, sessions, nil)
			sessions = append(sessions, s)
		}
		slices.SortFunc(sessions, byAge)
		return sessions
	})
}

// What was written reads back as it was; writing it again touches nothing, in whatever order it is given.
func TestRoundTrip(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		want := sessionsGen().Draw(rt, "sessions")
		write(t, dir, want)
		got, err := Read(dir)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got, exact); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
		before := contents(t, dir)
		slices.Reverse(got)
		for i := range got {
			slices.Reverse(got[i].Series)
		}
		write(t, dir, got)
		if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
			rt.Fatalf("a second write changed something:\n%s", diff)
		}
		for _, s := range want {
			for _, x := range s.Series {
				if _, _, ok := Locate(dir, x.Subject, x.Metric.Name); !ok {
					rt.Fatalf("no row for %s %s", x.Subject.ID(), x.Metric.Name)
				}
			}
		}
		for _, name := range fileNames {
			b, _ := os.ReadFile(filepath.Join(dir, name))
			rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
			if err != nil {
				rt.Fatal(err)
			}
			for _, row := range rows {
				for column, cell := range row {
					if cell != "" && strings.IndexByte("=+@", cell[0]) >= 0 || strings.ContainsAny(cell, "\r\n\t") {
						rt.Fatalf("%s, column %s: %q", name, rows[0][column], cell)
					}
				}
			}
		}
	})
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"void f(a, b)": "void f(a, b)",
		"µ 日本":         "µ 日本",
		"=1+1":         "'=1+1",
		"+x":           "'+x",
		"-x":           "'-x",
		"@x":           "'@x",
		"'x":           "''x",
		"a=b":          "a=b",
		`a\b`:          `a\\b`,
		"a\r\nb":       `a\r\nb`,
		"\tx":          `\tx`,
		"\xff":         `\xff`,
		"\uFFFD":       "\uFFFD",
		"a\u202eb":     `a\u202eb`,
		`"q"`:          `"q"`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
		if got, err := unescape(want); err != nil || got != in {
			t.Errorf("unescape(%q) = %q, %v, want %q", want, got, err, in)
		}
	}
}

func TestFormatNumber(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 27136: "27136", 1234567.5: "1234567.5", math.Nextafter(0.3, 1): "0.30000000000000004",
		1e20: "100000000000000000000", 1e21: "1e+21", 1e-7: "1e-07",
	} {
		if got := formatNumber(in); got != want {
			t.Errorf("formatNumber(%v) = %s, want %s", in, got, want)
		}
		if got, err := parseNumber(want); err != nil || got != in {
			t.Errorf("parseNumber(%s) = %v, %v", want, got, err)
		}
	}
}

// No content makes reading panic, and what is accepted comes back the same from what is written of it.
func FuzzRead(f *testing.F) {
	data, err := encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[sessionsFile], data[subjectsFile], data[samplesFile])
	f.Fuzz(func(t *testing.T, sessions, subjects, samples []byte) {
		got, err := decode("dir", files{sessionsFile: sessions, subjectsFile: subjects, samplesFile: samples})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "dir") {
				t.Fatalf("error without place: %v", err)
			}
			return
		}
		for i := range got {
			if err := got[i].Check(); err != nil {
				t.Fatal(err)
			}
		}
		again, err := encode(got)
		if err != nil {
			t.Fatalf("accepted, but cannot be written: %v", err)
		}
		back, err := decode("dir", again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, back, exact); diff != "" {
			t.Fatalf("-read +written:\n%s", diff)
		}
	})
}

// The baseline of a large program: 12 sessions of 5 runs, 300 kernels with 8 metrics each.
func large() []measure.Session {
	var sessions []measure.Session
	for h := range 12 {
		s := sample()[0]
		s.GPUHash = fmt.Sprintf("%08x", h)
		s.Runs = slices.Repeat(s.Runs[:1], 5)
		s.Series = nil
		for k := range 300 {
			for _, m := range measure.Metrics[:8] {
				x := measure.Series{Subject: saxpy, Metric: m, Values: make(measure.Values, 5), Role: "step/compute"}
				x.Subject.Name = fmt.Sprintf("void at::native::vectorized_elementwise_kernel<%d, %s>()", k, strings.Repeat("at::Functor, ", 40))
				for r := range x.Values {
					x.Values[r] = 1000*float64(k) + float64(r)/3
				}
				s.Series = append(s.Series, x)
			}
		}
		sessions = Extend(sessions, s, 0)
	}
	return sessions
}

func BenchmarkWrite(b *testing.B) {
	sessions := large()
	for b.Loop() {
		write(b, b.TempDir(), sessions)
	}
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	write(b, dir, large())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(dir); err != nil {
			b.Fatal(err)
		}
	}
}
