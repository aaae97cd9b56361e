package nsys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/sqlitepage"
)

// database is an open export.
type database struct {
	ctx    context.Context // ends the reading
	pages  *sqlitepage.File
	name   string                       // of the file, without its directory: for messages
	state  state                        // of the file when it was opened
	tables map[string]*sqlitepage.Table // those of [readable] that it has
	origin origin
}

// open checks that the file can be an nsys export and opens it.
func open(ctx context.Context, file, name string) (*database, error) {
	state, err := inspect(file, name)
	if err != nil {
		return nil, err
	}
	db := &database{ctx: ctx, name: name, state: state, tables: make(map[string]*sqlitepage.Table)}
	if db.pages, err = sqlitepage.Open(ctx, file); err != nil {
		return nil, db.unread(err)
	}
	if err := db.readSchema(); err != nil {
		db.close()
		return nil, err
	}
	return db, nil
}

func (db *database) close() { db.pages.Close() }

// databases lists other profilers' databases by how the name of one of their tables begins.
var databases = []struct{ table, what string }{
	{"rocpd_info_", "a database of rocprofiler-sdk (rocpd, AMD)"},
	{"rocpd_kernel_dispatch", "a database of rocprofiler-sdk (rocpd, AMD)"},
	{"rocpd_", "a database of rocmProfileData (rpd, AMD)"},
}

// readSchema finds the tables and refuses a database of another program.
func (db *database) readSchema() error {
	for _, name := range readable {
		t, err := db.pages.Table(name)
		if err != nil {
			return db.unread(err)
		}
		if t != nil {
			db.tables[name] = t
		}
	}
	tables := db.pages.Tables()
	has := func(table string) bool { return slices.Contains(tables, table) }
	if !has("StringIds") {
		if has("StringTable") || has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") {
			return model.Refuse(model.OtherFormat, "record the workload with nsys",
				"%s is a database of nvprof, not of nsys", db.name)
		}
		for _, other := range databases {
			if slices.ContainsFunc(tables, func(t string) bool { return strings.HasPrefix(t, other.table) }) {
				return model.Refuse(model.OtherFormat, "profile on a CUDA GPU with nsys",
					"%s is %s, which nsgate does not read", db.name, other.what)
			}
		}
		return model.Refuse(model.OtherFormat, exportAgain,
			"%s is a SQLite database, but no export of nsys: it has no table StringIds", db.name)
	}
	if err := db.readOrigin(); err != nil {
		return err
	}
	return db.successors(tables)
}

// unread is the refusal for a database whose pages cannot be read, or the error of a context that ended.
func (db *database) unread(err error) error {
	if ended := db.ctx.Err(); ended != nil {
		return fmt.Errorf("%s: reading was interrupted: %w", db.name, ended)
	}
	var other *sqlitepage.Unsupported
	switch {
	case errors.Is(err, sqlitepage.ErrTruncated):
		return model.Refuse(model.Truncated, exportAgain, "%s is %s", db.name, err)
	case errors.As(err, &other):
		return model.Refuse(model.BadTable, exportAgain, "%s: %s: nsys did not write it so", db.name,
			measure.NormalizeControl(other.What))
	}
	return model.Refuse(model.Damaged, exportAgain, "%s is damaged (%s)", db.name,
		measure.NormalizeControl(err.Error()))
}

func (db *database) has(table, column string) bool { return db.tables[table].Has(column) }

// require refuses a table that lacks one of the columns; an absent table lacks nothing.
func (db *database) require(table string, columns ...string) error {
	for _, c := range columns {
		if db.tables[table] != nil && !db.has(table, c) {
			if db.origin.newer() {
				return model.Refuse(model.NewSchema, updateNsgate,
					"%s: table %s has no column %s: it was written by an nsys that is newer than this nsgate", db.name,
					table, c)
			}
			return model.Refuse(model.BadTable, exportAgain, "%s: table %s has no column %s: nsys did not write it so",
				db.name, table, c)
		}
	}
	return nil
}

// count gives the number of rows as the last row number: nsys numbers the rows of a table from one.
func (db *database) count(table string) (int64, error) {
	t := db.tables[table]
	if t == nil {
		return 0, nil
	}
	n, err := db.pages.Last(t)
	if err != nil {
		return 0, db.unread(err)
	}
	return max(0, n), nil
}

// room is the number of rows to allocate memory for before reading a table, 0 where only reading it can tell.
func (db *database) room(table string) int {
	const least = 20 // bytes of a row in the tables of many rows, which have eight columns or more
	n := 0
	if t := db.tables[table]; t != nil {
		n, _ = db.pages.Room(t, least) // reading the table repeats an error
	}
	return n
}

// scan shows the rows of a table to f, columns in the given order; an absent column is null in every row, an absent
// table has no rows. A cell that does not hold what its column must hold ends the scan with an error that names table,
// column and row.
func (db *database) scan(table string, columns []string, f func(*row)) error {
	t := db.tables[table]
	if t == nil {
		return nil
	}
	r := row{table: table, columns: columns}
	err := db.pages.Scan(db.ctx, t, columns, func(rows *sqlitepage.Rows) error {
		for i := range rows.Numbers {
			r.from(rows, i)
			f(&r)
			if r.reason != "" {
				return r.refuse(db)
			}
		}
		return nil
	})
	if err != nil && r.reason == "" {
		err = db.unread(err)
	}
	return err
}

// values shows names and values of the rows with a wanted name to f, without spaces around the values. No other value
// is looked at.
func (db *database) values(table string, wanted func(name string) bool, f func(name, value string)) error {
	return db.scan(table, []string{"name", "value"}, func(row *row) {
		if !row.begins(0, "") {
			return
		}
		if name := row.text(0); wanted(name) {
			f(name, strings.TrimSpace(row.text(1)))
		}
	})
}
