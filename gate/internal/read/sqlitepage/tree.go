package sqlitepage

import (
	"encoding/binary"
	"math"
)

const (
	interiorPage = 0x05
	leafPage     = 0x0d
	mostDepth    = 20 // of a tree, as in SQLite
)

// leaf is a page with rows: the numbers of its rows are greater than after and at most last.
type leaf struct {
	page        uint32
	after, last int64
}

// page is the header of a page of a tree.
type page struct {
	number  uint32
	data    []byte // usable bytes
	at      int    // of its header
	kind    byte
	cells   int
	content int // where cells begin; the first byte after the numbers of cells that is not free
	free    int // bytes in the list of free blocks and in fragments
}

// page reads the header of a page of a tree.
func (f *File) page(number uint32, data []byte) (p page, err error) {
	p = page{number: number, data: data[:f.usable]}
	if number == 1 {
		p.at = header
	}
	b := p.data[p.at:]
	p.kind, p.cells = b[0], int(binary.BigEndian.Uint16(b[3:]))
	p.content = int(binary.BigEndian.Uint16(b[5:]))
	if p.content == 0 {
		p.content = 1 << 16
	}
	p.free = int(b[7])
	if p.kind != interiorPage && p.kind != leafPage {
		return p, malformed(number, "it is of kind %d, no page of a table", p.kind)
	}
	if p.content < p.pointers()+2*p.cells || p.content > f.usable {
		return p, malformed(number, "%d cells from byte %d on", p.cells, p.content)
	}
	for block := int(binary.BigEndian.Uint16(b[1:])); block != 0; {
		if block < p.content || block > f.usable-4 {
			return p, malformed(number, "a free block at byte %d", block)
		}
		next, size := int(binary.BigEndian.Uint16(p.data[block:])), int(binary.BigEndian.Uint16(p.data[block+2:]))
		if size < 4 || block+size > f.usable || next != 0 && next < block+size {
			return p, malformed(number, "a free block of %d bytes at byte %d", size, block)
		}
		p.free += size
		block = next
	}
	return p, nil
}

// pointers is the place of the first position of a cell.
func (p *page) pointers() int {
	if p.kind == interiorPage {
		return p.at + 12
	}
	return p.at + 8
}

func (p *page) cell(i int) (int, error) {
	at := int(binary.BigEndian.Uint16(p.data[p.pointers()+2*i:]))
	if at < p.content || at > len(p.data)-4 {
		return 0, malformed(p.number, "cell %d at byte %d", i, at)
	}
	return at, nil
}

// full checks that cells of so many bytes together are all that the page holds: a cell that nothing points to is a lost
// row.
func (p *page) full(bytes int) error {
	if p.content+p.free+bytes != len(p.data) {
		return malformed(p.number, "%d bytes in %d cells and %d free bytes do not fill it", bytes, p.cells,
			p.content+p.free)
	}
	return nil
}

// Room is the number of the last row of a table, or how many rows of so many bytes its pages can hold, if that is less.
func (f *File) Room(t *Table, bytes int64) (int, error) {
	last, err := f.Last(t)
	if err != nil {
		return 0, err
	}
	leaves, err := f.leaves(t.root)
	return int(max(0, min(last, int64(len(leaves))*int64(f.pageSize)/bytes))), err
}

// Last is the number of the last row of a table, 0 for none.
func (f *File) Last(t *Table) (int64, error) {
	number := t.root
	for depth := 0; ; depth++ {
		data, err := f.read(nil, number, 1)
		if err != nil {
			return 0, err
		}
		p, err := f.page(number, data)
		switch {
		case err != nil:
			return 0, err
		case p.kind == interiorPage && depth == mostDepth:
			return 0, malformed(number, "pages of a table repeat")
		case p.kind == interiorPage:
			number = binary.BigEndian.Uint32(p.data[p.at+8:])
			continue
		case p.cells == 0:
			return 0, nil
		}
		at, err := p.cell(p.cells - 1)
		if err != nil {
			return 0, err
		}
		_, n := varint(p.data[at:])
		row, m := varint(p.data[at+n:])
		if n == 0 || m == 0 {
			return 0, malformed(number, "its last cell is cut off")
		}
		return int64(row), nil
	}
}

// leaves are the pages of a table that hold its rows, in the order of the rows.
func (f *File) leaves(root uint32) ([]leaf, error) {
	w := walker{file: f}
	err := w.walk(leaf{root, math.MinInt64, math.MaxInt64}, 0)
	return w.leaves, err
}

type walker struct {
	file    *File
	leaves  []leaf
	visited uint32
	depth   int // of the leaves; 0 until the first leaf
}

// walk visits the pages below one. It reads interior pages, and one of the pages above leaves to check that they are
// leaves.
func (w *walker) walk(x leaf, depth int) error {
	if w.visited++; w.visited > w.file.pages || depth > mostDepth {
		return malformed(x.page, "pages of a table repeat")
	}
	if w.depth > 0 && depth == w.depth {
		w.leaves = append(w.leaves, x)
		return nil
	}
	data, err := w.file.read(nil, x.page, 1)
	if err != nil {
		return err
	}
	p, err := w.file.page(x.page, data)
	if err != nil {
		return err
	}
	if p.kind == leafPage {
		if w.depth > 0 {
			return malformed(x.page, "it is not as deep in its table as other pages with rows")
		}
		w.depth = depth
		w.leaves = append(w.leaves, x)
		return nil
	}
	if p.cells == 0 && depth > 0 {
		return malformed(x.page, "it has no cells")
	}
	return w.children(&p, x, depth)
}

// children walks the pages below the cells of an interior page, and the one in its header, with the last rows.
func (w *walker) children(p *page, x leaf, depth int) error {
	sum, after := 0, x.after
	for i := range p.cells {
		at, err := p.cell(i)
		if err != nil {
			return err
		}
		key, n := varint(p.data[at+4:])
		last := int64(key)
		if n == 0 || last <= after && after != math.MinInt64 || last > x.last {
			return malformed(p.number, "cell %d is out of order", i)
		}
		sum += 4 + n
		if err := w.walk(leaf{binary.BigEndian.Uint32(p.data[at:]), after, last}, depth+1); err != nil {
			return err
		}
		after = last
	}
	if err := p.full(sum); err != nil {
		return err
	}
	return w.walk(leaf{binary.BigEndian.Uint32(p.data[p.at+8:]), after, x.last}, depth+1)
}
