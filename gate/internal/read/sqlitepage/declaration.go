package sqlitepage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
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

// parse reads the declaration of a table. A word that it does not know is an error, since columns could change places.
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
	for {
		if !p.column(d) {
			return false
		}
		if !p.sign(',') {
			break
		}
		if p.at("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") {
			if !p.constraints(d) {
				return false
			}
			break
		}
	}
	return p.sign(')') && p.options(d)
}

func (p *parser) options(d *declaration) bool {
	for p.kind != end {
		switch {
		case p.is("STRICT"):
		case p.is("WITHOUT") && p.is("ROWID"):
			d.keyed = true
		default:
			return false
		}
		if p.kind != end && !p.sign(',') {
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
	c.integer = c.integer && words == 1
	if p.kind == '(' {
		c.integer = false
		if words == 0 || !p.group() {
			return false
		}
	}
	in := func(part string) bool { return strings.Contains(kind, part) }
	c.real = (in("real") || in("floa") || in("doub")) &&
		!slices.ContainsFunc([]string{"int", "char", "clob", "text", "blob"}, in)
	for p.kind == word {
		if !p.constraint(&c) {
			return false
		}
	}
	d.columns = append(d.columns, c)
	return true
}

// constraintWords end the type of a column.
var constraintWords = []string{"CONSTRAINT", "NULL", "NOT", "PRIMARY", "UNIQUE", "CHECK", "REFERENCES", "DEFERRABLE",
	"COLLATE", "DEFAULT", "GENERATED", "AS"}

// constraint reads a constraint of a column or a part of one.
func (p *parser) constraint(c *column) bool {
	switch {
	case p.is("NULL"), p.is("UNIQUE"), p.is("DEFERRABLE"), p.is("ASC"), p.is("DESC"), p.is("AUTOINCREMENT"):
		return true
	case p.is("NOT"):
		return p.is("NULL") || p.is("DEFERRABLE")
	case p.is("PRIMARY"):
		key := p.is("KEY")
		c.number = c.integer && !p.is("DESC")
		return key
	case p.is("CONSTRAINT"), p.is("COLLATE"), p.is("MATCH"), p.is("INITIALLY"):
		return p.name()
	case p.is("CHECK"):
		return p.group()
	case p.is("REFERENCES"):
		return p.name() && (p.kind != '(' || p.group())
	case p.is("ON"): // CONFLICT, UPDATE or DELETE, and one or two words
		if event := p.name(); !event || p.is("SET") || p.is("NO") {
			return event && p.name()
		}
		return p.name()
	case p.is("DEFAULT"):
		c.filled = !p.at("NULL")
		if p.kind == '(' {
			return p.group()
		}
		if !p.sign('-') {
			p.sign('+')
		}
		return p.name()
	case p.is("GENERATED"):
		return p.is("ALWAYS")
	case p.is("AS"):
		group := p.group()
		c.generated, c.virtual = true, p.is("VIRTUAL") || !p.is("STORED")
		return group
	}
	return false
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
	end    = 0
	word   = 'w' // or a number
	quoted = 'q' // a name, a text, or bytes
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

// token is the white space and comments before a token, and the token: in quotes or bytes (x'00'), a quote that is not
// closed, a number or word, or a sign.
var token = input.Pattern(`(?s)^(?:[ \t\n\f\r]|--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$))*` +
	"(?:([xX]?'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[^\\]]*\\])|([xX]?'|[\"`\\[])|" +
	`([0-9](?:[eE][+-]|[.\w$[:^ascii:]])*|[\w$[:^ascii:]]+)|(.))?`)

// next reads a token. One that is not closed, or no token of SQL, ends the declaration with a sign that fits nowhere.
func (p *parser) next() {
	if p.plain() {
		return
	}
	m := token().FindStringSubmatch(p.sql)
	p.sql = p.sql[len(m[0]):]
	inside, quote := m[1][:max(0, len(m[1])-1)], m[1][max(0, len(m[1])-1):]
	switch {
	case m[2] != "", m[1] != "" && quote != "]" && strings.HasPrefix(p.sql, quote): // the last two stand for one
		p.kind, p.text, p.sql = '?', "", ""
	case m[1] != "":
		inside = inside[strings.IndexAny(inside, "\"'`[")+1:]
		p.kind, p.text = quoted, strings.ReplaceAll(inside, quote+quote, quote)
	case m[3] != "":
		p.kind, p.text = word, m[3]
	case m[4] == "":
		p.kind, p.text = end, ""
	case m[4] == "\x00":
		p.kind, p.text = '?', m[4]
	default:
		p.kind, p.text = m[4][0], m[4]
	}
}

// plain reads a token of nearly all declarations, a word of ASCII or one of three signs, without the pattern, which
// takes ten times as long. A token that it does not know stays.
func (p *parser) plain() bool {
	const space, signs = " \t\n\f\r", "(),"
	s := strings.TrimLeft(p.sql, space)
	for strings.HasPrefix(s, "--") { // a comment
		_, s, _ = strings.Cut(s, "\n")
		s = strings.TrimLeft(s, space)
	}
	n := 0
	for n < len(s) && (s[n] == '_' || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'z' || n > 0 && '0' <= s[n] && s[n] <= '9') {
		n++
	}
	switch {
	case n == len(s) || strings.IndexByte(space+signs, s[n]) < 0:
		return false
	case n == 0:
		p.kind, n = s[0], 1
	default:
		p.kind = word
	}
	p.text, p.sql = s[:n], s[n:]
	return true
}
