package nsys

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/measure"
	"zombiezen.com/go/sqlite"
)

// database is an open export.
type database struct {
	ctx     context.Context // ends the connections
	uri     string
	conn    *sqlite.Conn
	name    string              // of the file, without its directory: for messages
	state   state               // of the file when it was opened
	rows    int64               // more rows than this cannot be in a file of this size
	columns map[string][]string // of every table
	origin  origin
}

// open checks that the file can be an nsys export before SQLite sees it, then opens it.
func open(ctx context.Context, file, name string) (*database, error) {
	state, pages, err := inspect(file, name)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	// immutable: no lock, no journal, no write-ahead log, even in a directory that cannot be written.
	uri := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&immutable=1"}
	db := &database{ctx: ctx, uri: uri.String(), name: name, state: state, columns: make(map[string][]string)}
	// The smallest row takes four bytes of a leaf page. Damaged files can loop through the same pages for ever.
	db.rows = pages / 4
	if db, err = db.again(); err != nil {
		return nil, err
	}
	if err := db.readSchema(); err != nil {
		db.close()
		return nil, err
	}
	return db, nil
}

// again opens another connection: one connection serves one goroutine.
func (db *database) again() (*database, error) {
	conn, err := sqlite.OpenConn(db.uri, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", db.name, err)
	}
	conn.SetInterrupt(db.ctx.Done())
	other := *db
	other.conn = conn
	for _, pragma := range []string{"trusted_schema = OFF", "cell_size_check = ON"} {
		if err := other.query("PRAGMA "+pragma, nil); err != nil {
			other.close()
			return nil, err
		}
	}
	return &other, nil
}

func (db *database) close() { db.conn.Close() }

func (db *database) refuse(key string, details ...any) error { return refuse(key, db.name, details...) }

// readSchema notes the columns of every table and refuses what is not from nsys.
func (db *database) readSchema() error {
	var tables []string
	var view string
	// Virtual tables have no root page. They and views can run any code that the file's author likes.
	const schema = "SELECT name, type, rootpage FROM sqlite_schema WHERE type IN ('table', 'view')"
	err := db.query(schema, func(s *sqlite.Stmt) {
		name := s.ColumnText(0)
		if s.ColumnText(1) == "table" && s.ColumnInt64(2) > 0 {
			tables = append(tables, name)
		} else if slices.Contains(readable, name) {
			view = name
		}
	})
	if err != nil {
		return err
	}
	if view != "" {
		return db.refuse("foreign-schema", view+" is not a table of its own")
	}
	has := func(table string) bool { return slices.Contains(tables, table) }
	if !has("StringIds") {
		if has("StringTable") || has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") {
			return db.refuse("nvprof")
		}
		return db.refuse("not-nsys", "StringIds")
	}
	err = db.query("SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.rootpage > 0 "+
		"AND t.name IN ('"+strings.Join(readable, "', '")+"')", func(s *sqlite.Stmt) {
		table := s.ColumnText(0)
		db.columns[table] = append(db.columns[table], s.ColumnText(1))
	})
	if err != nil {
		return err
	}
	if err := db.readOrigin(); err != nil {
		return err
	}
	return db.successors(tables)
}

// query runs a statement and shows each row to f.
func (db *database) query(sql string, f func(*sqlite.Stmt)) error {
	stmt, _, err := db.conn.PrepareTransient(sql)
	if err != nil {
		return db.damaged(err)
	}
	defer stmt.Finalize()
	for n := int64(0); ; n++ {
		more, err := stmt.Step()
		if err == nil && n > db.rows {
			err = errRepeated
		}
		if err != nil {
			return db.damaged(err)
		}
		if !more {
			return nil
		}
		if f != nil {
			f(stmt)
		}
	}
}

// damaged is the refusal for a database that SQLite cannot read on, or the error of a context that ended.
func (db *database) damaged(err error) error {
	if ended := db.ctx.Err(); ended != nil {
		return fmt.Errorf("%s: reading was interrupted: %w", db.name, ended)
	}
	why := strings.TrimPrefix(err.Error(), "sqlite: step: ")
	return db.refuse("damaged", measure.NormalizeControl(why))
}

// has reports whether the table has a column.
func (db *database) has(table, column string) bool { return slices.Contains(db.columns[table], column) }

// require refuses a table that lacks one of the columns; an absent table lacks nothing.
func (db *database) require(table string, columns ...string) error {
	for _, c := range columns {
		if db.columns[table] != nil && !db.has(table, c) {
			key := "foreign-schema"
			if db.origin.newer() {
				key = "new-schema"
			}
			return db.refuse(key, fmt.Sprintf("table %s has no column %s", table, c))
		}
	}
	return nil
}

// count gives the number of rows by the last row number: nsys numbers the rows of a table from one.
func (db *database) count(table string) (n int64, err error) {
	if db.columns[table] == nil {
		return 0, nil
	}
	err = db.query("SELECT max(rowid) FROM "+table, func(s *sqlite.Stmt) { n = max(0, s.ColumnInt64(0)) })
	return n, err
}

// parts cuts a large table into conditions that [database.parallel] can read side by side, a small one into one.
func (db *database) parts(table string) ([]string, error) {
	const small = 100_000
	n, err := db.count(table)
	if err != nil || n < small {
		return []string{""}, err
	}
	return []string{fmt.Sprintf("rowid <= %d", n/2), fmt.Sprintf("rowid > %d", n/2)}, nil
}

// parallel calls f for each part at the same time, each with a connection of its own.
func (db *database) parallel(parts []string, f func(db *database, part int) error) error {
	errs := make([]error, len(parts))
	var group sync.WaitGroup
	for i := range parts[1:] {
		group.Go(func() {
			other, err := db.again()
			if err != nil {
				errs[i+1] = err
				return
			}
			defer other.close()
			errs[i+1] = f(other, i+1)
		})
	}
	errs[0] = f(db, 0)
	group.Wait()
	for _, err := range errs { // not joined: the first says enough
		if err != nil {
			return err
		}
	}
	return nil
}

// row is the row at which a scan stands. A cell that does not hold what its column must hold ends the scan with an
// error that names table, column and row.
type row struct {
	stmt    *sqlite.Stmt
	table   string
	columns []string
	read    int64  // rows, this one included
	reason  string // what is wrong with the row
	// backwards is true where the reason is a time.
	backwards bool
}

// scan shows the rows of a table to f, columns in the given order; an absent column is null in every row, an absent
// table has no rows. Where filters SQL's WHERE clause, "" for all rows.
//
// The table itself is read, in the order of its row numbers: an index may be damaged, and where a damaged table leads
// back to pages that were read before, the row numbers no longer grow.
func (db *database) scan(table, where string, columns []string, f func(*row)) error {
	if db.columns[table] == nil {
		return nil
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "NULL"
		if db.has(table, c) {
			list[i] = `"` + c + `"`
		}
	}
	sql := "SELECT " + strings.Join(append(list, "rowid"), ", ") + " FROM " + table + " NOT INDEXED"
	if where != "" {
		sql += " WHERE " + where
	}
	stmt, _, err := db.conn.PrepareTransient(sql)
	if err != nil {
		return db.damaged(err)
	}
	defer stmt.Finalize()
	const stretch = 1 << 12
	last := int64(math.MinInt64)
	r := row{stmt: stmt, table: table, columns: columns}
	number := func() int64 { return stmt.ColumnInt64(len(columns)) }
	for {
		more, err := stmt.Step()
		if err == nil && more && r.read%stretch == 0 {
			if r.read > 0 && number() < last+stretch || r.read > db.rows {
				err = errRepeated
			}
			last = number()
		}
		if err != nil {
			return db.damaged(err)
		}
		if !more {
			return nil
		}
		r.read++
		f(&r)
		if r.reason != "" {
			if r.backwards {
				return db.refuse("clock-backwards", fmt.Sprintf("table %s, row %d: %s", table, number(), r.reason))
			}
			return db.refuse("bad-row", table, number(), r.reason)
		}
	}
}

var errRepeated = errors.New("rows repeat")

// wrong notes the first thing that is wrong with the row.
func (r *row) wrong(format string, args ...any) {
	if r.reason == "" {
		r.reason = fmt.Sprintf(format, args...)
	}
}

// int is the integer in a column that must hold one.
func (r *row) int(column int) int64 {
	if t := r.stmt.ColumnType(column); t != sqlite.TypeInteger {
		r.wrong("column %s holds %s, not an integer", r.columns[column], kind(t))
	}
	return r.stmt.ColumnInt64(column)
}

// intOr is the integer in a column, or absent where the cell is null.
func (r *row) intOr(column int, absent int64) int64 {
	if v := r.stmt.ColumnInt64(column); v != 0 {
		return v
	}
	switch t := r.stmt.ColumnType(column); t {
	case sqlite.TypeInteger:
	case sqlite.TypeNull:
		return absent
	default:
		r.wrong("column %s holds %s, not an integer", r.columns[column], kind(t))
	}
	return 0
}

func kind(t sqlite.ColumnType) string {
	switch t {
	case sqlite.TypeNull:
		return "nothing"
	case sqlite.TypeText:
		return "text"
	case sqlite.TypeFloat:
		return "a fraction"
	case sqlite.TypeBlob:
		return "bytes"
	}
	return "an integer"
}

func (r *row) null(column int) bool   { return r.stmt.ColumnIsNull(column) }
func (r *row) text(column int) string { return text(r.stmt, column) }

// text is the text in a column, "" where it is null. Nobody reads a name of more than 64 KiB: its rest is left out.
func text(s *sqlite.Stmt, column int) string {
	const longest = 64 << 10
	if s.ColumnLen(column) <= longest {
		return s.ColumnText(column)
	}
	buffer := make([]byte, longest)
	return string(buffer[:s.ColumnBytes(column, buffer)])
}

// span reads start and end of something that the GPU did.
func (r *row) span(start, end int) (int64, int64) {
	a, b := r.int(start), r.int(end)
	const longest = 1e15 // ns: eleven days
	switch {
	case r.reason != "":
	case a < 0:
		r.wrong("the start %d is before the recording began", a)
		r.backwards = true
	case b < a:
		r.wrong("the end %d is before the start %d", b, a)
		r.backwards = true
	case b-a > longest:
		r.wrong("from %d to %d ns is longer than any launch", a, b)
	}
	return a, b
}
