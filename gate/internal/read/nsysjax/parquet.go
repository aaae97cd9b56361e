package nsysjax

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of a table. pyarrow writes pages of 1 MB and, of 45 columns, a footer of 36 kB.
const (
	mostRows   = 2 << 20   // also of all tables of ranges in an archive
	mostBytes  = 256 << 20 // of the file, and of the pages of all columns that are read, unpacked
	mostFooter = 128 << 10 // also of the header of a page
	mostItems  = 64 << 10  // of all lists in a footer or header
)

// table is a parquet file as pandas writes it: flat columns in pages of version 1, plain or by dictionary, packed with
// snappy or not. The low-level packages of parquet-go decode its structures: they add 0.5 MB to the binary, and the
// whole library 6 MB.
type table struct {
	data     []byte
	meta     format.FileMetaData
	rows     int
	unpacked int // bytes of pages so far
}

// column is the cells of a column, integers or texts. A number that is no integer is null. A nil column is null
// everywhere.
type column struct {
	numbers []int64
	texts   []string
	null    []bool
}

// has reports whether a cell is not null; text and number give it, or for null "" and another number.
func (c *column) has(row int) bool { return c != nil && row >= 0 && !c.null[row] }

func (c *column) text(row int) string {
	if !c.has(row) {
		return ""
	}
	return c.texts[row]
}

func (c *column) number(row int, or int64) int64 {
	if !c.has(row) {
		return or
	}
	return c.numbers[row]
}

var errCut = errors.New("it ends early")

func openTable(data []byte) (*table, error) {
	const magic, ends = "PAR1", 8 // length of the footer and magic
	end := len(data) - ends
	if end < len(magic) || string(data[:len(magic)]) != magic || string(data[end+4:]) != magic {
		return nil, errors.New("it is no parquet file, or ends early")
	}
	size := int(binary.LittleEndian.Uint32(data[end:]))
	if size > min(end, mostFooter) {
		return nil, fmt.Errorf("its footer has %d bytes, more than the file or %d", size, mostFooter)
	}
	t := &table{data: data[:end-size]}
	if _, err := decode(data[end-size:end], &t.meta); err != nil {
		return nil, errors.New("its footer is damaged")
	}
	for i := range t.meta.RowGroups {
		n := t.meta.RowGroups[i].NumRows
		if n < 0 || n > int64(mostRows-t.rows) {
			return nil, fmt.Errorf("it claims more than %d rows", mostRows)
		}
		t.rows += int(n)
	}
	return t, nil
}

// column reads a column of texts or of numbers; nil if the table does not have it.
func (t *table) column(name string, text bool) (*column, error) {
	at := slices.IndexFunc(t.meta.Schema, func(e format.SchemaElement) bool {
		return e.Name == name && e.NumChildren.V == 0
	})
	if at < 0 {
		return nil, nil
	}
	out, optional := &column{}, t.meta.Schema[at].RepetitionType.V == format.Optional
	for i := range t.meta.RowGroups {
		g := &t.meta.RowGroups[i]
		at := slices.IndexFunc(g.Columns, func(c format.ColumnChunk) bool {
			return slices.Equal(c.MetaData.PathInSchema, []string{name})
		})
		if at < 0 {
			return nil, fmt.Errorf("row group %d lacks it", i+1)
		}
		c := &g.Columns[at].MetaData
		if (c.Type == format.ByteArray) != text {
			return nil, fmt.Errorf("its type is %s", c.Type)
		}
		if err := t.chunk(c, optional, int(g.NumRows), out); err != nil {
			return nil, fmt.Errorf("after row %d: %w", len(out.null), err)
		}
	}
	return out, nil
}

// chunk adds the cells of a column in so many rows.
func (t *table) chunk(c *format.ColumnMetaData, optional bool, rows int, out *column) error {
	start, size, total := c.DataPageOffset, c.TotalCompressedSize, int64(len(t.data))
	if d := c.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	if start < 0 || start > total || size < 0 || size > total-start {
		return errCut
	}
	data := t.data[start : start+size]
	var words *column
	for end := len(out.null) + rows; len(out.null) < end; {
		var h format.PageHeader
		n, err := decode(data[:min(len(data), mostFooter)], &h)
		packed := int(h.CompressedPageSize)
		if err != nil || packed < 0 || packed > len(data)-n {
			return errors.New("the header of a page is damaged")
		}
		if h.Type != format.DictionaryPage && h.Type != format.DataPage {
			return fmt.Errorf("pages of type %s are not read", h.Type)
		}
		page, err := t.unpack(c.Codec, data[n:n+packed], int(h.UncompressedPageSize))
		if err != nil {
			return err
		}
		data = data[n+packed:]
		switch p := h.DataPageHeader.V; {
		case h.Type == format.DictionaryPage:
			words, err = plain(c.Type, page, int(h.DictionaryPageHeader.V.NumValues))
		case p.NumValues < 0 || int(p.NumValues) > end-len(out.null):
			err = errors.New("a page has more rows than the table")
		default:
			err = out.add(c.Type, p, optional, page, words)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unpack gives the content of a page of that size.
func (t *table) unpack(codec format.CompressionCodec, page []byte, size int) ([]byte, error) {
	t.unpacked += max(size, len(page))
	if t.unpacked > mostBytes {
		return nil, fmt.Errorf("the pages are larger than %d MB", mostBytes>>20)
	}
	switch codec {
	case format.Uncompressed:
		return page, nil
	case format.Snappy:
		if n, _ := binary.Uvarint(page); int(n) != size {
			return nil, errors.New("a page unpacks to another size than its header says")
		}
		return new(snappy.Codec).Decode(nil, page)
	}
	return nil, fmt.Errorf("packed with %s, which is not read", codec)
}

// add adds the cells of a page, by the words of the dictionary if the page holds their numbers.
func (c *column) add(typ format.Type, p format.DataPageHeader, optional bool, page []byte, words *column) (err error) {
	there, n := slices.Repeat([]uint32{1}, int(p.NumValues)), 0 // which cells are not null, and their number
	if optional {
		if len(page) < 4 || int(binary.LittleEndian.Uint32(page)) > len(page)-4 {
			return errCut
		}
		size := 4 + int(binary.LittleEndian.Uint32(page))
		if there, err = hybrid(page[4:size], 1, len(there)); err != nil {
			return err
		}
		page = page[size:]
	}
	for _, x := range there {
		n += int(x)
	}
	var index []uint32
	switch {
	case n == 0 || p.Encoding == format.Plain:
		words, err = plain(typ, page, n)
	case p.Encoding != format.RLEDictionary:
		err = fmt.Errorf("the encoding %s is not read", p.Encoding)
	case len(page) == 0 || words == nil:
		err = errCut
	default:
		index, err = hybrid(page[1:], int(page[0]), n)
	}
	if err != nil {
		return err
	}
	at := 0
	for _, x := range there {
		word := -1
		if x == 1 {
			word, at = at, at+1
			if index != nil {
				word = int(index[word])
			}
			if word >= len(words.null) {
				return errors.New("a cell is not in the dictionary")
			}
		}
		c.null = append(c.null, !words.has(word))
		if typ == format.ByteArray {
			c.texts = append(c.texts, words.text(word))
		} else {
			c.numbers = append(c.numbers, words.number(word, 0))
		}
	}
	return nil
}

// plain reads n values that are not null.
func plain(typ format.Type, data []byte, n int) (*column, error) {
	size := map[format.Type]int{format.Int32: 4, format.Int64: 8, format.Double: 8, format.ByteArray: 4}[typ]
	if size == 0 {
		return nil, fmt.Errorf("the type %s is not read", typ)
	}
	if n < 0 || n > len(data)/size {
		return nil, errCut
	}
	out := &column{null: make([]bool, n)}
	for i := range n {
		switch typ {
		case format.Int32:
			out.numbers = append(out.numbers, int64(int32(binary.LittleEndian.Uint32(data))))
		case format.Int64:
			out.numbers = append(out.numbers, int64(binary.LittleEndian.Uint64(data)))
		case format.Double:
			f := math.Float64frombits(binary.LittleEndian.Uint64(data))
			out.null[i] = f != math.Trunc(f) || math.Abs(f) > 1<<53
			out.numbers = append(out.numbers, int64(f))
		case format.ByteArray:
			if len(data) < 4 || int(binary.LittleEndian.Uint32(data)) > len(data)-4 {
				return nil, errCut
			}
			size = 4 + int(binary.LittleEndian.Uint32(data))
			out.texts = append(out.texts, string(data[4:size]))
		}
		data = data[size:]
	}
	return out, nil
}

// hybrid reads n numbers of so many bits, in runs of equal ones and in groups of eight packed ones.
func hybrid(data []byte, bits, n int) ([]uint32, error) {
	if bits > 32 {
		return nil, fmt.Errorf("numbers of %d bits", bits)
	}
	out := make([]uint32, 0, n)
	for len(out) < n {
		head, used := binary.Uvarint(data)
		count := int(min(head>>1, mostRows))
		if used <= 0 || count == 0 {
			return nil, errCut
		}
		data = data[used:]
		size, step := (bits+7)/8, 0 // of a run
		if head&1 == 1 {
			size, step, count = count*bits, bits, count*8
		}
		if size > len(data) {
			return nil, errCut
		}
		for i := range min(count, n-len(out)) {
			var word uint64
			at := i * step
			for k, b := range data[at/8 : min(at/8+5, size)] {
				word |= uint64(b) << (8 * k)
			}
			out = append(out, uint32(word>>(at%8)&(1<<bits-1)))
		}
		data = data[size:]
	}
	return out, nil
}

// decode reads a structure of the format and gives its length.
func decode(data []byte, to any) (int, error) {
	r := &bounded{BytesReader: new(thrift.CompactProtocol).NewReaderFromBytes(data)}
	err := thrift.NewDecoder(r).Decode(to)
	return r.BytesRead(), err
}

// bounded bounds the lists of a structure, since the library allocates them before it reads them.
type bounded struct {
	thrift.BytesReader
	items int
}

func (b *bounded) ReadList() (thrift.List, error) {
	l, err := b.BytesReader.ReadList()
	if b.items += int(l.Size); err == nil && b.items > mostItems {
		err = fmt.Errorf("lists of more than %d items", mostItems)
	}
	return l, err
}

// Discard is a method that the library expects besides those of a BytesReader.
func (b *bounded) Discard(n int) (int, error) {
	return b.BytesReader.(interface{ Discard(int) (int, error) }).Discard(n)
}
