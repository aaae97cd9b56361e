package sqlitepage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
)

// build writes a database and returns its path. Reserved bytes at the end of every page are what extensions use.
func build(t rapid.TB, dir string, reserved int, statements ...string) string {
	t.Helper()
	file := filepath.Join(dir, "built.sqlite")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if reserved > 0 {
		execute(t, file, statements[0], "PRAGMA user_version = 1") // page 1 alone
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[20] = byte(reserved)
		usable := len(content) - reserved
		content[header+5], content[header+6] = byte(usable>>8), byte(usable)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, file, statements...)
	return file
}

func execute(t rapid.TB, file string, statements ...string) {
	t.Helper()
	conn, err := sqlite.OpenConn(file, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, sql := range append([]string{"PRAGMA synchronous = OFF"}, statements...) {
		if err := query(conn, sql, nil); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func query(conn *sqlite.Conn, sql string, f func(*sqlite.Stmt)) error {
	stmt, _, err := conn.PrepareTransient(sql)
	if err != nil {
		return err
	}
	defer stmt.Finalize()
	for rows := 0; ; rows++ {
		more, err := stmt.Step()
		if err == nil && rows > 1e5 {
			err = errors.New("rows repeat")
		}
		if err != nil || !more {
			return err
		}
		if f != nil {
			f(stmt)
		}
	}
}

// throughSQLite is what the columns a, c and d of table t hold, and the number of its root page.
func throughSQLite(file string) (root uint32, rows []string, err error) {
	conn, err := sqlite.OpenConn("file:"+file+"?mode=ro&immutable=1", sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	if err := query(conn, "PRAGMA cell_size_check = ON", nil); err != nil {
		return 0, nil, err
	}
	if err := query(conn, "SELECT rootpage FROM sqlite_schema WHERE name = 't'", func(s *sqlite.Stmt) { root = uint32(s.ColumnInt64(0)) }); err != nil {
		return 0, nil, err
	}
	err = query(conn, "SELECT rowid, a, c, d FROM t NOT INDEXED", func(s *sqlite.Stmt) {
		row := fmt.Sprint(s.ColumnInt64(0))
		for i := 1; i <= 3; i++ {
			switch s.ColumnType(i) {
			case sqlite.TypeNull:
				row += " null"
			case sqlite.TypeInteger:
				row += fmt.Sprint(" ", s.ColumnInt64(i))
			case sqlite.TypeFloat:
				row += fmt.Sprint(" real ", s.ColumnFloat(i))
			default:
				b := make([]byte, s.ColumnLen(i))
				s.ColumnBytes(i, b)
				row += fmt.Sprintf(" %q", b[:min(len(b), mostText)])
			}
		}
		rows = append(rows, row)
	})
	return root, rows, err
}

// fromPages is the same through this package.
func fromPages(file string, root uint32) (rows []string, err error) {
	f, err := Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = f.Scan(context.Background(), root, []int{0, 2, 3}, func(r *Rows) error {
		for i, number := range r.Numbers {
			row := fmt.Sprint(number)
			for at := i * 3; at < i*3+3; at++ {
				switch r.Kinds[at] {
				case Null:
					row += " null"
				case Integer:
					row += fmt.Sprint(" ", r.Values[at])
				case Real:
					row += fmt.Sprint(" real ", math.Float64frombits(uint64(r.Values[at])))
				default:
					row += fmt.Sprintf(" %q", r.Bytes(at))
				}
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// table is a table of random rows: all kinds of values, long texts, rows that were deleted, columns that were added later.
func table(t *rapid.T) []string {
	value := rapid.OneOf(
		rapid.Just("NULL"),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprint(rapid.Int64().Draw(t, "int") >> rapid.IntRange(0, 63).Draw(t, "shift"))
		}),
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%g", rapid.Float64Range(-1e9, 1e9).Draw(t, "real")) }),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("'%s'", strings.Repeat("xé", rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(100, 3000)).Draw(t, "length")))
		}),
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("zeroblob(%d)", rapid.IntRange(0, 700).Draw(t, "bytes")) }),
	)
	rows := rapid.SliceOfN(rapid.SliceOfN(value, 3, 3), 0, 60).Draw(t, "rows")
	statements := []string{
		fmt.Sprintf("PRAGMA page_size = %d", 512<<rapid.IntRange(0, 7).Draw(t, "page size")),
		fmt.Sprintf("PRAGMA auto_vacuum = %d", rapid.IntRange(0, 1).Draw(t, "auto_vacuum")),
		"CREATE TABLE t (a INTEGER, b TEXT, c)", "CREATE TABLE other (x)",
	}
	for i, row := range rows {
		number := "NULL"
		if rapid.IntRange(0, 9).Draw(t, "numbered") == 0 {
			number = fmt.Sprint(i * rapid.IntRange(-3, 1000).Draw(t, "step"))
		}
		statements = append(statements, fmt.Sprintf("INSERT OR IGNORE INTO t (rowid, a, b, c) VALUES (%s, %s)", number, strings.Join(row, ", ")),
			"INSERT INTO other VALUES (1)")
	}
	statements = append(statements, "ALTER TABLE t ADD COLUMN d", "INSERT INTO t VALUES (1, 2, 3, 4)")
	if n := rapid.IntRange(0, 5).Draw(t, "delete"); n > 0 {
		statements = append(statements, fmt.Sprintf("DELETE FROM t WHERE abs(rowid) %% 7 = %d", n), "INSERT INTO t VALUES ('again', 0, x'00', 1.5)")
	}
	return statements
}

// Every table gives the rows that SQLite gives.
func TestScan(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		file := build(t, dir, rapid.SampledFrom([]int{0, 0, 8, 32}).Draw(t, "reserved"), table(t)...)
		root, want, err := throughSQLite(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fromPages(file, root)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("rows (-SQLite +pages):\n%s", diff)
		}
	})
}

const hundred = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i, 'name', i, i FROM n"

// What is not plain is left to SQLite.
func TestUnusual(t *testing.T) {
	for name, statements := range map[string][]string{
		"write-ahead log":  {"PRAGMA journal_mode = WAL", "CREATE TABLE t (a, b, c, d)", hundred},
		"UTF-16":           {"PRAGMA encoding = 'UTF-16'", "CREATE TABLE t (a, b, c, d)", hundred},
		"without rowid":    {"CREATE TABLE t (a, b, c, d, PRIMARY KEY (a)) WITHOUT ROWID", hundred},
		"without rowid, 1": {"CREATE TABLE t (a, b, c, d, PRIMARY KEY (a)) WITHOUT ROWID", "INSERT INTO t VALUES (1, 2, 3, 4)"},
	} {
		file := build(t, t.TempDir(), 0, statements...)
		root, _, err := throughSQLite(file)
		if err != nil && !strings.Contains(err.Error(), "rowid") {
			t.Fatal(err)
		}
		if rows, err := fromPages(file, root); !errors.Is(err, ErrUnusual) {
			t.Errorf("%s: %d rows, error %v", name, len(rows), err)
		}
	}
}

// A row that a damaged page no longer points to is missed, where SQLite does not miss it.
func TestLostRow(t *testing.T) {
	file := build(t, t.TempDir(), 0, "PRAGMA page_size = 4096", "CREATE TABLE t (a, b, c, d)", hundred)
	root, want, err := throughSQLite(file)
	if err != nil || len(want) != 100 {
		t.Fatal(len(want), err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[int(root-1)*4096+4]-- // the number of cells
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, rows, err := throughSQLite(file); err != nil || len(rows) != 99 {
		t.Errorf("SQLite: %d rows, %v", len(rows), err)
	}
	var page *Malformed
	if _, err := fromPages(file, root); !errors.As(err, &page) || page.Page != root {
		t.Errorf("error %v, want one of page %d", err, root)
	}
}

// A scan ends with the error of the visit or of the context.
func TestScanEnds(t *testing.T) {
	more := strings.Replace(hundred, "< 100", "< 100000", 1)
	file := build(t, t.TempDir(), 0, "CREATE TABLE t (a, b, c, d)", more)
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own := errors.New("enough")
	visits := 0
	if err := f.Scan(t.Context(), 2, []int{0}, func(*Rows) error { visits++; return own }); !errors.Is(err, own) || visits != 1 {
		t.Errorf("%d visits, error %v", visits, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rows := 0
	err = f.Scan(ctx, 2, []int{0}, func(r *Rows) error { cancel(); rows += len(r.Numbers); return nil })
	if !errors.Is(err, context.Canceled) || rows == 0 || rows >= 100000 {
		t.Errorf("%d rows, error %v", rows, err)
	}
}

// FuzzScan changes bytes of a database: what the pages give is what SQLite gives.
func FuzzScan(f *testing.F) {
	for _, statements := range [][]string{
		{"PRAGMA page_size = 512", "CREATE TABLE t (a INTEGER, b TEXT, c, d)", hundred, "INSERT INTO t VALUES (1.5, x'00', hex(zeroblob(900)), -1)"},
		{"PRAGMA page_size = 1024", "CREATE TABLE t (a INTEGER, b TEXT, c, d)", "INSERT INTO t VALUES (1, 2, hex(zeroblob(3000)), NULL)"},
	} {
		content, err := os.ReadFile(build(f, f.TempDir(), 0, statements...))
		if err != nil {
			f.Fatal(err)
		}
		for _, at := range []uint32{18, 105, 515, 1030, 1500} {
			f.Add(content, at, byte(at))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, at uint32, to byte) {
		if len(content) == 0 {
			return
		}
		content[at%uint32(len(content))] = to
		file := filepath.Join(t.TempDir(), "fuzz.sqlite")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		root, want, errSQL := throughSQLite(file)
		if root == 0 {
			root = 2
		}
		got, err := fromPages(file, root)
		if err != nil {
			return
		}
		// Where the declaration itself has changed, SQLite gives other columns of the same rows.
		if errSQL == nil && bytes.Contains(content, []byte("(a INTEGER, b TEXT, c, d)")) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("rows (-SQLite +pages):\n%s", diff)
			}
		}
	})
}
