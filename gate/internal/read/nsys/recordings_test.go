package nsys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nsgate/nsgate/gate/internal/model"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// recordings are the exports in the repository and those beside it: public ones, and what lies in the directories that
// NSGATE_RECORDINGS lists.
func recordings(t *testing.T) (files []string) {
	t.Helper()
	beside := filepath.Join("..", "..", "..", "..", "shared", "samples")
	if _, err := os.Stat(beside); err != nil {
		t.Log("there are no public exports beside the repository: only its own recordings are read")
	}
	own := filepath.Join("..", "..", "..", "..", "testdata", "h200")
	for _, dir := range append(filepath.SplitList(os.Getenv("NSGATE_RECORDINGS")), own, beside) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".sqlite" {
				files = append(files, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return files
}

// total holds the totals of all processes of an export.
type total struct{ Launches, Time, Copies, Bytes int64 }

// totals asks SQLite for the totals of the processes with kernels, by pid.
func totals(t *testing.T, file string) map[int]total {
	conn, err := sqlite.OpenConn("file:"+file+"?mode=ro&immutable=1", sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	want := make(map[int]total)
	sum := func(table, columns string, f func(*total, *sqlite.Stmt), some bool) {
		has, err := sqlitex.ResultBool(conn.Prep("SELECT count(*) FROM sqlite_schema WHERE name = '" + table + "'"))
		if err == nil && has {
			query := "SELECT globalPid, " + columns + " FROM " + table + " GROUP BY 1"
			err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
				process := int(pid(s.ColumnInt64(0)))
				if x, ok := want[process]; ok || !some {
					f(&x, s)
					want[process] = x
				}
				return nil
			}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{kernelTable, graphTable} {
		sum(table, "count(*), sum(end - start)", func(x *total, s *sqlite.Stmt) {
			x.Launches += s.ColumnInt64(1)
			x.Time += s.ColumnInt64(2)
		}, false)
	}
	for _, table := range []string{copyTable, setTable} {
		sum(table, "count(*), sum(bytes)", func(x *total, s *sqlite.Stmt) {
			x.Copies += s.ColumnInt64(1)
			x.Bytes += s.ColumnInt64(2)
		}, true)
	}
	return want
}

// Whatever a sound export holds is read, to the launch and the nanosecond, and nothing else is.
func TestRecordings(t *testing.T) {
	for _, file := range recordings(t) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			want := totals(t, file)
			traces, err := Read(t.Context(), file)
			var refusal *model.Refusal
			if errors.As(err, &refusal) {
				t.Logf("refused (%s): %s", model.KindOf(err), refusal.Reason)
				if len(want) > 0 {
					t.Errorf("%v are in it", want)
				}
				return
			} else if err != nil {
				t.Fatal(err)
			}
			got := make(map[int]total)
			var said []string
			launches, time := int64(0), int64(0)
			for _, x := range traces {
				s := total{Launches: int64(len(x.Launches)), Copies: int64(len(x.Copies))}
				for _, l := range x.Launches {
					s.Time += l.End - l.Start
				}
				for _, c := range x.Copies {
					s.Bytes += c.Bytes
				}
				got[x.Process] = s
				launches, time = launches+s.Launches, time+s.Time
				for _, w := range x.Warnings {
					if !slices.Contains(said, w) {
						said = append(said, w)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("by process (-SQL +Read):\n%s", diff)
			}
			t.Logf("%s, %d traces, %d launches, %d ns; warnings %q", traces[0].Tool, len(traces), launches, time, said)
			// Recordings of this project are sound, but for what their names say.
			if strings.Contains(file, "h200") && len(said) > 0 && !strings.Contains(file, "graph-whole") {
				t.Errorf("warnings %q", said)
			}
		})
	}
}
