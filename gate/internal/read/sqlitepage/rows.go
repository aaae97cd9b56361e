package sqlitepage

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

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
