package cells

import "strings"

// Rule gives where columns of fixed width begin, in characters, from the line of dashes under their titles. It is nil for
// another line.
func Rule(line string) (starts []int) {
	if line = strings.TrimRight(line, " \t\r\n"); !strings.Contains(line, "---") || strings.Trim(line, "- ") != "" {
		return nil
	}
	for i := range line {
		if line[i] == '-' && (i == 0 || line[i-1] == ' ') {
			starts = append(starts, i)
		}
	}
	return starts
}

// Cut gives the cells of a line whose columns begin at these characters, without blanks around them.
func Cut(line string, starts []int) []string {
	text := []rune(line)
	row := make([]string, len(starts))
	for i, from := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = min(starts[i+1], end)
		}
		row[i] = strings.TrimSpace(string(text[min(from, end):end]))
	}
	return row
}
