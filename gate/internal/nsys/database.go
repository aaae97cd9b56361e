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

	"zombiezen.com/go/sqlite"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/sqlitepage"
	"github.com/nsgate/nsgate/gate/measure"
)

// database is an open export.
type database struct {
	ctx     context.Context // ends the connection
	conn    *sqlite.Conn
	pages   *sqlitepage.File
	name    string              // of the file, without its directory: for messages
	state   state               // of the file when it was opened
	rows    int64               // the most rows that a file of this size can have
	columns map[string][]string // of every table that is read
	plain   map[string]plain    // the tables whose rows can be read straight from their pages
	origin  origin
}

// plain is a table as nsys declares them.
type plain struct {
	root    uint32
	columns map[string]int // their places in a row, of those that hold integers or text
}

// open checks that the file can be an nsys export before SQLite sees it, then opens it.
func open(ctx context.Context, file, name string) (*database, error) {
	state, err := inspect(file, name)
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
	conn, err := sqlite.OpenConn(uri.String(), sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	conn.SetInterrupt(ctx.Done())
	db := &database{ctx: ctx, conn: conn, name: name, state: state, columns: make(map[string][]string), plain: make(map[string]plain)}
	if err := db.prepare(file); err != nil {
		db.close()
		return nil, err
	}
	return db, nil
}

// prepare opens the pages of the file, checks its schema and reads its tables' columns.
func (db *database) prepare(file string) (err error) {
	switch db.pages, err = sqlitepage.Open(file); {
	case errors.Is(err, sqlitepage.ErrTruncated):
		return model.Refuse(model.Truncated, exportAgain, "%s is %s", db.name, err)
	case err != nil:
		return db.damaged(err)
	}
	if err := db.pages.CheckSchema(); err != nil {
		return db.damaged(err)
	}
	// The smallest row takes four bytes of a leaf page. Damaged files can loop through the same pages for ever.
	db.rows = db.pages.Bytes() / 4
	for _, pragma := range []string{"trusted_schema = OFF", "cell_size_check = ON"} {
		if err := db.query("PRAGMA "+pragma, nil); err != nil {
			return err
		}
	}
	return db.readSchema()
}

func (db *database) close() {
	db.conn.Close()
	if db.pages != nil {
		db.pages.Close()
	}
}

// databases lists other profilers' databases by how the name of one of their tables begins.
var databases = []struct{ table, what string }{
	{"rocpd_info_", "a database of rocprofiler-sdk (rocpd, AMD)"}, {"rocpd_kernel_dispatch", "a database of rocprofiler-sdk (rocpd, AMD)"},
	{"rocpd_", "a database of rocmProfileData (rpd, AMD)"},
}

// readSchema reads the columns of every table and refuses a database of another program.
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
		return model.Refuse(model.BadTable, exportAgain, "%s: %s is not a table of its own: nsys did not write it so", db.name, view)
	}
	has := func(table string) bool { return slices.Contains(tables, table) }
	if !has("StringIds") {
		if has("StringTable") || has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") {
			return model.Refuse(model.OtherFormat, "record the workload with nsys",
				"%s is a database of nvprof, not of nsys", db.name)
		}
		for _, other := range databases {
			if slices.ContainsFunc(tables, func(t string) bool { return strings.HasPrefix(t, other.table) }) {
				return model.Refuse(model.OtherFormat, "profile on a CUDA GPU with nsys", "%s is %s, which nsgate does not read", db.name, other.what)
			}
		}
		return model.Refuse(model.OtherFormat, exportAgain,
			"%s is a SQLite database, but no export of nsys: it has no table StringIds", db.name)
	}
	if err := db.readColumns(); err != nil {
		return err
	}
	if err := db.readOrigin(); err != nil {
		return err
	}
	return db.successors(tables)
}

// readColumns reads the columns of the tables, and finds the plain tables: without generated columns, default values and a column
// for the row's number.
func (db *database) readColumns() error {
	odd := make(map[string]bool)
	err := db.query("SELECT t.name, t.rootpage, CASE c.cid WHEN 0 THEN t.sql END, c.name, c.cid, c.type, c.dflt_value IS NOT NULL OR c.pk > 0 OR c.hidden > 0, c.hidden "+
		"FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table' AND t.rootpage > 0 "+
		"AND t.name IN ('"+strings.Join(readable, "', '")+"')", func(s *sqlite.Stmt) {
		table, column := s.ColumnText(0), s.ColumnText(3)
		if s.ColumnInt64(7) == 0 {
			db.columns[table] = append(db.columns[table], column)
		}
		x, seen := db.plain[table]
		if !seen {
			x = plain{uint32(s.ColumnInt64(1)), make(map[string]int)}
			db.plain[table] = x
			odd[table] = !declares().MatchString(s.ColumnText(2)) || !strings.Contains(s.ColumnText(2), table)
		}
		odd[table] = odd[table] || s.ColumnBool(6) || s.ColumnInt64(1) != int64(x.root)
		if declared := strings.ToUpper(s.ColumnText(5)); declared == "INTEGER" || declared == "TEXT" {
			x.columns[column] = s.ColumnInt(4)
		}
	})
	for table := range odd {
		if odd[table] {
			delete(db.plain, table)
		}
	}
	return err
}

// declares matches a table that is declared by its columns, not by a query.
var declares = input.Pattern(`^CREATE TABLE \S+ ?\(`)

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
	return model.Refuse(model.Damaged, exportAgain, "%s is damaged (%s)", db.name, measure.NormalizeControl(why))
}

func (db *database) has(table, column string) bool { return slices.Contains(db.columns[table], column) }

// require refuses a table that lacks one of the columns; an absent table lacks nothing.
func (db *database) require(table string, columns ...string) error {
	for _, c := range columns {
		if db.columns[table] != nil && !db.has(table, c) {
			if db.origin.newer() {
				return model.Refuse(model.NewSchema, updateNsgate,
					"%s: table %s has no column %s: it was written by an nsys that is newer than this nsgate", db.name, table, c)
			}
			return model.Refuse(model.BadTable, exportAgain, "%s: table %s has no column %s: nsys did not write it so", db.name, table, c)
		}
	}
	return nil
}

// count gives the number of rows as the last row number: nsys numbers the rows of a table from one.
func (db *database) count(table string) (n int64, err error) {
	if db.columns[table] == nil {
		return 0, nil
	}
	err = db.query("SELECT max(rowid) FROM "+table, func(s *sqlite.Stmt) { n = max(0, s.ColumnInt64(0)) })
	return n, err
}

// room is the number of rows for which memory is allocated before a table is read: its row count, bounded by the size of its
// pages, since a damaged file may state any count.
func (db *database) room(table string) (int, error) {
	plain, ok := db.plain[table]
	if !ok {
		return 0, nil
	}
	size, err := db.pages.Size(plain.root)
	if err != nil {
		return 0, nil // reading it will say so
	}
	const least = 20 // bytes of a row in the tables of many rows, which have eight columns or more
	n, err := db.count(table)
	return int(min(n, size/least)), err
}

// scan shows the rows of a table to f, columns in the given order; an absent column is null in every row, an absent
// table has no rows. Where filters SQL's WHERE clause, "" for all rows. A cell that does not hold what its column must hold ends
// the scan with an error that names table, column and row.
func (db *database) scan(table, where string, columns []string, f func(*row)) error {
	if db.columns[table] == nil {
		return nil
	}
	if where == "" {
		if done, err := db.scanPages(table, columns, f); done {
			return err
		}
	}
	return db.scanSQL(table, where, columns, f)
}

// scanPages is scan of all rows of a plain table; done is false where SQLite has to read it.
func (db *database) scanPages(table string, columns []string, f func(*row)) (done bool, err error) {
	plain, ok := db.plain[table]
	if !ok {
		return false, nil
	}
	places := make([]int, len(columns))
	for i, c := range columns {
		if places[i], ok = plain.columns[c]; !ok {
			if db.has(table, c) {
				return false, nil
			}
			places[i] = -1
		}
	}
	r := row{table: table, columns: columns}
	err = db.pages.Scan(db.ctx, plain.root, places, func(rows *sqlitepage.Rows) error {
		for i := range rows.Numbers {
			r.fromPages(rows, i)
			if f(&r); r.reason != "" {
				return r.refuse(db)
			}
		}
		return nil
	})
	var malformed *sqlitepage.Malformed
	if errors.Is(err, sqlitepage.ErrUnusual) {
		return false, nil
	}
	if errors.As(err, &malformed) || db.ctx.Err() != nil {
		err = db.damaged(err)
	}
	return true, err
}

// scanSQL is scan through SQLite. The table itself is read, in the order of its row numbers: an index may be damaged, and where a
// damaged table leads back to pages that were read before, the row numbers no longer grow.
func (db *database) scanSQL(table, where string, columns []string, f func(*row)) error {
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
	r := row{stmt: stmt, table: table, columns: columns, kinds: make([]sqlitepage.Kind, len(columns)), values: make([]int64, len(columns))}
	for read := int64(0); ; read++ {
		more, err := stmt.Step()
		if err == nil && more {
			if r.number = stmt.ColumnInt64(len(columns)); read%stretch == 0 {
				if read > 0 && r.number < last+stretch || read >= db.rows {
					err = errRepeated
				}
				last = r.number
			}
		}
		if err != nil {
			return db.damaged(err)
		}
		if !more {
			return nil
		}
		r.fromSQL()
		if f(&r); r.reason != "" {
			return r.refuse(db)
		}
	}
}

var errRepeated = errors.New("rows repeat")
