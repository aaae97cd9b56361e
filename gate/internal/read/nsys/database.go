package nsys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/sqlitepage"
)

// The tables of an export that are read by name in more than one place.
const (
	kernelTable   = "CUPTI_ACTIVITY_KIND_KERNEL"
	runtimeTable  = "CUPTI_ACTIVITY_KIND_RUNTIME"
	copyTable     = "CUPTI_ACTIVITY_KIND_MEMCPY"
	setTable      = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable    = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	memoryTable   = "CUDA_GPU_MEMORY_USAGE_EVENTS"
	overheadTable = "PROFILER_OVERHEAD"
	rangeTable    = "NVTX_EVENTS"
	chainTable    = "CUDA_CALLCHAINS"
	// diagnosticTable holds what nsys says of lost events, since 2024.2. Older exports hold it in StringIds alone.
	diagnosticTable    = "DIAGNOSTIC_EVENT"
	gpuMetricTable     = "GPU_METRICS"
	gpuMetricNameTable = "TARGET_INFO_GPU_METRICS"
)

// exported are the tables that are asked of `nsys export`. META_DATA_CAPTURE, ProcessStreams and
// TARGET_INFO_SYSTEM_ENV are never among them: they hold the environment variables and the output of the workload.
var exported = []string{
	"StringIds", kernelTable, runtimeTable, copyTable, setTable, graphTable, memoryTable, rangeTable, overheadTable,
	diagnosticTable, gpuMetricTable, gpuMetricNameTable, chainTable, "TARGET_INFO_GPU",
	"TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT",
}

// readable are the tables that Read looks into.
var readable = slices.Concat(exported,
	[]string{"EXPORT_META_DATA", "META_DATA_CAPTURE", "TARGET_INFO_CUDA_GPU", "TARGET_INFO_SYSTEM_ENV"})

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
	r, n := row{table: table, columns: columns}, len(columns)
	err := db.pages.Scan(db.ctx, t, columns, func(rows *sqlitepage.Rows) error {
		for i := range rows.Numbers {
			r.rows, r.number, r.first = rows, rows.Numbers[i], i*n
			r.kinds, r.values = rows.Kinds[i*n:][:n], rows.Values[i*n:][:n]
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

// scanNeeded is [database.scan] of a table that must have the first columns, so many.
func (db *database) scanNeeded(table string, needed int, columns []string, f func(*row)) error {
	if err := db.require(table, columns[:needed]...); err != nil {
		return err
	}
	return db.scan(table, columns, f)
}

// values shows the names of the rows to f. A value, without spaces around it, is looked at where f asks for it.
func (db *database) values(table string, f func(name string, value func() string)) error {
	return db.scan(table, []string{"name", "value"}, func(row *row) {
		if row.begins(0, "") {
			f(row.text(0), func() string { return strings.TrimSpace(row.text(1)) })
		}
	})
}

type row struct {
	kinds   []sqlitepage.Kind // by column
	values  []int64           // of those that hold integers
	rows    *sqlitepage.Rows  // has the texts,
	first   int               // from this cell on
	table   string
	columns []string
	number  int64
	reason  string // the error of the row
	// backwards is true where the reason is a time.
	backwards bool
}

func (r *row) refuse(db *database) error {
	if r.backwards {
		return model.Refuse(model.ClockBackwards, clockAgain, "%s: the clock goes backwards: table %s, row %d: %s",
			db.name, r.table, r.number, r.reason)
	}
	return model.Refuse(model.BadValue, exportAgain, "%s: table %s, row %d: %s", db.name, r.table, r.number, r.reason)
}

func (r *row) wrong(format string, args ...any) {
	if r.reason == "" {
		r.reason = fmt.Sprintf(format, args...)
	}
}

// int is the integer in a column that must hold one.
func (r *row) int(column int) int64 {
	if r.kinds[column] != sqlitepage.Integer {
		r.odd(column)
	}
	return r.values[column]
}

// intOr is the integer in a column, or absent where the cell is null.
func (r *row) intOr(column int, absent int64) int64 {
	if r.kinds[column] != sqlitepage.Integer {
		return r.orNull(column, absent)
	}
	return r.values[column]
}

// orNull is absent for a null in a column that may hold one beside integers. It stands by itself so that intOr, which
// is called for nearly every cell, is inlined.
//
//go:noinline
func (r *row) orNull(column int, absent int64) int64 {
	if !r.null(column) {
		r.odd(column)
	}
	return absent
}

func (r *row) odd(column int) {
	holds := [...]string{sqlitepage.Null: "nothing", sqlitepage.Text: "text", sqlitepage.Real: "a fraction",
		sqlitepage.Blob: "bytes"}
	r.wrong("column %s holds %s, not an integer", r.columns[column], holds[r.kinds[column]])
}

func (r *row) null(column int) bool { return r.kinds[column] == sqlitepage.Null }

// text is the text in a column, "" where it is null.
func (r *row) text(column int) string { return string(r.bytes(column, nil)) }

// begins reports whether a cell holds a text that begins so, without an error for any other cell.
func (r *row) begins(column int, prefix string) bool {
	return r.kinds[column] >= sqlitepage.Text && bytes.HasPrefix(r.rows.Bytes(r.first+column), []byte(prefix))
}

// integer is the integer in a cell, without an error for a cell that holds none.
func (r *row) integer(column int) (v int64, ok bool) {
	return r.values[column], r.kinds[column] == sqlitepage.Integer
}

// bytes is the text in a column, valid until the next row. It may use the buffer.
func (r *row) bytes(column int, buffer []byte) []byte {
	switch r.kinds[column] {
	case sqlitepage.Null:
		return nil
	case sqlitepage.Integer:
		return strconv.AppendInt(buffer[:0], r.values[column], 10)
	case sqlitepage.Real:
		r.wrong("column %s holds a fraction, not text", r.columns[column])
		return nil
	}
	return r.rows.Bytes(r.first + column)
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

func (r *row) extent(column int) uint32 {
	v := r.int(column)
	if v < 0 || v > math.MaxUint32 {
		r.wrong("column %s holds %d, no extent of a grid or block", r.columns[column], v)
	}
	return uint32(v)
}
