package sqlitepage

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Table is a table whose rows can be read.
type Table struct {
	root    uint32
	columns []column
}

// entry is a table or view in the schema.
type entry struct {
	name, sql string
	root      uint32 // 0 for a view or a virtual table
}

// mostSchema is the largest schema that is read, in bytes of memory.
const mostSchema = 64 << 20

// schemaTable is the table of the schema itself.
var schemaTable = &Table{root: 1, columns: []column{
	{name: "type"}, {name: "name"}, {name: "tbl_name"}, {name: "rootpage"}, {name: "sql"},
}}

// readSchema reads the names, root pages and declarations of tables and views.
func (f *File) readSchema(ctx context.Context) error {
	names := make(map[string]bool)
	size := 0
	return f.Scan(ctx, schemaTable, []string{"type", "name", "tbl_name", "rootpage", "sql"}, func(r *Rows) error {
		for i, number := range r.Numbers {
			cell := func(column int) string {
				if at := i*len(schemaTable.columns) + column; r.Kinds[at] == Text {
					return string(r.Bytes(at))
				}
				return ""
			}
			root := r.Values[i*len(schemaTable.columns)+3]
			e := entry{name: cell(1), sql: cell(4)}
			kind := cell(0)
			switch {
			case kind == "index" || kind == "trigger":
				continue
			case kind == "table" && root >= 0 && root <= math.MaxUint32:
				e.root = uint32(root)
			case kind != "view":
				return malformed(1, "row %d of the schema is no table, view, index or trigger", number)
			}
			const overhead = 100 // of an entry and its key
			size += len(e.name) + len(e.sql) + overhead
			if size > mostSchema {
				return &Unsupported{fmt.Sprintf("its schema takes more than %d bytes", mostSchema)}
			}
			if e.name == "" || cell(2) != e.name || names[e.name] {
				return malformed(1, "row %d of the schema has no name of its own", number)
			}
			names[e.name] = true
			f.schema = append(f.schema, e)
		}
		return nil
	})
}

// Tables are the names of all tables with pages of their own.
func (f *File) Tables() (names []string) {
	for _, e := range f.schema {
		if e.root > 0 {
			names = append(names, e.name)
		}
	}
	return names
}

// Table finds a table by its exact name, nil for none. The error is an [Unsupported] where its rows cannot be read.
func (f *File) Table(name string) (*Table, error) {
	i := slices.IndexFunc(f.schema, func(e entry) bool { return e.name == name })
	if i < 0 {
		return nil, nil
	}
	e := f.schema[i]
	if e.root == 0 {
		return nil, &Unsupported{name + " is not a table of its own"}
	}
	d, err := parse(e.sql)
	switch {
	case err != nil:
		return nil, &Unsupported{"table " + name + ": " + err.Error()}
	case len(e.sql) == mostText || d.name != name:
		return nil, malformed(1, "the schema has another declaration in place of that of table %s", name)
	case d.keyed:
		return nil, &Unsupported{"table " + name + " has no row numbers (WITHOUT ROWID)"}
	}
	return &Table{e.root, d.columns}, nil
}

// Has reports whether a table, nil for none, has a column of this exact name. Generated columns do not count.
func (t *Table) Has(name string) bool {
	return t != nil && slices.ContainsFunc(t.columns, func(c column) bool { return c.name == name && !c.generated })
}
