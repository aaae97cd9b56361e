package nsysstats

import (
	"bytes"
)

// nsys puts a cell between quotes where it holds a comma, and leaves quotes and line ends inside it as they are:
// ":a, "b"",PushPop. That is no CSV as RFC 4180 has it, which doubles the quotes, and which others who print these
// tables write. A row is read as the latter where that gives the right number of cells, else as the former.

// strict counts the cells of a row of RFC 4180. The row is open where it ends inside quotes.
func strict(row []byte) (cells int, ok, open bool) {
	if bytes.IndexByte(row, '"') < 0 {
		return bytes.Count(row, []byte{','}) + 1, true, false
	}
	for i := 0; ; {
		cells++
		if i < len(row) && row[i] == '"' {
			for i++; ; {
				q := bytes.IndexByte(row[i:], '"')
				if q < 0 {
					return cells, false, true
				}
				if i += q + 1; i < len(row) && row[i] == '"' {
					i++
					continue
				}
				break
			}
			if i < len(row) && row[i] != ',' {
				return cells, false, false
			}
		} else {
			end := bytes.IndexByte(row[i:], ',')
			if end < 0 {
				end = len(row) - i
			}
			if bytes.IndexByte(row[i:i+end], '"') >= 0 {
				return cells, false, false
			}
			i += end
		}
		if i >= len(row) {
			return cells, true, false
		}
		i++ // the comma
	}
}

// loose takes a row apart as nsys writes it: a quoted cell ends at the first quote before a comma or the end of the row.
func loose(row []byte) (cells [][]byte, open bool) {
	for i := 0; ; {
		end := 0 // of the cell, with its quote
		if i < len(row) && row[i] == '"' {
			for end = i + 1; ; {
				q := bytes.IndexByte(row[end:], '"')
				if q < 0 {
					return cells, true
				}
				if end += q + 1; end == len(row) || row[end] == ',' {
					break
				}
			}
			cells = append(cells, row[i+1:end-1])
		} else {
			if end = bytes.IndexByte(row[i:], ','); end < 0 {
				end = len(row)
			} else {
				end += i
			}
			cells = append(cells, row[i:end])
		}
		if end >= len(row) {
			return cells, false
		}
		i = end + 1
	}
}

// encode writes cells as a row of RFC 4180.
func encode(cells [][]byte) []byte {
	var row []byte
	for i, cell := range cells {
		if i > 0 {
			row = append(row, ',')
		}
		if !bytes.ContainsAny(cell, "\",\r\n") {
			row = append(row, cell...)
			continue
		}
		row = append(row, '"')
		row = append(row, bytes.ReplaceAll(cell, []byte{'"'}, []byte(`""`))...)
		row = append(row, '"')
	}
	return row
}
