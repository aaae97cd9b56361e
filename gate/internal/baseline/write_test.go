package baseline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/measure"
)

// killed leaves in a new directory what a writer leaves that was killed after it had renamed some of its files.
func killed(t *testing.T, old, next []measure.Session, renamed int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if old != nil {
		write(t, dir, old)
	}
	there, _ := load(dir)
	data, err := encode(next)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range fileNames {
		if string(there[name]) != string(data[name]) {
			put(t, dir, "."+name+".123.tmp", string(data[name]))
			names = append(names, name)
		}
	}
	for _, name := range names[:min(renamed, len(names))] {
		if err := os.Rename(filepath.Join(dir, "."+name+".123.tmp"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Whenever a writer is killed, the old baseline or the new one is there, and the next writer clears up.
func TestKilledWriter(t *testing.T) {
	two := sample()
	other := two[0]
	other.Series = []measure.Series{{Subject: step, Metric: measure.Time, Values: measure.Values{1, 2, 3}}}
	replaced, err := Accept(two, []measure.Session{other}, "other")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name      string
		old, next []measure.Session
	}{{"first", nil, two}, {"added", two[:1], two}, {"removed", two, two[:1]}, {"replaced", two, replaced}}
	for _, tt := range tests {
		finished := 0
		for renamed := range len(fileNames) + 1 {
			t.Run(fmt.Sprintf("%s/%d", tt.name, renamed), func(t *testing.T) {
				dir := killed(t, tt.old, tt.next, renamed)
				got, err := Read(dir)
				if errors.Is(err, fs.ErrNotExist) && tt.old == nil && renamed == 0 {
					err = nil // absent
				}
				if err != nil {
					t.Fatal(err)
				}
				if cmp.Equal(got, tt.next, exact) {
					finished++
				} else if d := cmp.Diff(tt.old, got, exact); d != "" {
					t.Errorf("neither the new baseline nor the old one (-old +got):\n%s", d)
				}
				err = Update(dir, func(old []measure.Session) ([]measure.Session, error) {
					if d := cmp.Diff(got, old, exact); d != "" {
						t.Errorf("the next writer sees another baseline than the reader did:\n%s", d)
					}
					return two, nil
				})
				if err != nil {
					t.Error(err)
				}
				if left := unfinished(dir); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
		if finished == 0 {
			t.Errorf("%s: the new baseline is never there", tt.name)
		}
	}
}

// What somebody has done to the files since is not undone, and files that were not written to their end stay unused.
func TestKilledWriterAndEdits(t *testing.T) {
	two := sample()
	edits := map[string]func(t *testing.T, dir string){
		"edited": func(t *testing.T, dir string) {
			put(t, dir, samplesFile, "<<<<<<< HEAD\n")
			later := time.Now().Add(time.Minute)
			if err := os.Chtimes(filepath.Join(dir, samplesFile), later, later); err != nil {
				t.Fatal(err)
			}
		},
		"cut short": func(t *testing.T, dir string) {
			file := filepath.Join(dir, "."+sessionsFile+".123.tmp")
			if err := os.Truncate(file, 100); err != nil {
				t.Fatal(err)
			}
		},
		"two writers": func(t *testing.T, dir string) { put(t, dir, "."+sessionsFile+".456.tmp", "") },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			dir := killed(t, two[:1], two, 1)
			os.Rename(filepath.Join(dir, "."+samplesFile+".123.tmp"), filepath.Join(dir, samplesFile))
			edit(t, dir)
			before := contents(t, dir)
			if s, err := Read(dir); err == nil {
				t.Errorf("%d sessions are read", len(s))
			}
			if d := cmp.Diff(before, contents(t, dir)); d != "" {
				t.Errorf("the files were changed:\n%s", d)
			}
		})
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := Writable(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	put(t, dir, "file", "")
	err := Writable(filepath.Join(dir, "file", "b"))
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "file", "b")+": not a directory") || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("below a file: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d entries are left", len(entries))
	}
}
