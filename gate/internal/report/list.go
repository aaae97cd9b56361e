package report

// List is rows under their titles, as text: the last column may lose its middle. Where the page is too narrow for all columns, each row
// takes lines of its own.
func List(title string, titles []string, rows [][]string, o Options) string {
	p := newPage(o)
	p.line(0, 2, span{title, none})
	var columns []column
	const spare = "kernels" // a column that may be left out
	for i, t := range titles {
		c := column{title: t, optional: i > 0}
		if i == len(titles)-1 {
			c.least = 24
		}
		if t == spare {
			c.rank = 1
		}
		columns = append(columns, c)
	}
	clean := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			clean[i] = append(clean[i], Clean(cell))
		}
	}
	p.table(columns, clean, nil)
	return p.b.String()
}
