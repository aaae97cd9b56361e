package rank

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Which rank a process is the innermost launcher says.
func TestIdentify(t *testing.T) {
	for vars, want := range map[string]Identity{
		"RANK=3 WORLD_SIZE=8 LOCAL_RANK=1":                             {3, 8},
		"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4":                {1, 4},
		"PMI_RANK=2 PMI_SIZE=4":                                        {2, 4},
		"PMIX_RANK=2 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=0":           {2, 4},
		"SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=16 SLURM_LOCALID=5":       {5, 16},
		"SLURM_PROCID=0 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2": {1, 2}, // mpirun below sbatch
		"RANK=9 SLURM_PROCID=1":                                        {1, 0}, // RANK is also somebody else's word
		"RANK=x WORLD_SIZE=2 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2":    {1, 2},
	} {
		got, err := Identify(getenv(vars))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", vars, got, err, want)
		}
	}
	for _, vars := range []string{"", "RANK=1", "SLURM_PROCID=-1"} {
		if got, err := Identify(getenv(vars)); err == nil {
			t.Errorf("%q: %+v", vars, got)
		}
	}
}

func getenv(vars string) func(string) string {
	return func(name string) string {
		for word := range strings.FieldsSeq(vars) {
			if n, v, _ := strings.Cut(word, "="); n == name {
				return v
			}
		}
		return ""
	}
}

// The final status of a rank, of any length, has the room of its first status.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(File(dir, "run.000", 1, StatusFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := Status{Format: statusFormat, Identity: Identity{Rank: 1, Size: 2}}
	for _, failure := range []string{"", "no report", strings.Repeat("\x01é", 9000)} {
		l.Done, l.Failure = failure != "", failure
		if err := l.write(f); err != nil {
			t.Fatal(err)
		}
		all, err := Gathered(dir, "run.000")
		if err != nil || len(all) != 1 || all[0].Rank != 1 || all[0].Done != l.Done ||
			(all[0].Failure == "") != (failure == "") {
			t.Errorf("%.20q: %+v, %v", failure, all, err)
		}
		if info, _ := f.Stat(); info.Size() != reserved {
			t.Errorf("%.20q: %d bytes", failure, info.Size())
		}
	}
	if all, err := Gathered(dir, "run.00"); err != nil || len(all) > 0 {
		t.Errorf("another job: %+v, %v", all, err)
	}
}

// A file that another user put into the gather directory is no file of the job.
func TestGatheredOfOthers(t *testing.T) {
	dir := t.TempDir()
	l := Status{Format: statusFormat, Identity: Identity{Rank: 1, Size: 2}}
	f, err := os.Create(File(dir, "run.000", 1, StatusFile))
	if err == nil {
		err = l.write(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	export := File(dir, "run.000", 1, ExportFile)
	if err := os.Symlink(f.Name(), export); err != nil {
		t.Fatal(err)
	}
	const want = "was put there by another user"
	if _, err := Gathered(dir, "run.000"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an export that is a link: %v", err)
	}
	os.Remove(export)
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	if err := os.Chown(f.Name(), 4711, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Gathered(dir, "run.000"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the status of another user: %v", err)
	}
	for _, tt := range []struct {
		name        string
		file, owner int // of the directory
		mode        os.FileMode
		want        bool
	}{
		{"run.000.rank1.sqlite", 4711, 0, 0o777 | os.ModeSticky, true},
		{"run.000.rank1.trace", 4711, 0, 0o755, true},
		{"run.000.rank1.json", 4711, 4712, 0o755, true},
		{"run.000.rank1.sqlite", 4711, 4711, 0o777, true},
		{"run.000.rank1.sqlite", 4711, 4711, 0o775, false}, // a directory of a colleague
		{"run.000.rank1.sqlite", 0, 4711, 0o777, false},    // of root
		{"base.sqlite", 4711, 0, 0o777, false},             // of no rank
	} {
		name := filepath.Join(dir, tt.name)
		err := errors.Join(os.WriteFile(name, nil, 0o666), os.Chown(name, tt.file, -1), os.Chmod(dir, tt.mode),
			os.Chown(dir, tt.owner, -1))
		if err != nil {
			t.Fatal(err)
		}
		if err := OfOthers(dir, name); (err != nil) != tt.want {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		order Order
		rank  int
		want  bool
	}{{Order{}, 3, true}, {Order{Ranks: []int{0, 3}}, 3, true}, {Order{Ranks: []int{0, 3}}, 1, false},
		{Order{Unprofiled: true}, 0, false}} {
		if got := tt.order.Profiles(tt.rank); got != tt.want {
			t.Errorf("%+v, rank %d: %v", tt.order, tt.rank, got)
		}
	}
	dir := t.TempDir()
	if o, err := readOrder(dir, "x", os.Geteuid()); o != nil || err != nil {
		t.Errorf("no order: %+v, %v", o, err)
	}
	if err := (Order{Exe: "nsys", Ranks: []int{1}}).Write(dir, "x"); err != nil {
		t.Fatal(err)
	}
	if o, err := readOrder(dir, "x", os.Geteuid()); err != nil || o.Exe != "nsys" || !o.Profiles(1) {
		t.Errorf("%+v, %v", o, err)
	}
}
