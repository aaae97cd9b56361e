//go:build unix

// Package shapes makes files of a format larger in each way that its form allows, for tests of growth.
package shapes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Shape is a way in which a file grows.
type Shape struct {
	Name string
	// File is the file with about so many bytes.
	File func(bytes int) string
}

// fills are what names are made of: words, brackets that nothing closes, separators of C++, prefixes of mangled names,
// characters of other alphabets, control characters.
var fills = []string{"a", "<", "(", "a<", "a(", "f<(", ")", ">", "a>", "::", "a::b", "operator<", "operator()", " ",
	" a", "_Z", "_", "0", "-", ".", "é", "\x01", "\\", "\"", ",", "=", "|", "[", "{", "unnamed>::",
	"(anonymous namespace)::", "::__1::", "<unnamed>::", "_GLOBAL__N_", "p99_", "_per_s", "$24", "Dp", "[abi:",
	"julia_", "_0d", "_1"}

// node is a value of JSON.
type node struct {
	text string // of a scalar
	open byte   // '{', '[' or 'v' for values one after the other
	keys []string
	kids []*node
}

func parse(sample string) *node {
	d := json.NewDecoder(strings.NewReader(sample))
	d.UseNumber()
	top := &node{open: 'v'}
	for {
		kid, err := read(d)
		if err != nil {
			break
		}
		top.kids = append(top.kids, kid)
	}
	return top
}

func read(d *json.Decoder) (*node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &node{open: byte(v)}
		for d.More() {
			if v == '{' {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				n.keys = append(n.keys, key.(string))
			}
			kid, err := read(d)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
		_, err = d.Token()
		return n, err
	case json.Number:
		return &node{text: v.String()}, nil
	}
	text, err := json.Marshal(token)
	return &node{text: string(text)}, err
}

// write appends a value, with another text in place of that of one node.
func (n *node) write(b *strings.Builder, at *node, put func(*strings.Builder)) {
	if n == at {
		put(b)
		return
	}
	switch n.open {
	case 0:
		b.WriteString(n.text)
		return
	case 'v':
	default:
		b.WriteByte(n.open)
	}
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteString(map[byte]string{'v': "\n", '[': ",", '{': ","}[n.open])
		}
		if n.open == '{' {
			b.WriteString(quote(n.keys[i]) + ":")
		}
		kid.write(b, at, put)
	}
	if n.open != 'v' {
		b.WriteByte(n.open + 2)
	}
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func (n *node) string() string {
	var b strings.Builder
	n.write(&b, nil, nil)
	return b.String()
}

func (n *node) walk(path string, each func(string, *node)) {
	each(path, n)
	for i, kid := range n.kids {
		key := fmt.Sprint(i)
		if n.open == '{' {
			key = n.keys[i]
		}
		kid.walk(path+"."+key, each)
	}
}

// numbered is a text with another number behind each of its strings.
func (n *node) numbered(i int) string {
	copy := *n
	if n.open == 0 {
		if strings.HasPrefix(n.text, `"`) {
			copy.text = strings.TrimSuffix(n.text, `"`) + fmt.Sprint(i) + `"`
		}
		return copy.string()
	}
	var parts []string
	for k, kid := range n.kids {
		part := kid.numbered(i)
		if n.open == '{' {
			part = quote(n.keys[k]) + ":" + part
		}
		parts = append(parts, part)
	}
	return string(n.open) + strings.Join(parts, ",") + string(n.open+2)
}

// JSON are the shapes of a file of JSON, or of values one after the other.
func JSON(sample string) (out []Shape) {
	top := parse(sample)
	top.walk("", func(path string, n *node) {
		add := func(name string, put func(b *strings.Builder, bytes int)) {
			out = append(out, Shape{path + ": " + name, func(bytes int) string {
				var b strings.Builder
				top.write(&b, n, func(b *strings.Builder) { put(b, bytes) })
				return b.String()
			}})
		}
		many := func(name, open, shut, between string, part func(i int) string) {
			add(name, func(b *strings.Builder, bytes int) {
				b.WriteString(open)
				for i, start := 0, b.Len(); b.Len()-start < bytes; i++ {
					if i > 0 {
						b.WriteString(between)
					}
					b.WriteString(part(i))
				}
				b.WriteString(shut)
			})
		}
		switch {
		case n.open == '[' && len(n.kids) > 0:
			kid := n.kids[0]
			same := kid.string()
			many("one element", "[", "]", ",", func(int) string { return same })
			many("elements", "[", "]", ",", kid.numbered)
			if kid.open == '[' {
				for _, lists := range []int{2, 3, 4, 16} {
					add(fmt.Sprint(lists, " lists"), func(b *strings.Builder, bytes int) {
						list := "[" + strings.Repeat(`"0123456789",`, max(1, bytes/13/lists)) + `"x"]`
						b.WriteString("[" + strings.Repeat(list+",", lists-1) + list + "]")
					})
				}
				many("short lists", "[", "]", ",", func(int) string { return `["1","2"]` })
			}
		case n.open == '[', n.open == 'v' && len(n.kids) == 0:
		case n.open == 'v':
			same := n.kids[0].string()
			many("one value", "", "", "\n", func(int) string { return same })
			many("values", "", "", "\n", n.kids[0].numbered)
		case n.open == '{':
			whole := n.string()
			rest := whole[:len(whole)-1]
			if len(n.kids) > 0 {
				rest += ","
				last := n.kids[len(n.kids)-1]
				text := last.string()
				many("keys of its kind", rest, "}", ",", func(i int) string {
					return fmt.Sprintf("%q:%s", fmt.Sprint("k", i), text)
				})
				many("one key", rest, "}", ",", func(i int) string { return quote(n.keys[len(n.keys)-1]) + ":" + text })
			}
			for _, value := range []string{"1", `"x"`, "[]", "null", `{"value":1}`} {
				many("keys of "+value, rest, "}", ",", func(i int) string {
					return fmt.Sprintf("%q:%s", fmt.Sprint("p", i, "_ttft_ms"), value)
				})
			}
			for _, fill := range fills {
				add("key of "+fill, func(b *strings.Builder, bytes int) {
					b.WriteString(rest + quote(strings.Repeat(fill, bytes/len(fill))) + ":1}")
				})
			}
		}
		if n.open == 0 || n.open == '{' {
			for _, nest := range []string{"[", `{"a":`} {
				add("nested "+nest, func(b *strings.Builder, bytes int) {
					times := bytes / (len(nest) + 1)
					b.WriteString(strings.Repeat(nest, times) + "1" + strings.Repeat(string(nest[0]+2), times))
				})
			}
		}
		if n.open == 0 {
			many("numbers", "[", "]", ",", func(int) string { return "1.5" })
			add("digits", func(b *strings.Builder, bytes int) { b.WriteString("1" + strings.Repeat("7", bytes)) })
			add("digits of a text", func(b *strings.Builder, bytes int) {
				b.WriteString(`"0.` + strings.Repeat("7", bytes) + `"`)
			})
		}
		if strings.HasPrefix(n.text, `"`) {
			for _, fill := range fills {
				add("text of "+fill, func(b *strings.Builder, bytes int) {
					b.WriteString(quote(strings.Repeat(fill, bytes/len(fill))))
				})
			}
		}
	})
	return out
}

// Table are the shapes of a table with a separator between cells: rows, columns, and what stands in a cell.
func Table(sample, comma string) (out []Shape) {
	lines := strings.Split(strings.TrimSuffix(sample, "\n"), "\n")
	add := func(name string, file func(bytes int) []string) {
		out = append(out, Shape{name, func(bytes int) string { return strings.Join(file(bytes), "\n") + "\n" }})
	}
	last := lines[len(lines)-1]
	add("rows", func(bytes int) []string {
		return append(slices.Clone(lines), slices.Repeat([]string{last}, bytes/(len(last)+1))...)
	})
	add("numbered rows", func(bytes int) []string {
		out := slices.Clone(lines)
		for i := range bytes / (len(last) + 6) {
			cells := strings.Split(last, comma)
			for k, c := range cells {
				switch {
				case strings.HasSuffix(c, `"`):
					cells[k] = strings.TrimSuffix(c, `"`) + fmt.Sprint(i) + `"`
				case strings.Trim(c, "0123456789") == "":
					cells[k] = fmt.Sprint(i + 1)
				default:
					cells[k] = c + fmt.Sprint(i)
				}
			}
			out = append(out, strings.Join(cells, comma))
		}
		return out
	})
	add("columns", func(bytes int) []string {
		out := slices.Clone(lines)
		for i := range out {
			for k := range max(1, bytes/8/len(out)) {
				out[i] += fmt.Sprint(comma, "c", k)
			}
		}
		return out
	})
	add("head lines", func(bytes int) []string {
		return append(slices.Repeat([]string{lines[0]}, max(1, bytes/(len(lines[0])+1))), lines...)
	})
	for at := range lines {
		cells := strings.Split(lines[at], comma)
		for k := range cells {
			for _, fill := range fills {
				add(fmt.Sprintf("line %d, cell %d of %s", at+1, k+1, fill), func(bytes int) []string {
					own, out := slices.Clone(cells), slices.Clone(lines)
					own[k] = strings.Trim(own[k], `"`) + strings.Repeat(fill, bytes/len(fill))
					if strings.ContainsAny(own[k], "\",") || strings.HasPrefix(cells[k], `"`) {
						own[k] = `"` + strings.ReplaceAll(own[k], `"`, `""`) + `"`
					}
					out[at] = strings.Join(own, comma)
					return out
				})
			}
		}
	}
	return out
}

// XML are the shapes of an XML file in which marked places repeat: {{ and }} around an element, and ^ in a value.
func XML(sample string) (out []Shape) {
	plain := strings.NewReplacer("{{", "", "}}", "", "^", "").Replace
	for from := 0; ; {
		i := strings.Index(sample[from:], "{{")
		if i < 0 {
			break
		}
		from += i
		end := from + strings.Index(sample[from:], "}}") + 2
		head, part, tail := plain(sample[:from]), plain(sample[from:end]), plain(sample[end:])
		numbered := strings.Split(sample[from+2:end-2], "^")
		out = append(out,
			Shape{"elements " + part, func(bytes int) string {
				return head + strings.Repeat(part, bytes/len(part)) + tail
			}},
			Shape{"numbered " + part, func(bytes int) string {
				var b strings.Builder
				b.WriteString(head)
				for i := 0; b.Len() < bytes; i++ {
					b.WriteString(strings.Join(numbered, fmt.Sprint(i)))
				}
				return b.String() + tail
			}})
		from = end
	}
	for i := range sample {
		if sample[i] != '^' {
			continue
		}
		for _, fill := range append(fills, "<!-- -->", "<a b='1'>", "&lt;", "<testsuite name='a'>",
			"<testcase name='a' time='1'/>", "<properties><property name='a' value='1'/></properties>") {
			out = append(out, Shape{fmt.Sprintf("%d of %s", i, fill), func(bytes int) string {
				long := strings.Repeat(strings.Trim(fill, "\x01"), bytes/len(fill))
				return plain(sample[:i]) + long + plain(sample[i:])
			}})
		}
	}
	return out
}

// Names are the shapes of a file that holds names: one of each fill, namesakes of it, equal and numbered ones.
func Names(file func(names []string) string) (out []Shape) {
	add := func(name string, names func(bytes int) []string) {
		out = append(out, Shape{name, func(bytes int) string { return file(names(bytes)) }})
	}
	for _, fill := range fills {
		long := func(bytes int) string { return strings.Repeat(fill, max(1, bytes/len(fill))) }
		add("name of "+fill, func(bytes int) []string { return []string{long(bytes)} })
		add("namesakes of "+fill, func(bytes int) []string {
			return []string{"f<" + long(bytes/2) + ">", "f<" + long(bytes/2) + "x>"}
		})
		add("many namesakes of "+fill, func(bytes int) (names []string) {
			for i := range max(2, bytes/2000) {
				names = append(names, fmt.Sprint("f<", long(1000), i, ", ", long(1000), ">"))
			}
			return names
		})
	}
	add("nested names", func(bytes int) []string {
		return []string{"f<" + strings.Repeat("a<b, ", bytes/6) + strings.Repeat(">", bytes/6) + ">", "f<>"}
	})
	add("equal names", func(bytes int) []string { return slices.Repeat([]string{"k"}, bytes/8) })
	for _, form := range []string{"k%d", "f<%d>", "void n::f<(int)%d, float>(float *)", "k_%d"} {
		add("names "+form, func(bytes int) (names []string) {
			for i := range bytes / 16 {
				names = append(names, fmt.Sprintf(form, i))
			}
			return names
		})
	}
	return out
}

// Check fails where the cost of reading a file grows by more than n log n. Cost is processor time of this process; the
// smallest of a few tries counts, because other programs never speed it up. Without measure, small files of a sample of
// the shapes are read, which must not end the process.
func Check(t *testing.T, name string, list []Shape, measure bool, read func(text string)) {
	t.Helper()
	if !measure {
		for i := 0; i < len(list); i += max(1, len(list)/40) {
			read(list[i].File(2 << 10))
		}
		return
	}
	const n, mostGrowth, noise, tries, most = 16 << 10, 7, 50 * time.Millisecond, 3, 120
	for k := 0; k < len(list); k += (len(list) + most - 1) / most {
		s := list[k]
		small, large := s.File(n), s.File(4*n)
		least := [2]time.Duration{time.Hour, time.Hour}
		for range tries {
			for i, text := range []string{small, large} {
				start := processorTime()
				read(text)
				least[i] = min(least[i], processorTime()-start)
			}
			if least[1] <= mostGrowth*least[0]+noise {
				break
			}
		}
		if least[1] > mostGrowth*least[0]+noise {
			t.Errorf("%s, %s: %v of processor time for %d kB, %v for %d kB", name, s.Name, least[0], n>>10, least[1],
				4*n>>10)
		}
	}
}

func processorTime() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
