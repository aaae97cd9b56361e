package sqlitepage

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// value is a literal of SQL: of every kind, of every length.
var value = rapid.OneOf(
	rapid.Just("NULL"),
	rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprint(rapid.Int64().Draw(t, "int") >> rapid.IntRange(0, 63).Draw(t, "shift"))
	}),
	rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%g", rapid.Float64Range(-1e9, 1e9).Draw(t, "real")) }),
	rapid.SampledFrom([]string{"3.0", "'7'", "'7.5'", "1e300", "9e999", "'cu'"}),
	rapid.Custom(func(t *rapid.T) string {
		lengths := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(100, 3000), rapid.Just(40_000))
		return fmt.Sprintf("'%s'", strings.Repeat("xé", lengths.Draw(t, "length")))
	}),
	rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("zeroblob(%d)", rapid.IntRange(0, 700).Draw(t, "bytes"))
	}),
)

// The parts of a declaration, each as somebody writes it.
var (
	names = []string{"a", `"b c"`, "[d,]", "`e(`", `'f)'`, `"g""h"`, "end", "é", "I", `"--j"`, "value"}
	types = []string{"", " INTEGER", " integer", " TEXT", " REAL", " DOUBLE PRECISION", " DECIMAL(10, -5)",
		" FLOATING POINT", " varchar(20)", " BLOB", ` "FLOAT"`, " INT /* REAL, */", " INTEGER -- a comment, with (\n"}
	generations = []string{" AS (1)", " TEXT GENERATED ALWAYS AS ('a,b)') VIRTUAL", " INT AS (1+(2)) STORED NOT NULL"}
	keys        = []string{" PRIMARY KEY", " primary key ASC", " PRIMARY KEY DESC",
		" NOT NULL PRIMARY KEY ON CONFLICT IGNORE", " CONSTRAINT x PRIMARY KEY"}
	constraints = []string{"", "", "", " NULL", " DEFAULT -1.5e+3", " DEFAULT 'x,'", " DEFAULT (1 + 2)",
		" DEFAULT X'00'", " DEFAULT current_time", " CHECK (1 IN (1, 2))", " COLLATE NOCASE",
		" CONSTRAINT [n,] UNIQUE ON CONFLICT IGNORE",
		" REFERENCES other (x) ON DELETE SET DEFAULT MATCH FULL NOT DEFERRABLE INITIALLY DEFERRED",
		" NOT NULL ON CONFLICT IGNORE DEFAULT NULL"}
	tableKeys = []string{"PRIMARY KEY (%s)", "CONSTRAINT y PRIMARY KEY(%s DESC) ON CONFLICT IGNORE",
		"PRIMARY KEY (%s COLLATE BINARY)", "PRIMARY KEY (%s, a)"}
	tableConstraints = []string{"", "", "CHECK (2 > 1) CONSTRAINT z CHECK (1)",
		"FOREIGN KEY (a) REFERENCES other (x) ON UPDATE CASCADE"}
	changes = []string{"ALTER TABLE other ADD COLUMN late", "ALTER TABLE other RENAME TO [an,other]",
		"ALTER TABLE other RENAME COLUMN x TO \"y\"\"z\"", "VACUUM", "DELETE FROM t WHERE abs(rowid) % 7 = 3",
		"CREATE INDEX i ON other (x)", "CREATE VIEW v AS SELECT * FROM t", "ANALYZE",
		"INSERT INTO other SELECT x FROM other", "CREATE TRIGGER g AFTER INSERT ON other BEGIN SELECT 1; END"}
)

// declare draws the declaration of a table "t" and its columns that take values.
func declare(t *rapid.T) (sql string, columns []string) {
	draw := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	var items []string
	key := rapid.IntRange(0, 9).Draw(t, "key") // the column that is a key, if there are so many
	names := append([]string{"a"}, rapid.Permutation(names[1:]).Draw(t, "names")...)
	for i := range rapid.IntRange(2, 9).Draw(t, "columns") {
		name := names[i]
		if i > 1 && i != key && rapid.IntRange(0, 5).Draw(t, "generated") == 0 {
			items = append(items, name+draw("generation", generations...))
			continue
		}
		kind := draw("type", types...)
		if i == key && rapid.Bool().Draw(t, "in the column") {
			kind += draw("primary", keys...)
			key = -1
		}
		items = append(items, name+kind+draw("constraint", constraints...))
		columns = append(columns, name)
	}
	if key >= 0 && key < len(columns) {
		items = append(items, fmt.Sprintf(draw("primary", tableKeys...), columns[key]))
	}
	if more := draw("table constraint", tableConstraints...); more != "" {
		items = append(items, more)
	}
	return "CREATE TABLE " + draw("name", "t", `"t"`, "main.[t]", "IF NOT EXISTS 't'") +
			draw("space", "(", " (", " -- (\n(") + strings.Join(items, draw("comma", ",", " , ", ",\n-- and,\n")) + ")",
		columns
}

// table draws a database: odd declarations, all kinds of values, long texts, rows that were deleted, tables that
// changed.
func table(t *rapid.T) []string {
	create, columns := declare(t)
	statements := []string{
		fmt.Sprintf("PRAGMA page_size = %d", 512<<rapid.IntRange(0, 7).Draw(t, "page size")),
		fmt.Sprintf("PRAGMA auto_vacuum = %d", rapid.IntRange(0, 2).Draw(t, "auto_vacuum")),
		"PRAGMA journal_mode = " + rapid.SampledFrom([]string{"DELETE", "WAL", "PERSIST"}).Draw(t, "journal"),
		"CREATE TABLE other (x)", create,
	}
	for i := range rapid.SampledFrom([]int{0, 0, 0, 60}).Draw(t, "more tables") {
		statements = append(statements, fmt.Sprintf("CREATE TABLE more%d (x INTEGER PRIMARY KEY, y REAL)", i),
			fmt.Sprintf("INSERT INTO more%d VALUES (%[1]d, %[1]d)", i))
	}
	columns = append(columns, "rowid")
	for range rapid.IntRange(0, 60).Draw(t, "rows") {
		row := rapid.SliceOfN(value, len(columns), len(columns)).Draw(t, "row")
		row[len(row)-1] = rapid.SampledFrom([]string{"NULL", "NULL", "NULL", "abs(random() % 1000)", "-5"}).Draw(t,
			"number")
		n := len(columns) - rapid.IntRange(0, 1).Draw(t, "numbered")
		statements = append(statements, fmt.Sprintf("?INSERT OR IGNORE INTO t (%s) VALUES (%s)",
			strings.Join(columns[:n], ", "), strings.Join(row[:n], ", ")), "INSERT INTO other VALUES (1)")
	}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		statements = append(statements, "?"+rapid.SampledFrom(changes).Draw(t, "change"))
	}
	return statements
}
