package sqlitepage

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
)

func TestMain(m *testing.M) {
	flag.Set("rapid.checks", strconv.Itoa(sample(100)))
	os.Exit(m.Run())
}

// sample is the number of files of a test: a quarter of all under go test, all of them where $NSGATE_TEST_FULL is set,
// as in CI.
func sample(all int) int {
	if os.Getenv("NSGATE_TEST_FULL") != "" {
		return all
	}
	return all / 4
}

// Every table of every database gives the columns and rows that SQLite gives.
func TestScan(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		same(t, build(t, dir, rapid.SampledFrom([]int{0, 0, 8, 32}).Draw(t, "reserved"), table(t)...))
	})
}

const hundred = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) " +
	"SELECT i, 'name', i, i FROM n"

// Declarations that few programs write.
func TestOddTables(t *testing.T) {
	dir := t.TempDir()
	for _, statements := range [][]string{
		{"CREATE TABLE t (a INT, b REAL, c ANY, d TEXT) STRICT", "INSERT INTO t VALUES (1, 2, 3.0, 4)"},
		{"CREATE TABLE t AS SELECT 1 AS a, 'x' AS \"b c\", 1.5 AS c, NULL AS d"},
		{"CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b, c, d)", hundred}, // and sqlite_sequence
		{"CREATE TABLE t (a, b, c, d)", hundred, "ALTER TABLE t DROP COLUMN b",
			"ALTER TABLE t ADD COLUMN e REAL", "INSERT INTO t VALUES (1, 2, 3, 4)"},
		{"CREATE TABLE t (a INTEGER, b, c REAL, d)", hundred, "ALTER TABLE t RENAME TO \"a b\"",
			"ALTER TABLE \"a b\" ADD e AS (a + 1)"},
		{"CREATE TABLE t (a INTEGER PRIMARY KEY, b, c, d) /* an end */", hundred,
			"UPDATE t SET a = 9000000000000000000 WHERE a = 100"},
		{"PRAGMA page_size = 65536", "CREATE TABLE t (a, b, c, d)", hundred,
			"INSERT INTO t VALUES (1, hex(zeroblob(200000)), 2, 3)"},
	} {
		same(t, build(t, dir, 0, statements...))
	}
}

// Recordings are read as SQLite reads them, every column of every table.
func TestRecordings(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*/*.sqlite", "*/*/*.sqlite", "*/*/*/*.sqlite"} {
		found, _ := filepath.Glob("../../../../testdata/" + pattern)
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("%d recordings", len(files))
	}
	for _, file := range files {
		same(t, file)
	}
}

// An unsupported database is refused in words, never read as something else.
func TestUnsupported(t *testing.T) {
	const plain = "CREATE TABLE t (a, b, c, d)"
	for says, statements := range map[string][]string{
		"its text is in UTF-16": {"PRAGMA encoding = 'UTF-16'", plain, hundred},
		"table t has no row numbers (WITHOUT ROWID)": {
			"CREATE TABLE t (a, b, c, d, PRIMARY KEY (a)) WITHOUT ROWID", hundred},
		"t is not a table of its own": {"CREATE TABLE u (a, b, c, d)", "CREATE VIEW t AS SELECT * FROM u"},
		"row 1: it has no value in a column with a default": {plain, hundred, "ALTER TABLE t ADD COLUMN e DEFAULT 5",
			"INSERT INTO t VALUES (1, 2, 3, 4, 5)"},
		"table t: its declaration is not understood at \"\"": {
			"CREATE TABLE t (a, b, c, d DEFAULT '" + strings.Repeat("x", mostText) + "')", hundred},
	} {
		f, err := Open(t.Context(), build(t, t.TempDir(), 0, statements...))
		if err == nil {
			defer f.Close()
			_, err = rowsOf(f, "t")
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %s", err, says)
		}
	}
}

// changed builds a database and writes a copy of it with other bytes.
func changed(t testing.TB, change func(content []byte, root func(table string) int), statements ...string) string {
	t.Helper()
	file := build(t, t.TempDir(), 0, append([]string{"PRAGMA page_size = 512"}, statements...)...)
	f, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	change(content, func(table string) int {
		x, err := f.Table(table)
		if err != nil {
			t.Fatal(err)
		}
		return int(x.root-1) * 512
	})
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A schema or header that contradicts itself is damaged.
func TestDamagedSchema(t *testing.T) {
	swap := func(from, to string) func([]byte, func(string) int) {
		return func(content []byte, _ func(string) int) {
			at := bytes.Index(content, []byte(from))
			copy(content[at:], to)
			if at < 0 || len(from) != len(to) {
				t.Fatalf("%q in place of %q", to, from)
			}
		}
	}
	set := func(at int, to byte) func([]byte, func(string) int) {
		return func(content []byte, _ func(string) int) { content[at] = to }
	}
	for _, c := range []struct {
		says   string
		change func(content []byte, root func(table string) int)
	}{
		{"row 1 of the schema is no table, view, index or trigger", swap("tablett", "tablftt")},
		{"row 1 of the schema has no name of its own", swap("tablett", "tabletx")},
		{"row 2 of the schema has no name of its own", swap("tableuu", "tablett")},
		{"another declaration in place of that of table t", swap("TABLE t", "TABLE x")},
		{"declaration is not understood at \"(\"", swap("a, b, c, d", "(, b, c, d")},
		{"row 1: it has more values than its table has columns", swap("a, b, c, d", "a, b  c, d")},
		{"its header is that of another version", set(19, 3)},
		{"its header is that of another version", set(21, 65)},
		{"its header is that of another version", set(47, 5)},
		{"an unknown encoding of text, 9", set(59, 9)},
		{"no page of a table", func(content []byte, root func(string) int) { content[root("t")] = 10 }},
		{"it holds no rows where rows should be", func(content []byte, root func(string) int) {
			at := root("t") // its last child is the page itself
			copy(content[at+8:], []byte{0, 0, 0, byte(at/512 + 1)})
		}},
	} {
		file := changed(t, c.change, "CREATE TABLE t (a, b, c, d)", "CREATE TABLE u (x)", hundred)
		f, err := Open(t.Context(), file)
		if err == nil {
			defer f.Close()
			_, err = rowsOf(f, "t")
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want %s", err, c.says)
		}
	}
	// The last row alone is searched for by another way.
	f, err := Open(t.Context(), changed(t, func(content []byte, root func(string) int) {
		at := root("t")
		copy(content[at+8:], []byte{0, 0, 0, byte(at/512 + 1)})
	}, "CREATE TABLE t (a, b, c, d)", hundred))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := f.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Last(x); err == nil || !strings.Contains(err.Error(), "repeat") {
		t.Errorf("the last row: %v", err)
	}
}

// A row that a damaged page no longer points to is missed, where SQLite does not miss it.
func TestLostRow(t *testing.T) {
	file := changed(t, func(content []byte, root func(string) int) { content[root("t")+4]-- }, // the number of cells
		"CREATE TABLE t (a, b, c, d)", strings.Replace(hundred, "< 100", "< 10", 1))
	if all, err := throughSQLite(file); err != nil || len(all["t"]) != 1+9 {
		t.Errorf("SQLite: %d rows, %v", len(all["t"])-1, err)
	}
	_, refused, err := fromPages(file)
	if of := refused["t"]; err != nil || of == nil || !strings.HasPrefix(of.Error(), "page ") {
		t.Errorf("error %v, %v, want one of a page", of, err)
	}
}

// A scan ends with the error of the visit or of the context.
func TestScanEnds(t *testing.T) {
	more := strings.Replace(hundred, "< 100", "< 100000", 1)
	f, err := Open(t.Context(), build(t, t.TempDir(), 0, "CREATE TABLE t (a, b, c, d)", more))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := f.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	own := errors.New("enough")
	visits := 0
	err = f.Scan(t.Context(), table, []string{"a"}, func(*Rows) error { visits++; return own })
	if !errors.Is(err, own) || visits != 1 {
		t.Errorf("%d visits, error %v", visits, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rows := 0
	err = f.Scan(ctx, table, []string{"a"}, func(r *Rows) error { cancel(); rows += len(r.Numbers); return nil })
	if !errors.Is(err, context.Canceled) || rows == 0 || rows >= 100000 {
		t.Errorf("%d rows, error %v", rows, err)
	}
}

// damage changes some bytes, more of them in the headers of pages and the places of cells, where a byte matters most.
func damage(content []byte, random *rand.Rand) {
	for range 1 + random.IntN(4) {
		at := random.IntN(len(content))
		if random.IntN(2) == 0 {
			at = random.IntN(len(content)/512)*512 + random.IntN(24)
		}
		content[max(at, 16)] = byte(random.IntN(256) >> random.IntN(8))
	}
}

// Of a damaged database, the pages give what SQLite gives, or nothing.
func TestDamaged(t *testing.T) {
	whole, err := os.ReadFile(build(t, t.TempDir(), 0, "PRAGMA page_size = 512",
		"CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c REAL, d)", hundred,
		"INSERT INTO t VALUES (-5, hex(zeroblob(900)), 1.5, x'00')", "CREATE TABLE u (x INTEGER NOT NULL, -- a, b\n y)",
		"INSERT INTO u SELECT a, b FROM t"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "damaged.sqlite")
	random := rand.New(rand.NewPCG(1, 2))
	files := sample(1000)
	read, refused := 0, 0
	for range files {
		content := bytes.Clone(whole)
		damage(content, random)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		want, _ := throughSQLite(file)
		got, bad, err := fromPages(file)
		read += agree(t, want, got)
		if err != nil || len(bad) > 0 {
			refused++
		}
	}
	t.Logf("%d damaged files: %d tables read by both alike, %d files refused in part by the pages", files, read,
		refused)
	if read < files/10 || refused < files/10 {
		t.Error("the damage is not of the right size")
	}
}

// FuzzScan changes bytes of a database: the pages give the same values as SQLite.
func FuzzScan(f *testing.F) {
	for _, statements := range [][]string{
		{"PRAGMA page_size = 512", "CREATE TABLE t (a INTEGER, b TEXT, c REAL, d)", hundred,
			"INSERT INTO t VALUES (1.5, x'00', hex(zeroblob(900)), -1)"},
		{"PRAGMA page_size = 1024", "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c, d)",
			"INSERT INTO t VALUES (1, 2, hex(zeroblob(3000)), NULL)"},
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
		want, _ := throughSQLite(file)
		if got, _, err := fromPages(file); err == nil {
			agree(t, want, got)
		}
	})
}

// FuzzDeclaration compares the columns of declarations with those that SQLite takes from them.
func FuzzDeclaration(f *testing.F) {
	for _, sql := range []string{
		`CREATE TABLE t (a INTEGER PRIMARY KEY, "b c" TEXT NOT NULL, [d] REAL DEFAULT -1, e AS (a + 1), CHECK (a > 1))`,
		"CREATE TABLE 't''u'(a INTEGER, -- comment,\n`b` /* x */ DOUBLE, PRIMARY KEY (a DESC)) STRICT",
		"CREATE TABLE t(a PRIMARY KEY, b INT GENERATED ALWAYS AS (1) STORED) WITHOUT ROWID",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		ours, err := parse(sql)
		if err != nil {
			return
		}
		conn, err := sqlite.OpenConn(":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if query(conn, sql, nil) != nil {
			return
		}
		var want, got []string
		query(conn, "SELECT m.name, c.name, c.hidden FROM sqlite_schema m, pragma_table_xinfo(m.name) c "+
			"WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'",
			func(s *sqlite.Stmt) {
				want = append(want, fmt.Sprintf("%q %q %d", s.ColumnText(0), s.ColumnText(1), s.ColumnInt(2)))
			})
		for _, c := range ours.columns {
			hidden := 0
			if c.virtual {
				hidden = 2
			} else if c.generated {
				hidden = 3
			}
			got = append(got, fmt.Sprintf("%q %q %d", ours.name, c.name, hidden))
		}
		if diff := cmp.Diff(want, got); diff != "" && len(want) > 0 {
			t.Fatalf("%s\ncolumns (-SQLite +ours):\n%s", sql, diff)
		}
	})
}
