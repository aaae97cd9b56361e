package sqlitepage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
)

// build writes a database and returns its path. A statement after a question mark may fail. Extensions use reserved
// bytes at the end of every page.
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
		sql, mayFail := strings.CutPrefix(sql, "?")
		if err := query(conn, sql, nil); err != nil && !mayFail {
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

// content is the rows of every table, by its name: the number of each and the values of its columns, which come first.
type content map[string][]string

// throughSQLite reads every table that SQLite can read.
func throughSQLite(file string) (content, error) {
	conn, err := sqlite.OpenConn("file:"+file+"?mode=ro&immutable=1", sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := query(conn, "PRAGMA cell_size_check = ON", nil); err != nil {
		return nil, err
	}
	columns := make(map[string][]string)
	err = query(conn, "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_xinfo(m.name) c "+
		"WHERE m.type = 'table' AND m.rootpage > 0 AND c.hidden = 0",
		func(s *sqlite.Stmt) { columns[s.ColumnText(0)] = append(columns[s.ColumnText(0)], s.ColumnText(1)) })
	all := make(content)
	for table, names := range columns {
		list := ""
		for _, name := range names {
			list += ", " + quote(name)
		}
		rows := []string{fmt.Sprintf("%q", names)}
		err := query(conn, "SELECT rowid"+list+" FROM "+quote(table)+" NOT INDEXED", func(s *sqlite.Stmt) {
			row := fmt.Sprint(s.ColumnInt64(0))
			for i := range names {
				row += cellOf(s, i+1)
			}
			rows = append(rows, row)
		})
		if err == nil {
			all[table] = rows
		}
	}
	return all, err
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func cellOf(s *sqlite.Stmt, i int) string {
	switch s.ColumnType(i) {
	case sqlite.TypeNull:
		return " null"
	case sqlite.TypeInteger:
		return fmt.Sprint(" ", s.ColumnInt64(i))
	case sqlite.TypeFloat:
		return fmt.Sprint(" real ", s.ColumnFloat(i))
	}
	b := make([]byte, s.ColumnLen(i))
	s.ColumnBytes(i, b)
	return fmt.Sprintf(" %v %q", s.ColumnType(i) == sqlite.TypeText, b[:min(len(b), mostText)])
}

// fromPages is the same through this package, with the error of each table that is not read.
func fromPages(file string) (all content, refused map[string]error, err error) {
	f, err := Open(context.Background(), file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	all, refused = make(content), make(map[string]error)
	for _, table := range f.Tables() {
		if all[table], err = rowsOf(f, table); err != nil {
			delete(all, table)
			refused[table] = err
		}
	}
	return all, refused, nil
}

func rowsOf(f *File, table string) ([]string, error) {
	t, err := f.Table(table)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range t.columns {
		if t.Has(c.name) {
			names = append(names, c.name)
		}
	}
	rows := []string{fmt.Sprintf("%q", names)}
	last := int64(0)
	err = f.Scan(context.Background(), t, names, func(r *Rows) error {
		for i, number := range r.Numbers {
			last = number
			row := fmt.Sprint(number)
			for at := i * len(names); at < (i+1)*len(names); at++ {
				switch r.Kinds[at] {
				case Null:
					row += " null"
				case Integer:
					row += fmt.Sprint(" ", r.Values[at])
				case Real:
					row += fmt.Sprint(" real ", math.Float64frombits(uint64(r.Values[at])))
				default:
					row += fmt.Sprintf(" %v %q", r.Kinds[at] == Text, r.Bytes(at))
				}
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if n, err := f.Last(t); n != last || err != nil {
		return nil, fmt.Errorf("the last row is %d, not %d: %v", last, n, err)
	}
	return rows, nil
}

// agree checks that tables hold the same where both readers read them, and gives how many these are.
func agree(t rapid.TB, want, got content) (tables int) {
	t.Helper()
	for table, rows := range got {
		if _, ok := want[table]; !ok {
			continue
		}
		tables++
		if diff := cmp.Diff(want[table], rows); diff != "" {
			t.Fatalf("table %s (-SQLite +pages):\n%s", table, diff)
		}
	}
	return tables
}

// same checks that both readers read every table alike.
func same(t rapid.TB, file string) {
	t.Helper()
	want, err := throughSQLite(file)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	got, refused, err := fromPages(file)
	if err != nil || len(refused) > 0 {
		t.Fatalf("%s: error %v, refused %v", file, err, refused)
	}
	if n := agree(t, want, got); n != len(want) || n == 0 {
		t.Fatalf("%s: %d of %d tables", file, n, len(want))
	}
}
