package baseline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tables is a baseline in the format of earlier versions.
const tables = "testdata/tables"

// The tables of earlier versions say what they said.
func TestReadTables(t *testing.T) {
	got, err := Read(tables)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got, exact); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What is rewritten is the same afterwards, to the last bit, whatever recorded it; and whoever rewrites it writes the same files.
func TestMigrate(t *testing.T) {
	dirs, err := filepath.Glob("../../../testdata/*/sessions/*/*")
	if err != nil || len(dirs) < 20 {
		t.Fatal(dirs, err)
	}
	for i, from := range append(dirs, tables) {
		dir, twin := t.TempDir(), t.TempDir()
		if i%10 > 0 && from != tables {
			twin = ""
		}
		for _, d := range []string{dir, twin} {
			if d == "" {
				continue
			}
			if err := os.CopyFS(d, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}
		before, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		migrated, err := Migrate(dir)
		if err != nil || len(migrated) != len(before) {
			t.Fatalf("%s: %d of %d sessions: %v", from, len(migrated), len(before), err)
		}
		after, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range after {
			after[i].ID = before[i].ID
		}
		if diff := cmp.Diff(before, after, exact); diff != "" {
			t.Errorf("%s: -before +after:\n%s", from, diff)
		}
		if again, err := Migrate(dir); err != nil || len(again) != 0 {
			t.Errorf("%s: %d sessions are migrated twice: %v", from, len(again), err)
		}
		if twin == "" {
			continue
		}
		if _, err := Migrate(twin); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contents(t, dir), contents(t, twin)); diff != "" {
			t.Errorf("%s: two migrations differ:\n%s", from, diff)
		}
	}
}

// A migration that was killed before the tables were removed counts no session twice, and what was accepted on top of the tables
// still replaces them.
func TestMigrateCutShort(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(tables)); err != nil {
		t.Fatal(err)
	}
	changed := sample()[0]
	changed.Accepted, changed.Series = true, changed.Series[3:5]
	changed.Start = changed.Start.AddDate(0, 0, 3)
	add(t, dir, Entry{Session: changed, Replaces: replaces(changed, sample()[0].ID, sample()[1].ID)})
	before, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(tables)); err != nil {
		t.Fatal(err)
	}
	after, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		after[i].ID = before[i].ID
	}
	if diff := cmp.Diff(before, after, exact); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
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
		{"conflict", samplesFile, samples + "<<<<<<< HEAD\n", "samples.csv:3: a merge conflict is not resolved, and rows of both sides are nothing that was measured; take the file of one side whole, and record what was merged"},
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
					write(t, dir, name, content)
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

// No content makes reading panic, and what is accepted can be migrated.
func FuzzTables(f *testing.F) {
	var data [3]string
	for i, name := range []string{sessionsFile, subjectsFile, samplesFile} {
		b, err := os.ReadFile(filepath.Join(tables, name))
		if err != nil {
			f.Fatal(err)
		}
		data[i] = string(b)
	}
	f.Add(data[0], data[1], data[2])
	f.Fuzz(func(t *testing.T, sessions, subjects, samples string) {
		got, err := decode("dir", files{sessionsFile: []byte(sessions), subjectsFile: []byte(subjects), samplesFile: []byte(samples)})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "dir") {
				t.Fatalf("error without place: %v", err)
			}
			return
		}
		for _, s := range got {
			e := Entry{Session: s, Was: s.ID}
			if _, _, err := encodeEntry(&e); err != nil {
				t.Fatalf("accepted, but cannot be written: %v", err)
			}
		}
	})
}
