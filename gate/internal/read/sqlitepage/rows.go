package sqlitepage

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
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

// Scan shows all rows of a table to visit, in order, some at a time. A column that the table does not have
// ([Table.Has]) is null in every row; each is there once at most. The rows are only valid until visit returns. Scan
// ends with the first error: that of visit, that of ctx, or that of a malformed page.
func (f *File) Scan(ctx context.Context, t *Table, columns []string, visit func(*Rows) error) error {
	leaves, err := f.leaves(t.root)
	if err != nil {
		return err
	}
	s := scan{file: f, columns: len(columns), leaves: leaves, number: -1}
	for _, c := range t.columns {
		if c.virtual {
			continue
		}
		to := slices.Index(columns, c.name)
		if c.generated {
			to = -1
		}
		if c.number {
			s.number, to = to, -1
		}
		s.want = append(s.want, field{to, c.real, c.filled})
	}
	return s.run(ctx, visit)
}

// together is how many bytes of pages are read at once, and window the most that may lie between the first and the
// last.
const (
	together = 64 << 10
	window   = 2 * together
)

// stretch is the leaves of one piece of work, which are near each other in the file.
func (s *scan) stretch() []leaf {
	first := s.leaves[0].page
	n := 1
	for n < len(s.leaves) && n < max(1, together/s.file.pageSize) {
		if p := s.leaves[n].page; p < first || int(p-first) >= max(1, window/s.file.pageSize) {
			break
		}
		n++
	}
	taken := s.leaves[:n]
	s.leaves = s.leaves[n:]
	return taken
}

// work is a stretch of leaves on its way from a goroutine that decodes it to the one that visits it.
type work struct {
	leaves []leaf
	rows   *Rows
	err    error
	done   chan struct{}
}

// buffers are for the next scan.
var buffers = sync.Pool{New: func() any { return new(Rows) }}

func (s *scan) run(ctx context.Context, visit func(*Rows) error) error {
	workers := min(runtime.GOMAXPROCS(0), 4)
	free := make(chan *Rows, 2*workers) // bounds what is decoded ahead
	for range cap(free) {
		rows := buffers.Get().(*Rows)
		defer buffers.Put(rows)
		free <- rows
	}
	todo, order := make(chan *work, cap(free)), make(chan *work, cap(free))
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range workers {
		group.Go(func() {
			d := decoder{scan: s, layouts: map[string]*layout{}}
			for w := range todo {
				w.err = d.decode(w.rows, w.leaves)
				close(w.done)
			}
		})
	}
	group.Go(func() {
		defer close(todo)
		defer close(order)
		for len(s.leaves) > 0 {
			select {
			case rows := <-free:
				w := &work{leaves: s.stretch(), rows: rows, done: make(chan struct{})}
				todo <- w
				order <- w
			case <-ctx.Done():
				return
			}
		}
	})
	overflowed := uint64(0)
	for w := range order {
		<-w.done
		if w.err != nil {
			return w.err
		}
		overflowed += uint64(w.rows.overflowed)
		if overflowed > uint64(s.file.pages) {
			return malformed(w.leaves[0].page, "pages of long texts repeat")
		}
		if err := visit(w.rows); err != nil {
			return err
		}
		free <- w.rows
	}
	return ctx.Err()
}
