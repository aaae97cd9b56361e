package sqlitepage

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// declaration is a CREATE TABLE statement (https://www.sqlite.org/lang_createtable.html).
type declaration struct {
	name    string
	columns []column
	keyed   bool // WITHOUT ROWID: the rows lie in an index
}

type column struct {
	name      string
	integer   bool // declared as INTEGER, in no other words
	real      bool // integers in it stand for real numbers (sqlite.org/datatype3.html, section 3.1)
	number    bool // INTEGER PRIMARY KEY: its value is the number of the row
	filled    bool // a row from before the column was added has its default value
	generated bool
	virtual   bool // generated in each query: no row holds it
}

const mostColumns = 2000 // of a table, as in SQLite

// parse reads the declaration of a table. Of constraints it reads those that say which values rows hold.
func parse(sql string) (d declaration, err error) {
	p := parser{sql: sql}
	p.next()
	if p.is("CREATE") && p.is("TABLE") && p.table(&d) && p.kind == end {
		return d, nil
	}
	return d, fmt.Errorf("its declaration is not understood at %.20q", p.text)
}

func (p *parser) table(d *declaration) bool {
	d.name = p.text
	if !p.name() || !p.sign('(') {
		return false
	}
	for more := true; more; more = p.sign(',') {
		ok := false
		if len(d.columns) > 0 && p.at("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") {
			ok = p.constraints(d)
		} else {
			ok = p.column(d)
		}
		if !ok {
			return false
		}
	}
	return p.sign(')') && p.options(d)
}

func (p *parser) options(d *declaration) bool {
	for p.kind != end {
		switch {
		case p.is("STRICT"), p.sign(','):
		case p.is("WITHOUT") && p.is("ROWID"):
			d.keyed = true
		default:
			return false
		}
	}
	return true
}

// index is the place of a column among all, -1 for none. Case does not matter.
func (d *declaration) index(name string) int {
	return slices.IndexFunc(d.columns, func(c column) bool { return strings.EqualFold(c.name, name) })
}

func (p *parser) column(d *declaration) bool {
	c := column{name: p.text}
	if !p.name() || d.index(c.name) >= 0 || len(d.columns) == mostColumns {
		return false
	}
	c.integer = p.at("INTEGER")
	kind, words := "", 0
	for ; p.kind == quoted || p.kind == word && !p.at(constraintWords...); words++ {
		kind += " " + strings.ToLower(p.text)
		p.next()
	}
	c.integer = c.integer && words == 1 && p.kind != '('
	in := func(part string) bool { return strings.Contains(kind, part) }
	c.real = (in("real") || in("floa") || in("doub")) &&
		!slices.ContainsFunc([]string{"int", "char", "clob", "text", "blob"}, in)
	ok := p.kind != '(' || words > 0
	for ok && p.kind != ',' && p.kind != ')' {
		ok = p.constraint(&c)
	}
	d.columns = append(d.columns, c)
	return ok
}

// constraintWords end the type of a column.
var constraintWords = []string{"CONSTRAINT", "NULL", "NOT", "PRIMARY", "UNIQUE", "CHECK", "REFERENCES", "DEFERRABLE",
	"COLLATE", "DEFAULT", "GENERATED", "AS"}

// constraint reads a part of a constraint of a column.
func (p *parser) constraint(c *column) bool {
	switch {
	case p.kind == end, p.kind == unknown:
		return false
	case p.kind == '(':
		return p.group()
	case p.is("PRIMARY"):
		c.number = p.is("KEY") && c.integer && !p.is("DESC")
	case p.is("SET"): // ON DELETE SET DEFAULT
		p.next()
	case p.is("DEFAULT"):
		c.filled = !p.at("NULL")
	case p.is("AS"):
		group := p.group()
		c.generated, c.virtual = true, !p.is("STORED")
		return group
	default:
		p.next()
	}
	return true
}

// constraints reads the constraints of a table, up to its closing parenthesis.
func (p *parser) constraints(d *declaration) bool {
	for p.kind != ')' {
		switch {
		case p.kind == end:
			return false
		case p.is("PRIMARY"):
			if !p.is("KEY") || !p.sign('(') {
				return false
			}
			key := d.index(p.text)
			for p.kind == word || p.kind == quoted { // the name, COLLATE, ASC or DESC
				p.next()
			}
			if p.kind == ')' && key >= 0 {
				d.columns[key].number = d.columns[key].integer
			}
			if !p.close() {
				return false
			}
		case p.kind == '(':
			if !p.group() {
				return false
			}
		default:
			p.next()
		}
	}
	return true
}

// parser reads tokens of SQL, the current one first.
type parser struct {
	kind byte   // end, word, quoted, or a sign
	text string // a word as it stands, what is in quotes, or the sign
	sql  string // what follows
}

const (
	end     = 0
	word    = 'w' // or a number
	quoted  = 'q' // a name, a text, or bytes
	unknown = '?' // text in quotes without an end, or no token of SQL
)

// at reports whether the current token is one of these words, in any case.
func (p *parser) at(words ...string) bool {
	return p.kind == word && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(p.text, w) })
}

// is goes on where the current token is a word.
func (p *parser) is(w string) bool {
	found := p.at(w)
	if found {
		p.next()
	}
	return found
}

// sign goes on where the current token is a sign.
func (p *parser) sign(c byte) bool {
	found := p.kind == c
	if found {
		p.next()
	}
	return found
}

// name goes on where the current token is a name, a word or a value.
func (p *parser) name() bool { return p.sign(word) || p.sign(quoted) }

// group skips what is in parentheses.
func (p *parser) group() bool { return p.sign('(') && p.close() }

// close skips what comes before the parenthesis that closes, and the parenthesis.
func (p *parser) close() bool {
	for depth := 1; depth > 0; p.next() {
		switch p.kind {
		case end:
			return false
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	return true
}

// next reads a token behind white space and comments.
func (p *parser) next() {
	s := strings.TrimLeft(p.sql, " \t\n\f\r")
	for strings.HasPrefix(s, "--") || strings.HasPrefix(s, "/*") {
		_, s, _ = strings.Cut(s[2:], map[byte]string{'-': "\n", '/': "*/"}[s[0]])
		s = strings.TrimLeft(s, " \t\n\f\r")
	}
	n := 0
	for n < len(s) && (strings.IndexByte("_$", s[n]) >= 0 || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'z' ||
		'0' <= s[n] && s[n] <= '9' || s[n] >= utf8.RuneSelf) {
		n++
	}
	if n == 1 && s[0]|0x20 == 'x' && strings.HasPrefix(s[1:], "'") { // bytes
		s, n = s[1:], 0
	}
	switch {
	case s == "":
		p.kind, p.text, p.sql = end, "", ""
	case n > 0:
		p.kind, p.text, p.sql = word, s[:n], s[n:]
	case strings.IndexByte("'\"`[", s[0]) >= 0:
		p.quoted(s[1:], strings.Replace(s[:1], "[", "]", 1))
	default:
		p.kind, p.text, p.sql = s[0], s[:1], s[1:]
		if s[0] == 0 {
			p.kind = unknown
		}
	}
}

// quoted reads what is in quotes, up to the closing one: but for brackets, two of them stand for one.
func (p *parser) quoted(s, quote string) {
	p.kind, p.text = quoted, ""
	for {
		text, rest, closed := strings.Cut(s, quote)
		p.text, p.sql = p.text+text, rest
		switch {
		case !closed:
			p.kind, p.text = unknown, ""
			return
		case quote == "]" || !strings.HasPrefix(rest, quote):
			return
		}
		p.text, s = p.text+quote, rest[1:]
	}
}
