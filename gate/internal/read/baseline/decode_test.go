//go:build linux

package baseline

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestGolden(t *testing.T) {
	golden, dir := filepath.Join("testdata", "golden"), t.TempDir()
	first := record(t, dir, sample()...)
	changed := sample()[0]
	changed.Start, changed.Accepted, changed.Anchor, changed.Reason = start.AddDate(0, 0, 2), true, "v1.2",
		"exact softmax"
	changed.Series = changed.Series[3:5]
	old := fused
	add(t, dir, Entry{Session: changed, Replaces: map[measure.Subject][]string{saxpy: {first[0].ID, first[1].ID},
		old: {first[0].ID}}})
	removal := model.Session{Environment: model.Environment{Start: start.AddDate(0, 0, 3)},
		Reason: "measured on a busy machine"}
	add(t, dir, Entry{Session: removal, Removes: first[1].ID})
	if *update {
		os.RemoveAll(golden)
		if err := os.CopyFS(golden, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(contents(t, golden), contents(t, dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	b, err := Open(golden, (*Baseline).ReadAll)
	if err != nil {
		t.Fatal(err)
	}
	in := b.InEffect()
	if len(in) != 2 || !in[1].Accepted || in[1].Anchor != "v1.2" || len(in[0].Series) != len(sample()[0].Series)-3 {
		t.Errorf("in effect: %+v", in)
	}
}

// A written entry reads back equal.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		for _, s := range sessionsGen().Draw(rt, "sessions") {
			e := Entry{Session: s, Supersedes: rapid.SliceOfN(rapid.SampledFrom([]string{"a-1", "b-2"}), 0, 2).Draw(rt,
				"supersedes")}
			e.Accepted, e.Anchor = rapid.Bool().Draw(rt, "accepted"),
				rapid.SampledFrom([]string{"", "yes", "v1"}).Draw(rt, "anchor")
			e.Replaces = map[measure.Subject][]string{}
			if rapid.Bool().Draw(rt, "replaces") {
				e.Replaces[s.Series[0].Subject] = []string{"a-1"}
			}
			name, text, err := encodeEntry(&e)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := decodeEntry("dir", name, text, nothing)
			if err != nil {
				rt.Fatal(err)
			}
			got.ID = ""
			if !cmp.Equal(e.Session, got.Session, exact) {
				rt.Fatalf("-want +got:\n%s", cmp.Diff(e.Session, got.Session, exact))
			}
			if !cmp.Equal(got.Supersedes, e.Supersedes, exact) || !cmp.Equal(got.Replaces, e.Replaces, exact) {
				rt.Fatalf("%v %v", got.Supersedes, got.Replaces)
			}
			checkCells(rt, string(text))
		}
	})
}

// checkCells wants no cell that a spreadsheet would run, and none of several lines.
func checkCells(t *rapid.T, text string) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.IndexByte("=+@", cell[0]) >= 0 || strings.ContainsAny(cell, "\r\n\t") {
				t.Fatalf("%q", cell)
			}
		}
	}
}

// Line ends and a byte order mark are git's and an editor's; no other difference from the written file is allowed. Any
// other file has the name of its contents and is refused for them.
func TestImmutable(t *testing.T) {
	dir := t.TempDir()
	e := record(t, dir, sample()[0])[0]
	text, _ := os.ReadFile(e.File)
	name := filepath.Base(e.File)
	for what, change := range map[string]func(string) string{
		"CRLF": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"BOM":  func(s string) string { return "\uFEFF" + s },
	} {
		if _, err := decodeEntry(dir, name, []byte(change(string(text))), nothing); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	edit := func(old, new string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("no %q in\n%s", old, s)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	for _, c := range []struct {
		what   string
		change func(string) string
		want   string
	}{
		{"a conflict", func(s string) string { return s + "<<<<<<< HEAD\n" },
			"a merge conflict is not resolved, and rows of both sides are nothing that was measured"},
		{"empty", func(string) string { return "" }, ":1: the file is empty"},
		{"no samples", func(s string) string { return s[:strings.Index(s, "workload,")] },
			":1: no samples; restore the file"},
		{"metric", edit(",time,", ",tame,"), `: key: "tame" is no metric that this version of nsgate knows`},
		{"unit", edit(",ns,", ",us,"), `unit: "us" is not the unit of`},
		{"NaN", edit("27136*2", "NaN*2"), `value: "NaN" is not a number of 0 or more`},
		{"infinity", edit("27136*2", "1e999*2"), `value: "1e999" is not a number of 0 or more`},
		{"negative", edit("27136*2", "-1*2"), `value: "-1" is not a number of 0 or more`},
		{"memory bomb", edit("27136*2", "1*999999999999"), "value: more values than the session has runs (3)"},
		{"too few", edit("27136*2 ", ""), "value: 1 values for 3 runs"},
		{"scope", edit("kernel,", "Kernel,"), `scope: "Kernel" is none of kernel, range`},
		{"unknown key", edit("session,,driver", "session,,pilot"),
			`key: "pilot" is unknown to this version of nsgate; use the version that wrote it`},
		{"row twice", edit("range,step,gpu_time", "range,step,gpu_time,1*3,ns,,\nrange,step,gpu_time"),
			"step gpu_time: listed twice"},
		{"name twice", edit("range,step,gpu_time",
			"range,other,name,step,,,\nrange,other,gpu_time,1*3,ns,,\nrange,step,gpu_time"),
			"step gpu_time: listed twice"},
		{"runs", edit("session,,runs,3", "session,,runs,0"), ": runs: a session has from 1 to 100000 runs, not 0"},
		{"run start", edit("session,,run_starts_s,0 - 2.5", "session,,run_starts_s,0 - 1e7"),
			"run_starts_s: a run starts at most 1000000 s after its session"},
		{"serial number", edit("692-2G520-0282-001", "1654523003308"),
			`board_part_number: "1654523003308" is not a board's part number`},
		{"what", edit("session,,what,record", "session,,what,replay"),
			`what: "replay" is none of record, accept and remove`},
		{"removes", edit("session,,what,record", "session,,what,record,,,\nsession,,removes,x"),
			"removes: a file that takes another back names it, and no other file does"},
		{"supersedes", edit("session,,what,record", "session,,what,record,,,\nsession,,supersedes,../x"),
			`supersedes: "../x" is not a session id`},
		{"extent", edit("1056x1x1", "1056x1"), `value: extent "1056x1" is not of the form XxYxZ`},
		{"column", edit("scope,", "skope,"), `:1: the columns are not scope, subject, key`},
	} {
		changed := c.change(string(text))
		if _, err := decodeEntry(dir, name, []byte(changed), nothing); err == nil ||
			!strings.Contains(err.Error(), ":1: the file was changed after it was written: its contents hash to ") &&
				c.what != "a conflict" {
			t.Errorf("%s, under the old name: %v", c.what, err)
		}
		_, err := decodeEntry(dir, "20261121T0151-"+contentHash([]byte(changed))+suffix, []byte(changed), nothing)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a damaged baseline is taken for none", c.what)
		}
	}
	write(t, dir, "notes.csv", "a,b\n")
	if _, err := Open(dir, (*Baseline).ReadAll); err == nil ||
		!strings.Contains(err.Error(), "notes.csv is no file of a baseline") {
		t.Errorf("a stranger's file: %v", err)
	}
}

// Only regular files are read, and no more of them than a bound: whatever lies there, reading ends, and says the bound.
func TestBounds(t *testing.T) {
	defer func(was int) { maxValues = was }(maxValues)
	dir := t.TempDir()
	e := record(t, dir, sample()[0])[0]
	maxValues = 10
	if _, err := Open(dir, (*Baseline).ReadAll); err == nil ||
		!strings.Contains(err.Error(), "holds more than 10 values, the most that is read") {
		t.Errorf("many values: %v", err)
	}
	maxValues = 1000
	const name = "20261121T0151-1a2b3c4d.csv"
	huge := filepath.Join(t.TempDir(), "huge")
	if f, err := os.Create(huge); err != nil || f.Truncate(1<<30) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		make func(file string) error
		want string
	}{
		{"pipe", func(file string) error { return syscall.Mkfifo(file, 0o644) }, "is not a regular file"},
		{"device", func(file string) error { return os.Symlink("/dev/zero", file) },
			"is a symbolic link that leads out of the baseline"},
		{"loop", func(file string) error { return os.Symlink(file, file) },
			"is a symbolic link that leads out of the baseline"},
		{"link", func(file string) error { return os.Symlink(huge, file) },
			"is a symbolic link that leads out of the baseline"},
		{"huge", func(file string) error { return os.Rename(huge, file) },
			"it is larger than 64 MB, the most that is read"},
	} {
		file := filepath.Join(dir, name)
		if err := c.make(file); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, (*Baseline).ReadAll); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		os.Remove(file)
	}
	if err := os.Rename(e.File, filepath.Join(dir, ".kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".kept", e.File); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, (*Baseline).ReadAll); err != nil {
		t.Errorf("a link within the baseline: %v", err)
	}
}

// Two kernels with equal IDs stay distinct, in either order.
func TestCollision(t *testing.T) {
	one := sample()[0]
	x := one.Series[0]
	long, named, odd := x, x, x
	named.Subject = measure.Subject{Scope: measure.ScopeWorkload, Name: "workload"}
	long.Subject = measure.Subject{Scope: measure.ScopeRange, Name: strings.Repeat("µ", 400)}
	odd.Subject = measure.Subject{Scope: measure.ScopeRange, Name: "r", Grid: measure.Dim3{X: 1}}
	plain := x
	plain.Subject = measure.Subject{Scope: measure.ScopeRange, Name: "r"}
	one.Series = []model.Series{long, named, x, odd, plain}
	e, reverse := Entry{Session: one}, Entry{Session: one}
	reverse.Series = slices.Clone(one.Series)
	slices.Reverse(reverse.Series)
	_, a, err := encodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := encodeEntry(&reverse)
	if err != nil || string(a) != string(b) {
		t.Errorf("order matters: %v\n%s\n%s", err, a, b)
	}
	got, err := decode("file", a, nothing)
	if err != nil {
		t.Fatal(err)
	}
	one.SortSeries()
	if diff := cmp.Diff(one.Series, got.Series, exact); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The operations of kernels are read back in their order.
func TestOperations(t *testing.T) {
	e := Entry{Session: sample()[0]}
	e.Operations = []model.Operation{{Kernel: "loop_add_fusion_2", Path: `jit(f)/a,"b"`, File: "µ/a b.py", Line: 7,
		Function: "<lambda>"},
		{Kernel: "a", Path: "jit(f)/x"}}
	_, text, err := encodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode("file", text, nothing)
	if err != nil || !slices.Equal(got.Operations, e.Operations) {
		t.Errorf("%+v, %v", got.Operations, err)
	}
	bad := strings.Replace(string(text), "<lambda>,µ", "x,µ", 1)
	if _, err := decode("file", []byte(strings.Replace(bad, ",7,,", ",seven,,", 1)), nothing); err == nil {
		t.Error("a line that is no number is read")
	}
}

// No content makes reading panic, and an accepted file reads back the same after writing it.
func FuzzFile(f *testing.F) {
	for _, s := range sample() {
		_, text, err := encodeEntry(&Entry{Session: s, Replaces: map[measure.Subject][]string{saxpy: {"a-1"}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	_, text, _ := encodeEntry(&Entry{Session: model.Session{Reason: "x"}, Removes: "a-1"})
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decode("file", text, nothing)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file") {
				t.Fatalf("error without place: %v", err)
			}
			return
		}
		_, again, err := encodeEntry(&got)
		if err != nil {
			t.Fatalf("accepted, but cannot be written: %v", err)
		}
		back, err := decode("file", again, nothing)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got.Session, back.Session, exact); diff != "" {
			t.Fatalf("-read +written:\n%s", diff)
		}
	})
}

func TestWriteRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Session)
		want   string
	}{
		"unfit": {func(s *model.Session) { s.Series[0].Values = model.Values{-1} },
			"value -1 is not a measurement"},
		"no runs": {func(s *model.Session) { s.Runs = nil }, "holds no run"},
		"models":  {func(s *model.Session) { s.GPU = "NVIDIA H100" }, "is another model"},
		"UUID":    {func(s *model.Session) { s.GPUHash = "GPU-11111111-2222" }, "is not eight hexadecimal digits"},
		"serial":  {func(s *model.Session) { s.Board = "1654523003308" }, "is not a board's part number"},
		"metric": {func(s *model.Session) { s.Series[0].Metric.Name = "pixie_dust" },
			`metric "pixie_dust" is not one of nsgate's`},
		"metric unit": {func(s *model.Session) { s.Series[0].Metric.Unit = "us" }, "is not one of nsgate's"},
		"tick":        {func(s *model.Session) { s.Tick = math.NaN() }, "tick_ns"},
		"year":        {func(s *model.Session) { s.Start = s.Start.AddDate(20000, 0, 0) }, "is not a time"},
		"scope":       {func(s *model.Session) { s.Series[0].Subject.Scope = "planet" }, `"planet" is none of kernel`},
		"nothing":     {func(s *model.Session) { s.Series = nil }, "no samples"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "b")
			record(t, dir, sample()[0])
			before := contents(t, dir)
			s := sample()[1]
			s.Series = slices.Clone(s.Series)
			c.change(&s)
			_, err := Add(dir, func(*Baseline) ([]Entry, error) { return []Entry{{Session: s}}, nil })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("a refused write changed the files:\n%s", diff)
			}
		})
	}
}

// TestSplit wants of each line that is split the cells that encoding/csv reads.
func TestSplit(t *testing.T) {
	random, known := rand.New(rand.NewPCG(1, 2)), 0
	for range 100_000 {
		line := make([]byte, random.IntN(24))
		for i := range line {
			line[i] = `a,"",`[random.IntN(5)]
		}
		if random.IntN(2) == 0 {
			line = append([]byte(`a,"b, c",,"d ""e""",f,`), line...)
		}
		cells := make([]string, len(titles))
		if !split(string(line), cells) {
			continue
		}
		known++
		want, err := csv.NewReader(bytes.NewReader(line)).Read()
		if err != nil || !slices.Equal(cells, want) {
			t.Fatalf("%s: %q, want %q, %v", line, cells, want, err)
		}
	}
	if known < 1000 {
		t.Errorf("%d lines were split", known)
	}
}
