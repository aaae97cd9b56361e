package nsys

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
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
	rows    int64               // more rows than this cannot be in a file of this size
	columns map[string][]string // of every table
}

const magic = "SQLite format 3\x00"

// open checks that the file can be an nsys export before SQLite sees it, then opens it.
func open(ctx context.Context, file string) (*database, error) {
	name := filepath.Base(file)
	size, err := inspect(file, name)
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
	db := &database{ctx: ctx, uri: uri.String(), name: name, columns: make(map[string][]string)}
	// The smallest row takes four bytes of a leaf page. Damaged files can loop through the same pages for ever.
	db.rows = size / 4
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

// inspect refuses by its first bytes what is no SQLite database, or only a part of one, and gives the file's size.
func inspect(file, name string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: not a regular file; name the .sqlite file of an nsys export", name)
	}
	size := info.Size()
	if size == 0 {
		return 0, measure.Refuse(name+" is empty", exportAgain)
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	head = head[:n]
	if !bytes.HasPrefix(head, []byte(magic)) {
		return 0, refuseFormat(name, head)
	}
	if n < 100 {
		return 0, measure.Refuse(name+" is cut off inside the header of the SQLite database", exportAgain)
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	// The page count holds only if the program that last wrote the file kept it (SQLite file format, 1.3.7).
	counted := bytes.Equal(head[24:28], head[92:96])
	if counted && pages*page > size {
		return 0, measure.Refuse(fmt.Sprintf("%s is truncated: %d bytes of %d", name, size, pages*page), exportAgain)
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if side, err := os.Stat(file + suffix); err == nil && side.Size() > 0 {
			return 0, measure.Refuse(fmt.Sprintf("%s has unfinished changes in %s%s", name, name, suffix),
				"close the program that has it open, or export the report again")
		}
	}
	return size, nil
}

const exportAgain = "export the report again with `nsys export --type sqlite`"

// refuseFormat says what a file without the SQLite magic seems to be.
func refuseFormat(name string, head []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix([]byte(magic), head):
		return measure.Refuse(name+" is cut off inside the header of the SQLite database", exportAgain)
	case bytes.HasPrefix(head, []byte("NVIDIA Tegra Profiler Report")):
		return measure.Refuse(name+" is an nsys report, not its SQLite export",
			"name it with the suffix .nsys-rep, or export it with `nsys export --type sqlite`")
	case bytes.HasPrefix(head, []byte("NVR\x00")):
		return measure.Refuse(name+" is a report of Nsight Compute (ncu)", "record the workload with nsys")
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return measure.Refuse(name+" is compressed with gzip", "decompress it first")
	case bytes.HasPrefix(head, []byte("\xfd7zXZ")), bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")),
		bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("BZh")):
		return measure.Refuse(name+" is a compressed archive", "decompress it first")
	case bytes.HasPrefix(head, []byte("\x89HDF")), bytes.HasPrefix(head, []byte("PAR1")),
		bytes.HasPrefix(head, []byte("ARROW1")):
		return measure.Refuse(name+" is an export in another format than SQLite", exportAgain)
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return measure.Refuse(name+" is a Git LFS pointer, not the file itself", "fetch it with `git lfs pull`")
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		return measure.Refuse(name+" seems to be JSON, not a SQLite export of nsys", exportAgain)
	case len(bytes.Trim(head, "\x00")) == 0:
		return measure.Refuse(name+" begins with zeros only: it was not written to its end", exportAgain)
	case !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n\f", r) }):
		return measure.Refuse(name+" seems to be text, not a SQLite export of nsys", exportAgain)
	}
	return measure.Refuse(name+" is not a SQLite export of nsys", exportAgain)
}

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
		return measure.Refuse(fmt.Sprintf("%s: %s is not a table of its own: nsys did not write it so", db.name, view),
			exportAgain)
	}
	has := func(table string) bool { return slices.Contains(tables, table) }
	if !has("StringIds") {
		if has("StringTable") || has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") {
			return measure.Refuse(db.name+" is a database of nvprof, not of nsys", "record the workload with nsys")
		}
		return measure.Refuse(db.name+" is a SQLite database, but no export of nsys: it has no table StringIds", exportAgain)
	}
	for _, table := range tables {
		if !slices.Contains(readable, table) {
			continue
		}
		var columns []string
		err := db.query("SELECT name FROM pragma_table_info('"+table+"')", func(s *sqlite.Stmt) {
			columns = append(columns, s.ColumnText(0))
		})
		if err != nil {
			return err
		}
		db.columns[table] = columns
	}
	return nil
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
			err = errors.New("more rows than the file has room for")
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
	return measure.Refuse(fmt.Sprintf("%s is damaged (%s)", db.name, measure.NormalizeControl(why)), exportAgain)
}

// has reports whether the table has a column.
func (db *database) has(table, column string) bool { return slices.Contains(db.columns[table], column) }

// require refuses a table that lacks one of the columns; an absent table lacks nothing.
func (db *database) require(table string, columns ...string) error {
	for _, c := range columns {
		if db.columns[table] != nil && !db.has(table, c) {
			return measure.Refuse(fmt.Sprintf("%s: table %s has no column %s: nsys did not write it so", db.name, table, c),
				exportAgain)
		}
	}
	return nil
}

// count guesses the number of rows from the last row number: nsys numbers the rows of a table from one.
func (db *database) count(table string) (int, error) {
	if db.columns[table] == nil {
		return 0, nil
	}
	var n int64
	err := db.query("SELECT max(rowid) FROM "+table, func(s *sqlite.Stmt) { n = s.ColumnInt64(0) })
	return int(min(max(n, 0), db.rows)), err
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
	number  int64
	reason  string // what is wrong with the row
}

// scan shows the rows of a table to f, columns in the given order; an absent column is null in every row, an absent
// table has no rows. Where filters SQL's WHERE clause, "" for all rows.
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
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + table
	if where != "" {
		sql += " WHERE " + where
	}
	stmt, _, err := db.conn.PrepareTransient(sql)
	if err != nil {
		return db.damaged(err)
	}
	defer stmt.Finalize()
	r := row{stmt: stmt, table: table, columns: columns}
	for {
		more, err := stmt.Step()
		if err == nil && r.number > db.rows {
			err = errors.New("more rows than the file has room for")
		}
		if err != nil {
			return db.damaged(err)
		}
		if !more {
			return nil
		}
		r.number++
		f(&r)
		if r.reason != "" {
			return measure.Refuse(fmt.Sprintf("%s: table %s, row %d: %s", db.name, table, r.number, r.reason), exportAgain)
		}
	}
}

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
	case a < 0:
		r.wrong("the start %d is negative", a)
	case b < a:
		r.wrong("the end %d is before the start %d", b, a)
	case b-a > longest:
		r.wrong("from %d to %d ns is longer than any launch", a, b)
	}
	return a, b
}
