package measure

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Labels gives each of the normalised names of kernels its shortest distinct form. That is the short name where one
// kernel alone has it ("saxpy"), else with the distinct template arguments ("vectorized_elementwise_kernel ·
// MulFunctor<float>"). Where one or two parts are not distinct it is all arguments, and then the name as it is.
func Labels(names []string) map[string]string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	namesakes := make(map[string][]string)
	for _, name := range names {
		short := ShortName(name)
		namesakes[short] = append(namesakes[short], name)
	}
	out := make(map[string]string, len(names))
	for short, group := range namesakes {
		if len(group) == 1 {
			out[group[0]] = short
			continue
		}
		tellApart(short, group, out)
	}
	taken := make(map[string]int, len(out))
	for _, label := range out {
		taken[label]++
	}
	for name, label := range out {
		if taken[label] > 1 {
			out[name] = name
		}
	}
	return out
}

func tellApart(short string, names []string, out map[string]string) {
	// between separates the short name of a kernel from the part that distinguishes it from its namesakes.
	const between = " · "
	terms, have := make([][]term, len(names)), make(map[string]int)
	for i, name := range names {
		terms[i] = termsOf(arguments(short, name))
		for _, t := range terms[i] {
			have[t.text]++
		}
	}
	pairs := make(map[[2]string]int)
	for i := range terms {
		// A term of all names distinguishes nothing.
		terms[i] = slices.DeleteFunc(terms[i], func(t term) bool { return have[t.text] == len(names) })
		eachPair(terms[i], func(a, b term) { pairs[[2]string{a.text, b.text}]++ })
	}
	for i, name := range names {
		best, least := "", math.MaxInt
		for _, t := range terms[i] {
			if have[t.text] == 1 && t.cost < least {
				best, least = t.text, t.cost
			}
		}
		if best == "" {
			eachPair(terms[i], func(a, b term) {
				if pairs[[2]string{a.text, b.text}] == 1 && a.cost+b.cost < least {
					best, least = a.text+between+b.text, a.cost+b.cost
				}
			})
		}
		switch whole := strings.Join(plain(arguments(short, name)), ", "); {
		case best != "":
			out[name] = short + between + best
		case whole != "":
			out[name] = short + "<" + whole + ">"
		default:
			out[name] = name
		}
	}
}

func eachPair(terms []term, f func(a, b term)) {
	for i, a := range terms {
		for _, b := range terms[i+1:] {
			f(a, b)
		}
	}
}

// term is a part of a kernel's template arguments that may tell it from others.
type term struct {
	text string
	cost int // the less, the better it tells
}

var vagueWords = map[string]bool{
	"bool": true, "char": true, "short": true, "int": true, "long": true, "unsigned": true, "signed": true,
	"float": true, "double": true, "lambda": true, "instance": true, "operator": true, "array": true,
}

// termsOf takes arguments apart: each name in them, with its own arguments and without, and each number; each once.
func termsOf(args string) []term {
	// The penalties of a term beyond its length. later is for each term before it, since the first name the work of a
	// kernel; bare for a term without its own arguments. vague is for a number, a type of the language, a parameter, or
	// a part of a lambda.
	const later, bare, vague = 3, 12, 40
	// maxTerms is the number of parts of a kernel's arguments that labels are made of, maxWords that of the words of
	// which the parts are looked at.
	const maxTerms, maxWords = 32, 256
	var out []term
	add := func(text string, cost int) {
		if text != "" && !slices.ContainsFunc(out, func(t term) bool { return t.text == text }) {
			out = append(out, term{text, cost + len(text) + later*len(out)})
		}
	}
	round := 0 // what a function takes is vague, too
	for i, words := 0, 0; i < len(args) && words < maxWords && len(out) < maxTerms; {
		if !isWord(args[i]) {
			switch {
			case args[i] == '(':
				round++
			case args[i] == ')':
				round = max(round-1, 0)
			}
			i++
			continue
		}
		end := i
		for end < len(args) && isWord(args[end]) {
			end++
		}
		word, rest := args[i:end], args[end:]
		i = end
		words++
		cost := 0
		if round > 0 || vagueWords[word] || strings.Trim(strings.TrimPrefix(word, "T"), "0123456789") == "" {
			cost = vague
		}
		switch {
		case strings.HasPrefix(rest, "::") || word == "void" || word == "const": // a namespace, what is returned
		case strings.HasPrefix(rest, "<"):
			if n := closing(rest); n > 0 {
				add(word+"<"+strings.Join(plain(rest[1:n]), ", ")+">", cost)
			}
			add(word, cost+bare)
		default:
			add(word, cost)
		}
	}
	return out
}

// arguments are the template arguments of the last part of a name, as they stand there; "" where it has none.
func arguments(short, name string) string {
	name = strings.ReplaceAll(name, anonymous+"::", "")
	from := 0
	for {
		i := strings.Index(name[from:], short+"<")
		if i < 0 {
			return ""
		}
		i += from
		if i == 0 || !isWord(name[i-1]) {
			rest := name[i+len(short):]
			if n := closing(rest); n > 0 {
				return rest[1:n]
			}
			return rest[1:]
		}
		from = i + 1
	}
}

// closing is the place of the ">" that closes the "<" that s begins with, 0 for none.
func closing(s string) int {
	depth, round := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(':
			round++
		case c == ')':
			round--
		case round > 0: // comparisons
		case c == '<':
			depth++
		case c == '>' && s[i-1] != '-':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// deepest is how deep template arguments are taken apart: the time goes with depth and length.
const deepest = 12

// plain are arguments in a readable form: without namespaces, casts of numbers, and parameters of functions.
func plain(args string) []string { return plainWithin(args, deepest) }

func plainWithin(args string, levels int) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i <= len(args); i++ {
		switch {
		case i == len(args) || args[i] == ',' && depth == 0:
			out = append(out, plainOne(strings.TrimSpace(args[from:i]), levels))
			from = i + 1
		case strings.IndexByte("<([", args[i]) >= 0:
			depth++
		case strings.IndexByte(">)]", args[i]) >= 0:
			depth--
		}
	}
	return out
}

func plainOne(arg string, levels int) string {
	if strings.HasPrefix(arg, "(") { // (int)4
		if i := strings.IndexByte(arg, ')'); i >= 0 {
			arg = arg[i+1:]
		}
	}
	head, inner := arg, ""
	if i := strings.IndexAny(arg, "<("); i > 0 && arg[i] == '<' && levels > 0 {
		if n := closing(arg[i:]); n > 0 {
			head, inner = arg[:i], "<"+strings.Join(plainWithin(arg[i+1:i+n], levels-1), ", ")+">"
		}
	}
	if i := strings.IndexByte(head, '('); i > 0 {
		head = head[:i]
	}
	if i := strings.LastIndex(head, "::"); i >= 0 {
		head = head[i+2:]
	}
	return cmp.Or(strings.TrimPrefix(head, "void "), arg) + inner
}
